//! The `Builder` of a runtime and its errors.

use super::{Runtime, env};
use crate::limits::{MAX_THREADS, THREAD_LIMIT};
use crate::sched::dead::OnDeadlock;
use crate::sched::{Config, PanicPolicy, Sched, procs, registry};
use std::fmt;
use std::io;
use std::time::Duration;

/// Configures and builds a [`Runtime`].
///
/// The default number of procs comes from `GMPMAXPROCS`, else from the machine. `GMPDEBUG`
/// overrides the builder with `panic=abort`, `adaptive=0` and `pause=0`.
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
        Self { procs: None, max_threads: None, config: Config::default() }
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
    /// Default: `true`. `GMPDEBUG=adaptive=0` turns it off. It has no effect if `max_procs` is more
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
        self.config.adaptive = adaptive;
        self
    }

    /// Sets whether the runtime pauses CPU-bound threads that have lost their P.
    ///
    /// If more than `max_procs` such threads compute, they take turns of 20 ms of CPU time.
    /// Default: `true`. `GMPDEBUG=pause=0` turns it off. Linux only.
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
        self.config.pause = pause;
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

    /// Sets what a panic in a goroutine does. Default: [`PanicPolicy::Contain`].
    ///
    /// `GMPDEBUG=panic=abort` overrides it.
    pub fn panic_policy(mut self, policy: PanicPolicy) -> Self {
        self.config.panic_policy = policy;
        self
    }

    /// Reports a deadlock: all goroutines wait. For a runtime whose `main` is a goroutine.
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
        self.build_with(env::procs())
    }

    /// [`build`](Self::build) with `env_procs` in place of the value of `GMPMAXPROCS`.
    pub(super) fn build_with(self, env_procs: Option<usize>) -> Result<Runtime, BuildError> {
        let mut config = self.config;
        let set = self.procs.or(env_procs);
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
        if env::debug().panic_abort {
            config.panic_policy = PanicPolicy::Abort;
        }
        config.print_stalls = env::debug().stall;
        config.adaptive &= !env::debug().not_adaptive;
        config.pause &= !env::debug().no_pause;
        config.trace = env::debug().trace;
        if let Some(on_deadlock) = env::debug().on_deadlock {
            config.on_deadlock = on_deadlock;
        }
        if config.name.contains('\0') {
            return Err(BuildError(Kind::Name));
        }
        let sched = registry::register(|id| Sched::new(id, config))
            .map_err(|_| BuildError(Kind::Runtimes))?;
        sched.start_first().map_err(|error| BuildError(Kind::Start(error)))?;
        Ok(Runtime::from_sched(sched))
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

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Kind::Procs(error) => Some(error),
            Kind::Start(error) => Some(error),
            _ => None,
        }
    }
}

impl From<BuildError> for io::Error {
    fn from(error: BuildError) -> Self {
        match error.0 {
            Kind::Start(error) => error,
            _ => Self::new(io::ErrorKind::InvalidInput, error),
        }
    }
}
