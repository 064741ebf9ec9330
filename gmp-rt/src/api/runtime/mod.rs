//! [`Runtime`], its [`Builder`] and [`Handle`], and functions on the current runtime.
//!
//! The current runtime is that of the innermost [`Runtime::block_on`], else that of the goroutine
//! that makes the call, else the default runtime.

pub(crate) mod block_on;
mod builder;
pub(crate) mod context;
mod enter_guard;
mod env;
mod env_trace;
#[doc(hidden)]
pub mod guest;
mod handle;
#[cfg(all(test, target_os = "linux", not(gmp_loom)))]
mod machine_tests;
#[cfg(all(test, not(gmp_loom)))]
mod threads_tests;

pub use self::block_on::block_on;
pub use self::builder::{BuildError, Builder};
pub use self::enter_guard::EnterGuard;
pub use self::handle::Handle;
pub use crate::observe::event::{Event, Severity};
pub use crate::observe::metrics::{
    BlockingMetrics, GoroutineMetrics, HandoffMetrics, Histogram, Metrics, NetMetrics, ProcMetrics,
    QueueMetrics, StallMetrics, ThreadMetrics, TimerMetrics,
};
pub use crate::observe::stall::{Stall, StallKind};
pub use crate::sched::{PanicPolicy, ProcsError};

use crate::g::join::JoinHandle;
use crate::g::origin::Origin;
use crate::limits::{DROP_GRACE, TRACE_GRACE};
use crate::observe::event::{self, reporter};
use crate::sched::Sched;
use crate::sched::procs;
use crate::sched::shutdown::Leftovers;
use crate::util::large::box_future;
use std::fmt;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Takes a snapshot of what the current runtime counts.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// assert!(gmp::runtime::metrics().max_procs >= 1);
/// ```
#[must_use]
pub fn metrics() -> Metrics {
    context::sched().metrics()
}

/// Returns the number of CPUs of this process, by its affinity (Go: `runtime.NumCPU`).
///
/// It is read when the first runtime is built, or by the first call before that. It does not change
/// afterwards. A CPU quota does not count: [`max_procs`](crate::max_procs()) is the number of
/// goroutines that run in parallel, and follows the quota.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// assert!(gmp::runtime::num_cpu() >= 1);
/// ```
#[doc(alias("NumCPU", "available_parallelism"))]
#[must_use]
pub fn num_cpu() -> usize {
    procs::num_cpu()
}

/// Makes the number of goroutines of the current runtime that run in parallel automatic again, and
/// returns the previous number (Go: `runtime.SetDefaultGOMAXPROCS`).
///
/// The number becomes the default at once: the CPUs that this process may use, by affinity and by
/// the quota of its control group. From then on it follows the quota. This ends the effect of
/// [`set_max_procs`](crate::set_max_procs()), of [`Builder::max_procs`] and, as in Go, of the
/// environment variable `GMPMAXPROCS`.
///
/// # Examples
///
/// A guard that changes the number for a scope (Go: `defer`). It bounds what runs, not what waits:
/// to limit concurrency, use a semaphore.
///
/// ```
/// # use gmp_rt as gmp;
/// use gmp::runtime::{self, Handle};
///
/// struct Automatic;
///
/// impl Drop for Automatic {
///     fn drop(&mut self) {
///         runtime::set_default_max_procs();
///     }
/// }
///
/// gmp::set_max_procs(1).unwrap();
/// {
///     let _restore = Automatic;
///     assert_eq!(gmp::max_procs(), 1);
/// }
/// assert!(Handle::current().max_procs_is_automatic());
/// ```
#[doc(alias("SetDefaultGOMAXPROCS", "auto_procs"))]
pub fn set_default_max_procs() -> usize {
    context::sched().set_default_procs()
}

/// Returns what all goroutines of the current runtime do, in the format of Go's dumps.
///
/// It stops no goroutine, and works under full load.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let handle = gmp::go!(name = "sleeper", gmp::sleep(std::time::Duration::from_secs(60)));
/// let dump = gmp::runtime::dump();
/// assert!(dump.contains("{name: sleeper}"));
/// # handle.abort();
/// ```
#[doc(alias("Stack", "debug.Stack", "goroutine_profile", "Handle::dump"))]
#[must_use]
pub fn dump() -> String {
    context::sched().dump()
}

