//! The processor (P): what a thread needs to run goroutines.
//!
//! A P has a run queue, a cell cache and some counters. At most `max_procs` Ps are *active* at a
//! time: their [status] is `Running` or `Idle`. An active P has a *number* below `max_procs`, and
//! the timers of that number are its own. There may be more P objects. A thread that blocks or
//! computes inside a goroutine keeps its P object, which is then *handed off* (`HandedOff`), and
//! another P object gets its number. So no thread ever uses another thread's side of a queue. See
//! "Blocking" in the scheduler's README.
//!
//! The [count of calls](blocking_calls) says whether the P's goroutine is in a marked blocking
//! call.
//!
//! # Invariants
//!
//! - I1: each P has one [`OwnedP`], made with it. So only one thread at a time touches the owner's
//!   side: the producer side of the queue and the cells of [`Own`]. The token passes between
//!   threads only through locks.

pub(crate) mod blocking_calls;
pub(crate) mod counters;
mod long_poll;
pub(crate) mod loop_flag;
#[expect(unsafe_code, reason = "slots hold raw goroutines, I1 and I2 of the module")]
mod ring;
#[expect(unsafe_code, reason = "`runnext` holds a raw goroutine, I1 and I2 of the module")]
pub(crate) mod runq;
mod seat_id;
pub(crate) mod service;
pub(crate) mod status;

#[cfg(all(test, gmp_loom))]
mod loom;
#[cfg(all(test, not(gmp_loom)))]
mod tests;

pub(crate) use self::counters::{Counters, Totals};
pub(crate) use self::seat_id::SeatId;
pub(crate) use self::status::{PStatus, StatusKey};

use self::blocking_calls::{BlockingCalls, CallCount};
use self::counters::READY_SAMPLE;
use self::long_poll::LongPoll;
use self::loop_flag::LoopFlag;
use self::runq::{Owner, RunQ};
use self::service::Service;
use self::status::StatusWord;
use crate::g::heap::{self, Cache};
use crate::g::{GRef, GSight, GoId};
use crate::prim::Ordering::{Acquire, Relaxed, Release};
use crate::prim::barrier::{self, Heavy};
use crate::prim::{AtomicBool, BatchQueue, CachePadded, fixed};
use crate::tuning::SLICE;
use crate::util::clock;
use crate::util::rand::Rand;
use std::cell::Cell;
use std::sync::Arc;

/// The part of a processor that every thread may use.
#[derive(Debug)]
pub(crate) struct P {
    /// The number, or the last one if it is not active. Written under the lock of the idle lists.
    number: fixed::AtomicUsize,
    /// Its place in the list of handed-off Ps. Used under the lock of the idle lists.
    pub(crate) handed_off_at: fixed::AtomicUsize,
    /// Whether it is in the list of hand-offs that sysmon has not taken yet. Used under the lock of
    /// the idle lists.
    pub(crate) is_noted: fixed::AtomicBool,
    /// How often it was handed off. Written under the lock of the idle lists.
    pub(crate) hand_offs: fixed::AtomicU64,
    status: StatusWord,
    /// Whether its M waits for an active P after a marked call. Written under the lock of the idle
    /// lists.
    returning: fixed::AtomicBool,
    pub(crate) calls: BlockingCalls,
    /// A request that the owner makes a service at its next search (slow-path request).
    service_requested: AtomicBool,
    /// The preempt request: the running poll has used up a slice, and its goroutine yields at its
    /// next await.
    preempt: fixed::AtomicBool,
    /// The same for compiled loops. Raised with `preempt` and with `service_requested`. It may stay
    /// raised after these were lowered.
    loop_flag: LoopFlag,
    /// The goroutine being polled; 0 between polls. A hint for reports.
    goid: fixed::AtomicU64,
    /// The address of the cell of the goroutine that was polled last. A hint for reports.
    cell: fixed::AtomicUsize,
    /// What sysmon knows of the running poll, if it is long.
    long_poll: LongPoll,
    /// The OS thread of the owner, or of the last owner. A hint for sysmon.
    thread: fixed::AtomicU32,
    /// The number of the M that is the owner, or was it last. A hint for reports.
    m: fixed::AtomicUsize,
    /// The slot of the owner's thread. See [`crate::sched::pause`].
    seat: fixed::AtomicU32,
    /// Whether the newcomers that run now were found together, while the P had no own goroutine.
    /// A hint for sysmon.
    batch: fixed::AtomicBool,
    pub(crate) runq: CachePadded<RunQ>,
    pub(crate) counters: Counters,
    own: own::OwnCell,
}

