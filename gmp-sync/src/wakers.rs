//! The wakers of those who wait for the same thing: kept in order, removed when a wait is dropped.

use std::collections::BTreeMap;
use std::task::Waker;

/// The name of a waker in [`Wakers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// Wakers in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    waiting: BTreeMap<Ticket, Waker>,
    next: u64,
}

impl Wakers {
    /// Adds a waker.
    pub(crate) fn add(&mut self, waker: Waker) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.waiting.insert(ticket, waker);
        ticket
    }

    /// Gives a ticket that is still there another waker and returns the old one. To be dropped after
    /// the lock is released, since a waker may run any code.
    pub(crate) fn replace(&mut self, ticket: Ticket, waker: Waker) -> Option<Waker> {
        self.waiting.insert(ticket, waker)
    }

    /// Removes a waker; nothing if it was taken already. To be dropped after the lock is released.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> Option<Waker> {
        self.waiting.remove(&ticket)
    }

    /// Takes all, the first to arrive first. To be woken after the lock is released.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.waiting).into_values()
    }
}
