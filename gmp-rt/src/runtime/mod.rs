//! A runtime as a program sees it: [`Runtime`], [`Handle`], and the calls that mean the one
//! around them.

pub(crate) mod block_on;
mod builder;
pub(crate) mod context;
mod env;
mod handle;
#[cfg(all(test, target_os = "linux", not(gmp_loom)))]
mod machine_tests;

pub use self::block_on::block_on;
pub use self::builder::{BuildError, Builder};
pub use self::handle::Handle;
pub use crate::sched::stall::{Stall, StallKind};
pub use crate::sched::stats::Stats;
pub use crate::sched::{PanicPolicy, ProcsError};

use crate::g::join::JoinHandle;
use crate::g::origin::Origin;
use crate::sched::Sched;
use crate::throw::say;
use crate::tuning::DROP_GRACE;
use crate::util::large::box_future;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// What the runtime around the caller has done so far.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// assert!(gmp::runtime::stats().procs >= 1);
/// ```
#[must_use]
pub fn stats() -> Stats {
    context::sched().stats()
}

/// What all goroutines of the runtime around the caller are doing, in the format of Go's dumps.
///
/// Taken without stopping anyone, also under full load.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let handle = gmp::spawn_named("sleeper", gmp::sleep(std::time::Duration::from_secs(60)));
/// let dump = gmp::runtime::dump();
/// assert!(dump.contains("{name: sleeper}"));
/// # handle.abort();
/// ```
#[must_use]
pub fn dump() -> String {
    context::sched().dump()
}

/// Sets what is called when a goroutine of the runtime around the caller blocks or hogs its thread,
/// unmarked, while others wait, and its P is given to another thread.
///
/// Called on a thread of the runtime that runs no goroutines; it should be quick. Replaces the hook set
/// before.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// gmp::runtime::on_stall(|stall| eprintln!("{stall}"));
/// ```
pub fn on_stall(hook: impl Fn(&Stall) + Send + Sync + 'static) {
    context::sched().on_stall(hook);
}

/// A scheduler with its threads.
///
/// Most programs need none: `#[gmp::main]`, or just [`spawn`](crate::spawn), use the default runtime, which starts
/// by itself. A program may have several, and use one from inside another.
///
/// Dropping a runtime aborts its goroutines, waits for them to be dropped for a second at most,
/// and leaves threads that are stuck inside a poll behind; they clean up when they come back.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let runtime = gmp::Runtime::new().unwrap();
/// let answer = runtime.block_on(async { gmp::spawn(async { 42 }).await.unwrap() });
/// assert_eq!(answer, 42);
/// runtime.shutdown(std::time::Duration::from_secs(1)).unwrap();
/// ```
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
    end: End,
}

/// Whether [`Runtime::shutdown`] has been called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    OnDrop,
    Done,
}

impl Runtime {
    /// A runtime with default settings.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn new() -> Result<Self, BuildError> {
        Builder::new().build()
    }

    fn from_sched(sched: Arc<Sched>) -> Self {
        Self { handle: Handle::new(sched), end: End::OnDrop }
    }

    pub(crate) fn sched(&self) -> &Arc<Sched> {
        self.handle.sched()
    }

    /// A handle: cheap to clone, and usable from any thread.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Starts a goroutine on this runtime.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let origin = Origin::site_only(Location::caller());
        box_future!(future: F => self.handle.spawn_from(future, origin))
    }

    /// Runs a future on this thread; goroutines that it starts run on this runtime.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        box_future!(future: F => self.handle.block_on(future))
    }

    /// Returns how many goroutines run in parallel. [`Builder::max_procs`] says what this bounds and
    /// what not.
    #[must_use]
    pub fn max_procs(&self) -> usize {
        self.handle.max_procs()
    }

    /// Ends the runtime: no new goroutines, those there are get dropped, threads exit. Waits at
    /// most `limit` for that.
    ///
    /// Called on a thread of this runtime it does not wait, since it would wait for itself.
    ///
    /// # Errors
    ///
    /// [`ShutdownError`] names the goroutines that were still inside a poll. Their threads are
    /// left behind, and clean up if they ever come back.
    pub fn shutdown(mut self, limit: Duration) -> Result<(), ShutdownError> {
        self.end = End::Done;
        self.sched().shutdown(limit).map_err(|stuck| ShutdownError { stuck })
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if self.end == End::Done {
            return;
        }
        if self.sched().is_own_thread() {
            return self.sched().close();
        }
        for stuck in self.sched().shutdown(DROP_GRACE).err().into_iter().flatten() {
            say!("gmp: runtime dropped, but still running: {stuck}");
        }
    }
}

/// Goroutines that did not end before the limit of [`Runtime::shutdown`].
#[derive(Clone, Debug)]
pub struct ShutdownError {
    stuck: Vec<String>,
}

impl ShutdownError {
    /// The goroutines, a line each: id, name, where spawned.
    #[must_use]
    pub fn stuck(&self) -> &[String] {
        &self.stuck
    }
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} still running: {}", self.stuck.len(), self.stuck.join("; "))
    }
}

impl std::error::Error for ShutdownError {}
