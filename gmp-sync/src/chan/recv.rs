//! Receiving: the future, and what the stream and select build on.

use super::core::Take;
use super::shared::Chan;
use super::wait::{Parcel, Wait};
use super::waits::Summoned;
use super::{Receiver, RecvError};
use crate::waitq::{Node, State};
use gmp_rt::park::{WaitReason, note_wait, poll_go_on};
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The future of [`Receiver::recv`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct Recv<'a, T> {
        pub(crate) receiver: &'a Receiver<T>,
        #[pin]
        pub(crate) node: Node<Wait<T>>,
    }

    impl<T> PinnedDrop for Recv<'_, T> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            cancel(&this.receiver.chan, this.node);
        }
    }
}

impl<'a, T> Recv<'a, T> {
    pub(super) fn new(receiver: &'a Receiver<T>) -> Self {
        Self { receiver, node: Node::new(Wait::new(Parcel::Nothing)) }
    }
}

impl<T> fmt::Debug for Recv<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recv").field("state", &self.node.state()).finish()
    }
}

impl<T> Future for Recv<'_, T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        poll_recv(&this.receiver.chan, this.node, cx)
    }
}

/// Polls a receive whose wait, if it has to wait, is `node`. The node is ready for another receive
/// afterwards.
#[inline]
pub(super) fn poll_recv<T>(
    chan: &Chan<T>,
    mut node: Pin<&mut Node<Wait<T>>>,
    cx: &Context<'_>,
) -> Poll<Result<T, RecvError>> {
    ready!(poll_go_on(cx));
    if node.state() != State::Idle
        && let Some(result) = ready!(poll_waiting(chan, node.as_mut(), cx))
    {
        return Poll::Ready(result);
    }
    let took = chan.with(|core| {
        let took = core.take();
        let summoned = match took {
            Take::Summoned(_) => Summoned::Yes,
            Take::Empty => Summoned::No,
            _ => return took,
        };
        // SAFETY: pinned where it is; whoever owns it calls `cancel` before it is dropped.
        unsafe { core.wait_to_receive(node, Some(cx.waker().clone()), summoned) };
        took
    });
    match took {
        Take::Value(value, fired) => {
            fired.wake();
            return Poll::Ready(Ok(value));
        }
        Take::Closed => return Poll::Ready(Err(RecvError)),
        Take::Summoned(fired) => fired.wake(),
        Take::Empty => {}
    }
    note_wait(cx, WaitReason::ChanReceive, chan.id());
    Poll::Pending
}

/// Polls a receive that has waited. `None`: it has to begin again.
fn poll_waiting<T>(
    chan: &Chan<T>,
    mut node: Pin<&mut Node<Wait<T>>>,
    cx: &Context<'_>,
) -> Poll<Option<Result<T, RecvError>>> {
    if node.state() == State::Queued {
        let old = chan.with(|core| match node.state() {
            // SAFETY: queued, and so in this channel.
            State::Queued => Some(unsafe { core.update(node.as_mut(), cx.waker()) }),
            _ => None,
        });
        if old.is_some() {
            note_wait(cx, WaitReason::ChanReceive, chan.id());
            return Poll::Pending;
        }
    }
    let parcel = node.as_mut().own(Wait::take);
    node.reset();
    Poll::Ready(match parcel {
        Parcel::Value(value) => Some(Ok(value)),
        Parcel::Again => None,
        _ => Some(Err(RecvError)),
    })
}

/// Ends a receive from its own side. A value it was given goes to the next one.
#[inline]
pub(super) fn cancel<T>(chan: &Chan<T>, node: Pin<&mut Node<Wait<T>>>) {
    if node.state() != State::Idle {
        // SAFETY: this node has been in no other channel's queue.
        chan.with(|core| unsafe { core.leave_receiver(node) }).finish();
    }
}
