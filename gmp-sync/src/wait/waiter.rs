//! A wait in the queue of a primitive that has one lock and one queue, as safe code.
//!
//! [`Waiter`] is a [`Node`] together with the [`WaitList`] that it waits in. It tries the operation
//! and joins the queue under one lock, so it misses no wake-up. A waiter that is dropped while
//! queued leaves the queue. If it is dropped after it was fired and before it was polled,
//! [`WaitList::abandoned`] passes on what it was given.

use crate::wait::queue::{Node, NodeState, Queue};
use crate::wait::wakers::Wakers;
use gmp_rt::task::park::StorableWaker;
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What a [`Waiter`] waits in: a lock, and a queue that the lock guards.
///
/// # Safety
///
/// `with` runs its closure under a lock, on the same state each time. The state is not moved or
/// dropped while a `Waiter` has this list. `queue` returns the same queue of that state each time,
/// and no other lock guards it.
pub(crate) unsafe trait WaitList {
    /// The data that the lock guards.
    type State;
    /// The data that a wait keeps in its node.
    type Data;

    /// Runs `f` under the lock.
    fn with<R>(&self, f: impl FnOnce(&mut Self::State) -> R) -> R;

    /// Returns the queue of the waiters.
    fn queue(state: &mut Self::State) -> &mut Queue<Self::Data>;

    /// Called when a wait is given up, either queued until now or fired and not polled since. If it
    /// was fired, what it was given must go to another waiter.
    fn abandoned(&self, state: &mut Self::State, data: &mut Self::Data, how: Abandoned) -> Wakers;
}

// SAFETY: a borrowed value is not moved.
unsafe impl<L: WaitList + ?Sized> WaitList for &L {
    type State = L::State;
    type Data = L::Data;

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut L::State) -> R) -> R {
        (**self).with(f)
    }

    #[inline]
    fn queue(state: &mut L::State) -> &mut Queue<L::Data> {
        L::queue(state)
    }

    fn abandoned(&self, state: &mut L::State, data: &mut L::Data, how: Abandoned) -> Wakers {
        (**self).abandoned(state, data, how)
    }
}

// SAFETY: a value in an `Arc` is not moved.
unsafe impl<L: WaitList + ?Sized> WaitList for Arc<L> {
    type State = L::State;
    type Data = L::Data;

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut L::State) -> R) -> R {
        (**self).with(f)
    }

    #[inline]
    fn queue(state: &mut L::State) -> &mut Queue<L::Data> {
        L::queue(state)
    }

    fn abandoned(&self, state: &mut L::State, data: &mut L::Data, how: Abandoned) -> Wakers {
        (**self).abandoned(state, data, how)
    }
}

/// How a wait was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Abandoned {
    /// It was queued, and has left the queue.
    Queued,
    /// It was fired.
    Fired,
}

pin_project! {
    /// The wait of one operation: not begun, queued, or fired.
    pub(crate) struct Waiter<L: WaitList> {
        list: L,
        #[pin]
        node: Node<L::Data>,
    }

    impl<L: WaitList> PinnedDrop for Waiter<L> {
        fn drop(this: Pin<&mut Self>) {
            this.give_up();
        }
    }
}

impl<L: WaitList> fmt::Debug for Waiter<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter").field("state", &self.node.state()).finish()
    }
}

/// An end of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// For new waiters.
    Back,
    /// For a waiter that was fired before and keeps its place.
    Front,
}

/// How a wait ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended<R> {
    /// Without a wait: the attempt returned this.
    AtOnce(R),
    /// The node was fired. Its data says with what.
    Fired,
}

impl<L: WaitList> Waiter<L> {
    /// Creates a wait that has not begun.
    pub(crate) fn new(list: L, data: L::Data) -> Self {
        Self { list, node: Node::new(data) }
    }

    /// Returns what it waits in.
    pub(crate) fn list(&self) -> &L {
        &self.list
    }

    /// Returns the state of the node. `Queued` may be outdated at once.
    #[inline]
    pub(crate) fn state(&self) -> NodeState {
        self.node.state()
    }