/// Sets the hook that the current runtime calls when a goroutine stalls its thread.
///
/// That is the case if all of these hold:
///
/// - The goroutine blocks its thread outside of [`block_in_place`](crate::block_in_place), or it
///   computes without an await for a time slice of 10 ms.
/// - No P is idle, and a goroutine or a timer that is due waits for this P.
/// - So the runtime hands off the P to another thread.
///
/// A goroutine that sleeps in a system call while nothing else has to run is no stall.
/// [`Metrics::handoffs`] counts all hand-offs, [`Metrics::stalls`] counts the stalls. Only Linux
/// shows whether a thread sleeps, so elsewhere every stall counts as a computation.
///
/// The hook runs on its own thread, as that of [`on_event`]. A new hook replaces the previous one.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// gmp::runtime::on_stall(|stall| eprintln!("{stall}"));
/// ```
pub fn on_stall(hook: impl Fn(&Stall) + Send + Sync + 'static) {
    context::sched().stalls.set_hook(hook);
}

/// Sets the hook that gets what the runtimes of this process report.
///
/// Without a hook, stderr gets the text of each event. A hook can pass the events to a log instead.
/// A new hook replaces the previous one.
///
/// The hook runs on a thread of its own, so it may block or panic. Events wait in a queue. If the
/// hook is too slow, events are dropped, and [`Event::Lost`] has their number. The end of a runtime
/// and of `#[gmp::main]` waits up to 200 ms for the queue.
///
/// Messages that end the process always go to stderr: a bug of gmp, `panic=abort`,
/// `deadlock=fatal` and SIGQUIT. So does the line `gmp: goroutine N panics:`, which `#[gmp::main]`
/// prints before the message of the panic hook. It is no event.
///
/// # Writes to stderr
///
/// The runtime does not wait for the reader of stderr. If the pipe is full, it drops the message,
/// and the next message that has room reports how many were dropped. Only dumps and messages that
/// end the process wait for up to a second. The dump of SIGQUIT goes on while the reader makes room
/// for a piece of it each second.
///
/// # Errors
///
/// If the OS refuses the thread.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use gmp::runtime::Severity;
///
/// gmp::runtime::on_event(|event| match event.severity() {
///     Severity::Info => println!("{event}"), // or log::info!("{event}")
///     _ => eprintln!("{event}"),
/// })?;
/// # std::io::Result::Ok(())
/// ```
pub fn on_event(hook: impl Fn(&Event) + Send + Sync + 'static) -> io::Result<()> {
    reporter::set_hook(hook)
}

/// A scheduler with its threads.
///
/// Most programs need none: `#[gmp::main]` and [`spawn`](crate::spawn) use the default runtime,
/// which starts by itself. A program may have several runtimes, and use one from inside another.
///
/// A program that becomes a daemon, or closes all descriptors, does so before it starts a runtime.
/// A runtime needs its threads, which a child of `fork` does not have, and its descriptors. If it
/// finds one of its descriptors closed, it ends the process with a message.
///
/// Dropping a runtime aborts its goroutines and waits at most a second until they are dropped. A
/// thread that is still inside a poll is left behind, and cleans up when the poll returns. On a
/// worker thread of the runtime itself the drop does not wait.
///
/// # Forks
///
/// The child of a `fork` has none of the threads of its parent's runtimes. A spawn, a timer, a
/// `block_on` or a shutdown that needs such a runtime panics there. A socket returns an error
/// instead of waiting. A drop of the runtime does nothing. If a goroutine calls `fork`, its child
/// ends with a message and status 2 when the poll returns. `std::process::Command` works as usual.
/// The child may build a runtime of its own. It should not wait for what only goroutines of the
/// parent can do.
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
    end: ShutdownEnd,
}

