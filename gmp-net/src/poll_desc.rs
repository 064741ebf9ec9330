//! The state of a registered descriptor (Go: `pollDesc`), a [`Side`] for reading and one for writing.
//!
//! A side is one word and the wakers of those who wait. The kernel tells of *edges*: that something
//! came since it last told. An operation looks at the word, tries, and if it would block, waits *as of
//! that look*: if anything has happened to the word since, it tries again. So nothing gets lost between
//! trying and waiting, and no readiness has to be kept or cleared.
//!
//! # The word
//!
//! | bits | meaning | set by | cleared by |
//! |------|---------|--------|------------|
//! | [`WAITERS`] | somebody may be on the list | [`Side::wait`] | whoever takes the list |
//! | [`DRAINED`] | the last try took all there was: another would block | [`Side::drained`] | an edge |
//! | [`EAGER`] | an edge may have said more than "data": always try | an edge with a hang-up; registration | never |
//! | [`EXPIRED`] | the deadline has passed | [`Side::fail`] | [`Side::revive`] |
//! | [`CLOSED`] [`ENDED`] | no operation succeeds any more | [`Side::fail`] | never |
//! | count from [`EDGE`] up | how many edges and failures there were | both | never |
//!
//! Go's four states of `rg` and `wg` in these terms: *nil* is a word that is as the waiter saw it, *ready*
//! one whose count has changed since, *wait* and the pointer are `WAITERS`. Go has one slot for one
//! waiter and a mutex around each operation to guarantee that; here any number may wait (many
//! goroutines accept on one listener), and all of them are woken by an edge: each tries again for itself,
//! so one that is dropped after it was woken takes nothing from the others.
//!
//! `DRAINED` saves a system call for each message: a read that got less than it asked for has emptied
//! the socket, so the next one need not ask. A FIN that came with the data would be overlooked that way,
//! and so would data behind an urgent mark; edges that tell of such are `EAGER`. Nothing tells of
//! descriptors that are passed over a Unix stream, behind which a read stops too: there a short read is not
//! trusted.
//!
//! # Orderings
//!
//! Every change is a read-modify-write of the one word, so all agree on the order of changes. A waiter
//! is on the list before the lock is released under which it set `WAITERS`; whoever sees the bit takes the
//! lock.
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | AcqRel exchange in [`Side::edge`] and [`Side::fail`] | Acquire load in [`Side::look`], AcqRel exchange in [`Side::wait`] | what led to it: the data in the kernel, the deadline |

use crate::error::{Closed, DeadlineExceeded, RuntimeEnded};
use gmp_rt::park::{StorableWaker, StoredWaker};
use gmp_rt::prim::Ordering::{AcqRel, Acquire, Relaxed};
use gmp_rt::prim::{AtomicU64, Mutex};
use std::io;
use std::task::Waker;

const WAITERS: u64 = 1;
const DRAINED: u64 = 1 << 1;
const EAGER: u64 = 1 << 2;
const EXPIRED: u64 = 1 << 3;
const CLOSED: u64 = 1 << 4;
const ENDED: u64 = 1 << 5;
const EDGE: u64 = 1 << 8;

/// Most wakers kept of tasks that poll without a ticket.
const POLLERS: usize = 4;

/// What an edge tells beside that something came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tells {
    /// Nothing.
    Data,
    /// That the other end hung up, or anything else after which to always try.
    More,
}

/// Why a side fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Its deadline has passed.
    Expired,
    /// It was closed.
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

/// The word as somebody saw it, before trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl Seen {
    /// Why an operation fails at once, if it does. A runtime's end is no reason until it would wait.
    pub(crate) fn fault(self) -> Option<Fault> {
        match self.0 {
            word if word & CLOSED != 0 => Some(Fault::Closed),
            word if word & EXPIRED != 0 => Some(Fault::Expired),
            _ => None,
        }
    }

    /// Whether a try would block.
    pub(crate) fn is_drained(self) -> bool {
        self.0 & (DRAINED | EAGER) == DRAINED
    }
}

/// What came of the wish to wait.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The waker is on the list.
    Parked,
    /// Something has happened since: try again.
    Changed,
    /// The runtime has ended: nothing will ever happen.
    Ended,
}