    /// Marks the wait as one that was ended, for [`has_ended`](Self::has_ended) only.
    #[inline]
    pub(crate) fn end(&self) {
        self.node.end();
    }

    /// Whether it was marked by [`end`](Self::end).
    pub(crate) fn has_ended(&self) -> bool {
        self.node.has_ended()
    }

    /// Runs `attempt` if the wait has not begun, and waits if it returns `Continue`. Is ready when
    /// the attempt succeeds or the node is fired.
    #[inline]
    pub(crate) fn poll_wait<R>(
        self: Pin<&mut Self>,
        cx: &Context<'_>,
        attempt: impl FnOnce(&mut L::State, &mut L::Data) -> ControlFlow<R>,
    ) -> Poll<Ended<R>> {
        let mut waker = StorableWaker::new(cx.waker());
        self.poll_wait_at(End::Back, &mut waker, |_, state, data| attempt(state, data))
    }

    /// As [`poll_wait`](Self::poll_wait), but joins the queue at `end` and passes the list to
    /// `attempt`. A caller that changes shared state before this call creates `waker` before that
    /// change, because cloning a foreign waker may panic.
    #[inline]
    pub(crate) fn poll_wait_at<R>(
        self: Pin<&mut Self>,
        end: End,
        waker: &mut StorableWaker<'_>,
        attempt: impl FnOnce(&L, &mut L::State, &mut L::Data) -> ControlFlow<R>,
    ) -> Poll<Ended<R>> {
        let mut this = self.project();
        match this.node.state() {
            NodeState::Fired => return Poll::Ready(Ended::Fired),
            NodeState::Queued => return Self::wait_on(this.list, this.node, waker),
            NodeState::Idle => {}
        }
        let list = &*this.list;
        list.with(|state| match this.node.as_mut().own(|data| attempt(list, state, data)) {
            ControlFlow::Break(result) => Poll::Ready(Ended::AtOnce(result)),
            ControlFlow::Continue(()) => {
                // SAFETY: pinned, because `self` is. `give_up` removes the node from the same queue
                // under the same lock (contract of `WaitList`) before it is dropped.
                unsafe {
                    match end {
                        End::Back => L::queue(state).push_back(this.node, waker.store()),
                        End::Front => L::queue(state).push_front(this.node, waker.store()),
                    }
                }
                Poll::Pending
            }
        })
    }

    /// Continues a queued wait: replaces the waker if it has changed.
    fn wait_on<R>(
        list: &L,
        mut node: Pin<&mut Node<L::Data>>,
        waker: &mut StorableWaker<'_>,
    ) -> Poll<Ended<R>> {
        // The old waker is dropped after the lock is released.
        let (poll, _old) = list.with(|state| match node.state() {
            NodeState::Queued => {
                // SAFETY: the node is queued, and the list has only one queue.
                let old = unsafe { L::queue(state).update(node.as_mut(), waker) };
                (Poll::Pending, old)
            }
            _ => (Poll::Ready(Ended::Fired), None),
        });
        poll
    }

    /// Runs `f` on the data of a wait that is not queued.
    ///
    /// # Panics
    ///
    /// If the wait is queued.
    pub(crate) fn own<R>(self: Pin<&mut Self>, f: impl FnOnce(&mut L::Data) -> R) -> R {
        self.project().node.own(f)
    }

    /// Makes a fired wait ready to begin again. The caller keeps what the wait was given.
    pub(crate) fn reset(self: Pin<&mut Self>) {
        self.project().node.reset();
    }

    /// Cancels the wait: leaves the queue, or passes on what the wait was given.
    pub(crate) fn give_up(self: Pin<&mut Self>) {
        let mut this = self.project();
        if this.node.state() == NodeState::Idle {
            return;
        }
        let (wakers, _old) = this.list.with(|state| {
            let how = match this.node.state() {
                NodeState::Queued => Abandoned::Queued,
                _ => Abandoned::Fired,
            };
            // SAFETY: the list has only one queue.
            let old = unsafe { L::queue(state).remove(this.node.as_mut()) };
            (this.node.as_mut().own(|data| this.list.abandoned(state, data, how)), old)
        });
        this.node.reset();
        wakers.wake_all();
    }
}
