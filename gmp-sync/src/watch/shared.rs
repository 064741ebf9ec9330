//! The state that the ends of a watch channel share, and its two queues as [`WaitList`]s of
//! waiters.
//!
//! One lock guards the value, its version, the counts of the ends, and both queues. No code of the
//! user runs under it: values are made, cloned and dropped before or after.

use crate::wait::queue::Queue;
use crate::wait::waiter::{Abandoned, WaitList};
use crate::wait::wakers::Wakers;
use gmp_rt::prim::Mutex;
use std::ops::Deref;
use std::sync::Arc;
use std::thread::ThreadId;

/// What the ends share.
pub(super) struct WatchShared<T> {
    state: Mutex<WatchState<T>>,
    /// Held by the one call that modifies a copy of the value.
    pub(super) turn: crate::Mutex<()>,
}

/// What the lock guards.
pub(super) struct WatchState<T> {
    pub(super) value: Arc<T>,
    /// Changes of the value since the channel was made.
    pub(super) version: u64,
    pub(super) senders: usize,
    pub(super) receivers: usize,
    /// The thread of the call that has the turn.
    pub(super) modifier: Option<ThreadId>,
    changing: Queue<()>,
    closing: Queue<()>,
}

impl<T> WatchShared<T> {
    /// Creates the state of a channel with one sender and one receiver.
    pub(super) fn new(first: T) -> Self {
        let state = WatchState {
            value: Arc::new(first),
            version: 0,
            senders: 1,
            receivers: 1,
            modifier: None,
            changing: Queue::new(),
            closing: Queue::new(),
        };
        Self { state: Mutex::new(state), turn: crate::Mutex::new(()) }
    }

    /// Runs `f` under the lock.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut WatchState<T>) -> R) -> R {
        f(&mut self.state.lock())
    }
}

impl<T> WatchState<T> {
    /// Installs a value. Returns the old one, to be dropped after the lock is released, and the
    /// wakers of all receivers that wait.
    pub(super) fn install(&mut self, value: Arc<T>) -> (Arc<T>, Wakers) {
        self.version += 1;
        (std::mem::replace(&mut self.value, value), Wakers::of_all(&mut self.changing))
    }

    /// Subtracts a sender. Wakes the receivers that wait, if it was the last.
    pub(super) fn sender_leaves(&mut self) -> Wakers {
        self.senders -= 1;
        if self.senders == 0 { Wakers::of_all(&mut self.changing) } else { Wakers::None }
    }

    /// Subtracts a receiver. Wakes the senders that wait for that, if it was the last.
    pub(super) fn receiver_leaves(&mut self) -> Wakers {
        self.receivers -= 1;
        if self.receivers == 0 { Wakers::of_all(&mut self.closing) } else { Wakers::None }
    }
}

/// The queue of receivers that wait for a change.
pub(super) struct Changing<S>(pub(super) S);

/// The queue of senders that wait until no receiver is left.
pub(super) struct WatchClosing<S>(pub(super) S);

macro_rules! wait_list {
    ($Name:ident, $queue:ident) => {
        // SAFETY: one lock, and always the same queue behind it. `S` is a reference or an `Arc`, so
        // the state is not moved while it lives.
        unsafe impl<T, S: Deref<Target = WatchShared<T>>> WaitList for $Name<S> {
            type State = WatchState<T>;
            type Data = ();

            fn with<R>(&self, f: impl FnOnce(&mut WatchState<T>) -> R) -> R {
                self.0.with(f)
            }

            fn queue(state: &mut WatchState<T>) -> &mut Queue<()> {
                &mut state.$queue
            }

            fn abandoned(&self, _: &mut WatchState<T>, (): &mut (), _: Abandoned) -> Wakers {
                Wakers::None
            }
        }
    };
}

wait_list!(Changing, changing);
wait_list!(WatchClosing, closing);
