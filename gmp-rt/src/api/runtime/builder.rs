//! The `Builder` of a runtime and its errors.

use super::Runtime;
use super::env::{self, Env};
use super::env_trace;
use super::guest::{Guest, Host, StartGuest};
use crate::limits::{MAX_BLOCKING_THREADS, MAX_LOOKUPS};
use crate::sched::config::OnDeadlock;
use crate::sched::{Config, PanicPolicy, Sched, procs, registry};
use crate::sysmon::sysmon_main;
use std::fmt;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// Configures and builds a [`Runtime`].
///
/// A setting of the builder takes precedence over the environment (`GMPMAXPROCS` and `GMPDEBUG`),
/// and the environment takes precedence over the default.
///
/// | setting | environment | default |
/// |---|---|---|
/// | [`max_procs`](Self::max_procs) | `GMPMAXPROCS` | the CPUs of this process |
/// | [`adaptive_procs`](Self::adaptive_procs) | `GMPDEBUG=adaptive=0` or `1` | on |
/// | [`pause_cpu_bound`](Self::pause_cpu_bound) | `GMPDEBUG=pause=0` or `1` | on |
/// | [`panic_policy`](Self::panic_policy) | `GMPDEBUG=panic=abort` or `contain` | contain |
/// | [`max_blocking_threads`](Self::max_blocking_threads) | | 512 |
/// | [`max_lookups`](Self::max_lookups) | `GMPDEBUG=lookups=N` | 64 |
/// | [`thread_keep_alive`](Self::thread_keep_alive) | | 10 seconds |
/// | [`thread_stack_size`](Self::thread_stack_size) | | that of std |
/// | [`name`](Self::name) | | `gmp` |
/// | report of a deadlock | `GMPDEBUG=deadlock=…` | `report` for `#[gmp::main]`, else `off` |
/// | report of stalls | `GMPDEBUG=stall=0` or `1` | off |
/// | [`on_thread_start`](Self::on_thread_start) | | none |
/// | [`on_thread_stop`](Self::on_thread_stop) | | none |
/// | trace of the scheduler | `GMPDEBUG=schedtrace=N,scheddetail=1` | off |
/// | execution trace | `GMPDEBUG=trace=FILE` | off |
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let runtime = gmp::runtime::Builder::new().max_procs(2).name("workers").build().unwrap();
/// assert_eq!(runtime.max_procs(), 2);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder {
    procs: Option<usize>,
    max_blocking: Option<usize>,
    max_lookups: Option<usize>,
    adaptive: Option<bool>,
    pause: Option<bool>,
    panic_policy: Option<PanicPolicy>,
    guest: Option<StartGuest>,
    /// The settings above are in it only after [`resolve`](Self::resolve).
    pub(super) config: Config,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// Returns a builder with default settings.
    #[doc(alias = "new_multi_thread")]
    pub fn new() -> Self {
        Self {
            procs: None,
            max_blocking: None,
            max_lookups: None,
            adaptive: None,
            pause: None,
            panic_policy: None,
            guest: None,
            config: Config::default(),
        }
    }

    /// Sets how many goroutines run in parallel.
    ///
    /// Default: `GMPMAXPROCS`, else the number of CPUs that this process may use, by affinity and
    /// by the quota of its control group. The latter follows the quota while the runtime runs,
    /// until `set_max_procs` is called, and again after
    /// [`set_default_max_procs`](crate::runtime::set_default_max_procs). As in Go, a quota is
    /// rounded up and counts as at least 2: 0.5 CPUs are 2, 2.5 are 3. It never raises the number
    /// above the affinity.
    ///
    /// # What it bounds
    ///
    /// At most `max_procs` goroutines have a P (Go's processor) at a time. A goroutine runs without
    /// a P only in these cases:
    ///
    /// | case | bound |
    /// |------|-------|
    /// | inside the closure of `block_in_place` | none |
    /// | inside the closure of `spawn_blocking` | [`max_blocking_threads`](Self::max_blocking_threads) |
    /// | inside the future of a nested `block_on` | turns, if it computes |
    /// | in the rest of a poll that computed without an await, or blocked its thread in another way, while others waited | turns, if it computes |
    ///
    /// *Turns* means that at most `max_procs` of these threads run at a time, beside those with a P
    /// ([`pause_cpu_bound`](Self::pause_cpu_bound)). Where threads cannot be paused, all of them
    /// run until their goroutines reach an await, with the priority of all others. That is so with
    /// `pause_cpu_bound(false)`, on systems other than Linux, and where the OS refuses the signal.
    ///
    /// A goroutine that returns from `block_in_place`, from a nested `block_on` or from a
    /// `*_blocking` method has a P again: its own, if the call was short, or any free one. If none
    /// is free, its thread waits behind the goroutines that are in the global queue. So goroutines
    /// that return at the same time compute on `max_procs` threads. A goroutine that unwinds
    /// because of a panic does not wait, nor does a goroutine of a runtime that shuts down.
    ///
    /// A goroutine without a P keeps its thread. These threads do not keep the other goroutines
    /// from running while the runtime can start further threads: up to 10,000, or as many as the OS
    /// allows. If it cannot, the other goroutines wait until one of these threads is free. That
    /// is when its goroutine reaches an await, ends, or returns from its blocking call. The runtime
    /// reports this once ([`Event::ThreadRefused`]), and asks the OS again every few milliseconds.
    ///
    /// [`Event::ThreadRefused`]: crate::runtime::Event::ThreadRefused
    #[doc(alias = "worker_threads")]
    pub fn max_procs(mut self, procs: usize) -> Self {
        self.procs = Some(procs);
        self
    }

    /// Sets whether the runtime uses fewer than `max_procs` Ps while that raises throughput.
    ///
    /// Default: `GMPDEBUG=adaptive=…`, else `true`. It has no effect if `max_procs` is more
    /// than 4, because it has not been measured there.
    ///
    /// Goroutines that do little between two operations on the same channel or lock run faster on
    /// one thread than on two. The runtime detects this by trials. It returns to `max_procs` when a
    /// goroutine computes or blocks its thread.
    /// [`Metrics::active_procs`](crate::runtime::Metrics::active_procs) is the present number.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let builder = gmp::runtime::Builder::new().max_procs(2).adaptive_procs(false);
    /// let runtime = builder.build().unwrap();
    /// assert_eq!(runtime.handle().metrics().active_procs, 2); // always
    /// ```
    pub fn adaptive_procs(mut self, adaptive: bool) -> Self {
        self.adaptive = Some(adaptive);
        self
    }

    /// Sets whether the runtime pauses CPU-bound threads that have lost their P.
    ///
    /// If more than `max_procs` such threads compute, they take turns of 20 ms of CPU time.
    /// Default: `GMPDEBUG=pause=…`, else `true`. Linux only.
    ///
    /// Without it every such thread competes with the threads of all other goroutines for the CPUs.
    /// A pause is a signal (SIGURG) whose handler waits. If the program installed a handler for
    /// that signal before, it still gets every other SIGURG. If the program installs one later that
    /// does not call the one it replaces, no thread is paused. Linux restarts a system call that
    /// the signal interrupts. The exceptions are calls that it never restarts, such as `poll` and
    /// `nanosleep`. They can return `EINTR`.
    ///
    /// [`ThreadMetrics::paused`](crate::runtime::ThreadMetrics::paused) counts the paused
    /// threads.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let runtime = gmp::runtime::Builder::new().pause_cpu_bound(false).build().unwrap();
    /// assert_eq!(runtime.handle().metrics().threads.paused, 0); // always
    /// ```
    pub fn pause_cpu_bound(mut self, pause: bool) -> Self {
        self.pause = Some(pause);
        self
    }

    /// Sets how many closures of [`spawn_blocking`](crate::spawn_blocking) run at a time. Default:
    /// 512.
    ///
    /// Further ones wait in the order of their calls, without a thread. Dumps show them as
    /// `blocking limit`. The limit does not concern goroutines that block inside their poll: each
    /// of them keeps its thread, and the runtime starts another one for the others.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let runtime = gmp::runtime::Builder::new().max_blocking_threads(4).build().unwrap();
    /// let sums = (0..100u64).map(|n| runtime.spawn(async move {
    ///     gmp::spawn_blocking(move || (0..=n).sum::<u64>()).await.unwrap()
    /// }));
    /// let sums: Vec<_> = sums.collect();
    /// for (n, sum) in (0..).zip(sums) {
    ///     assert_eq!(gmp::block_on(sum).unwrap(), n * (n + 1) / 2u64);
    /// }
    /// ```
    #[doc(alias = "max_threads")]
    pub fn max_blocking_threads(mut self, threads: usize) -> Self {
        self.max_blocking = Some(threads);
        self
    }

    /// Sets the maximum number of name lookups that run at the same time.
    ///
    /// Default: `GMPDEBUG=lookups=…`, else 64.
    ///
    /// The OS resolves a name by a call that blocks its thread, up to half a minute if the name
    /// servers are silent. A lookup beyond the maximum waits for the end of another one. Concurrent
    /// lookups of the same name share one call. The threads of lookups are additional to
    /// [`max_blocking_threads`](Self::max_blocking_threads).
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let runtime = gmp::runtime::Builder::new().max_lookups(8).build().unwrap();
    /// # drop(runtime);
    /// assert!(gmp::runtime::Builder::new().max_lookups(0).build().is_err());
    /// ```
    pub fn max_lookups(mut self, lookups: usize) -> Self {
        self.max_lookups = Some(lookups);
        self
    }

    /// Sets how long a thread beyond `max_procs` stays without work. Default: 10 seconds.
    ///
    /// Such a thread serves the next goroutine that blocks its thread. After a burst of blocking
    /// calls the runtime returns to `max_procs` threads when this time has passed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// use std::time::Duration;
    ///
    /// let builder = gmp::runtime::Builder::new().thread_keep_alive(Duration::from_secs(60));
    /// let runtime = builder.build().unwrap();
    /// # drop(runtime);
    /// ```
    pub fn thread_keep_alive(mut self, span: Duration) -> Self {
        self.config.keep_alive = span;
        self
    }

    /// Sets the stack size of each thread in bytes. Default: that of std.
    ///
    /// A goroutine has no stack. What it keeps across an `.await` is in its future, which is
    /// allocated with the goroutine. The stack of the worker thread holds what a single poll needs:
    /// the variables that do not live across an `.await`, and a few frames for each future that is
    /// polled inside another one. So a plain recursion needs stack as in any thread, and so does an
    /// async recursion, although each of its levels is boxed: a poll of the outermost level polls
    /// all levels. The same holds for its drop. About 100 to 1000 bytes are needed for each level.
    ///
    /// An overflow aborts the process. On Linux the runtime prints the goroutine first, with its
    /// name and the place that spawned it.
    ///
    /// The pages of a stack take memory when they are first used, until the thread ends.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// use std::pin::Pin;
    ///
    /// fn depth(levels: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    ///     Box::pin(async move { if levels == 0 { 0 } else { 1 + depth(levels - 1).await } })
    /// }
    ///
    /// let runtime = gmp::runtime::Builder::new().thread_stack_size(64 << 20).build()?;
    /// let levels = runtime.block_on(async { gmp::spawn(depth(10_000)).await })?;
    /// assert_eq!(levels, 10_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn thread_stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// Sets the prefix of the names of the threads. Default: `gmp`.
    #[doc(alias = "thread_name")]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.config.name = name.into();
        self
    }

    /// Sets what a panic in a goroutine does. Default: `GMPDEBUG=panic=…`, else
    /// [`PanicPolicy::Contain`].
    pub fn panic_policy(mut self, policy: PanicPolicy) -> Self {
        self.panic_policy = Some(policy);
        self
    }

    /// Sets a function that each worker thread calls when it starts.
    ///
    /// It runs before the first goroutine of the thread. Worker threads come and go: besides those
    /// for `max_procs` goroutines there is one for each goroutine that blocks its thread, until
    /// [`thread_keep_alive`](Self::thread_keep_alive) after the call. All goroutines and the
    /// closures of [`spawn_blocking`](crate::spawn_blocking) run on worker threads, and their
    /// futures are dropped there.
    ///
    /// A second call replaces the function.
    ///
    /// # What the function may do
    ///
    /// - It may set thread-locals, for example enter a context for the life of the thread. That
    ///   costs nothing per goroutine or poll.
    /// - It may block. Other threads run the goroutines meanwhile.
    /// - It may spawn goroutines, on this runtime.
    /// - If it panics, the panic hook reports the panic. The thread then runs goroutines as usual.
    ///
    /// # Other threads
    ///
    /// It does not run on the threads of a `block_on`, which are not worker threads, nor on
    /// threads that run no goroutines: sysmon and the thread of [`on_stall`] and [`on_event`].
    ///
    /// [`on_stall`]: crate::runtime::on_stall
    /// [`on_event`]: crate::runtime::on_event
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// use std::cell::Cell;
    ///
    /// thread_local!(static LANE: Cell<u32> = const { Cell::new(0) });
    ///
    /// let runtime = gmp::runtime::Builder::new().on_thread_start(|| LANE.set(7)).build()?;
    /// let lane = runtime.spawn(async { LANE.get() });
    /// assert_eq!(gmp::block_on(lane)?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_thread_start(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.config.hooks.start = Some(Arc::new(f));
        self
    }

    /// Sets a function that each worker thread calls before it ends.
    ///
    /// It runs after the last goroutine of the thread and before the destructors of its
    /// thread-locals. It runs once for each start, also if the function of
    /// [`on_thread_start`](Self::on_thread_start) panicked. A second call replaces the function.
    ///
    /// At the end of a runtime each worker thread calls it when all goroutines have been dropped.
    /// [`Runtime::shutdown`] and the drop of the runtime wait for it within their limits. The
    /// process may end earlier: `#[gmp::main]` does not wait for worker threads.
    ///
    /// The thread is not a worker thread any more. Functions without a handle, such as
    /// [`spawn`](crate::spawn()), use the default runtime. If the function panics, the panic hook
    /// reports the panic.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// use std::time::Duration;
    ///
    /// let (threads, ended) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    /// let (start, stop) = (threads.clone(), ended.clone());
    /// let runtime = gmp::runtime::Builder::new()
    ///     .on_thread_start(move || _ = start.fetch_add(1, Relaxed))
    ///     .on_thread_stop(move || _ = stop.fetch_add(1, Relaxed))
    ///     .build()?;
    /// runtime.block_on(async { gmp::spawn(async {}).await })?;
    /// runtime.shutdown(Duration::from_secs(10))?;
    /// assert_eq!(threads.load(Relaxed), ended.load(Relaxed));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_thread_stop(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.config.hooks.stop = Some(Arc::new(f));
        self
    }

    /// Sets how the [guest](crate::runtime::guest) of the runtime starts. A second call replaces
    /// the function.
    #[doc(hidden)]
    pub fn guest(
        mut self,
        start: impl Fn(Host) -> io::Result<Arc<dyn Guest>> + Send + Sync + 'static,
    ) -> Self {
        self.guest = Some(StartGuest(Arc::new(start)));
        self
    }

    /// Reports a deadlock by default: all goroutines wait. For a runtime whose `main` is a
    /// goroutine.
    pub(crate) fn report_deadlock(mut self) -> Self {
        self.config.on_deadlock = OnDeadlock::Report;
        self
    }

    /// Builds the runtime and starts its first thread.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if the number of procs, threads or lookups is out of range, the name contains
    /// a zero byte, the OS refuses a thread or a descriptor, or 4096 runtimes are alive.
    pub fn build(self) -> Result<Runtime, BuildError> {
        self.build_with(env::get())
    }

    /// Builds, as [`build`](Self::build), with `env` in place of the environment.
    pub(super) fn build_with(mut self, env: &Env) -> Result<Runtime, BuildError> {
        let guest = self.guest.take();
        let config = self.resolve(env)?;
        let sched = registry::register(|id| Sched::new(id, config))
            .map_err(|_| BuildError(Kind::Runtimes))?;
        if let Some(file) = &sched.config.trace_file {
            env_trace::begin(file, &sched);
        }
        if let Some(StartGuest(start)) = guest {
            let host = Host::new(&sched);
            sched.guest.put(start(host).map_err(|error| BuildError(Kind::Guest(error)))?);
        }
        if let Err(error) = sched.start_first(sysmon_main) {
            drop(sched.guest.take());
            return Err(BuildError(Kind::Start(error)));
        }
        Ok(Runtime::from_sched(sched))
    }

    /// Returns the configuration: each setting from this builder, else from `env`, else by default.
    fn resolve(self, env: &Env) -> Result<Config, BuildError> {
        let (mut config, debug) = (self.config, &env.debug);
        // Reads the affinity before the program changes it.
        procs::num_cpu();
        let set = self.procs.or(env.procs);
        config.auto_procs = set.is_none();
        config.procs = set.unwrap_or_else(|| procs::default_procs(&config.machine));
        procs::check(config.procs).map_err(|error| BuildError(Kind::Procs(error)))?;
        config.max_blocking = self.max_blocking.unwrap_or(MAX_BLOCKING_THREADS);
        if config.max_blocking == 0 {
            return Err(BuildError(Kind::NoBlockingThread));
        }
        config.max_lookups = self.max_lookups.or(debug.lookups).unwrap_or(MAX_LOOKUPS);
        if config.max_lookups == 0 {
            return Err(BuildError(Kind::Lookups));
        }
        if config.name.contains('\0') {
            return Err(BuildError(Kind::Name));
        }
        config.panic_policy = self.panic_policy.or(debug.panic_policy).unwrap_or_default();
        config.adaptive = self.adaptive.or(debug.adaptive).unwrap_or(true);
        config.pause = self.pause.or(debug.pause).unwrap_or(true);
        config.print_stalls = debug.stall.unwrap_or(false);
        config.on_deadlock = debug.on_deadlock.unwrap_or(config.on_deadlock);
        config.trace = debug.trace;
        config.trace_file = debug.trace_file.clone();
        Ok(config)
    }
}