/// The name of a waiter on the list of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Ticket {
    /// Nobody's yet.
    pub(crate) const NONE: Self = Self(0);
    /// Of tasks that poll without keeping anything, and so cannot leave the list.
    pub(crate) const POLL: Self = Self(u64::MAX);
    /// Of an operation that the budget of its goroutine has deferred before it was tried. It is on
    /// no list. A deadline that passes meanwhile does not prevent the try.
    pub(crate) const DEFERRED: Self = Self(u64::MAX - 1);

    /// Notes that a deferred operation was tried: from now on the deadline counts.
    #[inline]
    pub(crate) fn tried(&mut self) {
        if *self == Self::DEFERRED {
            *self = Self::NONE;
        }
    }
}

#[derive(Debug, Default)]
struct Waiters {
    /// Almost always there is at most one.
    first: Option<(Ticket, StoredWaker)>,
    more: Vec<(Ticket, StoredWaker)>,
    last_ticket: u64,
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

    /// Adds `waker`, or puts it in the place of the one that `ticket` has there. What it displaces is to
    /// be dropped, or if it was another task's woken, after the lock is released.
    fn put(&mut self, ticket: &mut Ticket, waker: &mut StorableWaker<'_>) -> Displaced {
        if *ticket == Ticket::POLL {
            return self.put_poller(waker);
        }
        if matches!(*ticket, Ticket::NONE | Ticket::DEFERRED) {
            self.last_ticket += 1;
            *ticket = Ticket(self.last_ticket);
        } else if let Some((_, old)) = self.iter_mut().find(|(other, _)| other == ticket) {
            return Displaced::Own(std::mem::replace(old, waker.store()));
        }
        self.push(*ticket, waker.store());
        Displaced::Nothing
    }

    /// One entry for each task. A task that polled and went away stays until the next edge; so that they
    /// cannot pile up, one too many displaces the oldest, which is woken to poll again.
    fn put_poller(&mut self, waker: &mut StorableWaker<'_>) -> Displaced {
        let mut pollers = 0;
        for (ticket, old) in self.iter_mut() {
            if *ticket == Ticket::POLL && old.will_wake(waker.waker()) {
                return Displaced::Own(std::mem::replace(old, waker.store()));
            }
            pollers += usize::from(*ticket == Ticket::POLL);
        }
        if pollers >= POLLERS
            && let Some(oldest) = self.remove(Ticket::POLL)
        {
            self.push(Ticket::POLL, waker.store());
            return Displaced::Others(oldest);
        }
        self.push(Ticket::POLL, waker.store());
        Displaced::Nothing
    }

    fn push(&mut self, ticket: Ticket, waker: StoredWaker) {
        match self.first {
            None => self.first = Some((ticket, waker)),
            Some(_) => self.more.push((ticket, waker)),
        }
    }

    fn remove(&mut self, ticket: Ticket) -> Option<StoredWaker> {
        if let Some((_, waker)) = self.first.take_if(|(other, _)| *other == ticket) {
            // The oldest stays first.
            self.first = (!self.more.is_empty()).then(|| self.more.remove(0));
            return Some(waker);
        }
        let at = self.more.iter().position(|(other, _)| *other == ticket)?;
        Some(self.more.remove(at).1)
    }
}

/// The waker whose place another took.
#[must_use]
enum Displaced {
    Nothing,
    /// Of the same waiter.
    Own(StoredWaker),
    /// Of another task, which has to be woken.
    Others(StoredWaker),
}

impl Displaced {
    fn settle(self) {
        match self {
            Self::Nothing => {}
            Self::Own(waker) => drop(waker),
            Self::Others(waker) => waker.wake(),
        }
    }
}

/// One direction of a descriptor. See the [module](self).
#[derive(Debug)]
pub(crate) struct Side {
    word: AtomicU64,
    waiters: Mutex<Waiters>,
}

/// Whether a side may trust [`Side::drained`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// A short read or write means that there is no more.
    Short,
    /// Only an error that says so does.
    WouldBlock,
}

impl Side {
    fn new() -> Self {
        Self { word: AtomicU64::new(EAGER), waiters: Mutex::new(Waiters::default()) }
    }

    /// Begins a new life. Edges meant for the last one may still come: they wake somebody in vain.
    fn reset(&self, trust: Trust) {
        let eager = if trust == Trust::Short { 0 } else { EAGER };
        self.change(|word| (word & !(EDGE - 1)).wrapping_add(EDGE) | eager);
    }

