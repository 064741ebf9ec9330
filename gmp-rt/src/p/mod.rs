//! The processor: what a thread needs to run goroutines.
//!
//! A P is a run queue, timers, a cell cache and some counters. The *right to run* is the P's
//! status: at most `max_procs` Ps are running or idle at a time. There may be more P objects than
//! that: a thread that blocks inside a goroutine keeps its P object, which then is *displaced*,
//! and the right passes to a spare one, so that nobody ever touches another thread's half of a
//! queue. See "Blocking" in the scheduler's README.
//!
//! Who may run with it is its [status]; whether its goroutine is in a marked blocking call, its
//! [count of calls](call).
//!
//! # Invariants
//!
//! - I1: each P has one [`OwnedP`], made with it. So what only the owner may touch (the producer
//!   side of the queue, the cells of [`Own`]) is touched by one thread at a time, and the token
//!   passes between threads only through locks.

pub(crate) mod call;
pub(crate) mod loop_flag;
pub(crate) mod pace;
#[expect(unsafe_code, reason = "slots hold raw goroutines, I1 and I2 of the module")]
mod ring;
#[expect(unsafe_code, reason = "`runnext` holds a raw goroutine, I1 and I2 of the module")]
pub(crate) mod runq;
pub(crate) mod service;
pub(crate) mod status;

#[cfg(test)]
#[expect(unsafe_code, reason = "tests and models make owners and goroutines by hand")]
mod fake;
#[cfg(all(test, gmp_loom))]
mod loom;
#[cfg(all(test, not(gmp_loom)))]
mod tests;

pub(crate) use self::status::{PStatus, StatusKey};

use self::call::Calls;
use self::loop_flag::LoopFlag;
use self::pace::Pace;
use self::runq::{Owner, RunQ};
use self::service::Service;
use self::status::StatusWord;
use crate::g::GoId;
use crate::g::heap::Cache;
use crate::prim::Ordering::{Acquire, Relaxed, Release};
use crate::prim::{AtomicBool, AtomicU64, CachePadded, fixed};
use crate::timer::Timers;
use crate::tuning::SLICE;
use crate::util::clock;
use crate::util::rand::Rand;
use std::cell::Cell;
use std::sync::Arc;

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

/// A [`Counter`] that is only a statistic or a hint: no other memory depends on it.
///
/// Std's type also in the models, which would else explore each stale value of each of them.
#[derive(Debug, Default)]
pub(crate) struct Tally(fixed::AtomicU64);

impl Tally {
    /// Adds `n`. Only the owner.
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        // No read-modify-write: there is one writer. Release: `stats` never shows an effect
        // without its cause.
        self.0.store(self.0.load(Relaxed) + n, Release);
    }

    /// Returns the count.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Acquire)
    }
}

/// What a P counts; the sum over all Ps is shown by `stats`.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) spawned: Counter,
    pub(crate) finished: Counter,
    pub(crate) polls: Tally,
    /// Operations of gmp's own futures that could go on.
    pub(crate) ops: Tally,
    /// Time slices begun: polls, but for those that go on with the slice of another.
    pub(crate) slices: Tally,
    pub(crate) steals: Tally,
    pub(crate) stolen: Tally,
    /// Goroutines taken from the global queue, when out of others.
    pub(crate) taken: Tally,
    /// Locks found taken.
    pub(crate) contended: Tally,
    pub(crate) wakes: Tally,
    pub(crate) parks: Tally,
    pub(crate) overflows: Tally,
    pub(crate) timers_fired: Tally,
    /// Times the network was asked without waiting.
    pub(crate) netpolls: Tally,
    /// Services: looks for newcomers while there was other work.
    pub(crate) services: Tally,
}

