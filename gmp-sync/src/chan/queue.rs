//! Waiting on a channel: joining and leaving its queues, and listeners (bells).

use super::core::Core;
use super::lock::Chan;
use super::node::{ChanWaiter, NodePlace, Payload};
use crate::wait::queue::{Node, NodeState, Queue};
use crate::wait::wakers::Wakers;
use gmp_rt::task::park::{StorableWaker, StoredWaker, WaitReason, note_wait};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The kind of end that leaves a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Stream,
    Sink,
}

/// Whether a receiver waits for a sender that it has summoned.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summoned {
    /// It waits for any sender.
    No,
    /// It waits for a summoned sender.
    Yes,
}

/// Where a sender joins the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Behind all others.
    Last,
    /// Before all others: it was the first, and its summons was withdrawn.
    First,
}

/// The rest of a cancelled wait, to be [finished](Self::finish) after the lock is released.
#[must_use = "to be finished after the lock is released"]
pub(crate) struct EndedWait<T> {
    wakers: Wakers,
    value: Option<T>,
    waker: Option<StoredWaker>,
}

impl<T> EndedWait<T> {
    /// Returns the wakers to wake and the value to drop after the lock is released, for a select's
    /// node.
    pub(crate) fn into_parts(self) -> (Wakers, Option<T>) {
        debug_assert!(self.waker.is_none(), "the waker of a select is in its claim");
        (self.wakers, self.value)
    }

    /// Wakes the wakers and drops the value. The caller holds no lock.
    pub(crate) fn finish(self) {
        self.wakers.wake_all();
        drop((self.value, self.waker));
    }
}

impl<T> Core<T> {
    /// Begins to wait for a value, from any sender or from a summoned one.
    ///
    /// # Safety
    ///
    /// `node` stays pinned until it is dropped, and leaves by
    /// [`leave_receiver`](Self::leave_receiver) before that.
    #[inline]
    pub(crate) unsafe fn wait_to_receive(
        &mut self,
        mut node: Pin<&mut Node<ChanWaiter<T>>>,
        waker: Option<StoredWaker>,
        summoned: Summoned,
    ) {
        let (queue, place) = match summoned {
            Summoned::No => (&mut self.recvq, NodePlace::Common),
            Summoned::Yes => (&mut self.promised, NodePlace::Promised),
        };
        node.as_mut().own(|wait| wait.place = place);
        // SAFETY: guaranteed by the caller.
        unsafe { queue.push_back(node, waker) };
        self.ring_sinks();
    }

