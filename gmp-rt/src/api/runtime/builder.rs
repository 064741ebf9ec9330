//! The `Builder` of a runtime and its errors.

use super::Runtime;
use super::env::{self, Env};
use crate::limits::{MAX_BLOCKING_THREADS, MAX_LOOKUPS};
use crate::observe::deadlock::OnDeadlock;
use crate::sched::{Config, PanicPolicy, Sched, procs, registry};
use std::fmt;
use std::io;
use std::time::Duration;

/// Configures and builds a [`Runtime`].
///
/// A setting of the builder takes precedence over the environment (`GMPMAXPROCS` and `GMPDEBUG`),
/// and the environment takes precedence over the default.
///
/// | setting | environment | default |
/// |---|---|---|
/// | [`max_procs`](Self::max_procs) | `GMPMAXPROCS` | the CPUs of this process |
/// | [`adaptive`](Self::adaptive) | `GMPDEBUG=adaptive=0` or `1` | on |
/// | [`pause_cpu_bound`](Self::pause_cpu_bound) | `GMPDEBUG=pause=0` or `1` | on |
/// | [`panic_policy`](Self::panic_policy) | `GMPDEBUG=panic=abort` or `contain` | contain |
/// | [`max_blocking_threads`](Self::max_blocking_threads) | | 512 |
/// | [`max_lookups`](Self::max_lookups) | `GMPDEBUG=lookups=N` | 64, or half of `max_blocking_threads` |
/// | [`thread_keep_alive`](Self::thread_keep_alive) | | 10 seconds |
/// | [`thread_stack_size`](Self::thread_stack_size) | | that of std |
/// | [`name`](Self::name) | | `gmp` |
/// | report of a deadlock | `GMPDEBUG=deadlock=…` | `report` for `#[gmp::main]`, else `off` |
/// | report of stalls | `GMPDEBUG=stall=0` or `1` | off |
/// | trace of the scheduler | `GMPDEBUG=schedtrace=N,scheddetail=1` | off |
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let runtime = gmp::Builder::new().max_procs(2).name("workers").build().unwrap();
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
    pub fn new() -> Self {
        Self {
            procs: None,
            max_blocking: None,
            max_lookups: None,
            adaptive: None,
            pause: None,
            panic_policy: None,
            config: Config::default(),
        }
    }

    /// Sets how many goroutines run in parallel.
    ///
    /// Default: `GMPMAXPROCS`, else the number of CPUs that this process may use, by affinity and
    /// by the quota of its control group. The latter follows the quota while the runtime runs,
    /// until `set_max_procs` is called. As in Go, a quota is rounded up and counts as at least 2:
    /// 0.5 CPUs are 2, 2.5 are 3. It never raises the number above the affinity.
    ///
    /// # What it bounds
    ///
    /// At most `max_procs` goroutines have a P (Go's processor) at a time. A goroutine runs without
    /// a P only in these cases:
    ///
    /// | case | bound |
    /// |------|-------|
    /// | inside the closure of `blocking` | none |
    /// | inside the closure of `spawn_blocking` | [`max_blocking_threads`](Self::max_blocking_threads) |
    /// | inside the future of a nested `block_on` | turns, if it computes |
    /// | in the rest of a poll that computed without an await, or blocked its thread in another way, while others waited | turns, if it computes |
    ///
    /// *Turns* means that at most `max_procs` of these threads run at a time, beside those with a P
    /// ([`pause_cpu_bound`](Self::pause_cpu_bound)). Where threads cannot be paused
    /// (`GMPDEBUG=pause=0`, systems other than Linux), all of them run until their goroutines reach
    /// an await.
    ///
    /// A goroutine that returns from `blocking`, from a nested `block_on` or from a `*_blocking`
    /// method has a P again: its own, if the call was short, or any free one. If none is free, its
    /// thread waits behind the goroutines that are in the global queue. So goroutines that return at
    /// the same time compute on `max_procs` threads. A goroutine that unwinds because of a panic does
    /// not wait, nor does a goroutine of a runtime that shuts down.
    ///
    /// A goroutine without a P keeps its thread. These threads never keep the other goroutines from
    /// running. A runtime starts up to 10,000 threads, or as many as the OS allows.
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
    /// goroutine computes or blocks its thread. [`Stats::width`](crate::api::runtime::Stats::width) is
    /// the present number.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let runtime = gmp::Builder::new().max_procs(2).adaptive(false).build().unwrap();
    /// assert_eq!(runtime.handle().stats().width, 2); // always
    /// ```
    pub fn adaptive(mut self, adaptive: bool) -> Self {
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
    /// [`Stats::paused_threads`](crate::api::runtime::Stats::paused_threads) counts the paused threads.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let runtime = gmp::Builder::new().pause_cpu_bound(false).build().unwrap();
    /// assert_eq!(runtime.handle().stats().paused_threads, 0); // always
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
    /// let runtime = gmp::Builder::new().max_blocking_threads(4).build().unwrap();
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
    /// Default: `GMPDEBUG=lookups=…`, else 64, or half of
    /// [`max_blocking_threads`](Self::max_blocking_threads) if that is less.
    ///
    /// The OS resolves a name by a call that blocks its thread, up to half a minute if the name
    /// servers are silent. A lookup beyond the maximum waits for the end of another one. Concurrent
    /// lookups of the same name share one call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let runtime = gmp::Builder::new().max_lookups(8).build().unwrap();
    /// # drop(runtime);
    /// assert!(gmp::Builder::new().max_lookups(0).build().is_err());
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
    /// let runtime = gmp::Builder::new().thread_keep_alive(Duration::from_secs(60)).build().unwrap();
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
    /// let runtime = gmp::Builder::new().thread_stack_size(64 << 20).build()?;
    /// let levels = runtime.block_on(async { gmp::spawn(depth(10_000)).await })?;
    /// assert_eq!(levels, 10_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn thread_stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// Sets the prefix of the names of the threads. Default: `gmp`.
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
    /// a zero byte, the OS refuses a thread, or 4096 runtimes are alive.
    pub fn build(self) -> Result<Runtime, BuildError> {
        self.build_with(env::get())
    }

    /// [`build`](Self::build) with `env` in place of the environment.
    pub(super) fn build_with(self, env: &Env) -> Result<Runtime, BuildError> {
        let config = self.resolve(env)?;
        let sched = registry::register(|id| Sched::new(id, config))
            .map_err(|_| BuildError(Kind::Runtimes))?;
        sched.start_first().map_err(|error| BuildError(Kind::Start(error)))?;
        Ok(Runtime::from_sched(sched))
    }

    /// Returns the configuration: each setting from this builder, else from `env`, else by default.
    fn resolve(self, env: &Env) -> Result<Config, BuildError> {
        let (mut config, debug) = (self.config, &env.debug);
        let set = self.procs.or(env.procs);
        config.auto_procs = set.is_none();
        config.procs = set.unwrap_or_else(|| procs::default_procs(&config.machine));
        procs::check(config.procs).map_err(|error| BuildError(Kind::Procs(error)))?;
        config.max_blocking = self.max_blocking.unwrap_or(MAX_BLOCKING_THREADS);
        if config.max_blocking == 0 {
            return Err(BuildError(Kind::NoBlockingThread));
        }
        config.max_lookups = self
            .max_lookups
            .or(debug.lookups)
            .unwrap_or(MAX_LOOKUPS.min(config.max_blocking / 2).max(1));
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
            Kind::Start(error) => {
                write!(f, "cannot start a thread: {error}; check the stack size and `ulimit -u`")
            }
        }
    }
}