/// Whether [`Runtime::shutdown`] has been called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShutdownEnd {
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
        Self { handle: Handle::new(sched), end: ShutdownEnd::OnDrop }
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
        F: IntoFuture<Output: Send + 'static, IntoFuture: Send + 'static>,
    {
        let origin = Origin::site_only(Location::caller());
        box_future!(future: F => self.handle.spawn_from(future, origin))
    }

    /// Runs a blocking closure in a new goroutine on this runtime.
    ///
    /// See [`spawn_blocking`](crate::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<R, F>(&self, f: F) -> JoinHandle<R>
    where
        R: Send + 'static,
        F: FnOnce() -> R + Send + 'static,
    {
        self.handle.spawn_blocking(f)
    }

    /// Makes this runtime the current one of the thread until the guard is dropped.
    ///
    /// See [`Handle::enter`].
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Runs a future on this thread. Goroutines that it starts run on this runtime.
    ///
    /// The hooks of [`Builder::on_thread_start`] do not run here: this is no worker thread.
    pub fn block_on<F: IntoFuture>(&self, future: F) -> F::Output {
        box_future!(future: F => self.handle.block_on(future))
    }

    /// Returns how many goroutines run in parallel.
    ///
    /// [`Builder::max_procs`] describes what this bounds.
    #[must_use]
    pub fn max_procs(&self) -> usize {
        self.handle.max_procs()
    }

    /// Sets how many goroutines run in parallel and returns the previous number.
    ///
    /// See [`Handle::set_max_procs`].
    ///
    /// # Errors
    ///
    /// [`ProcsError`] for 0 and for more than 1024. Nothing changes then.
    pub fn set_max_procs(&self, procs: usize) -> Result<usize, ProcsError> {
        self.handle.set_max_procs(procs)
    }

    /// Ends the runtime and waits at most `limit` for that.
    ///
    /// No new goroutine starts: [`Handle::spawn`] says what happens instead. A goroutine that waits
    /// or is queued is dropped, and one that runs is dropped at its next await. Then the threads
    /// exit. Pending calls of [`after_func`](crate::after_func()) are dropped. The limit covers all
    /// of that, also the hooks of [`Builder::on_thread_stop`], destructors of thread-locals, a
    /// stall hook that runs, and the writer of `GMPDEBUG=trace=FILE`. A trace that is not written
    /// in time is an [`Event::TraceFailed`]. Its writer goes on until the process ends.
    ///
    /// In a goroutine of this runtime the call is a blocking call and waits only until all other
    /// goroutines have ended. The calling goroutine is dropped at its next await, and then the
    /// threads exit.
    ///
    /// # Errors
    ///
    /// [`ShutdownError`] names the goroutines and threads that have not ended. A thread that is
    /// still inside a poll is left behind, and cleans up when the poll returns.
    ///
    /// # Panics
    ///
    /// In a fork of the process that built the runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// use std::time::{Duration, Instant};
    ///
    /// let runtime = gmp::Runtime::new().unwrap();
    /// let waits = runtime.spawn(std::future::pending::<()>());
    /// runtime.shutdown(Duration::from_secs(10)).unwrap();
    /// assert!(gmp::block_on(waits).unwrap_err().is_cancelled());
    /// ```
    #[doc(alias = "shutdown_timeout")]
    pub fn shutdown(mut self, limit: Duration) -> Result<(), ShutdownError> {
        self.sched().assert_not_forked();
        self.end = ShutdownEnd::Done;
        let start = Instant::now();
        let ended = self.sched().shutdown(limit);
        env_trace::end(self.sched(), start.checked_add(limit));
        reporter::flush_for(limit.saturating_sub(start.elapsed()));
        ended.map_err(ShutdownError)
    }

    /// Ends the runtime without waiting for that.
    ///
    /// As [`shutdown`](Self::shutdown), but the goroutines are dropped and the threads exit after
    /// the call has returned. A thread that is inside a poll cleans up when the poll returns. What
    /// is left when the process ends is not dropped. So use it for a runtime whose goroutines need
    /// no orderly end, or in a goroutine of another runtime that must not block.
    ///
    /// # Panics
    ///
    /// In a fork of the process that built the runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let runtime = gmp::Runtime::new().unwrap();
    /// let waits = runtime.spawn(std::future::pending::<()>());
    /// runtime.shutdown_background();
    /// assert!(gmp::block_on(waits).unwrap_err().is_cancelled());
    /// ```
    pub fn shutdown_background(mut self) {
        self.sched().assert_not_forked();
        self.end = ShutdownEnd::Done;
        self.sched().close();
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if self.end == ShutdownEnd::Done || self.sched().is_forked() {
            return;
        }
        if self.sched().is_own_thread() {
            return self.sched().close();
        }
        if let Err(left) = self.sched().shutdown(DROP_GRACE) {
            event::emit(Event::StillRunning { left: ShutdownError(left).to_string() });
        }
        env_trace::end(self.sched(), Instant::now().checked_add(TRACE_GRACE));
        reporter::flush();
    }
}

/// What has not ended before the limit of [`Runtime::shutdown`].
#[derive(Clone, Debug)]
pub struct ShutdownError(Leftovers);

impl ShutdownError {
    /// Returns the goroutines inside a poll or a destructor that has not returned, one line each:
    /// id, name and spawn site.
    #[must_use]
    pub fn stuck(&self) -> &[String] {
        &self.0.stuck
    }

    /// Returns the number of goroutines that no thread has dropped yet: the limit was short, or no
    /// thread is free.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.0.queued
    }

    /// Returns the names of the threads that have not ended, if all goroutines have. Such a thread
    /// is inside the destructor of a goroutine's output or of a thread-local, or in the stall hook.
    #[must_use]
    pub fn threads(&self) -> &[String] {
        &self.0.threads
    }
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Leftovers { stuck, queued, threads } = &self.0;
        f.write_str("the runtime has not ended")?;
        if !stuck.is_empty() {
            write!(f, "; {} inside a poll: {}", stuck.len(), stuck.join(", "))?;
        }
        if *queued > 0 {
            write!(f, "; {queued} not dropped yet")?;
        }
        if !threads.is_empty() {
            write!(f, "; threads that have not ended: {}", threads.join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for ShutdownError {}