    /// Begins to wait for room or a receiver.
    ///
    /// # Safety
    ///
    /// `node` stays pinned until it is dropped, and leaves by [`leave_sender`](Self::leave_sender)
    /// before that.
    #[inline]
    pub(crate) unsafe fn wait_to_send(
        &mut self,
        node: Pin<&mut Node<ChanWaiter<T>>>,
        waker: Option<StoredWaker>,
        entry: Entry,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match entry {
                Entry::Last => self.sendq.push_back(node, waker),
                Entry::First => self.sendq.push_front(node, waker),
            }
        }
        self.ring_streams();
    }

    /// Leaves a listener, or replaces the waker of the one that is there. Returns the old waker.
    ///
    /// # Safety
    ///
    /// `node` stays pinned until it is dropped, is used only for listeners of this side, and is
    /// [removed](Self::take_off_bell) before it is dropped.
    pub(super) unsafe fn leave_bell(
        &mut self,
        side: Side,
        mut node: Pin<&mut Node<ChanWaiter<T>>>,
        waker: &mut StorableWaker<'_>,
    ) -> Option<StoredWaker> {
        let bells = self.bells(side);
        if node.state() == NodeState::Queued {
            // SAFETY: queued, so it is among the listeners of this side.
            return unsafe { bells.update(node, waker) };
        }
        node.as_mut().reset();
        // SAFETY: guaranteed by the caller.
        unsafe { bells.push_back(node, waker.store()) };
        if side == Side::Stream {
            self.ring_sinks();
        }
        None
    }

    /// Removes a listener, if it is there. Returns its waker, to be dropped after the lock is
    /// released.
    ///
    /// # Safety
    ///
    /// `node` is used only for listeners of this side.
    pub(super) unsafe fn take_off_bell(
        &mut self,
        side: Side,
        node: Pin<&mut Node<ChanWaiter<T>>>,
    ) -> Option<StoredWaker> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.bells(side).remove(node) }
    }

    fn bells(&mut self, side: Side) -> &mut Queue<ChanWaiter<T>> {
        match side {
            Side::Stream => &mut self.streams,
            Side::Sink => &mut self.sinks,
        }
    }

    /// Replaces the waker of a wait. Returns the old one, to be dropped after the lock is released.
    ///
    /// # Safety
    ///
    /// `node` is queued here.
    pub(crate) unsafe fn update(
        &mut self,
        node: Pin<&mut Node<ChanWaiter<T>>>,
        waker: &mut StorableWaker<'_>,
    ) -> Option<StoredWaker> {
        // Any of the queues will do, because the head and the tail are not accessed.
        // SAFETY: guaranteed by the caller.
        unsafe { self.sendq.update(node, waker) }
    }

    /// Cancels the wait of a receiver, which is queued or has been given something.
    ///
    /// # Safety
    ///
    /// `node` is in one of this channel's receiver queues or in none.
    pub(crate) unsafe fn leave_receiver(
        &mut self,
        mut node: Pin<&mut Node<ChanWaiter<T>>>,
    ) -> EndedWait<T> {
        let mut left = EndedWait { wakers: Wakers::None, value: None, waker: None };
        match node.state() {
            NodeState::Idle => {}
            NodeState::Queued => {
                // SAFETY: the lock is held.
                let place = unsafe { node.as_mut().locked(|wait| wait.place) };
                let queue = match place {
                    NodePlace::Common => &mut self.recvq,
                    NodePlace::Promised => &mut self.promised,
                };
                // SAFETY: guaranteed by the caller; the place says which queue.
                left.waker = unsafe { queue.remove(node) };
                if place == NodePlace::Promised {
                    self.leave_promise();
                }
            }
            NodeState::Fired => {
                if let (Payload::Value(value), seq) = node.own(|wait| (wait.take(), wait.seq)) {
                    let (fired, value) = self.put_back(value, seq);
                    left.wakers = fired.into();
                    left.value = value;
                }
            }
        }
        left
    }

    /// Cancels the wait of a sender, which is queued or has been given something. If the value is
    /// still in the node, it stays there.
    ///
    /// # Safety
    ///
    /// `node` is in this channel's queue of senders or in none.
    pub(crate) unsafe fn leave_sender(
        &mut self,
        mut node: Pin<&mut Node<ChanWaiter<T>>>,
    ) -> EndedWait<T> {
        let mut left = EndedWait { wakers: Wakers::None, value: None, waker: None };
        match node.state() {
            NodeState::Idle => {}
            // SAFETY: guaranteed by the caller.
            NodeState::Queued => left.waker = unsafe { self.sendq.remove(node) },
            NodeState::Fired => {
                let summons = node.as_mut().own(|wait| matches!(wait.payload, Payload::Summons));
                if summons {
                    node.own(|wait| wait.payload = Payload::Nothing);
                    left.wakers = self.decline();
                }
            }
        }
        left
    }
}

/// Polls a wait of either kind: remembers the waker while the node is queued. Ready if it was
/// fired, or has not begun.
#[inline(always)]
pub(super) fn poll_queued<T>(
    chan: &Chan<T>,
    mut node: Pin<&mut Node<ChanWaiter<T>>>,
    cx: &Context<'_>,
    reason: WaitReason,
) -> Poll<()> {
    if node.state() == NodeState::Queued {
        let mut waker = StorableWaker::new(cx.waker());
        let old = chan.with(|core| match node.state() {
            // SAFETY: queued, so it is in this channel.
            NodeState::Queued => Some(unsafe { core.update(node.as_mut(), &mut waker) }),
            _ => None,
        });
        if old.is_some() {
            note_wait(cx, reason, chan.id());
            return Poll::Pending;
        }
    }
    Poll::Ready(())
}