/// The error of [`Builder::build`].
#[derive(Debug)]
pub struct BuildError(Kind);

#[derive(Debug)]
enum Kind {
    Procs(procs::ProcsError),
    NoBlockingThread,
    Lookups,
    Name,
    Runtimes,
    Guest(io::Error),
    Start(io::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Procs(error) => error.fmt(f),
            Kind::NoBlockingThread => f.write_str("max_blocking_threads must be at least 1"),
            Kind::Lookups => f.write_str("max_lookups must be at least 1"),
            Kind::Name => f.write_str("a thread name cannot contain a zero byte"),
            Kind::Runtimes => f.write_str("4096 runtimes are alive already; drop some"),
            Kind::Guest(error) => error.fmt(f),
            Kind::Start(error) => {
                write!(f, "cannot start a thread: {error}; check the stack size and `ulimit -u`")
            }
        }
    }
}

// The cause may be of any type, but the error gives no shared access to it that could change it.
impl UnwindSafe for BuildError {}
impl RefUnwindSafe for BuildError {}

// No `source`: the text includes that of the cause.
impl std::error::Error for BuildError {}

impl From<BuildError> for io::Error {
    fn from(error: BuildError) -> Self {
        match error.0 {
            Kind::Guest(error) | Kind::Start(error) => error,
            _ => Self::new(io::ErrorKind::InvalidInput, error),
        }
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "builder_tests.rs"]
mod tests;