// No `source`: the text includes that of the cause.
impl std::error::Error for BuildError {}

impl From<BuildError> for io::Error {
    fn from(error: BuildError) -> Self {
        match error.0 {
            Kind::Start(error) => error,
            _ => Self::new(io::ErrorKind::InvalidInput, error),
        }
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::super::env::Debug;
    use super::*;

    /// Resolves `builder` with `procs` and `debug` as the environment.
    fn resolve(builder: Builder, procs: Option<usize>, debug: Debug) -> Config {
        builder.resolve(&Env { procs, debug }).expect("valid settings")
    }

    #[test]
    fn procs_come_from_the_builder_then_the_environment_then_the_machine() {
        let procs = |builder: Builder, env| {
            let config = resolve(builder, env, Debug::default());
            (config.procs, config.auto_procs)
        };
        let machine = procs::default_procs(&Config::default().machine);
        assert_eq!(procs(Builder::new(), None), (machine, true));
        assert_eq!(procs(Builder::new(), Some(3)), (3, false));
        assert_eq!(procs(Builder::new().max_procs(5), Some(3)), (5, false));
    }

    #[test]
    fn adaptive_comes_from_the_builder_then_the_environment() {
        let adaptive = |builder, adaptive| {
            resolve(builder, None, Debug { adaptive, ..Debug::default() }).adaptive
        };
        assert!(adaptive(Builder::new(), None));
        assert!(!adaptive(Builder::new(), Some(false)));
        assert!(adaptive(Builder::new().adaptive(true), Some(false)));
        assert!(!adaptive(Builder::new().adaptive(false), Some(true)));
    }

    #[test]
    fn pause_comes_from_the_builder_then_the_environment() {
        let pause =
            |builder, pause| resolve(builder, None, Debug { pause, ..Debug::default() }).pause;
        assert!(pause(Builder::new(), None));
        assert!(!pause(Builder::new(), Some(false)));
        assert!(pause(Builder::new().pause_cpu_bound(true), Some(false)));
        assert!(!pause(Builder::new().pause_cpu_bound(false), Some(true)));
    }

    #[test]
    fn lookups_come_from_the_builder_then_the_environment_then_the_threads() {
        let lookups = |builder, lookups| {
            resolve(builder, None, Debug { lookups, ..Debug::default() }).max_lookups
        };
        assert_eq!(lookups(Builder::new(), None), MAX_LOOKUPS);
        assert_eq!(lookups(Builder::new().max_procs(1).max_blocking_threads(10), None), 5);
        assert_eq!(lookups(Builder::new().max_procs(1).max_blocking_threads(1), None), 1);
        assert_eq!(lookups(Builder::new(), Some(3)), 3);
        assert_eq!(lookups(Builder::new().max_lookups(500), Some(3)), 500);
        let error = Builder::new().max_lookups(0).resolve(&Env::default()).unwrap_err();
        assert_eq!(error.to_string(), "max_lookups must be at least 1");
    }

    #[test]
    fn the_panic_policy_comes_from_the_builder_then_the_environment() {
        use PanicPolicy::{Abort, Contain};
        let policy = |builder, panic_policy| {
            resolve(builder, None, Debug { panic_policy, ..Debug::default() }).panic_policy
        };
        assert_eq!(policy(Builder::new(), None), Contain);
        assert_eq!(policy(Builder::new(), Some(Abort)), Abort);
        assert_eq!(policy(Builder::new().panic_policy(Contain), Some(Abort)), Contain);
        assert_eq!(policy(Builder::new().panic_policy(Abort), Some(Contain)), Abort);
    }

    #[test]
    fn the_deadlock_report_comes_from_the_environment_then_the_kind_of_runtime() {
        use OnDeadlock::{Fatal, Ignore, Report};
        let on_deadlock = |builder, on_deadlock| {
            resolve(builder, None, Debug { on_deadlock, ..Debug::default() }).on_deadlock
        };
        assert_eq!(on_deadlock(Builder::new(), None), Ignore);
        assert_eq!(on_deadlock(Builder::new(), Some(Fatal)), Fatal);
        assert_eq!(on_deadlock(Builder::new().report_deadlock(), None), Report);
        assert_eq!(on_deadlock(Builder::new().report_deadlock(), Some(Ignore)), Ignore);
    }

    #[test]
    fn an_error_shows_its_cause_once() {
        use std::error::Error;
        let refused = io::Error::from_raw_os_error(11);
        let text = refused.to_string();
        let error = BuildError(Kind::Start(refused));
        assert_eq!(error.to_string().matches(&text).count(), 1);
        assert!(error.source().is_none());
        let error = BuildError(Kind::Procs(procs::ProcsError::Zero));
        assert_eq!(error.to_string(), procs::ProcsError::Zero.to_string());
        assert!(error.source().is_none());
    }

    #[test]
    fn stalls_are_reported_if_the_environment_asks_for_it() {
        let stalls =
            |stall| resolve(Builder::new(), None, Debug { stall, ..Debug::default() }).print_stalls;
        assert_eq!([None, Some(false), Some(true)].map(stalls), [false, false, true]);
    }
}
