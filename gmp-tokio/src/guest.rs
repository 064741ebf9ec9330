//! A Tokio runtime as the guest of a gmp runtime.
//!
//! A worker thread of gmp holds the guard of `Handle::enter` on its stack from its start to its
//! end. Neither a poll nor a drop of a goroutine enters anything. The guard is in no thread-local,
//! because Tokio's own thread-local may be destroyed before such a guard.
//!
//! The thread is in the context of Tokio, but it does not drive the Tokio runtime. So Tokio allows
//! blocking calls there.

use gmp_rt::runtime::guest::{Entered, Guest, Host};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task;

/// A Tokio runtime that belongs to the gmp runtime.
#[derive(Debug)]
pub(crate) struct Owned {
    handle: Handle,
    runtime: Slot,
}

/// The runtime, until its end. Shared with the thread that ends it.
#[derive(Clone, Debug)]
struct Slot(Arc<Mutex<Option<Runtime>>>);

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Option<Runtime>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Runtime> {
        self.lock().take()
    }

    /// Ends the runtime and waits at most for `limit`.
    fn shutdown(&self, limit: Duration) {
        if let Some(runtime) = self.take() {
            runtime.shutdown_timeout(limit);
        }
    }

    /// Ends the runtime without waiting.
    fn shutdown_background(&self) {
        if let Some(runtime) = self.take() {
            runtime.shutdown_background();
        }
    }
}

impl Owned {
    /// Starts the runtime. Its threads belong to the gmp runtime `host`.
    pub(crate) fn start(host: &Host) -> io::Result<Self> {
        let (start, stop) = (host.clone(), host.clone());
        let mut builder = Builder::new_multi_thread();
        builder
            .worker_threads(1)
            .enable_all()
            .thread_name(format!("{}-tokio", host.name()))
            .on_thread_start(move || start.enter_thread())
            .on_thread_stop(move || stop.leave_thread());
        if let Some(bytes) = host.stack_size() {
            builder.thread_stack_size(bytes);
        }
        let runtime = build(&mut builder)?;
        let handle = runtime.handle().clone();
        Ok(Self { handle, runtime: Slot(Arc::new(Mutex::new(Some(runtime)))) })
    }

    /// Whether the calling thread runs a task of this runtime. The runtime cannot end before the
    /// task returns.
    fn is_own_task(&self) -> bool {
        let is_own = |current: Handle| current.id() == self.handle.id();
        task::try_id().is_some() && Handle::try_current().is_ok_and(is_own)
    }
}

/// Builds a runtime. Tokio panics if the OS refuses a thread. That becomes an error too, as in a
/// gmp runtime without Tokio.
fn build(builder: &mut Builder) -> io::Result<Runtime> {
    const FAILED: &str = "cannot start the Tokio runtime";
    match catch_unwind(AssertUnwindSafe(|| builder.build())) {
        Ok(built) => built.map_err(|error| {
            io::Error::new(error.kind(), format!("{FAILED}: {error}; check `ulimit -n`"))
        }),
        Err(panic) => {
            let cause = gmp_rt::panic_message(&*panic);
            let check = "check the stack size and `ulimit -u`";
            Err(io::Error::other(format!("{FAILED}: {cause}; {check}")))
        }
    }
}

impl Guest for Owned {
    fn enter(&self) -> Box<dyn Entered + '_> {
        Box::new(self.handle.enter())
    }

    fn is_entered(&self) -> bool {
        Handle::try_current().is_ok()
    }

    fn shutdown(&self, limit: Duration) {
        if self.is_own_task() {
            return self.runtime.shutdown_background();
        }
        // Tokio panics if a thread waits that drives any Tokio runtime, and the caller may be one.
        let runtime = self.runtime.clone();
        let waits = move || runtime.shutdown(limit);
        match thread::Builder::new().name("gmp-tokio-end".to_owned()).spawn(waits) {
            // A panic of it was reported by the panic hook.
            Ok(thread) => drop(thread.join()),
            Err(_refused) => self.runtime.shutdown_background(),
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.runtime.shutdown_background();
    }
}

/// A Tokio runtime that belongs to the program.
#[derive(Debug)]
pub(crate) struct Borrowed(Handle);

impl Borrowed {
    pub(crate) fn new(handle: Handle) -> Self {
        Self(handle)
    }
}

impl Guest for Borrowed {
    fn enter(&self) -> Box<dyn Entered + '_> {
        Box::new(self.0.enter())
    }

    fn is_entered(&self) -> bool {
        Handle::try_current().is_ok()
    }

    fn shutdown(&self, _limit: Duration) {}
}
