//! The state of a registered descriptor (Go: `pollDesc`): one [`Side`] for reads, one for writes.
//!
//! A side is one atomic word and the wakers of the waiting tasks. The kernel reports *edges*:
//! something has changed since its last report. An operation reads the word, tries the system call,
//! and waits if the call would block. The wait succeeds only if the word has not changed since it
//! was read. Otherwise the operation tries again. So no event is lost between the try and the wait,
//! and no readiness has to be stored or cleared.
//!
//! # The word
//!
//! [`Side::reset`] clears all flags.
//!
//! | bits | meaning | set by | cleared by |
//! |------|---------|--------|------------|
//! | [`WAITERS`] | the list may have entries | [`Side::wait`] | an edge, a failure |
//! | [`DRAINED`] | the last try took everything, the next blocks | [`Side::drained`] | an edge |
//! | [`EAGER`] | ignore `DRAINED`, always try | an edge with a hang-up; [`Side::reset`] | |
//! | [`EXPIRED`] | the deadline has passed | [`Side::fail`] | [`Side::revive`] |
//! | [`CLOSED`] | all operations fail | [`Side::fail`] | |
//! | [`ENDED`] | operations that would wait fail | [`Side::fail`] | |
//! | count from [`EDGE`] up | the number of edges, failures and resets | all three | |
//!
//! Go's four states of `rg` and `wg` correspond to this word as follows. *nil* is a word that is
//! equal to the one that the waiter read. *ready* is a word whose count has changed since. *wait*
//! and the pointer are `WAITERS`.
//!
//! Go has one slot for one waiter, and a mutex around each operation guarantees that there is only
//! one. Here any number of tasks may wait, for example many goroutines that accept on one listener.
//! An edge wakes all of them and each tries again. So a waiter that is dropped after its wake-up
//! takes nothing from the others.
//!
//! `DRAINED` saves one system call per message. A read that got less than it asked for has emptied
//! the socket, so the next read can wait without a system call. This would miss a FIN that came
//! with the data, and data behind an urgent mark. Edges that report one of these set `EAGER`. No
//! edge reports file descriptors that are passed over a Unix stream, and a read stops behind those
//! too. So a Unix stream does not trust a short read ([`Trust::WouldBlock`]).
//!
//! # Orderings
//!
//! Every change is a read-modify-write of the one word, so all threads agree on the order of
//! changes. A waiter sets `WAITERS` and joins the list under the same lock. The thread that clears
//! the bit takes that lock before it takes the list.
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | AcqRel CAS in `edge`, `fail` | Acquire load in `look`, AcqRel CAS in `wait` | the cause |
//!
//! The cause of an edge is the data in the kernel. The cause of a failure is the deadline, the
//! close or the end of the runtime.

use crate::error::{Closed, DeadlineExceeded, RuntimeEnded};
use gmp_rt::prim::Ordering::{AcqRel, Acquire, Relaxed};
use gmp_rt::prim::{AtomicU64, Mutex};
use gmp_rt::task::park::{StorableWaker, StoredWaker, wake_all};
use std::io;
use std::task::Waker;
use std::time::{Duration, Instant};

const WAITERS: u64 = 1;
const DRAINED: u64 = 1 << 1;
const EAGER: u64 = 1 << 2;
const EXPIRED: u64 = 1 << 3;
const CLOSED: u64 = 1 << 4;
const ENDED: u64 = 1 << 5;
const EDGE: u64 = 1 << 8;

/// Number of wakers of tasks without a ticket from which on the list is swept. Chosen.
const POLLERS: usize = 4;

/// Minimum time between two sweeps of a list. Chosen: longer than a woken task waits to be polled.
const SWEEP_PERIOD: Duration = Duration::from_secs(1);

/// What an edge reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgeKind {
    /// Only data.
    Data,
    /// A hang-up of the other end, or another reason to ignore `DRAINED` from now on.
    More,
}

/// Why a side fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The deadline has passed.
    Expired,
    /// The descriptor was closed.
    Closed,
    /// The runtime has ended.
    Ended,
}