/// The part of a P that only its owner touches.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) cache: Cache,
    pub(crate) rand: Rand,
    pub(crate) service: Service,
    /// The slice count when a goroutine of the global queue last ran before those of this P.
    pub(crate) global_slice: Cell<u64>,
    /// The slice count at the last check of the global queue.
    pub(crate) seen_slice: Cell<u64>,
    /// Whether the next search takes from the inbox before the global queue.
    inbox_first: Cell<bool>,
    /// Room for goroutines that the P takes from the inbox.
    pub(crate) inbox_batch: BatchQueue<GRef>,
    /// The time of the last read of the clock. Exact enough for the start of a wait.
    pub(crate) stamp: Cell<u64>,
    /// The stamp when the current slice began.
    slice_began: Cell<u64>,
    /// The stamp when a lone `runnext` last woke a thread.
    pub(crate) next_wake: Cell<u64>,
    /// Goroutine ids that are reserved and not used yet.
    pub(crate) goids: Cell<(u64, u64)>,
    /// Spawns and wake-ups until the next one that is timed.
    ready_sample: Cell<u32>,
}

impl Own {
    /// Counts a spawn or a wake-up. Returns whether it is to be timed.
    #[inline]
    pub(crate) fn is_ready_sampled(&self) -> bool {
        let left = self.ready_sample.get() - 1;
        self.ready_sample.set(left);
        if left > 0 {
            return false;
        }
        self.ready_sample.set(READY_SAMPLE);
        true
    }

    /// Whether to take from the inbox before the global queue: every second time.
    pub(crate) fn inbox_first(&self) -> bool {
        self.inbox_first.replace(!self.inbox_first.get())
    }
}

#[expect(unsafe_code, reason = "I1: shared by reference, touched by the owner only")]
mod own {
    use super::{Own, OwnedP};

    /// The owner's part of a P.
    #[derive(Debug)]
    pub(super) struct OwnCell(pub(super) Own);

    // SAFETY: I1 — used only through the one `OwnedP`, which is not `Sync`. Without the token two
    // threads could use the cells in `Own` at the same time.
    unsafe impl Sync for OwnCell {}

    impl OwnedP {
        /// Returns the owner's part.
        #[inline]
        pub(crate) fn own(&self) -> &Own {
            &self.p.own.0
        }

        /// Returns the producer side of the run queue.
        #[inline]
        pub(crate) fn runq(&self) -> super::Owner<'_> {
            // SAFETY: I1 — `self` is the one token, and it is not `Sync`.
            unsafe { self.p.runq.owner() }
        }

        /// Makes the P's cell cache this thread's cache until
        /// [`uninstall_cache`](Self::uninstall_cache).
        pub(crate) fn install_cache(&self) {
            // SAFETY: I1 — this thread has the token, and uninstalls the cache before it gives the
            // token away.
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
    /// Returns the number of an active P. For another P it is the number that it had last.
    #[inline]
    pub(crate) fn number(&self) -> usize {
        self.number.load(Relaxed) // Relaxed: a hint without the lock of the idle lists
    }

    /// Gives the P a number.
    pub(crate) fn set_number(&self, number: usize, _key: &StatusKey) {
        self.number.store(number, Relaxed); // Relaxed: see `number`
    }

    /// Returns the current status.
    #[inline]
    pub(crate) fn status(&self) -> PStatus {
        self.status.get()
    }

    /// Hands the P off. Returns `false` if its status is not `Running`.
    pub(crate) fn hand_off(&self, _key: &StatusKey) -> bool {
        self.status.hand_off()
    }

    /// Whether the goroutine of a handed-off P is runnable: its marked call has returned, and its M
    /// waits for a P.
    pub(crate) fn is_returning(&self) -> bool {
        self.returning.load(Relaxed) // Relaxed: a hint without the lock of the idle lists
    }

    /// Records that its M waits for a P, or does not any more.
    pub(crate) fn set_returning(&self, returning: bool, _key: &StatusKey) {
        self.returning.store(returning, Relaxed); // Relaxed: see `is_returning`
    }

    /// Hands the P off if its M is in the marked call `call`. Returns what its barrier gave, or
    /// `None` if the call has ended. See [`blocking_calls`], O2.
    pub(crate) fn hand_off_in_call(&self, call: CallCount, _key: &StatusKey) -> Option<Heavy> {
        if self.calls.get() != call || !self.status.hand_off() {
            return None;
        }
        let barrier = barrier::try_heavy(); // O2
        if self.calls.get() == call {
            return Some(barrier);
        }
        self.status.set(PStatus::Running);
        None
    }

    /// Requests a service at the owner's next search: the P may be surplus, or its polls have
    /// become long and the next service is overdue.
    pub(crate) fn request_service(&self) {
        self.service_requested.store(true, Release); // pairs with `take_service_request`
        self.loop_flag.raise();
    }

    /// Requests that the running goroutine yields: its poll has used up a slice.
    pub(crate) fn request_preempt(&self) {
        self.preempt.store(true, Relaxed); // Relaxed: only a request
        self.loop_flag.raise();
    }

    /// Returns the flag that compiled loops of the running goroutine read.
    #[inline]
    pub(crate) fn loop_flag(&self) -> &'static fixed::AtomicBool {
        self.loop_flag.get()
    }

