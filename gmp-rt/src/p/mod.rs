//! The processor: what a thread needs to run goroutines.
//!
//! A P is a run queue, timers, a cell cache and some counters. The *right to run* is the P's
//! status: at most `max_procs` Ps are running or idle at a time. There may be more P objects than
//! that: a thread that blocks inside a goroutine keeps its P object, which then is *displaced*,
//! and the right passes to a spare one, so that nobody ever touches another thread's half of a
//! queue. See "Blocking" in the scheduler's README.
//!
//! | status | right to run | who holds the [`OwnedP`] |
//! |--------|--------------|--------------------------|
//! | `Running` | yes | the M that runs it |
//! | `Idle` | yes | the idle list |
//! | `Displaced` | no | the M that blocks; thieves empty its queue |
//! | `Spare` | no | the spare list; its queue is empty, its timers are served by all |
//!
//! # Invariants
//!
//! - I1: each P has one [`OwnedP`], made with it. So what only the owner may touch (the producer
//!   side of the queue, the cells of [`Own`]) is touched by one thread at a time, and the token
//!   passes between threads only through locks.

#[expect(unsafe_code, reason = "slots hold raw goroutines, I1 and I2 of the module")]
pub(crate) mod runq;

#[cfg(all(test, gmp_loom))]
#[expect(unsafe_code, reason = "models make owners and goroutines by hand")]
mod loom;
#[cfg(all(test, not(gmp_loom)))]
#[expect(unsafe_code, reason = "tests make owners by hand")]
mod tests;

use self::runq::{Owner, RunQ};
use crate::g::heap::Cache;
use crate::prim::Ordering::{Acquire, Relaxed, Release};
use crate::prim::{AtomicU8, AtomicU64, CachePadded};
use crate::timer::Timers;
use crate::util::rand::Rand;
use std::cell::Cell;
use std::sync::Arc;

/// Who may run goroutines with a P. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PStatus {
    Idle = 0,
    Running = 1,
    Displaced = 2,
    Spare = 3,
}

/// A counter with one writer at a time, the owner of the P it belongs to.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// One more. Only the owner.
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        // No read-modify-write: there is one writer. Release: see `Live` in `sched/live.rs`.
        self.0.store(self.0.load(Relaxed) + n, Release);
    }

    /// The count.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Acquire)
    }
}

/// What a P counts; the sum over all Ps is shown by `stats`.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) spawned: Counter,
    pub(crate) finished: Counter,
    pub(crate) polls: Counter,
    pub(crate) steals: Counter,
    pub(crate) stolen: Counter,
    pub(crate) wakes: Counter,
    pub(crate) parks: Counter,
    pub(crate) overflows: Counter,
    pub(crate) timers_fired: Counter,
}

/// A processor as everybody sees it.
#[derive(Debug)]
pub(crate) struct P {
    pub(crate) id: usize,
    status: AtomicU8,
    /// A request to the owner to come to the slow path at its next tick.
    attention: AtomicU8,
    pub(crate) runq: CachePadded<RunQ>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) counters: Counters,
    own: own::OwnCell,
}

/// What only the owner of a P touches.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) cache: Cache,
    pub(crate) rand: Rand,
    /// Slices begun; see [`tick`](OwnedP::tick).
    pub(crate) tick: Cell<u32>,
    /// Times this P looked for a goroutine.
    pub(crate) looks: Cell<u32>,
    /// Links of the current `runnext` chain.
    pub(crate) chain: Cell<u32>,
    /// When the chain was first timed; 0 if it was not.
    pub(crate) chain_start: Cell<u64>,
    /// The moment the clock was last read: good enough for "since when".
    pub(crate) stamp: Cell<u64>,
    /// Goroutine ids reserved and not used.
    pub(crate) goids: Cell<(u64, u64)>,
    /// The M that ran it last, to give it back to.
    pub(crate) last_m: Cell<usize>,
}

#[expect(unsafe_code, reason = "I1: shared by reference, touched by the owner only")]
mod own {
    use super::{Own, OwnedP};

    /// The owner's half of a P.
    #[derive(Debug)]
    pub(super) struct OwnCell(pub(super) Own);