/// A processor as everybody sees it.
#[derive(Debug)]
pub(crate) struct P {
    pub(crate) id: usize,
    status: StatusWord,
    pub(crate) calls: Calls,
    /// A request to the owner to make a service at its next search.
    attention: AtomicBool,
    /// The poll that is running has used up a slice: its goroutine yields at its next await.
    overtime: fixed::AtomicBool,
    /// The same for compiled loops. Raised with `overtime` and with `attention`; may stay raised
    /// after they were lowered.
    loop_flag: LoopFlag,
    /// The goroutine being polled; 0 between polls. A hint for reports.
    goid: fixed::AtomicU64,
    /// The OS thread that owns it, or owned it last. A hint for sysmon.
    thread: fixed::AtomicU32,
    /// The number of the M that owns it, or owned it last. A hint for reports.
    m: fixed::AtomicUsize,
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
    pub(crate) service: Service,
    /// The number of slices when a goroutine of the global queue last ran before those of this P.
    pub(crate) global_slice: Cell<u64>,
    /// The number of slices at the last look at the global queue.
    pub(crate) seen_slice: Cell<u64>,
    /// Whether the inbox comes before the global queue next time.
    inbox_first: Cell<bool>,
    /// The moment the clock was last read: good enough for "since when".
    pub(crate) stamp: Cell<u64>,
    /// The stamp when the present slice began.
    slice_began: Cell<u64>,
    /// The stamp when a spawn last woke a thread.
    pub(crate) spawn_wake: Cell<u64>,
    /// Goroutine ids reserved and not used.
    pub(crate) goids: Cell<(u64, u64)>,
    /// The M that ran it last, to give it back to.
    pub(crate) last_m: Cell<usize>,
    pub(crate) pace: Pace,
}

impl Own {
    /// Whether to look into the inbox before the global queue: every other time.
    pub(crate) fn inbox_first(&self) -> bool {
        self.inbox_first.replace(!self.inbox_first.get())
    }
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
    pub(crate) fn new(id: usize, runtime: u16) -> (Arc<Self>, OwnedP) {
        let own = Own {
            cache: Cache::default(),
            rand: Rand::new(id as u64 ^ crate::util::clock::now()),
            service: Service::default(),
            global_slice: Cell::new(0),
            seen_slice: Cell::new(0),
            inbox_first: Cell::new(false),
            stamp: Cell::new(0),
            slice_began: Cell::new(0),
            spawn_wake: Cell::new(0),
            goids: Cell::new((0, 0)),
            last_m: Cell::new(usize::MAX),
            pace: Pace::default(),
        };
        let p = Arc::new(Self {
            id,
            status: StatusWord::spare(),
            calls: Calls::default(),
            attention: AtomicBool::new(false),
            overtime: fixed::AtomicBool::new(false),
            loop_flag: LoopFlag::lease(),
            goid: fixed::AtomicU64::new(0),
            thread: fixed::AtomicU32::new(0),
            m: fixed::AtomicUsize::new(0),
            runq: CachePadded(RunQ::new()),
            timers: Arc::new(Timers::new(runtime)),
            counters: Counters::default(),
            own: own::OwnCell(own),
        });
        let owned = OwnedP { p: p.clone(), not_sync: std::marker::PhantomData };
        (p, owned)
    }

    /// The status just now.
    #[inline]
    pub(crate) fn status(&self) -> PStatus {
        self.status.get()
    }

    /// Takes the right to run away from its M; `false` if that has none.
    pub(crate) fn displace(&self, _key: &StatusKey) -> bool {
        self.status.displace()
    }

    /// Asks the owner to make a service at its next search: its right to run may be wanted back, or
    /// its polls have become long, and the next service is late.
    pub(crate) fn ask_attention(&self) {
        self.attention.store(true, Release); // pairs with `take_attention`
        self.loop_flag.raise();
    }

    /// Asks the goroutine that runs to yield: its poll has used up a slice.
    pub(crate) fn ask_yield(&self) {
        self.overtime.store(true, Relaxed); // Relaxed: only a request
        self.loop_flag.raise();
    }

