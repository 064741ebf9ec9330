//! The `Builder` of a runtime and its errors.

use super::Runtime;
use super::env::{self, Env};
use crate::limits::{MAX_THREADS, THREAD_LIMIT};
use crate::sched::dead::OnDeadlock;
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
/// | [`max_threads`](Self::max_threads) | | 512, or twice `max_procs` |
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
    max_threads: Option<usize>,
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
            max_threads: None,
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
    /// until `set_max_procs` is called.
    ///
    /// # What it bounds
    ///
    /// - At most `max_procs` goroutines run with a P (Go's processor) at a time. They share the
    ///   CPUs only with the threads of the next item.
    /// - A goroutine that computes without an await while others wait loses its P. Its thread
    ///   continues. At most `max_procs` of these threads run at a time, in turns
    ///   ([`pause_cpu_bound`](Self::pause_cpu_bound)). So at most twice `max_procs` threads
    ///   compute.
    /// - Each such goroutine keeps its thread, so [`max_threads`](Self::max_threads) bounds their
    ///   number.
    /// - Only `max_threads` bounds the threads in a blocking call (`blocking`, `spawn_blocking`,
    ///   `block_on`, or a system call).
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
    /// goroutine computes or blocks its thread. [`Stats::width`](crate::runtime::Stats::width) is
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
    /// that signal before, it still gets every other SIGURG. If the program installs one later, no
    /// thread is paused. Linux restarts a system call that the signal interrupts. The exceptions
    /// are calls that it never restarts, such as `poll` and `nanosleep`. They can return `EINTR`.
    ///
    /// [`Stats::paused_threads`](crate::runtime::Stats::paused_threads) counts the paused threads.
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

    /// Sets the maximum number of worker threads. Default: 512, or twice `max_procs` if that is
    /// more.
    ///
    /// The runtime needs more than `max_procs` only for goroutines that block their thread or
    /// compute without an await.
    pub fn max_threads(mut self, threads: usize) -> Self {
        self.max_threads = Some(threads);
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
    /// [`BuildError`] if the number of procs or threads is out of range, the name contains a zero
    /// byte, the OS refuses a thread, or 4096 runtimes are alive.
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
        config.max_threads = self.max_threads.unwrap_or(MAX_THREADS.max(2 * config.procs));
        if config.max_threads > THREAD_LIMIT {
            return Err(BuildError(Kind::ThreadLimit));
        }
        if config.max_threads < config.procs {
            return Err(BuildError(Kind::Threads {
                threads: config.max_threads,
                procs: config.procs,
            }));
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
    Threads { threads: usize, procs: usize },
    ThreadLimit,
    Name,
    Runtimes,
    Start(io::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Procs(error) => error.fmt(f),
            Kind::Threads { threads, procs } => {
                write!(f, "max_threads is {threads}, but {procs} procs need a thread each")
            }
            Kind::ThreadLimit => write!(f, "max_threads must be at most {THREAD_LIMIT}"),
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