    /// Whether the running poll, or the one before, has used up a slice.
    #[inline]
    pub(crate) fn preempt_requested(&self) -> bool {
        self.preempt.load(Relaxed) // Relaxed: only a request
    }

    /// Returns the goroutine that is polled; 0 if none.
    pub(crate) fn goid(&self) -> GoId {
        self.goid.load(Relaxed) // Relaxed: a hint
    }

    /// Returns the goroutine that is polled, if it has the id `goid`.
    pub(crate) fn goroutine(&self, goid: GoId) -> Option<GSight> {
        // Relaxed: a hint, which `find` checks.
        heap::find(self.cell.load(Relaxed), goid)
    }

    /// Whether the goroutine of a handed-off P computes, as far as sysmon knows.
    pub(crate) fn computes(&self) -> bool {
        self.long_poll.computes(self.counters.polls.get())
    }

    /// Returns the time at which the running poll was first noticed, if it is long.
    pub(crate) fn poll_since(&self) -> Option<u64> {
        self.long_poll.since(self.counters.polls.get())
    }

    /// Records that the running poll is long and was seen at the time `since`.
    pub(crate) fn note_long_poll(&self, since: u64) {
        self.long_poll.note(self.counters.polls.get(), since);
    }

    /// Records that the running poll computes.
    pub(crate) fn note_computes(&self) {
        self.long_poll.note_computes(self.counters.polls.get());
    }

    /// Returns the OS thread of the owner.
    pub(crate) fn thread(&self) -> u32 {
        self.thread.load(Relaxed) // Relaxed: a hint
    }

    /// Returns the number of the M that owns the P, or of the last owner if it is idle or spare.
    pub(crate) fn m(&self) -> usize {
        self.m.load(Relaxed) // Relaxed: a hint
    }

    /// Returns how often the P was handed off.
    pub(crate) fn hand_offs(&self) -> u64 {
        self.hand_offs.load(Relaxed) // Relaxed: a hint without the lock of the idle lists
    }

    /// Returns the slot of the owner's thread.
    pub(crate) fn seat(&self) -> SeatId {
        SeatId(self.seat.load(Relaxed)) // Relaxed: a hint
    }

    /// Whether newcomers wait behind a goroutine that was not found together with them.
    pub(crate) fn delays_newcomers(&self) -> bool {
        self.runq.newcomers_len() > 0 && !self.batch.load(Relaxed) // Relaxed: a hint
    }

    /// Whether an M owns the P.
    pub(crate) fn is_owned(&self) -> bool {
        matches!(self.status(), PStatus::Running | PStatus::HandedOff)
    }
}

/// The token of a P. The thread that has it owns the P. See I1 of the [module](self).
#[derive(Debug)]
pub(crate) struct OwnedP {
    p: Arc<P>,
    /// It may move to another thread, but may not be shared.
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
    /// Makes a spare P with the number that it is to get. Returns its token.
    pub(crate) fn new(number: usize) -> Self {
        let own = Own {
            cache: Cache::default(),
            rand: Rand::new(number as u64 ^ crate::util::clock::now()),
            service: Service::default(),
            global_slice: Cell::new(0),
            seen_slice: Cell::new(0),
            inbox_first: Cell::new(false),
            inbox_batch: BatchQueue::new_fifo(),
            stamp: Cell::new(0),
            slice_began: Cell::new(0),
            next_wake: Cell::new(0),
            goids: Cell::new((0, 0)),
            ready_sample: Cell::new(READY_SAMPLE),
        };
        let p = Arc::new(P {
            number: fixed::AtomicUsize::new(number),
            handed_off_at: fixed::AtomicUsize::new(0),
            is_noted: fixed::AtomicBool::new(false),
            hand_offs: fixed::AtomicU64::new(0),
            status: StatusWord::spare(),
            returning: fixed::AtomicBool::new(false),
            calls: BlockingCalls::default(),
            service_requested: AtomicBool::new(false),
            preempt: fixed::AtomicBool::new(false),
            loop_flag: LoopFlag::lease(),
            goid: fixed::AtomicU64::new(0),
            cell: fixed::AtomicUsize::new(0),
            long_poll: LongPoll::default(),
            thread: fixed::AtomicU32::new(0),
            m: fixed::AtomicUsize::new(0),
            seat: fixed::AtomicU32::new(SeatId::NONE.0),
            batch: fixed::AtomicBool::new(false),
            runq: CachePadded(RunQ::new()),
            counters: Counters::default(),
            own: own::OwnCell(own),
        });
        Self { p, not_sync: std::marker::PhantomData }
    }

