//! The state that the ends of a broadcast channel share, and its two queues as [`WaitList`]s of
//! waiters. One lock guards all of it. No code of the user runs under it.

use super::ring::{Kept, Ring};
use crate::wait::queue::Queue;
use crate::wait::waiter::{Abandoned, WaitList};
use crate::wait::wakers::Wakers;
use gmp_rt::prim::Mutex;
use std::ops::Deref;

/// What the ends share.
pub(super) struct BroadcastShared<T>(Mutex<BroadcastState<T>>);

/// What the lock guards.
pub(super) struct BroadcastState<T> {
    pub(super) ring: Ring<T>,
    pub(super) senders: usize,
    pub(super) receivers: usize,
    /// Receivers that have received all values. A sent value fires all of them.
    receiving: Queue<()>,
    closing: Queue<()>,
}

impl<T> BroadcastShared<T> {
    /// Creates the state of a channel with one sender and one receiver.
    pub(super) fn new(cap: usize) -> Self {
        Self(Mutex::new(BroadcastState {
            ring: Ring::new(cap),
            senders: 1,
            receivers: 1,
            receiving: Queue::new(),
            closing: Queue::new(),
        }))
    }

    /// Runs `f` under the lock.
    #[inline]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut BroadcastState<T>) -> R) -> R {
        f(&mut self.0.lock())
    }
}

/// A value that was sent: its receivers, the value that had to leave, and the wakers.
pub(super) struct Sent<T> {
    pub(super) receivers: usize,
    pub(super) left: Option<Kept<T>>,
    pub(super) wakers: Wakers,
}

impl<T> BroadcastState<T> {
    /// Sends a value, or returns it if there is no receiver.
    pub(super) fn send(&mut self, value: T) -> Result<Sent<T>, T> {
        let receivers = self.receivers;
        if receivers == 0 {
            return Err(value);
        }
        let left = self.ring.push(value, receivers);
        Ok(Sent { receivers, left, wakers: Wakers::of_all(&mut self.receiving) })
    }

    /// Adds a receiver and returns its position.
    pub(super) fn subscribe(&mut self) -> u64 {
        self.receivers += 1;
        self.ring.next()
    }

    /// Subtracts a sender. Wakes the receivers that wait, if it was the last.
    pub(super) fn sender_leaves(&mut self) -> Wakers {
        self.senders -= 1;
        if self.senders == 0 { Wakers::of_all(&mut self.receiving) } else { Wakers::None }
    }

    /// Subtracts a receiver at position `at`. Wakes the senders that wait for that, if it was the
    /// last. Returns the values that no receiver needs any more.
    pub(super) fn receiver_leaves(&mut self, at: u64) -> (Vec<Kept<T>>, Wakers) {
        self.receivers -= 1;
        let unneeded = self.ring.leave(at);
        let last = self.receivers == 0;
        (unneeded, if last { Wakers::of_all(&mut self.closing) } else { Wakers::None })
    }
}

/// The queue of receivers that wait for a value.
pub(super) struct Receiving<S>(pub(super) S);

/// The queue of senders that wait until no receiver is left.
pub(super) struct BroadcastClosing<S>(pub(super) S);

macro_rules! wait_list {
    ($Name:ident, $queue:ident) => {
        // SAFETY: one lock, and always the same queue behind it. `S` is a reference or an `Arc`, so
        // the state is not moved while it lives.
        unsafe impl<T, S: Deref<Target = BroadcastShared<T>>> WaitList for $Name<S> {
            type State = BroadcastState<T>;
            type Data = ();

            fn with<R>(&self, f: impl FnOnce(&mut BroadcastState<T>) -> R) -> R {
                self.0.with(f)
            }

            fn queue(state: &mut BroadcastState<T>) -> &mut Queue<()> {
                &mut state.$queue
            }

            fn abandoned(&self, _: &mut BroadcastState<T>, (): &mut (), _: Abandoned) -> Wakers {
                // A fired wait was given nothing: its value is in the ring.
                Wakers::None
            }
        }
    };
}

wait_list!(Receiving, receiving);
wait_list!(BroadcastClosing, closing);
