//! Waiting on a channel: joining its queues, leaving them, and bells.

use super::core::Core;
use super::wait::{Parcel, Place, Wait};
use crate::waitq::{Node, Queue, State};
use crate::wakers::Wakers;
use gmp_rt::park::{StorableWaker, StoredWaker};
use std::pin::Pin;

/// Who leaves a bell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Stream,
    Sink,
}

/// Whether a receiver waits for a sender it has summoned.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summoned {
    /// For anybody.
    No,
    /// For the one.
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

/// What is left of a wait that was given up, to be [finished](Self::finish) after the lock is
/// released.
#[must_use = "to be finished after the lock is released"]
pub(crate) struct Left<T> {
    wakers: Wakers,
    value: Option<T>,
    waker: Option<StoredWaker>,
}

impl<T> Left<T> {
    /// Whom to wake, and what to drop, after the lock is released: for a select's node.
    pub(crate) fn into_parts(self) -> (Wakers, Option<T>) {
        debug_assert!(self.waker.is_none(), "the waker of a select is in its claim");
        (self.wakers, self.value)
    }

    /// Wakes who is to be woken, drops what is to be dropped.
    pub(crate) fn finish(self) {
        self.wakers.wake_all();
        drop((self.value, self.waker));
    }
}

impl<T> Core<T> {
    /// Begins to wait for a value, from anybody or for a promised one.
    ///
    /// # Safety
    ///
    /// `node` is pinned for its life, and leaves by [`leave_receiver`](Self::leave_receiver) before
    /// it is dropped.
    #[inline]
    pub(crate) unsafe fn wait_to_receive(
        &mut self,
        mut node: Pin<&mut Node<Wait<T>>>,
        waker: Option<StoredWaker>,
        summoned: Summoned,
    ) {
        let (queue, place) = match summoned {
            Summoned::No => (&mut self.recvq, Place::Common),
            Summoned::Yes => (&mut self.promised, Place::Promised),
        };
        node.as_mut().own(|wait| wait.place = place);
        // SAFETY: the caller's promise.
        unsafe { queue.push_back(node, waker) };
        self.ring_sinks();
    }

    /// Begins to wait for room or a receiver.
    ///
    /// # Safety
    ///
    /// `node` is pinned for its life, and leaves by [`leave_sender`](Self::leave_sender) before
    /// it is dropped.
    #[inline]
    pub(crate) unsafe fn wait_to_send(
        &mut self,
        node: Pin<&mut Node<Wait<T>>>,
        waker: Option<StoredWaker>,
        entry: Entry,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            match entry {
                Entry::Last => self.sendq.push_back(node, waker),
                Entry::First => self.sendq.push_front(node, waker),
            }
        }
        self.ring_streams();
    }

    /// Leaves a bell, or gives the one that is there another waker.
    ///
    /// # Safety
    ///
    /// `node` is pinned for its life, is used for bells of this side alone, and is
    /// [taken off](Self::take_off_bell) before it is dropped.
    pub(super) unsafe fn leave_bell(
        &mut self,
        side: Side,
        mut node: Pin<&mut Node<Wait<T>>>,
        waker: &mut StorableWaker<'_>,
    ) -> Option<StoredWaker> {
        let bells = self.bells(side);
        if node.state() == State::Queued {
            // SAFETY: queued, so with the bells of this side.
            return unsafe { bells.update(node, waker) };
        }
        node.as_mut().reset();
        // SAFETY: the caller's promise.
        unsafe { bells.push_back(node, waker.store()) };
        if side == Side::Stream {
            self.ring_sinks();
        }
        None
    }

    /// Takes a bell off, if it is there. Returns its waker, to be dropped after the lock is
    /// released.
    ///
    /// # Safety
    ///
    /// `node` is used for bells of this side alone.
    pub(super) unsafe fn take_off_bell(
        &mut self,
        side: Side,
        node: Pin<&mut Node<Wait<T>>>,
    ) -> Option<StoredWaker> {
        // SAFETY: the caller's promise.
        unsafe { self.bells(side).remove(node) }
    }

    fn bells(&mut self, side: Side) -> &mut Queue<Wait<T>> {
        match side {
            Side::Stream => &mut self.streams,
            Side::Sink => &mut self.sinks,
        }
    }

    /// Gives a wait another waker; returns the old one, to be dropped after the lock is released.
    ///
    /// # Safety
    ///
    /// `node` is queued here.
    pub(crate) unsafe fn update(
        &mut self,
        node: Pin<&mut Node<Wait<T>>>,
        waker: &mut StorableWaker<'_>,
    ) -> Option<StoredWaker> {
        // Any of the queues will do: their ends are not touched.
        // SAFETY: the caller's promise.
        unsafe { self.sendq.update(node, waker) }
    }

    /// A receiver gives up, whether it waits or has been given something.
    ///
    /// # Safety
    ///
    /// `node` is in no queue but one of these.
    pub(crate) unsafe fn leave_receiver(&mut self, mut node: Pin<&mut Node<Wait<T>>>) -> Left<T> {
        let mut left = Left { wakers: Wakers::None, value: None, waker: None };
        match node.state() {
            State::Idle => {}
            State::Queued => {
                // SAFETY: the lock is held.
                let place = unsafe { node.as_mut().locked(|wait| wait.place) };
                let queue = match place {
                    Place::Common => &mut self.recvq,
                    Place::Promised => &mut self.promised,
                };
                // SAFETY: the caller's promise; the place says which queue.
                left.waker = unsafe { queue.remove(node) };
                if place == Place::Promised {
                    self.leave_promise();
                }
            }
            State::Fired => {
                if let (Parcel::Value(value), turn) = node.own(|wait| (wait.take(), wait.turn)) {
                    let (fired, value) = self.put_back(value, turn);
                    left.wakers = fired.into();
                    left.value = value;
                }
            }
        }
        left
    }

    /// A sender gives up, whether it waits or has been given something. Its value, if it is still
    /// in the node, stays there.
    ///
    /// # Safety
    ///
    /// `node` is in no queue but the senders'.
    pub(crate) unsafe fn leave_sender(&mut self, mut node: Pin<&mut Node<Wait<T>>>) -> Left<T> {
        let mut left = Left { wakers: Wakers::None, value: None, waker: None };
        match node.state() {
            State::Idle => {}
            // SAFETY: the caller's promise.
            State::Queued => left.waker = unsafe { self.sendq.remove(node) },
            State::Fired => {
                let summons = node.as_mut().own(|wait| matches!(wait.parcel, Parcel::Summons));
                if summons {
                    node.own(|wait| wait.parcel = Parcel::Nothing);
                    left.wakers = self.decline();
                }
            }
        }
        left
    }
}