    // SAFETY: I1 — reached only through the one `OwnedP`, which is not `Sync`. Without the token
    // two threads could use the cells in `Own` at once.
    unsafe impl Sync for OwnCell {}

    impl OwnedP {
        /// The owner's half.
        #[inline]
        pub(crate) fn own(&self) -> &Own {
            &self.p.own.0
        }

        /// The producer side of the run queue.
        #[inline]
        pub(crate) fn runq(&self) -> super::Owner<'_> {
            // SAFETY: I1 — `self` is the one token, and it is not `Sync`.
            unsafe { self.p.runq.owner() }
        }

        /// Makes the cell cache this thread's, until [`uninstall_cache`](Self::uninstall_cache).
        pub(crate) fn install_cache(&self) {
            // SAFETY: I1 — this thread has the token; it uninstalls before it gives it away.
            unsafe { crate::g::heap::install(Some(&self.p.own.0.cache)) };
        }

        /// Undoes [`install_cache`](Self::install_cache).
        pub(crate) fn uninstall_cache(&self) {
            // SAFETY: no cache is always allowed.
            unsafe { crate::g::heap::install(None) };
        }
    }
}

impl P {
    /// A spare P and its token.
    pub(crate) fn new(id: usize) -> (Arc<Self>, OwnedP) {
        let own = Own {
            cache: Cache::default(),
            rand: Rand::new(id as u64 ^ crate::util::clock::now()),
            tick: Cell::new(0),
            looks: Cell::new(0),
            chain: Cell::new(0),
            chain_start: Cell::new(0),
            stamp: Cell::new(0),
            goids: Cell::new((0, 0)),
            last_m: Cell::new(usize::MAX),
        };
        let p = Arc::new(Self {
            id,
            status: AtomicU8::new(PStatus::Spare as u8),
            attention: AtomicU8::new(0),
            runq: CachePadded(RunQ::new()),
            timers: Arc::new(Timers::new()),
            counters: Counters::default(),
            own: own::OwnCell(own),
        });
        let owned = OwnedP { p: p.clone(), not_sync: std::marker::PhantomData };
        (p, owned)
    }

    /// The status just now.
    #[inline]
    pub(crate) fn status(&self) -> PStatus {
        // Acquire: a thief that sees `Displaced` also sees the queue as it was left.
        match self.status.load(Acquire) {
            0 => PStatus::Idle,
            1 => PStatus::Running,
            2 => PStatus::Displaced,
            _ => PStatus::Spare,
        }
    }

    /// Asks the owner to take the slow path once: its right to run may be wanted back.
    pub(crate) fn ask_attention(&self) {
        self.attention.store(1, Release); // pairs with `take_attention`
    }
}

/// The token of a P: whoever has it owns the P. See I1 of the [module](self).
#[derive(Debug)]
pub(crate) struct OwnedP {
    p: Arc<P>,
    /// May move to another thread, may not be shared.
    not_sync: std::marker::PhantomData<Cell<()>>,
}

impl std::ops::Deref for OwnedP {
    type Target = P;
    #[inline]
    fn deref(&self) -> &P {
        &self.p
    }
}

impl OwnedP {
    /// Changes the status.
    pub(crate) fn set_status(&self, status: PStatus) {
        self.p.status.store(status as u8, Release); // pairs with `P::status`
    }

    /// Whether [`P::ask_attention`] was called since the last time.
    #[inline]
    pub(crate) fn take_attention(&self) -> bool {
        if self.p.attention.load(Relaxed) == 0 {
            return false;
        }
        // Cleared before the request is served, so one that comes meanwhile is kept.
        self.p.attention.store(0, Relaxed); // Relaxed: the lock taken next orders
        true
    }

    /// Begins a slice and returns its number.
    #[inline]
    pub(crate) fn begin_slice(&self) -> u32 {
        let own = self.own();
        let tick = own.tick.get().wrapping_add(1);
        own.tick.set(tick);
        own.chain.set(0);
        own.chain_start.set(0);
        tick
    }
}

impl P {
    /// Whether a thief would find something here: the ring, or what a displaced M left.
    pub(crate) fn has_loot(&self) -> bool {
        self.runq.len() > 0 || (self.status() == PStatus::Displaced && self.runq.has_next())
    }
}