    /// Returns the P, for threads that may use it without the token.
    pub(crate) fn shared(&self) -> &Arc<P> {
        &self.p
    }

    /// Changes the status.
    pub(crate) fn set_status(&self, status: PStatus, _key: &StatusKey) {
        self.p.status.set(status);
    }

    /// Marks the beginning of a blocking call. Returns `false` inside another one.
    #[inline]
    pub(crate) fn enter_blocking(&self) -> bool {
        self.p.calls.begin()
    }

    /// Marks the end of a blocking call. Returns whether the P was handed off. It may seem so also
    /// if sysmon has just noticed the end, and takes the hand-off back under its lock.
    #[inline]
    pub(crate) fn exit_blocking(&self) -> bool {
        self.p.calls.end();
        barrier::light(); // O2 of `blocking_calls`
        self.status() == PStatus::HandedOff
    }

    /// Counts a search for a goroutine. Returns whether a check is due or a service was requested.
    #[inline]
    pub(crate) fn count_search(&self) -> bool {
        // Relaxed: `take_service_request` follows.
        self.own().service.count_poll() | self.p.service_requested.load(Relaxed)
    }

    /// Counts an operation of gmp's own futures. Returns whether the caller must check if the
    /// goroutine has to yield.
    #[inline]
    pub(crate) fn count_op(&self) -> bool {
        // Relaxed: only requests.
        let asked = self.p.preempt.load(Relaxed) | self.p.service_requested.load(Relaxed);
        self.own().service.count_op() | asked
    }

    /// Takes a request of [`P::request_service`]. Returns whether there was one.
    pub(crate) fn take_service_request(&self) -> bool {
        if !self.p.service_requested.load(Acquire) {
            return false;
        }
        // Cleared before the request is served, so a concurrent request is kept.
        self.p.service_requested.store(false, Relaxed); // Relaxed: the lock taken next orders
        true
    }

    /// Counts a steal of `len` goroutines from another P.
    pub(crate) fn count_steal(&self, len: usize) {
        self.p.counters.steals.add(1);
        self.p.counters.stolen.add(len as u64);
    }

    /// Records whether it is the turn of newcomers that were found while the P had no own
    /// goroutine.
    pub(crate) fn note_batch(&self, is_batch: bool) {
        // Relaxed: a hint. Most services do not change it, and then its cache line stays valid.
        if self.p.batch.load(Relaxed) != is_batch {
            self.p.batch.store(is_batch, Relaxed);
        }
    }

    /// Begins a time slice.
    #[inline]
    pub(crate) fn begin_slice(&self) {
        self.p.counters.slices.add(1);
        self.own().slice_began.set(self.own().stamp.get());
        if self.preempt_requested() {
            self.clear_preempt();
        }
    }

    /// Lowers the flag of compiled loops if no yield is requested: a request made while a slice
    /// began may have raised only the flag. Sysmon repeats a request that is lost here.
    pub(crate) fn lower_stale_loop_flag(&self) {
        if !self.preempt_requested() {
            self.p.loop_flag.lower();
        }
    }

    /// Clears the request to yield.
    pub(crate) fn clear_preempt(&self) {
        self.p.preempt.store(false, Relaxed); // Relaxed: only a request
        self.p.loop_flag.lower();
    }

    /// Whether the current slice is over at the time `now`. Its start was stamped at the last
    /// service before it, so it may seem longer than it is by up to one service period.
    pub(crate) fn is_slice_over(&self, now: u64) -> bool {
        now - self.own().slice_began.get() >= clock::nanos(SLICE)
    }

    /// Records which goroutine is polled; 0 for none.
    #[inline]
    pub(crate) fn set_goid(&self, goid: GoId) {
        self.p.goid.store(goid, Relaxed); // Relaxed: a hint
    }

    /// Records the goroutine whose poll begins.
    #[inline]
    pub(crate) fn set_running(&self, gp: &GRef) {
        self.p.cell.store(gp.address(), Relaxed); // Relaxed: a hint
        self.set_goid(gp.goid());
    }

    /// Records which M owns the P, on which OS thread, and the slot of that thread.
    pub(crate) fn set_owner(&self, m: usize, thread: u32, seat: SeatId) {
        // Relaxed: hints
        self.p.m.store(m, Relaxed);
        self.p.thread.store(thread, Relaxed);
        self.p.seat.store(seat.0, Relaxed);
    }
}
