//! [`Runtime`], its [`Builder`] and [`Handle`], and functions on the current runtime.
//!
//! The current runtime is that of the innermost [`Runtime::block_on`], else that of the goroutine
//! that makes the call, else the default runtime.

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
use crate::limits::DROP_GRACE;
use crate::sched::Sched;
use crate::throw::say;
use crate::util::large::box_future;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// Returns the counters of the current runtime.
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

/// Returns what all goroutines of the current runtime do, in the format of Go's dumps.
///
/// It stops no goroutine, and works under full load.
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

/// Sets the hook that the current runtime calls when a goroutine stalls its thread.
///
/// A goroutine stalls its thread if it blocks outside of [`blocking`](crate::blocking()), or if it
/// computes without an await for a time slice, and the runtime takes its P away. The hook runs on a
/// thread that runs no goroutines. It should return quickly. A new hook replaces the previous one.
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
/// Most programs need none: `#[gmp::main]` and [`spawn`](crate::spawn) use the default runtime,
/// which starts by itself. A program may have several runtimes, and use one from inside another.
///
/// Dropping a runtime aborts its goroutines and waits at most a second until they are dropped. A
/// thread that is still inside a poll is left behind, and cleans up when the poll returns. On a
/// thread of the runtime itself the drop does not wait.
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
    /// Builds a runtime with default settings.
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

    /// Returns a handle, which is cheap to clone and usable on any thread.
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

    /// Runs a future on this thread. Goroutines that it starts run on this runtime.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        box_future!(future: F => self.handle.block_on(future))
    }

    /// Returns how many goroutines run in parallel.
    ///
    /// [`Builder::max_procs`] describes what this bounds.
    #[must_use]
    pub fn max_procs(&self) -> usize {
        self.handle.max_procs()
    }

    /// Ends the runtime and waits at most `limit` for that.
    ///
    /// No new goroutine starts, all others are dropped, and the threads exit. On a thread of this
    /// runtime the call does not wait, because it would wait for itself. It then returns an error.
    ///
    /// # Errors
    ///
    /// [`ShutdownError`] names the goroutines that have not ended. A thread that is still inside a
    /// poll is left behind, and cleans up when the poll returns.
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
    /// Returns the goroutines, one line each: id, name and spawn site.
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
