#![doc = include_str!("README.md")]

pub(crate) mod blocking_limit;
pub(crate) mod budget;
pub(crate) mod find;
pub(crate) mod forked;
#[cfg(any(target_os = "linux", gmp_loom))]
#[cfg_attr(gmp_loom, allow(dead_code, reason = "under loom it is seen by its own models only"))]
#[path = "pause/gate.rs"]
mod gate;
pub(crate) mod globq;
pub(crate) mod goid;
pub(crate) mod handoff;
pub(crate) mod idle;
pub(crate) mod inbox;
mod join_threads;
mod live;
#[expect(unsafe_code, reason = "a thread-local pointer to the stack, I1 of the module")]
pub(crate) mod local;
#[expect(unsafe_code, reason = "a cell without a count of borrows, I1 and I2 of the module")]
mod p_slot;
#[cfg(all(target_os = "linux", not(gmp_loom)))]
pub(crate) mod pause;
#[cfg(not(all(target_os = "linux", not(gmp_loom))))]
#[path = "pause/none.rs"]
pub(crate) mod pause;
pub(crate) mod poller;
pub(crate) mod pool;
pub(crate) mod procs;
pub(crate) mod progress;
pub(crate) mod ps;
pub(crate) mod registry;
pub(crate) mod run;
mod serve;
pub(crate) mod shutdown;
pub(crate) mod spawn;
pub(crate) mod stopm;
pub(crate) mod submit;
pub(crate) mod thread_budget;
pub(crate) mod wake;
mod way_back;

#[cfg(all(test, gmp_loom))]
mod loom;

pub use self::procs::ProcsError;

use self::blocking_limit::BlockingCalls;
use self::globq::GlobQ;
use self::idle::{Idle, Lists};
use self::inbox::Inbox;
use self::live::Live;
use self::poller::Net;
use self::ps::Ps;
use crate::limits::{KEEP_ALIVE, MAX_BLOCKING_THREADS, THREAD_LIMIT};
use crate::prim::CachePadded;
use crate::prim::fixed::OnceLock;
use crate::sys::cpu_limit::Machine;
use crate::sys::fork;
use std::any::Any;
use std::sync::Arc;
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
    pub(crate) trace: crate::observe::schedtrace::TraceConfig,
    pub(crate) on_deadlock: crate::observe::deadlock::OnDeadlock,
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
            trace: crate::observe::schedtrace::TraceConfig::default(),
            on_deadlock: crate::observe::deadlock::OnDeadlock::default(),
        }
    }
}

/// A runtime's scheduler.
#[derive(Debug)]
pub(crate) struct Sched {
    /// Its number in the [`registry`].
    pub(crate) id: u16,
    /// How many forks lie between the first process of gmp and the one that started this runtime.
    forks: u32,
    pub(crate) config: Config,
    pub(crate) ps: Ps,
    pub(crate) globq: CachePadded<GlobQ>,
    pub(crate) inbox: CachePadded<Inbox>,
    pub(crate) idle: Idle,
    pub(crate) blocking_calls: BlockingCalls,
    counts: procs::ProcCounts,
    /// Padded: external threads write it, and every P reads what is beside it.
    pub(crate) live: CachePadded<Live>,
    /// Padded: each sleep in the netpoller writes it, and every P reads what is beside it.
    pub(crate) net: CachePadded<Net>,
    /// The name lookups, whose type only the crate that has the network knows.
    lookups: OnceLock<Arc<dyn Any + Send + Sync>>,
    pub(crate) exit: shutdown::Exit,
    pub(crate) stalls: crate::observe::stall::Stalls,
    pub(crate) main: crate::observe::deadlock::MainGoroutine,
    pub(crate) threads: wake::Threads,
}

impl Sched {
    /// Creates a scheduler without threads.
    pub(crate) fn new(id: u16, config: Config) -> Arc<Self> {
        let sched = Arc::new(Self {
            id,
            forks: fork::forks(),
            ps: Ps::new(id),
            globq: CachePadded(GlobQ::new()),
            inbox: CachePadded(Inbox::new()),
            idle: Idle::new(config.procs, config.auto_procs),
            blocking_calls: BlockingCalls::new(config.max_blocking),
            counts: procs::ProcCounts::new(config.procs),
            live: CachePadded(Live::new()),
            net: CachePadded(Net::default()),
            lookups: OnceLock::new(),
            exit: shutdown::Exit::default(),
            stalls: crate::observe::stall::Stalls::default(),
            main: crate::observe::deadlock::MainGoroutine::default(),
            threads: wake::Threads::default(),
            config,
        });
        let _none = sched.idle.with(|lists| sched.settle_procs(lists));
        sched
    }

    /// Returns the name lookups of this runtime. Builds them by `make` with `max_lookups` if there
    /// are none yet.
    pub(crate) fn lookups(
        &self,
        make: impl FnOnce(usize) -> Arc<dyn Any + Send + Sync>,
    ) -> Arc<dyn Any + Send + Sync> {
        self.lookups.get_or_init(|| make(self.config.max_lookups)).clone()
    }

    /// Whether any queue has work for an M that has none. The `runnext` of a P does not count.
    ///
    /// It takes the lock of the idle lists. An M uses its view of the Ps instead.
    pub(crate) fn any_work(&self) -> bool {
        let has_work = || self.idle.with(|lists| lists.ps.active().any(|p| p.runq.len() > 0));
        self.has_queued() || has_work()
    }

    /// Whether the global queue or the inbox has work.
    #[inline]
    pub(crate) fn has_queued(&self) -> bool {
        self.globq.len() > 0 || !self.inbox.is_empty()
    }

    /// Returns the earliest time at which a timer may be due.
    pub(crate) fn next_timer(&self) -> u64 {
        self.ps.all_timers().map(|timers| timers.next_when()).min().unwrap_or(u64::MAX)
    }

    /// Returns the number of goroutines that were spawned and have not finished. Never too small.
    pub(crate) fn live(&self) -> u64 {
        self.idle.with(|lists| self.live_of(lists))
    }

    /// [`live`](Self::live) for a thread that holds the lock of the idle lists.
    pub(super) fn live_of(&self, lists: &Lists) -> u64 {
        let finished = self.live.finished() + lists.ps.finished();
        let spawned = self.live.spawned() + lists.ps.spawned();
        spawned - finished
    }
}

impl Drop for Sched {
    fn drop(&mut self) {
        // The caches of the Ps give back their cells when they are dropped, after this. Cells in
        // transfer are given back here.
        crate::g::heap::trim(|| true);
    }
}
