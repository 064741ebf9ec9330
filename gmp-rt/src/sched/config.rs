//! The configuration of a runtime.

use super::thread_hooks::ThreadHooks;
use crate::limits::{KEEP_ALIVE, MAX_BLOCKING_THREADS, THREAD_LIMIT};
use crate::sys::cpu_limit::Machine;
use std::time::Duration;

/// What happens when a goroutine panics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PanicPolicy {
    /// The panic ends its goroutine only, and its `JoinHandle` returns it. The default.
    #[default]
    Contain,
    /// The process exits with status 2, as in Go.
    Abort,
}

/// The configuration of a runtime.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) procs: usize,
    /// Whether `procs` follows the number of CPUs of the machine.
    pub(crate) auto_procs: bool,
    pub(crate) machine: Machine,
    /// The maximum number of running `spawn_blocking` closures.
    pub(crate) max_blocking: usize,
    /// The maximum number of threads. Tests lower it.
    pub(crate) thread_limit: usize,
    /// How many name lookups may run at a time. Used by the crate that has the network.
    pub(crate) max_lookups: usize,
    /// How long a thread beyond `procs` stays without work.
    pub(crate) keep_alive: Duration,
    pub(crate) stack_size: Option<usize>,
    pub(crate) name: String,
    pub(crate) panic_policy: PanicPolicy,
    /// Whether stalls are printed.
    pub(crate) print_stalls: bool,
    /// Whether fewer than `procs` Ps run where that increases the throughput.
    pub(crate) adaptive: bool,
    /// Whether threads that compute without a P are paused.
    pub(crate) pause: bool,
    pub(crate) trace: TraceConfig,
    /// Where the execution trace goes, if this is the first runtime.
    pub(crate) trace_file: Option<String>,
    pub(crate) on_deadlock: OnDeadlock,
    pub(crate) hooks: ThreadHooks,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            procs: 1,
            auto_procs: false,
            machine: Machine::default(),
            max_blocking: MAX_BLOCKING_THREADS,
            thread_limit: THREAD_LIMIT,
            max_lookups: 1,
            keep_alive: KEEP_ALIVE,
            stack_size: None,
            name: "gmp".to_owned(),
            panic_policy: PanicPolicy::default(),
            print_stalls: false,
            adaptive: true,
            pause: true,
            trace: TraceConfig::default(),
            trace_file: None,
            on_deadlock: OnDeadlock::default(),
            hooks: ThreadHooks::default(),
        }
    }
}

/// What is traced, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceConfig {
    /// The interval between two lines. Zero: no trace.
    pub(crate) every: Duration,
    /// Whether each P, M and goroutine is listed.
    pub(crate) detail: bool,
}

/// What happens when all goroutines are asleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnDeadlock {
    /// Nothing: an external thread may wake them.
    #[default]
    Ignore,
    /// It is reported once.
    Report,
    /// It is reported, and the process exits with status 2, as in Go.
    Fatal,
}
