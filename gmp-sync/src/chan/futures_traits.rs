//! A receiver as a stream, a sender as a sink.
//!
//! Either may stop being polled at any time without notice. So they wait by a listener (see
//! `core`). It is in a box, which is allocated by the first poll.

use super::core::{Core, Take};
use super::lock::Chan;
use super::node::{ChanWaiter, Payload};
use super::queue::Side;
use super::{Receiver, SendError, Sender};
use crate::wait::queue::{Node, NodeState};
use futures::sink::Sink;
use futures::stream::{FusedStream, Stream};
use gmp_rt::task::park::{StorableWaker, WaitReason, note_wait, poll_proceed};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The listener of an end that is used as a stream or sink.
pub(super) struct Pipe<T> {
    side: Side,
    bell: Option<Pin<Box<Node<ChanWaiter<T>>>>>,
}

impl<T> Pipe<T> {
    /// Creates a pipe for an end that is not used as a stream or sink yet.
    pub(super) fn new(side: Side) -> Self {
        Self { side, bell: None }
    }

    /// Runs `attempt`, and leaves the listener if it returns `None`.
    fn poll<R>(
        &mut self,
        chan: &Chan<T>,
        cx: &Context<'_>,
        attempt: impl FnOnce(&mut Core<T>) -> Option<R>,
    ) -> Poll<R> {
        let side = self.side;
        let bell =
            self.bell.get_or_insert_with(|| Box::pin(Node::new(ChanWaiter::new(Payload::Nothing))));
        let mut waker = StorableWaker::new(cx.waker());
        let (result, _old) = chan.with(|core| match attempt(core) {
            Some(result) => (Poll::Ready(result), None),
            // SAFETY: boxed, so pinned. This pipe owns it and removes it in `cancel` before it is
            // dropped.
            None => (Poll::Pending, unsafe { core.leave_bell(side, bell.as_mut(), &mut waker) }),
        });
        result
    }

    /// Removes the listener, before the end of the channel is dropped.
    pub(super) fn cancel(&mut self, chan: &Chan<T>) {
        let Some(bell) = &mut self.bell else { return };
        if bell.state() == NodeState::Queued {
            // SAFETY: a listener of this side.
            let old = chan.with(|core| unsafe { core.take_off_bell(self.side, bell.as_mut()) });
            drop(old);
        }
    }
}

impl<T> Receiver<T> {
    /// Receives, or leaves a listener with the waker of `cx` if there is no value. The caller
    /// checks the budget and notes the wait. Returns `None` if the channel is closed and empty.
    #[inline]
    pub(super) fn poll_listening(&mut self, cx: &Context<'_>) -> Poll<Option<T>> {
        match self.chan.quickly(Core::take_quickly) {
            Ok(value) => return Poll::Ready(Some(value)),
            // Unlocks: `listen` may have to clone a foreign waker first.
            Err(((), locked)) => drop(locked),
        }
        self.listen(cx)
    }

    /// As [`poll_listening`](Self::poll_listening), without the quick path.
    fn listen(&mut self, cx: &Context<'_>) -> Poll<Option<T>> {
        let mut summoned = None;
        let polled = self.pipe.poll(&self.chan, cx, |core| match core.take_for_stream() {
            Take::Value(value, fired) => Some(Some((value, fired))),
            Take::Closed => Some(None),
            Take::Empty => None,
            Take::Summoned(fired) => {
                summoned = Some(fired);
                None
            }
        });
        if let Some(fired) = summoned {
            fired.wake();
        }
        polled.map(|took| {
            took.map(|(value, fired)| {
                fired.wake();
                value
            })
        })
    }

    /// Removes the listener, and withdraws the summons of a sender that comes for it.
    pub(super) fn stop_listening(&mut self) {
        self.pipe.cancel(&self.chan);
        self.chan.with(|core| core.leave_stream());
    }
}

impl<T> Stream for Receiver<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        ready!(poll_proceed(cx));
        let polled = self.listen(cx);
        if polled.is_pending() {
            note_wait(cx, WaitReason::ChanReceive, self.chan.id());
        }
        polled
    }
}

impl<T> FusedStream for Receiver<T> {
    fn is_terminated(&self) -> bool {
        self.is_closed() && self.is_empty()
    }
}

/// [`poll_ready`](Sink::poll_ready) waits for room or a receiver. If another sender takes the room
/// first, the value exceeds the capacity of the buffer, by at most one value per sink. Flushing
/// does nothing, because an accepted value has been sent.
///
/// A waiting sink has no value yet. So on a channel without a buffer only a waiting receiver finds
/// it. [`try_recv`](Receiver::try_recv) and a `select!` with a `default` do not.
///
/// [`poll_close`](Sink::poll_close) ends this sender, as its drop does. The channel is closed if it
/// was the last sender. Other senders continue to work. All later sends of the ended sender fail as
/// on a closed channel. [`Sender::close`] closes the channel for all senders.
impl<T> Sink<T> for Sender<T> {
    type Error = SendError<()>;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let this = &mut *self;
        ready!(poll_proceed(cx));
        let polled = this.pipe.poll(&this.chan, cx, |core| core.may_send().then_some(()));
        if polled.is_pending() {
            note_wait(cx, WaitReason::ChanSend, this.chan.id());
        }
        polled.map(|()| if this.is_closed() { Err(SendError(())) } else { Ok(()) })
    }

    fn start_send(self: Pin<&mut Self>, value: T) -> Result<(), Self::Error> {
        match self.chan.with(|core| core.force(value)) {
            Ok(fired) => {
                fired.wake();
                Ok(())
            }
            Err(_value) => Err(SendError(())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.end();
        Poll::Ready(Ok(()))
    }
}
