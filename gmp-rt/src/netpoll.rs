//! What the scheduler knows of the network: a trait (Go: the list of functions at the head of
//! `netpoll.go`).
//!
//! The scheduler owns the threads and decides which of them waits for the kernel, when and for how
//! long; what is waited for and how is behind [`Netpoll`], which `gmp-net` implements and installs at the
//! first socket of a runtime.
//!
//! One per runtime, not one per process: so the threads of a runtime never wake those of another for
//! an event, and a runtime that ends takes nobody's poller with it. A socket belongs to the runtime it
//! was made in; who waits for it may be anywhere, since all that is kept of a waiter is its `Waker`.
//!
//! # Contract
//!
//! - [`Netpoll::poll`] may be called by several threads at a time. An event is told to one of them.
//! - A call of [`Netpoll::wake`] ends one blocking poll, the present or the next. If a poll that does not
//!   block takes the wake-up, or may have taken it, it says so ([`Bell`]), and the scheduler rings again
//!   for the thread that it was meant for.
//! - Neither ever calls a waker: the scheduler does, when it has a P for those that are woken.

use crate::g::stored::StoredWaker;
use std::any::Any;
use std::fmt;
use std::time::Duration;

/// How long to wait for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Not at all.
    Now,
    /// So long.
    For(Duration),
    /// Until there is one, or [`Netpoll::wake`] is called.
    Forever,
}

/// Whether a poll took the wake-up of [`Netpoll::wake`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bell {
    /// It did, or may have done.
    Rang,
    /// It did not.
    Silent,
}

/// The wakers of those whose event has come.
#[derive(Debug, Default)]
pub struct Ready(Vec<StoredWaker>);

impl Ready {
    /// Adds one.
    #[inline]
    pub fn push(&mut self, waker: StoredWaker) {
        self.0.push(waker);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all out, in order, and keeps the memory.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = StoredWaker> {
        self.0.drain(..)
    }
}

/// The source of events a runtime waits for. The contract is in the head of the file.
pub trait Netpoll: Any + fmt::Debug + Send + Sync {
    /// Waits for events for at most `delay`, and puts the wakers of those that waited for them into
    /// `ready`; about `limit` of them at most, the rest is left for the next call. An error of the OS
    /// is as good as no event: the caller comes again.
    fn poll(&self, delay: Delay, limit: usize, ready: &mut Ready) -> Bell;

    /// Ends a blocking poll, the present or the next one.
    fn wake(&self);

    /// Whether anything is registered. Cheap: asked whenever a P runs out of work.
    fn is_used(&self) -> bool;

    /// Whether anybody waits for an event. May take long: asked before a deadlock is reported.
    fn has_waiters(&self) -> bool;

    /// The runtime has ended, and nobody will poll again: lets all who wait fail.
    fn shut(&self, ready: &mut Ready);
}
