//! Receiving: the future of [`Receiver::recv`].

use super::core::{Core, OnLater, Present, Take};
use super::lock::{Chan, Locked};
use super::node::{ChanWaiter, NodePlace, Payload};
use super::queue::{Summoned, poll_queued};
use super::{Receiver, RecvError};
use crate::wait::queue::{Fired, Node, NodeState, Spot};
use gmp_rt::task::park::{StorableWaker, WaitReason, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The future of [`Receiver::recv`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct RecvFut<'a, T> {
        pub(crate) receiver: &'a Receiver<T>,
        #[pin]
        pub(crate) spot: Spot<ChanWaiter<T>>,
    }

    impl<T> PinnedDrop for RecvFut<'_, T> {
        #[inline]
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            cancel(&this.receiver.chan, this.spot);
        }
    }
}

impl<'a, T> RecvFut<'a, T> {
    pub(super) fn new(receiver: &'a Receiver<T>) -> Self {
        Self { receiver, spot: Spot::new() }
    }

    /// Whether it waits for a sender that it has summoned.
    pub(super) fn is_promised(self: Pin<&mut Self>) -> bool {
        let this = self.project();
        let Some(node) = this.spot.node() else { return false };
        // SAFETY: the lock is held.
        this.receiver.chan.with(|_| unsafe { is_promised(node) })
    }

    /// Cancels the wait, and decides under the lock what the result is.
    pub(super) fn give_up(self: Pin<&mut Self>, leave: Leave) -> GaveUp<T> {
        let this = self.project();
        let mut node = this.spot.node();
        let (gave_up, left, fired) = this.receiver.chan.with(|core| {
            if let Some(node) = &mut node {
                if let Some(result) = take_fired(node.as_mut()) {
                    return (GaveUp::With(result), None, Fired::NONE);
                }
                // SAFETY: the lock is held.
                let promised = unsafe { is_promised(node.as_mut()) };
                if promised && leave == Leave::Uncommitted && core.is_committed() {
                    return (GaveUp::Committed, None, Fired::NONE);
                }
            }
            // SAFETY: this node has been in no other channel's queue.
            let left = node.map(|node| unsafe { core.leave_receiver(node) });
            match core.take_present(OnLater::Skip) {
                Present::Value(value, fired) => (GaveUp::With(Ok(value)), left, fired),
                Present::Closed => (GaveUp::With(Err(RecvError)), left, Fired::NONE),
                Present::Later | Present::Empty => (GaveUp::Empty, left, Fired::NONE),
            }
        });
        fired.wake();
        if let Some(left) = left {
            left.finish();
        }
        gave_up
    }
}

/// When a receive may end its wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// Not while a sender that has confirmed evaluates its value.
    Uncommitted,
    Always,
}

/// Result of a cancelled receive.
pub(super) enum GaveUp<T> {
    With(Result<T, RecvError>),
    /// There is no value, and the channel is open.
    Empty,
    /// It continues to wait: a sender has confirmed and evaluates its value.
    Committed,
}

/// Whether a receive waits for a sender that it has summoned.
///
/// # Safety
///
/// The lock of its channel is held.
unsafe fn is_promised<T>(node: Pin<&mut Node<ChanWaiter<T>>>) -> bool {
    // SAFETY: guaranteed by the caller.
    node.state() == NodeState::Queued
        && unsafe { node.locked(|wait| wait.place) } == NodePlace::Promised
}

impl<T> fmt::Debug for RecvFut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvFut").field("state", &self.spot.state()).finish()
    }
}

impl<T> Future for RecvFut<'_, T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(poll_proceed(cx));
        self.poll_unbudgeted(cx)
    }
}