impl Fault {
    fn bit(self) -> u64 {
        match self {
            Self::Expired => EXPIRED,
            Self::Closed => CLOSED,
            Self::Ended => ENDED,
        }
    }
}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Expired => DeadlineExceeded.into(),
            Fault::Closed => Closed.into(),
            Fault::Ended => RuntimeEnded.into(),
        }
    }
}

/// The word as it was before a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl Seen {
    /// Returns the reason why an operation fails before its try, if there is one. The end of the
    /// runtime is not one: operations fail with it only when they would wait.
    pub(crate) fn fault(self) -> Option<Fault> {
        match self.0 {
            word if word & CLOSED != 0 => Some(Fault::Closed),
            word if word & EXPIRED != 0 => Some(Fault::Expired),
            _ => None,
        }
    }

    /// Whether a try would block, so that the caller can wait at once.
    pub(crate) fn is_drained(self) -> bool {
        self.0 & (DRAINED | EAGER) == DRAINED
    }
}

/// The result of [`Side::wait`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The waker is on the list.
    Parked,
    /// The word has changed: try again.
    Changed,
    /// The runtime has ended: no event will come.
    Ended,
}

/// Identifies a waiter on the list of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Ticket {
    /// A waiter that has not been on the list yet.
    pub(crate) const NONE: Self = Self(0);
    /// Tasks that keep nothing between polls, and so cannot leave the list.
    pub(crate) const POLL: Self = Self(u64::MAX);
    /// An operation that the budget of its goroutine has deferred before the first try. It is on no
    /// list. A deadline that passes meanwhile does not prevent the try.
    pub(crate) const DEFERRED: Self = Self(u64::MAX - 1);

    /// Records that a deferred operation was tried: from now on the deadline applies.
    #[inline]
    pub(crate) fn tried(&mut self) {
        if *self == Self::DEFERRED {
            *self = Self::NONE;
        }
    }
}

#[derive(Debug, Default)]
struct Waiters {
    /// Usually there is at most one waiter. It needs no allocation.
    first: Option<(Ticket, StoredWaker)>,
    more: Vec<(Ticket, StoredWaker)>,
    last_ticket: u64,
    /// The time of the last sweep.
    swept: Option<Instant>,
}

impl Default for Ticket {
    fn default() -> Self {
        Self::NONE
    }
}

impl Waiters {
    fn iter_mut(&mut self) -> impl Iterator<Item = &mut (Ticket, StoredWaker)> {
        self.first.iter_mut().chain(&mut self.more)
    }

    fn is_empty(&self) -> bool {
        self.first.is_none() && self.more.is_empty()
    }

    /// Adds `waker`, or replaces the waker that `ticket` has on the list. The caller settles the
    /// replaced waker after it has released the lock.
    fn put(&mut self, ticket: &mut Ticket, waker: &mut StorableWaker<'_>) -> Replaced {
        if *ticket == Ticket::POLL {
            return self.put_poller(waker, Instant::now);
        }
        if matches!(*ticket, Ticket::NONE | Ticket::DEFERRED) {
            self.last_ticket += 1;
            *ticket = Ticket(self.last_ticket);
        } else if let Some((_, old)) = self.iter_mut().find(|(other, _)| other == ticket) {
            return Replaced::Own(std::mem::replace(old, waker.store()));
        }
        self.push(*ticket, waker.store());
        Replaced::Nothing
    }

    /// Adds one entry per task.
    ///
    /// The entry of a task that has been dropped stays until the next edge, so the list has to be
    /// bounded without one. From [`POLLERS`] entries on, a new task sweeps the list: the other
    /// tasks leave it and are woken, and those that still wait poll again and come back. A list is
    /// swept once per [`SWEEP_PERIOD`] at most. Otherwise the tasks that come back would sweep
    /// each other for ever.
    fn put_poller(
        &mut self,
        waker: &mut StorableWaker<'_>,
        now: impl FnOnce() -> Instant,
    ) -> Replaced {
        let mut pollers = 0;
        for (ticket, old) in self.iter_mut() {
            if *ticket == Ticket::POLL && old.will_wake(waker.waker()) {
                return Replaced::Own(std::mem::replace(old, waker.store()));
            }
            pollers += usize::from(*ticket == Ticket::POLL);
        }
        let swept = if pollers >= POLLERS { self.sweep(now()) } else { Vec::new() };
        self.push(Ticket::POLL, waker.store());
        if swept.is_empty() { Replaced::Nothing } else { Replaced::Others(swept) }
    }

