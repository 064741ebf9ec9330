//! The interface between the scheduler and the network: a trait (Go: the list of functions at the
//! head of `netpoll.go`).
//!
//! The scheduler owns the threads. It decides which of them waits in the kernel, when and for how
//! long. [`Netpoll`] hides what it waits for and how. `gmp-net` implements the trait, and installs
//! a netpoller at the first socket of a runtime.
//!
//! Each runtime has its own netpoller. So the threads of a runtime never wake those of another for
//! an event, and the end of a runtime does not affect the netpoller of another. A socket belongs to
//! the runtime in which it was made. Its waiters may be anywhere, because the netpoller stores only
//! their `Waker`.
//!
//! # Contract
//!
//! - Several threads may call [`Netpoll::poll`] at a time. One of them gets an event.
//! - A call of [`Netpoll::wake`] ends one blocking poll, the current or the next one. A poll that
//!   does not block may take that wake-up. It reports this ([`PollerWake`]), and the scheduler
//!   sends the wake-up again for the thread in the blocking poll.
//! - Neither calls a waker. The scheduler does, when it has a P for the woken goroutines.

use crate::g::stored::StoredWaker;
use std::any::Any;
use std::fmt;
use std::time::Duration;

/// How long to wait for events.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Does not wait.
    Now,
    /// Waits at most this long.
    For(Duration),
    /// Waits until an event arrives or [`Netpoll::wake`] is called.
    Forever,
}

/// Whether a poll took the wake-up of [`Netpoll::wake`].
#[must_use]
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollerWake {
    /// It took the wake-up, or may have taken it.
    Taken,
    /// It did not take the wake-up.
    Left,
}

/// The wakers of the waiters whose event has arrived.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Ready(Vec<StoredWaker>);

impl Ready {
    /// Adds a waker.
    #[inline]
    pub fn push(&mut self, waker: StoredWaker) {
        self.0.push(waker);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes all wakers in order, and keeps the memory.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = StoredWaker> {
        self.0.drain(..)
    }
}

/// The source of the events of a runtime. The header of the file contains the contract.
#[doc(hidden)]
pub trait Netpoll: Any + fmt::Debug + Send + Sync {
    /// Waits for events for at most `delay`, and adds the wakers of their waiters to `ready`.
    ///
    /// It adds about `limit` wakers at most, and leaves the rest for the next call. An error of the
    /// OS counts as no event, because the caller polls again. If the OS says that the descriptor of
    /// the netpoller is not one, the process ends: the poll would fail for ever.
    fn poll(&self, delay: Delay, limit: usize, ready: &mut Ready) -> PollerWake;

    /// Ends a blocking poll, the current or the next one.
    fn wake(&self);

    /// Whether a descriptor is registered. Cheap, because every P without work calls it.
    fn is_used(&self) -> bool;

    /// Whether a waiter waits for an event. May be slow: called before a deadlock is reported.
    fn has_waiters(&self) -> bool;

    /// Makes all waits fail, and adds their wakers to `ready`. The runtime has ended: no thread
    /// polls again.
    fn shut(&self, ready: &mut Ready);
}
