//! How a runtime is configured.

use super::{Runtime, env};
use crate::sched::dead::OnDeadlock;
use crate::sched::{Config, PanicPolicy, Sched, procs, registry};
use crate::tuning::{MAX_THREADS, THREAD_LIMIT};
use std::fmt;
use std::io;
use std::time::Duration;

/// Configures and builds a [`Runtime`].
///
/// What is not set comes from the environment, then from the machine.
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
    /// A runtime as the environment and the machine suggest.
    pub fn new() -> Self {
        Self { procs: None, max_threads: None, config: Config::default() }
    }

    /// Sets how many goroutines run in parallel. Default: `GMPMAXPROCS`, else the number of CPUs
    /// this process may use, by affinity and by the quota of its control group. The default follows
    /// the quota while the runtime runs, until `set_max_procs` is called.
    ///
    /// # What it bounds
    ///
    /// - At most `max_procs` goroutines run with a P (Go's processor) at a time. They share the CPUs
    ///   with nothing of the runtime but the threads of the next line.
    /// - A goroutine that computes without an await while others wait loses its P, and its thread goes
    ///   on. Of these threads at most `max_procs` run at a time, in turns
    ///   ([`pause_cpu_bound`](Self::pause_cpu_bound)). So at most twice `max_procs` threads compute.
    /// - Each such goroutine keeps its thread, so [`max_threads`](Self::max_threads) bounds their
    ///   number.
    /// - Threads in a blocking call (`blocking`, `spawn_blocking`, `block_on`, or a system call) are
    ///   bounded by `max_threads` only.
    pub fn max_procs(mut self, procs: usize) -> Self {
        self.procs = Some(procs);
        self
    }

    /// Whether fewer than `max_procs` may run for a while where that gets more done. Default: yes, but for
    /// `GMPDEBUG=adaptive=0`.
    ///
    /// Goroutines that do little between two meetings at a channel or a lock are up to five times faster on
    /// one thread than on two. The runtime finds out by trying, and all may run again as soon as one computes
    /// or blocks. [`Stats::width`](crate::runtime::Stats::width) tells how many may just now.
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

    /// Pauses threads whose goroutine computes without an await and so lost its P, if more than
    /// `max_procs` of them compute. They take turns of 20 ms of CPU time. Default: yes, but for
    /// `GMPDEBUG=pause=0`. Linux only.
    ///
    /// Without it every such thread competes with the threads of all other goroutines for the CPUs.
    /// A pause is a signal (SIGURG) whose handler waits. A handler of the program for that signal
    /// that was installed before still gets every other SIGURG. If the program installs one later,
    /// no thread is paused. A system call that the signal interrupts is restarted, except for those
    /// that Linux never restarts, as `poll` and `nanosleep`: they can return `EINTR`.
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

    /// How many threads the runtime may have. Default: 512, or twice `max_procs` if that is more.
    /// More than `max_procs` are only needed for goroutines that block their thread.
    pub fn max_threads(mut self, threads: usize) -> Self {
        self.max_threads = Some(threads);
        self
    }

    /// How long a thread beyond `max_procs` is kept without work, for the next goroutine that blocks
    /// its thread. Default: 10 seconds. After a burst of blocking calls the runtime is back to
    /// `max_procs` threads when this time has passed.
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

    /// Bytes of stack for each thread. Default: what std gives a thread.
    pub fn thread_stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// The name its threads begin with. Default: `gmp`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.config.name = name.into();
        self
    }

    /// What a panic in a goroutine does. Default: `GMPDEBUG=panic=…`, else
    /// [`PanicPolicy::Contain`].
    pub fn panic_policy(mut self, policy: PanicPolicy) -> Self {
        self.config.panic_policy = policy;
        self
    }

    /// For a runtime whose main function is a goroutine: when all are asleep it is told, once.
    pub(crate) fn report_deadlock(mut self) -> Self {
        self.config.on_deadlock = OnDeadlock::Report;
        self
    }

    /// Builds the runtime and starts its first thread.
    ///
    /// # Errors
    ///
    /// [`BuildError`] says what is wrong and what to do: a number of procs or threads that cannot
    /// be, no thread to be had from the OS, or 4096 runtimes alive already.
    pub fn build(self) -> Result<Runtime, BuildError> {
        self.build_with(env::procs())
    }

    /// [`build`](Self::build) with a number of procs that stands for the environment's.
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

/// Why a runtime could not be built.
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