    /// Removes all tasks without a ticket, if the last sweep was long enough ago.
    fn sweep(&mut self, now: Instant) -> Vec<StoredWaker> {
        if self.swept.is_some_and(|swept| now.saturating_duration_since(swept) < SWEEP_PERIOD) {
            return Vec::new();
        }
        self.swept = Some(now);
        let entries = self.first.take().into_iter().chain(std::mem::take(&mut self.more));
        let (pollers, others): (Vec<_>, Vec<_>) =
            entries.partition(|(ticket, _)| *ticket == Ticket::POLL);
        others.into_iter().for_each(|(ticket, waker)| self.push(ticket, waker));
        pollers.into_iter().map(|(_, waker)| waker).collect()
    }

    fn push(&mut self, ticket: Ticket, waker: StoredWaker) {
        match self.first {
            None => self.first = Some((ticket, waker)),
            Some(_) => self.more.push((ticket, waker)),
        }
    }

    fn remove(&mut self, ticket: Ticket) -> Option<StoredWaker> {
        if let Some((_, waker)) = self.first.take_if(|(other, _)| *other == ticket) {
            // Keeps the oldest entry first.
            self.first = (!self.more.is_empty()).then(|| self.more.remove(0));
            return Some(waker);
        }
        let at = self.more.iter().position(|(other, _)| *other == ticket)?;
        Some(self.more.remove(at).1)
    }
}

/// A waker that another one replaced.
#[must_use]
enum Replaced {
    Nothing,
    /// A waker of the same waiter, to be dropped.
    Own(StoredWaker),
    /// The wakers of other tasks, which have to be woken.
    Others(Vec<StoredWaker>),
}

impl Replaced {
    fn settle(self) {
        match self {
            Self::Nothing => {}
            Self::Own(waker) => drop(waker),
            Self::Others(wakers) => wake_all(wakers),
        }
    }
}

/// One direction of a descriptor. See the [module](self).
#[derive(Debug)]
pub(crate) struct Side {
    word: AtomicU64,
    waiters: Mutex<Waiters>,
}

/// When a side may set `DRAINED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// After a short read or write: it means that there is no more.
    Short,
    /// Never: only `WouldBlock` means that there is no more.
    WouldBlock,
}

impl Side {
    fn new() -> Self {
        Self { word: AtomicU64::new(EAGER), waiters: Mutex::new(Waiters::default()) }
    }

    /// Prepares the side for a new descriptor. Edges for the previous descriptor may still arrive:
    /// they cause a spurious wake-up.
    fn reset(&self, trust: Trust) {
        let eager = if trust == Trust::Short { 0 } else { EAGER };
        self.change(|word| (word & !(EDGE - 1)).wrapping_add(EDGE) | eager);
    }

    /// Returns the word before a try.
    #[inline]
    pub(crate) fn look(&self) -> Seen {
        Seen(self.word.load(Acquire)) // O1
    }

    /// Changes the word by a CAS loop and returns the previous word.
    fn change(&self, change: impl Fn(u64) -> u64) -> u64 {
        let mut word = self.word.load(Relaxed); // Relaxed: the exchange decides
        loop {
            match self.word.compare_exchange_weak(word, change(word), AcqRel, Relaxed) {
                Ok(_) => return word, // O1
                Err(changed) => word = changed,
            }
        }
    }

    /// Records an edge and passes the wakers of all waiters to `each`.
    pub(crate) fn edge(&self, kind: EdgeKind, each: impl FnMut(StoredWaker)) {
        let more = if kind == EdgeKind::More { EAGER } else { 0 };
        let before = self.change(|word| (word & !(WAITERS | DRAINED)).wrapping_add(EDGE) | more);
        if before & WAITERS != 0 {
            self.take_waiters(each);
        }
    }

