#![doc = include_str!("README.md")]

pub(crate) mod block;
pub(crate) mod budget;
#[expect(unsafe_code, reason = "a thread-local pointer to the stack, I1 of the module")]
pub(crate) mod current;
pub(crate) mod dead;
pub(crate) mod dump;
mod find;
#[cfg(any(target_os = "linux", gmp_loom))]
#[cfg_attr(gmp_loom, allow(dead_code, reason = "under loom it is seen by its own models only"))]
mod gate;
pub(crate) mod globq;
pub(crate) mod goid;
pub(crate) mod idle;
pub(crate) mod inbox;
mod live;
mod lull;
pub(crate) mod net;
#[expect(unsafe_code, reason = "a cell without a count of borrows, I1 and I2 of the module")]
mod p_slot;
pub(crate) mod park;
#[cfg(all(target_os = "linux", not(gmp_loom)))]
mod pause;
#[cfg(not(all(target_os = "linux", not(gmp_loom))))]
#[path = "pause_none.rs"]
mod pause;
#[cfg(feature = "dev-hooks")]
pub(crate) mod probe;
pub(crate) mod procs;
mod progress;
pub(crate) mod ready;
pub(crate) mod registry;
mod run;
mod serve;
mod shutdown;
pub(crate) mod spawn;
pub(crate) mod stall;
pub(crate) mod stats;
mod sysmon;
pub(crate) mod thread_budget;
pub(crate) mod trace;
mod wake;
mod width;

#[cfg(all(test, gmp_loom))]
mod loom;

pub use self::procs::ProcsError;

use self::globq::GlobQ;
use self::idle::Idle;
use self::inbox::Inbox;
use self::live::Live;
use self::net::Net;
use crate::limits::{KEEP_ALIVE, MAX_PROCS};
use crate::p::{OwnedP, P};
use crate::prim::Ordering::{Acquire, Release};
use crate::prim::fixed::OnceLock;
use crate::prim::{AtomicUsize, CachePadded};
use crate::sys::cpu_limit::Machine;
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
    pub(crate) max_threads: usize,
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
    pub(crate) trace: trace::TraceConfig,
    pub(crate) on_deadlock: dead::OnDeadlock,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            procs: 1,
            auto_procs: false,
            machine: Machine::default(),
            max_threads: 1,
            keep_alive: KEEP_ALIVE,
            stack_size: None,
            name: "gmp".to_owned(),
            panic_policy: PanicPolicy::default(),
            print_stalls: false,
            adaptive: true,
            pause: true,
            trace: trace::TraceConfig::default(),
            on_deadlock: dead::OnDeadlock::default(),
        }
    }
}

/// All Ps of a runtime, by number. A P is not freed before its runtime, so a thief needs no lock to
/// read one.
#[derive(Debug)]
pub(crate) struct Ps {
    runtime: u16,
    table: Box<[OnceLock<Arc<P>>]>,
    /// The number of Ps. Written under the idle lists' lock. The Release store pairs with the
    /// Acquire load in [`Ps::len`], which makes the P visible.
    len: AtomicUsize,
}

impl Ps {
    fn new(runtime: u16, max_threads: usize) -> Self {
        // At most one for each active P, and one for each thread whose P is handed off.
        let table = (0..MAX_PROCS + max_threads).map(|_| OnceLock::new()).collect();
        Self { runtime, table, len: AtomicUsize::new(0) }
    }

    /// Returns the number of Ps.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Acquire)
    }

    /// Iterates over all Ps.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<P>> {
        self.table[..self.len()].iter().filter_map(OnceLock::get)
    }

    /// Returns the P with the number `id`, if there is one.
    pub(crate) fn get(&self, id: usize) -> Option<&Arc<P>> {
        self.table[..self.len()].get(id)?.get()
    }

    /// Makes a spare P. Under the idle lists' lock, so that numbers have no gaps.
    fn grow(&self) -> Option<OwnedP> {
        let id = self.len();
        let (p, owned) = P::new(id, self.runtime);
        self.table.get(id)?.set(p).ok()?;
        self.len.store(id + 1, Release);
        Some(owned)
    }
}

/// A runtime's scheduler.
#[derive(Debug)]
pub(crate) struct Sched {
    /// Its number in the [`registry`].
    pub(crate) id: u16,
    pub(crate) config: Config,
    pub(crate) ps: Ps,
    pub(crate) globq: CachePadded<GlobQ>,
    pub(crate) inbox: CachePadded<Inbox>,
    pub(crate) idle: Idle,
    counts: procs::ProcCounts,
    /// Padded: external threads write it, and every P reads what is beside it.
    live: CachePadded<Live>,
    /// Padded: each sleep in the netpoller writes it, and every P reads what is beside it.
    pub(crate) net: CachePadded<Net>,
    pub(crate) exit: shutdown::Exit,
    stalls: stall::Stalls,
    threads: wake::Threads,
}

impl Sched {
    /// Creates a scheduler without threads.
    pub(crate) fn new(id: u16, config: Config) -> Arc<Self> {
        let sched = Arc::new(Self {
            id,
            ps: Ps::new(id, config.max_threads),
            globq: CachePadded(GlobQ::new()),
            inbox: CachePadded(Inbox::new()),
            idle: Idle::new(config.procs, config.auto_procs),
            counts: procs::ProcCounts::new(config.procs),
            live: CachePadded(Live::new()),
            net: CachePadded(Net::default()),
            exit: shutdown::Exit::default(),
            stalls: stall::Stalls::default(),
            threads: wake::Threads::default(),
            config,
        });
        sched.idle.with(|lists| sched.settle_procs(lists));
        sched
    }

    /// Whether any queue has work for an M that has none. The `runnext` of a P counts only if the P
    /// is handed off.
    pub(crate) fn any_work(&self) -> bool {
        self.has_queued() || self.ps.iter().any(|p| p.has_loot())
    }

    /// The same without the queue of `p`.
    pub(crate) fn any_work_but(&self, p: &P) -> bool {
        self.has_queued() || self.ps.iter().any(|other| other.id != p.id && other.has_loot())
    }

    /// Whether the global queue or the inbox has work.
    #[inline]
    pub(crate) fn has_queued(&self) -> bool {
        self.globq.len() > 0 || !self.inbox.is_empty()
    }

    /// Returns the earliest time at which a timer of any P may be due.
    pub(crate) fn next_timer(&self) -> u64 {
        self.ps.iter().map(|p| p.timers.next_when()).min().unwrap_or(u64::MAX)
    }

    /// Returns the number of goroutines that were spawned and have not finished. Never too small.
    pub(crate) fn live(&self) -> u64 {
        let finished =
            self.live.finished() + self.ps.iter().map(|p| p.counters.finished.get()).sum::<u64>();
        let spawned =
            self.live.spawned() + self.ps.iter().map(|p| p.counters.spawned.get()).sum::<u64>();
        spawned - finished
    }
}

impl Drop for Sched {
    fn drop(&mut self) {
        // The caches of the Ps give back their cells when they are dropped, after this. Cells in
        // transfer are given back here.
        crate::g::heap::trim();
    }
}