impl<T> RecvFut<'_, T> {
    /// Polls, even if the time slice is over.
    #[inline(always)]
    pub(super) fn poll_unbudgeted(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        let mut this = self.project();
        let chan = &this.receiver.chan;
        if this.spot.state() != NodeState::Idle
            && let Some(node) = this.spot.as_mut().node()
            && let Some(result) = ready!(poll_waiting(chan, node, cx))
        {
            return Poll::Ready(result);
        }
        let locked = match chan.quickly(Core::take_quickly) {
            Ok(value) => return Poll::Ready(Ok(value)),
            Err(((), locked)) => locked,
        };
        match StorableWaker::of_goroutine(cx.waker()) {
            Some(mut waker) => take_or_wait(locked, this.spot, &mut waker, cx),
            None => take_or_wait_foreign(locked, this.spot, cx),
        }
    }
}

/// Takes a value, or begins to wait. Inlined twice: for a goroutine the compiler removes `waker`.
#[inline(always)]
fn take_or_wait<T>(
    locked: Locked<'_, T>,
    spot: Pin<&mut Spot<ChanWaiter<T>>>,
    waker: &mut StorableWaker<'_>,
    cx: &Context<'_>,
) -> Poll<Result<T, RecvError>> {
    let chan = locked.chan();
    // Separate variables instead of one result, which would go through memory (see `quickly`).
    let (mut value, mut fired) = (None, Fired::NONE);
    let next = locked.with(|core| {
        let summoned = match core.take() {
            Take::Value(taken, woken) => {
                (value, fired) = (Some(taken), woken);
                return Next::End;
            }
            Take::Closed => return Next::End,
            Take::Summoned(woken) => {
                fired = woken;
                Summoned::Yes
            }
            Take::Empty => Summoned::No,
        };
        let node = spot.make(ChanWaiter::new(Payload::Nothing));
        // SAFETY: pinned in its place; the drop of `RecvFut` calls `cancel`.
        unsafe { core.wait_to_receive(node, Some(waker.store()), summoned) };
        Next::Wait
    });
    fired.wake();
    if next == Next::End {
        return Poll::Ready(value.ok_or(RecvError));
    }
    note_wait(cx, WaitReason::ChanReceive, chan.id());
    Poll::Pending
}

#[cold]
#[inline(never)]
fn take_or_wait_foreign<T>(
    locked: Locked<'_, T>,
    spot: Pin<&mut Spot<ChanWaiter<T>>>,
    cx: &Context<'_>,
) -> Poll<Result<T, RecvError>> {
    let (mut waker, locked) = locked.prepare_foreign(cx.waker());
    take_or_wait(locked, spot, &mut waker, cx)
}

/// How a poll continues.
#[derive(PartialEq, Eq)]
enum Next {
    /// With a value, or closed.
    End,
    Wait,
}

/// Polls a receive that has waited. `None` if it has to begin again.
fn poll_waiting<T>(
    chan: &Chan<T>,
    mut node: Pin<&mut Node<ChanWaiter<T>>>,
    cx: &Context<'_>,
) -> Poll<Option<Result<T, RecvError>>> {
    ready!(poll_queued(chan, node.as_mut(), cx, WaitReason::ChanReceive));
    Poll::Ready(take_fired(node))
}

/// Takes what a receive was given. Returns `None` if it was given nothing, or has to begin again.
#[inline(always)]
fn take_fired<T>(mut node: Pin<&mut Node<ChanWaiter<T>>>) -> Option<Result<T, RecvError>> {
    if node.state() != NodeState::Fired {
        return None;
    }
    let payload = node.as_mut().own(ChanWaiter::take);
    node.reset();
    match payload {
        Payload::Value(value) => Some(Ok(value)),
        Payload::Again => None,
        _ => Some(Err(RecvError)),
    }
}

/// Cancels a receive. A value that it was given goes to the next receive.
#[inline]
fn cancel<T>(chan: &Chan<T>, spot: Pin<&mut Spot<ChanWaiter<T>>>) {
    if spot.state() != NodeState::Idle
        && let Some(node) = spot.node()
    {
        // SAFETY: this node has been in no other channel's queue.
        chan.with(|core| unsafe { core.leave_receiver(node) }).finish();
    }
}