    /// Returns the flag that compiled loops of the goroutine that runs read.
    #[inline]
    pub(crate) fn loop_flag(&self) -> &'static fixed::AtomicBool {
        self.loop_flag.get()
    }

    /// Whether the poll that is running, or the one before, has used up a slice.
    #[inline]
    pub(crate) fn is_overtime(&self) -> bool {
        self.overtime.load(Relaxed) // Relaxed: only a request
    }

    /// The goroutine being polled, if any.
    pub(crate) fn goid(&self) -> GoId {
        self.goid.load(Relaxed) // Relaxed: a hint
    }

    /// The OS thread that owns it.
    pub(crate) fn thread(&self) -> u32 {
        self.thread.load(Relaxed) // Relaxed: a hint
    }

    /// The number of the M that owns it; of the one that did, if it is idle or spare.
    pub(crate) fn m(&self) -> usize {
        self.m.load(Relaxed) // Relaxed: a hint
    }

    /// Whether an M has it.
    pub(crate) fn is_owned(&self) -> bool {
        matches!(self.status(), PStatus::Running | PStatus::Displaced)
    }

    /// Whether its goroutine is in a blocking call, or lost its P in one.
    pub(crate) fn is_away(&self) -> bool {
        self.calls.get().is_under_way() || self.status() == PStatus::Displaced
    }

    /// Whether a thief would find something here: the ring, or what an M left that is away.
    pub(crate) fn has_loot(&self) -> bool {
        self.runq.len() > 0 || (self.status() == PStatus::Displaced && self.runq.has_next())
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
    pub(crate) fn set_status(&self, status: PStatus, _key: &StatusKey) {
        self.p.status.set(status);
    }

    /// Marks the beginning of a blocking call; `false` if it is inside another.
    #[inline]
    pub(crate) fn enter_blocking(&self) -> bool {
        self.p.calls.begin()
    }

    /// Marks its end.
    #[inline]
    pub(crate) fn exit_blocking(&self) {
        self.p.calls.end();
    }

    /// Counts a search for a goroutine. Returns whether it is time for a look, or a service was
    /// asked for.
    #[inline]
    pub(crate) fn count_search(&self) -> bool {
        // Relaxed: `take_attention` follows.
        self.own().service.count_poll() | self.p.attention.load(Relaxed)
    }

    /// Counts an operation of gmp's own futures. Returns whether it has to be checked whether the
    /// goroutine may go on.
    #[inline]
    pub(crate) fn count_op(&self) -> bool {
        // Relaxed: only requests.
        let asked = self.p.overtime.load(Relaxed) | self.p.attention.load(Relaxed);
        self.own().service.count_op() | asked
    }

    /// Whether [`P::ask_attention`] was called since the last time.
    pub(crate) fn take_attention(&self) -> bool {
        if !self.p.attention.load(Acquire) {
            return false;
        }
        // Cleared before the request is served, so one that comes meanwhile is kept.
        self.p.attention.store(false, Relaxed); // Relaxed: the lock taken next orders
        true
    }

    /// Counts what a thief has taken: one to run, and what is on its ring.
    pub(crate) fn count_steal(&self) {
        self.p.counters.steals.add(1);
        self.p.counters.stolen.add(1 + self.p.runq.len() as u64);
    }

    /// Begins a slice.
    #[inline]
    pub(crate) fn begin_slice(&self) {
        self.p.counters.slices.add(1);
        self.own().slice_began.set(self.own().stamp.get());
        if self.is_overtime() {
            self.forget_yield();
        }
    }

    /// Lowers the flag of compiled loops if no yield is asked for: a request that came while a
    /// slice began may have raised it alone. Sysmon repeats a request that this loses.
    pub(crate) fn lower_stale_loop_flag(&self) {
        if !self.is_overtime() {
            self.p.loop_flag.lower();
        }
    }

    /// Takes the request to yield back.
    pub(crate) fn forget_yield(&self) {
        self.p.overtime.store(false, Relaxed); // Relaxed: only a request
        self.p.loop_flag.lower();
    }

    /// Whether the present slice is over at the moment `now`. One that began before the last
    /// service is at most a service longer than it seems.
    pub(crate) fn is_slice_over(&self, now: u64) -> bool {
        now - self.own().slice_began.get() >= clock::nanos(SLICE)
    }

    /// Says which goroutine is polled; 0 for none.
    #[inline]
    pub(crate) fn set_goid(&self, goid: GoId) {
        self.p.goid.store(goid, Relaxed); // Relaxed: a hint
    }

    /// Says which M owns it, and on which OS thread.
    pub(crate) fn set_owner(&self, m: usize, thread: u32) {
        // Relaxed: hints
        self.p.m.store(m, Relaxed);
        self.p.thread.store(thread, Relaxed);
    }
}