    /// Makes all operations fail and passes the wakers of all waiters to `each`. Returns `false` if
    /// the side had this fault already.
    pub(crate) fn fail(&self, fault: Fault, each: impl FnMut(StoredWaker)) -> bool {
        let bit = fault.bit();
        let before = self.change(|word| (word & !WAITERS).wrapping_add(EDGE) | bit);
        if before & WAITERS != 0 {
            self.take_waiters(each);
        }
        before & bit == 0
    }

    /// Clears the expired deadline: operations may succeed again.
    pub(crate) fn revive(&self) {
        self.change(|word| word & !EXPIRED);
    }

    /// Records that a try after `seen` took everything.
    #[inline]
    pub(crate) fn drained(&self, seen: Seen) {
        if seen.0 & EAGER == 0 {
            let drained = seen.0 | DRAINED;
            // A failed exchange means that the word has changed: then there may be more.
            let _ = self.word.compare_exchange(seen.0, drained, AcqRel, Relaxed);
        }
    }

    fn take_waiters(&self, mut each: impl FnMut(StoredWaker)) {
        let mut waiters = self.waiters.lock();
        let first = waiters.first.take();
        let more = std::mem::take(&mut waiters.more);
        drop(waiters);
        first.into_iter().chain(more).for_each(|(_, waker)| each(waker));
    }

    /// Puts `waker` on the list, unless the word has changed since `seen`.
    pub(crate) fn wait(&self, seen: Seen, ticket: &mut Ticket, waker: &Waker) -> Wait {
        if seen.0 & ENDED != 0 {
            return Wait::Ended;
        }
        // Prepared before the lock is taken and dropped after it is released: a foreign waker may
        // run any code.
        let mut waker = StorableWaker::new(waker);
        let mut waiters = self.waiters.lock();
        if self.word.compare_exchange(seen.0, seen.0 | WAITERS, AcqRel, Acquire).is_err() {
            return Wait::Changed; // O1
        }
        let replaced = waiters.put(ticket, &mut waker);
        drop(waiters);
        replaced.settle();
        Wait::Parked
    }

    /// Removes a waiter with a ticket from the list.
    pub(crate) fn leave(&self, ticket: Ticket) {
        // Acquire. If the bit is clear, the thread that cleared it takes the list. Otherwise the
        // waiter may be on the list.
        let is_listed = !matches!(ticket, Ticket::NONE | Ticket::DEFERRED);
        if is_listed && self.word.load(Acquire) & WAITERS != 0 {
            let waker = self.waiters.lock().remove(ticket);
            drop(waker);
        }
    }

    /// Drops the wakers of tasks that have polled and were dropped. No task waits any more.
    fn forget_waiters(&self) {
        if self.word.load(Acquire) & WAITERS != 0 {
            self.take_waiters(drop);
        }
    }

    /// Whether a task waits.
    pub(crate) fn has_waiters(&self) -> bool {
        self.word.load(Acquire) & WAITERS != 0 && !self.waiters.lock().is_empty()
    }
}

/// A registered descriptor. See the [module](self).
#[derive(Debug)]
pub(crate) struct PollDesc {
    pub(crate) read: Side,
    pub(crate) write: Side,
}

impl PollDesc {
    /// Creates a descriptor that is not in use.
    pub(crate) fn new() -> Self {
        Self { read: Side::new(), write: Side::new() }
    }

    /// Prepares both sides for a new descriptor.
    pub(crate) fn reset(&self, trust: Trust) {
        self.read.reset(trust);
        self.write.reset(trust);
    }

    /// Drops the wakers that are left, before the descriptor is given back.
    pub(crate) fn forget_waiters(&self) {
        self.read.forget_waiters();
        self.write.forget_waiters();
    }

    /// Makes all operations of both sides fail and passes the wakers of all waiters to `each`.
    /// Returns `false` if the read side had this fault already.
    pub(crate) fn fail(&self, fault: Fault, mut each: impl FnMut(StoredWaker)) -> bool {
        let new = self.read.fail(fault, &mut each);
        self.write.fail(fault, each);
        new
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "desc_loom.rs"]
mod loom;
#[cfg(all(test, not(gmp_loom)))]
#[path = "desc_tests.rs"]
mod tests;
