//! The data of a wait on a channel: a payload, and the select that it belongs to.

use crate::wait::claim::Claim;
use crate::wait::queue::Verdict;
use gmp_rt::task::park::StoredWaker;
use std::ptr::NonNull;

/// The data that a wait keeps in its node.
pub(crate) struct ChanWaiter<T> {
    pub(super) payload: Payload<T>,
    /// Sequence number of the handover of its value.
    pub(super) seq: u64,
    claim: Option<SelectTicket>,
    pub(super) place: NodePlace,
}

/// The queue that a receiver's node is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodePlace {
    Common,
    Promised,
}

/// The payload of a node.
pub(crate) enum Payload<T> {
    /// Nothing: a waiting receiver, or a sender whose value was taken.
    Nothing,
    /// The value, to be sent or received.
    Value(T),
    /// A sender that does not have its value yet.
    Later,
    /// A `Later` sender was summoned: it confirms, and then has a permit.
    Summons,
    /// The channel was closed.
    Closed,
    /// The permit this receiver waited for was forfeited: it begins again.
    Again,
}

/// The case of a select that a node belongs to.
struct SelectTicket {
    claim: NonNull<Claim>,
    index: u32,
}

// SAFETY: `Claim` is `Sync`, and outlives its tickets: the select removes its nodes first.
unsafe impl Send for SelectTicket {}

impl<T> ChanWaiter<T> {
    /// Creates a wait with `payload` that belongs to no select.
    #[inline(always)]
    pub(crate) fn new(payload: Payload<T>) -> Self {
        Self { payload, seq: 0, claim: None, place: NodePlace::Common }
    }

    /// Makes it case `index` of the select that owns `claim`.
    ///
    /// # Safety
    ///
    /// `claim` is not moved while the node of this wait is in a queue.
    pub(crate) unsafe fn enlist(&mut self, claim: &Claim, index: u32) {
        self.claim = Some(SelectTicket { claim: NonNull::from(claim), index });
    }

    /// Whether it is a sender that does not have its value yet.
    #[inline]
    pub(super) fn is_later(&self) -> bool {
        matches!(self.payload, Payload::Later)
    }

    /// Takes the payload.
    #[inline]
    pub(crate) fn take(&mut self) -> Payload<T> {
        std::mem::replace(&mut self.payload, Payload::Nothing)
    }

    pub(crate) fn put(&mut self, payload: Payload<T>) {
        self.payload = payload;
    }

    /// Stores a value that is handed over.
    #[inline]
    pub(super) fn receive(&mut self, value: Option<T>, seq: u64) {
        self.payload = value.map_or(Payload::Nothing, Payload::Value);
        self.seq = seq;
    }

    fn claim(&self) -> Option<&Claim> {
        // SAFETY: guaranteed by the caller of `enlist`.
        self.claim.as_ref().map(|ticket| unsafe { ticket.claim.as_ref() })
    }

    /// Claims the right to end this wait. `Fire` if the caller may.
    #[inline]
    pub(super) fn win(&self) -> Verdict<()> {
        match (&self.claim, self.claim()) {
            (Some(ticket), Some(claim)) => claim.win(ticket.index),
            _ => Verdict::Fire(()),
        }
    }

    /// Takes the waker of the select, if the wait belongs to one.
    #[inline]
    pub(super) fn select_waker(&self) -> Option<StoredWaker> {
        self.claim()?.take_waker()
    }
}