    /// The word before a try.
    #[inline]
    pub(crate) fn look(&self) -> Seen {
        Seen(self.word.load(Acquire)) // O1
    }

    /// Changes the word until `change` has succeeded; returns what it was.
    fn change(&self, change: impl Fn(u64) -> u64) -> u64 {
        let mut word = self.word.load(Relaxed); // Relaxed: the exchange decides
        loop {
            match self.word.compare_exchange_weak(word, change(word), AcqRel, Relaxed) {
                Ok(_) => return word, // O1
                Err(changed) => word = changed,
            }
        }
    }

    /// The kernel told of an edge: passes the wakers of all who wait to `tell`.
    pub(crate) fn edge(&self, tells: Tells, tell: impl FnMut(StoredWaker)) {
        let more = if tells == Tells::More { EAGER } else { 0 };
        let before = self.change(|word| (word & !(WAITERS | DRAINED)).wrapping_add(EDGE) | more);
        if before & WAITERS != 0 {
            self.take_waiters(tell);
        }
    }

    /// Lets all operations fail, and passes the wakers of all who wait to `tell`; `true` if that is new.
    pub(crate) fn fail(&self, fault: Fault, tell: impl FnMut(StoredWaker)) -> bool {
        let bit = fault.bit();
        let before = self.change(|word| (word & !WAITERS).wrapping_add(EDGE) | bit);
        if before & WAITERS != 0 {
            self.take_waiters(tell);
        }
        before & bit == 0
    }

    /// The deadline was moved: operations may succeed again.
    pub(crate) fn revive(&self) {
        self.change(|word| word & !EXPIRED);
    }

    /// The last try, made after `seen`, took all there was.
    #[inline]
    pub(crate) fn drained(&self, seen: Seen) {
        if seen.0 & EAGER == 0 {
            let drained = seen.0 | DRAINED;
            // Failed: something came meanwhile.
            let _ = self.word.compare_exchange(seen.0, drained, AcqRel, Relaxed);
        }
    }

    fn take_waiters(&self, mut tell: impl FnMut(StoredWaker)) {
        let mut waiters = self.waiters.lock();
        let first = waiters.first.take();
        let more = std::mem::take(&mut waiters.more);
        drop(waiters);
        first.into_iter().chain(more).for_each(|(_, waker)| tell(waker));
    }

    /// Puts `waker` on the list, unless something has happened since `seen`.
    pub(crate) fn wait(&self, seen: Seen, ticket: &mut Ticket, waker: &Waker) -> Wait {
        if seen.0 & ENDED != 0 {
            return Wait::Ended;
        }
        // Prepared before and dropped after the lock: a foreign waker may run any code.
        let mut waker = StorableWaker::new(waker);
        let mut waiters = self.waiters.lock();
        if self.word.compare_exchange(seen.0, seen.0 | WAITERS, AcqRel, Acquire).is_err() {
            return Wait::Changed; // O1
        }
        let displaced = waiters.put(ticket, &mut waker);
        drop(waiters);
        displaced.settle();
        Wait::Parked
    }

    /// A waiter with a ticket goes away.
    pub(crate) fn leave(&self, ticket: Ticket) {
        // Acquire: the bit is gone, so the list was taken or will be by who cleared it; else look.
        let is_listed = !matches!(ticket, Ticket::NONE | Ticket::DEFERRED);
        if is_listed && self.word.load(Acquire) & WAITERS != 0 {
            let waker = self.waiters.lock().remove(ticket);
            drop(waker);
        }
    }

    /// Whether anybody waits.
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
    /// One that is not in use.
    pub(crate) fn new() -> Self {
        Self { read: Side::new(), write: Side::new() }
    }

    /// Begins a new life.
    pub(crate) fn reset(&self, trust: Trust) {
        self.read.reset(trust);
        self.write.reset(trust);
    }

    /// Lets all operations of both sides fail; returns whom to wake, and whether that is new.
    pub(crate) fn fail(&self, fault: Fault, mut tell: impl FnMut(StoredWaker)) -> bool {
        let new = self.read.fail(fault, &mut tell);
        self.write.fail(fault, tell);
        new
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "poll_desc_loom.rs"]
mod loom;
#[cfg(all(test, not(gmp_loom)))]
#[path = "poll_desc_tests.rs"]
mod tests;
