//! A wait in the one queue of a primitive that has one lock: safe to use, whatever happens to it.
//!
//! [`Waiter`] is a [`Node`] together with the [`Home`] it waits at. It looks, joins the queue and
//! goes to sleep under one lock, so no wake-up falls between. Dropped while queued it leaves the queue;
//! dropped after it was fired and before it noticed, [`Home::abandoned`] passes on what it was
//! given.

use crate::waitq::{Node, Queue, State};
use crate::wakers::Wakers;
use gmp_rt::park::StorableWaker;
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What a [`Waiter`] waits at: a lock, and a queue behind it.
///
/// # Safety
///
/// `with` runs its closure under a lock, on the same state each time, which does not move or end
/// while a `Waiter` has this home; `queue` gives the same queue of that state each time, and no
/// other lock guards it.
pub(crate) unsafe trait Home {
    /// What the lock guards.
    type State;
    /// What a wait keeps in its node.
    type Data;

    /// Runs `f` under the lock.
    fn with<R>(&self, f: impl FnOnce(&mut Self::State) -> R) -> R;

    /// The queue of those who wait.
    fn queue(state: &mut Self::State) -> &mut Queue<Self::Data>;

    /// A wait is given up: it was in the queue until now, or fired without having noticed. What it
    /// was given has to go to somebody else.
    fn abandoned(&self, state: &mut Self::State, data: &mut Self::Data, how: Abandoned) -> Wakers;
}

// SAFETY: what is borrowed stays where it is.
unsafe impl<H: Home + ?Sized> Home for &H {
    type State = H::State;
    type Data = H::Data;

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut H::State) -> R) -> R {
        (**self).with(f)
    }

    #[inline]
    fn queue(state: &mut H::State) -> &mut Queue<H::Data> {
        H::queue(state)
    }

    fn abandoned(&self, state: &mut H::State, data: &mut H::Data, how: Abandoned) -> Wakers {
        (**self).abandoned(state, data, how)
    }
}

// SAFETY: what is shared stays where it is.
unsafe impl<H: Home + ?Sized> Home for Arc<H> {
    type State = H::State;
    type Data = H::Data;

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut H::State) -> R) -> R {
        (**self).with(f)
    }

    #[inline]
    fn queue(state: &mut H::State) -> &mut Queue<H::Data> {
        H::queue(state)
    }

    fn abandoned(&self, state: &mut H::State, data: &mut H::Data, how: Abandoned) -> Wakers {
        (**self).abandoned(state, data, how)
    }
}

/// How a wait was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Abandoned {
    /// It was waiting, and has left the queue.
    Queued,
    /// Its wait had ended.
    Fired,
}

pin_project! {
    /// A wait, or one about to begin.
    pub(crate) struct Waiter<H: Home> {
        home: H,
        #[pin]
        node: Node<H::Data>,
    }

    impl<H: Home> PinnedDrop for Waiter<H> {
        fn drop(this: Pin<&mut Self>) {
            this.give_up();
        }
    }
}

impl<H: Home> fmt::Debug for Waiter<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter").field("state", &self.node.state()).finish()
    }
}

/// An end of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Where newcomers wait.
    Back,
    /// For one that has waited before, and keeps its turn.
    Front,
}

/// How a wait ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended<R> {
    /// At once: the attempt gave this.
    AtOnce(R),
    /// It was fired; its data says with what.
    Fired,
}

impl<H: Home> Waiter<H> {
    /// A wait that has not begun.
    pub(crate) fn new(home: H, data: H::Data) -> Self {
        Self { home, node: Node::new(data) }
    }

    /// What it waits at.
    pub(crate) fn home(&self) -> &H {
        &self.home
    }

    /// Where it is. `Queued` may be outdated at once.
    #[inline]
    pub(crate) fn state(&self) -> State {
        self.node.state()
    }

    /// Runs `attempt` if the wait has not begun, and waits if that says `Continue`. Returns when
    /// the attempt succeeds or the wait is fired.
    #[inline]
    pub(crate) fn poll_wait<R>(
        self: Pin<&mut Self>,
        cx: &Context<'_>,
        attempt: impl FnOnce(&mut H::State, &mut H::Data) -> ControlFlow<R>,
    ) -> Poll<Ended<R>> {
        let mut waker = StorableWaker::new(cx.waker());
        self.poll_wait_at(End::Back, &mut waker, |_, state, data| attempt(state, data))
    }

    /// As [`poll_wait`](Self::poll_wait), joining the queue at this end; the attempt gets the home
    /// as well. A caller that changes shared state before this call makes `waker` before that
    /// change.
    #[inline]
    pub(crate) fn poll_wait_at<R>(
        self: Pin<&mut Self>,
        end: End,
        waker: &mut StorableWaker<'_>,
        attempt: impl FnOnce(&H, &mut H::State, &mut H::Data) -> ControlFlow<R>,
    ) -> Poll<Ended<R>> {
        let mut this = self.project();
        match this.node.state() {
            State::Fired => return Poll::Ready(Ended::Fired),
            State::Queued => return Self::wait_on(this.home, this.node, waker),
            State::Idle => {}
        }
        let home = &*this.home;
        home.with(|state| match this.node.as_mut().own(|data| attempt(home, state, data)) {
            ControlFlow::Break(result) => Poll::Ready(Ended::AtOnce(result)),
            ControlFlow::Continue(()) => {
                // SAFETY: pinned as this is; `give_up` removes it from the same queue under the
                // same lock (`Home`'s promise) before it is dropped.
                unsafe {
                    match end {
                        End::Back => H::queue(state).push_back(this.node, waker.store()),
                        End::Front => H::queue(state).push_front(this.node, waker.store()),
                    }
                }
                Poll::Pending
            }
        })
    }

    /// Polled again while it waits: for nothing, or with another waker.
    fn wait_on<R>(
        home: &H,
        mut node: Pin<&mut Node<H::Data>>,
        waker: &mut StorableWaker<'_>,
    ) -> Poll<Ended<R>> {
        // The old waker is dropped after the lock is released.
        let (poll, _old) = home.with(|state| match node.state() {
            State::Queued => {
                // SAFETY: queued, and there is but one queue for it.
                let old = unsafe { H::queue(state).update(node.as_mut(), waker) };
                (Poll::Pending, old)
            }
            _ => (Poll::Ready(Ended::Fired), None),
        });
        poll
    }

    /// The data of a wait that is not in the queue.
    ///
    /// # Panics
    ///
    /// If it is in the queue.
    pub(crate) fn own<R>(self: Pin<&mut Self>, f: impl FnOnce(&mut H::Data) -> R) -> R {
        self.project().node.own(f)
    }

    /// Makes a wait that has ended ready to begin again. What it was given is the caller's.
    pub(crate) fn reset(self: Pin<&mut Self>) {
        self.project().node.reset();
    }

    /// Ends a wait from its own side: leaves the queue, or passes on what it was given.
    pub(crate) fn give_up(self: Pin<&mut Self>) {
        let mut this = self.project();
        if this.node.state() == State::Idle {
            return;
        }
        let (wakers, _old) = this.home.with(|state| {
            let how = match this.node.state() {
                State::Queued => Abandoned::Queued,
                _ => Abandoned::Fired,
            };
            // SAFETY: there is but one queue for it.
            let old = unsafe { H::queue(state).remove(this.node.as_mut()) };
            (this.node.as_mut().own(|data| this.home.abandoned(state, data, how)), old)
        });
        this.node.reset();
        wakers.wake_all();
    }
}
