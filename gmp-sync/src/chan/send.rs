//! Sending: the future of [`Sender::send`], and the permit of a chosen send case.

use super::core::{ChanPhase, Push};
use super::lock::{Chan, Locked};
use super::node::{ChanWaiter, Payload};
use super::queue::{Entry, poll_queued};
use super::{SendError, Sender, TrySendError, attempt};
use crate::wait::queue::{Node, NodeState, Spot};
use gmp_rt::task::park::{StorableWaker, WaitReason, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The future of [`Sender::send`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct SendFut<'a, T> {
        sender: &'a Sender<T>,
        // Moves into the node when the send begins to wait.
        value: Option<T>,
        #[pin]
        spot: Spot<ChanWaiter<T>>,
    }

    impl<T> PinnedDrop for SendFut<'_, T> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            cancel(&this.sender.chan, this.spot);
        }
    }
}

impl<'a, T> SendFut<'a, T> {
    pub(super) fn new(sender: &'a Sender<T>, value: T) -> Self {
        Self { sender, value: Some(value), spot: Spot::new() }
    }

    /// Cancels the wait, and decides under the lock what the result is.
    pub(super) fn give_up(self: Pin<&mut Self>) -> Result<(), TrySendError<T>> {
        let mut this = self.project();
        let chan = &this.sender.chan;
        if let Some(value) = this.value.take() {
            // It has not waited.
            return attempt::try_send(chan, value);
        }
        let Some(mut node) = this.spot.as_mut().node() else { return Ok(()) };
        // SAFETY: this node has been in no other channel's queue.
        let (left, phase) =
            chan.with(|core| (unsafe { core.leave_sender(node.as_mut()) }, core.phase()));
        left.finish();
        match (node.own(ChanWaiter::take), phase) {
            (Payload::Value(value), ChanPhase::Open) => Err(TrySendError::Full(value)),
            (Payload::Value(value), ChanPhase::Closed) => Err(TrySendError::Closed(value)),
            _ => Ok(()),
        }
    }
}

impl<T> fmt::Debug for SendFut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendFut").field("state", &self.spot.state()).finish()
    }
}

impl<T> Future for SendFut<'_, T> {
    type Output = Result<(), SendError<T>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(poll_proceed(cx));
        self.poll_unbudgeted(cx)
    }
}

impl<T> SendFut<'_, T> {
    /// Polls, even if the time slice is over.
    #[inline(always)]
    pub(super) fn poll_unbudgeted(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        let mut this = self.project();
        let chan = &this.sender.chan;
        if this.spot.state() != NodeState::Idle
            && let Some(mut node) = this.spot.as_mut().node()
        {
            ready!(poll_waiting(chan, node.as_mut(), cx));
            return Poll::Ready(match node.own(ChanWaiter::take) {
                // The value is still there: the channel was closed.
                Payload::Value(value) => Err(SendError(value)),
                _ => Ok(()),
            });
        }
        let Some(value) = this.value.take() else {
            panic!("a send is polled after it has ended");
        };
        let pushed = chan.quickly(|core| {
            core.push_quickly(value)?;
            chan.readable.set(true);
            Ok(())
        });
        let (value, locked) = match pushed {
            Ok(()) => return Poll::Ready(Ok(())),
            Err(failed) => failed,
        };
        match StorableWaker::of_goroutine(cx.waker()) {
            Some(mut waker) => push_or_wait(locked, (value, this.spot), &mut waker, cx),
            None => push_or_wait_foreign(locked, (value, this.spot), cx),
        }
    }
}

/// Sends, or begins to wait. Inlined twice: for a goroutine the compiler removes `waker`.
#[inline(always)]
fn push_or_wait<T>(
    locked: Locked<'_, T>,
    (value, spot): (T, Pin<&mut Spot<ChanWaiter<T>>>),
    waker: &mut StorableWaker<'_>,
    cx: &Context<'_>,
) -> Poll<Result<(), SendError<T>>> {
    let chan = locked.chan();
    let pushed = locked.with(|core| match core.push(value) {
        Push::Full(value) => {
            let node = spot.make(ChanWaiter::new(Payload::Value(value)));
            // SAFETY: pinned in its place; the drop of `SendFut` calls `cancel`.
            unsafe { core.wait_to_send(node, Some(waker.store()), Entry::Last) };
            None
        }
        pushed => Some(pushed),
    });
    match pushed {
        Some(Push::Done(fired)) => fired.wake(),
        Some(Push::Closed(value) | Push::Full(value)) => {
            return Poll::Ready(Err(SendError(value)));
        }
        None => {
            note_wait(cx, WaitReason::ChanSend, chan.id());
            return Poll::Pending;
        }
    }
    Poll::Ready(Ok(()))
}

#[cold]
#[inline(never)]
fn push_or_wait_foreign<T>(
    locked: Locked<'_, T>,
    (value, spot): (T, Pin<&mut Spot<ChanWaiter<T>>>),
    cx: &Context<'_>,
) -> Poll<Result<(), SendError<T>>> {
    let (mut waker, locked) = locked.prepare_foreign(cx.waker());
    push_or_wait(locked, (value, spot), &mut waker, cx)
}

/// Polls the wait of a sender until it is fired. The payload says with what.
fn poll_waiting<T>(
    chan: &Chan<T>,
    mut node: Pin<&mut Node<ChanWaiter<T>>>,
    cx: &Context<'_>,
) -> Poll<()> {
    ready!(poll_queued(chan, node.as_mut(), cx, WaitReason::ChanSend));
    node.reset();
    Poll::Ready(())
}

/// Cancels a send. A value that no receiver took stays in the node.
#[inline]
fn cancel<T>(chan: &Chan<T>, spot: Pin<&mut Spot<ChanWaiter<T>>>) {
    if spot.state() != NodeState::Idle
        && let Some(node) = spot.node()
    {
        // SAFETY: this node has been in no other channel's queue.
        chan.with(|core| unsafe { core.leave_sender(node) }).finish();
    }
}

/// The right to send one value at once. A chosen send case of `select!` has one.
///
/// Dropping an unused permit gives it back.
pub struct Permit<'a, T> {
    chan: &'a Arc<Chan<T>>,
    used: Used,
}

#[derive(Debug, PartialEq, Eq)]
enum Used {
    Not,
    Yes,
}

impl<'a, T> Permit<'a, T> {
    /// Creates a permit. The caller has one of `chan`, or `chan` is closed.
    pub(crate) fn new(chan: &'a Arc<Chan<T>>) -> Self {
        Self { chan, used: Used::Not }
    }

    /// Whether the channel is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.chan.with(|core| core.phase() == ChanPhase::Closed)
    }

    /// Sends the value.
    ///
    /// # Errors
    ///
    /// If the channel is closed.
    pub fn send(mut self, value: T) -> Result<(), SendError<T>> {
        self.used = Used::Yes;
        match self.chan.with(|core| core.fulfil(value)) {
            Ok(fired) => {
                fired.wake();
                Ok(())
            }
            Err(value) => Err(SendError(value)),
        }
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("used", &self.used).finish()
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        if self.used == Used::Not {
            self.chan.with(|core| core.forfeit()).wake_all();
        }
    }
}
