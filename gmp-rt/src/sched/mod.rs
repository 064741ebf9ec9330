#![doc = include_str!("README.md")]

pub(crate) mod blocking_limit;
pub(crate) mod budget;
pub(crate) mod config;
pub(crate) mod find;
pub(crate) mod forked;
#[cfg(any(target_os = "linux", gmp_loom))]
#[cfg_attr(gmp_loom, allow(dead_code, reason = "under loom it is seen by its own models only"))]
#[path = "pause/gate.rs"]
mod gate;
pub(crate) mod globq;
pub(crate) mod goid;
#[expect(unsafe_code, reason = "a context that borrows from its neighbour, I1 of the module")]
pub(crate) mod guest;
mod hand_off_counts;
pub(crate) mod handoff;
pub(crate) mod idle;
pub(crate) mod inbox;
mod join_threads;
mod live;
#[expect(unsafe_code, reason = "a thread-local pointer to the stack, I1 of the module")]
pub(crate) mod local;
#[expect(unsafe_code, reason = "a cell without a count of borrows, I1 and I2 of the module")]
mod p_slot;
mod panics;
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
pub(crate) mod quota;
pub(crate) mod registry;
pub(crate) mod run;
mod serve;
pub(crate) mod shutdown;
pub(crate) mod spawn;
pub(crate) mod steal;
pub(crate) mod stopm;
pub(crate) mod submit;
pub(crate) mod thread_budget;
mod thread_count;
pub(crate) mod thread_hooks;
pub(crate) mod threads;
pub(crate) mod traced;
pub(crate) mod wake;
mod wake_sysmon;
mod way_back;
pub(crate) mod worker;

#[cfg(all(test, gmp_loom))]
mod loom;

pub(crate) use self::config::Config;
pub use self::config::PanicPolicy;
pub use self::procs::ProcsError;

use self::blocking_limit::BlockingLimit;
use self::globq::GlobQ;
use self::idle::{Idle, IdleLists};
use self::inbox::Inbox;
use self::live::Live;
use self::poller::Net;
use self::ps::Ps;
use self::quota::ProcCounts;
use crate::g::GoId;
use crate::observe::stall::Stalls;
use crate::prim::CachePadded;
use crate::prim::fixed::{Mutex, OnceLock};
use crate::sys::fork;
use std::any::Any;
use std::sync::Arc;

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
    pub(crate) blocking_calls: BlockingLimit,
    counts: ProcCounts,
    /// Padded: external threads write it, and every P reads what is beside it.
    pub(crate) live: CachePadded<Live>,
    /// Padded: each sleep in the netpoller writes it, and every P reads what is beside it.
    pub(crate) net: CachePadded<Net>,
    /// The name lookups, whose type only the crate that has the network knows.
    lookups: OnceLock<Arc<dyn Any + Send + Sync>>,
    pub(crate) guest: guest::GuestSlot,
    pub(crate) exit: shutdown::Shutdown,
    pub(crate) stalls: Stalls,
    /// How many goroutines have panicked.
    pub(crate) panics: Mutex<u64>,
    /// The goroutine of `#[gmp::main]`, if the runtime has one.
    main: Mutex<Option<GoId>>,
    pub(crate) threads: threads::Threads,
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
            blocking_calls: BlockingLimit::new(config.max_blocking),
            counts: ProcCounts::new(config.procs),
            live: CachePadded(Live::new()),
            net: CachePadded(Net::default()),
            lookups: OnceLock::new(),
            guest: guest::GuestSlot::default(),
            exit: shutdown::Shutdown::default(),
            stalls: Stalls::new(config.print_stalls),
            panics: Mutex::default(),
            main: Mutex::default(),
            threads: threads::Threads::default(),
            config,
        });
        let _none = sched.idle.with(|lists| sched.procresize(lists));
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

    /// Records that the goroutine `goid` is that of `#[gmp::main]`.
    pub(crate) fn set_main(&self, goid: GoId) {
        *self.main.lock() = Some(goid);
    }

    /// Returns the goroutine of `#[gmp::main]`, if the runtime has one.
    pub(crate) fn main_goroutine(&self) -> Option<GoId> {
        *self.main.lock()
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

    /// Returns [`live`](Self::live), for a thread that holds the lock of the idle lists.
    pub(super) fn live_of(&self, lists: &IdleLists) -> u64 {
        let finished = self.live.finished() + lists.ps.finished();
        self.spawned_of(lists) - finished
    }

    /// Returns the number of goroutines that were ever spawned, for a thread that holds the lock of
    /// the idle lists. The caller can see them all.
    pub(super) fn spawned_of(&self, lists: &IdleLists) -> u64 {
        self.live.spawned() + lists.ps.spawned()
    }
}

impl Drop for Sched {
    fn drop(&mut self) {
        if self.is_forked() {
            // Its threads are those of the parent, and one of them may have held a lock of it.
            std::mem::forget(self.guest.take());
        }
        // The caches of the Ps give back their cells when they are dropped, after this. Cells in
        // transfer are given back here.
        crate::g::heap::trim(|| true);
    }
}
