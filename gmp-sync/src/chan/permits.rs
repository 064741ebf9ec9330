//! Permits: how a sender whose value comes later meets a receiver.
//!
//! A send case of a select waits without its value ([`Payload::Later`]), because the value is moved
//! only when the case is chosen. Its send has three steps:
//!
//! 1. *Summon*. A receiver or a free slot ends the wait of the sender and wakes it. The receiver
//!    waits in `promised`, the slot is counted in `reserved`.
//! 2. *Confirm*. The sender runs and checks, under the lock, that the receiver or the slot is still
//!    there. If the receiver has left, the summons is *withdrawn*: the sender waits again, before
//!    all other senders. Otherwise the send is committed, and the sender has a permit.
//! 3. *Fulfil* or *forfeit*. The sender evaluates its value and hands it over, or drops the permit.
//!
//! A sender that finds a receiver or a slot when it is polled begins with step 3
//! ([`reserve`](Core::reserve)).
//!
//! So no send is committed before a receiver, or a slot, is committed to it. A receiver that is
//! dropped between the steps 2 and 3 is like one that is dropped with a value: the value goes to
//! the next receiver, and stays in the buffer until then. `try_recv` and `recv_timeout` do not
//! leave between these steps, unless the value takes longer than
//! [`COMMITTED`](crate::tuning::COMMITTED).
//!
//! Summonses and permits are anonymous: the first sender that confirms gets the first receiver.
//!
//! # Streams
//!
//! A stream cannot wait in `promised`, because it may never be polled again. A parked stream counts
//! as one more slot instead, for senders that cannot wait with their value: `try_send`, select
//! and sinks. If all receivers leave before the sender confirms, that summons is withdrawn, too.
//!
//! # Invariants
//!
//! - P1: permits + `unconfirmed` = nodes in `promised` + `reserved`, while the channel is open.
//! - P2: `unconfirmed` ≤ `outstanding`: for each unconfirmed one a sender is on its way.

use super::core::{ChanPhase, Core};
use super::node::{NodePlace, Payload};
use crate::wait::queue::{Fired, Verdict};
use crate::wait::wakers::Wakers;

/// The senders that were summoned and have not confirmed yet.
#[derive(Debug, Default)]
pub(super) struct Summonses {
    /// Senders that have neither confirmed nor left.
    outstanding: usize,
    /// Promised receivers and reserved slots that no sender has confirmed.
    unconfirmed: usize,
}

/// Result of an attempt to get a permit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reserve {
    Permit,
    Full,
    Closed,
}

/// Result of a confirmation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Confirm {
    /// The send is committed, or the channel is closed.
    Permit,
    /// The receiver has left.
    Withdrawn,
}

impl<T> Core<T> {
    /// Whether a parked stream has room for one more value.
    pub(super) fn has_room_for_stream(&self) -> bool {
        !self.streams.is_empty() && self.may_summon_for_stream()
    }

    /// Whether no sender is on its way with a value for a stream yet.
    pub(super) fn may_summon_for_stream(&self) -> bool {
        self.buf.len().saturating_add(self.reserved) <= self.cap
    }

    /// Counts a sender that was summoned for a receiver that goes to `promised`.
    #[inline]
    pub(super) fn summon_for_receiver(&mut self) {
        self.summonses.outstanding += 1;
        self.summonses.unconfirmed += 1;
    }

    /// Counts a sender that was summoned for a slot.
    pub(super) fn summon_for_slot(&mut self) {
        self.reserved += 1;
        self.summon_for_receiver();
    }

    /// Gets a permit for a sender that is being polled: from a waiting receiver, which then waits
    /// for this sender, from a slot or from a parked stream.
    pub(crate) fn reserve(&mut self) -> Reserve {
        if self.phase == ChanPhase::Closed {
            return Reserve::Closed;
        }
        let promised = self.recvq.move_first(&mut self.promised, |wait| {
            let verdict = wait.win();
            if matches!(verdict, Verdict::Fire(())) {
                wait.place = NodePlace::Promised;
            }
            verdict
        });
        if promised.is_some() {
            return Reserve::Permit;
        }
        if self.has_room() || self.has_room_for_stream() {
            self.reserved += 1;
            return Reserve::Permit;
        }
        Reserve::Full
    }

    /// Confirms the summons of a sender.
    pub(crate) fn confirm(&mut self) -> Confirm {
        if self.phase == ChanPhase::Closed {
            return Confirm::Permit;
        }
        self.summonses.outstanding -= 1;
        if self.summonses.unconfirmed == 0 {
            return Confirm::Withdrawn;
        }
        self.summonses.unconfirmed -= 1;
        Confirm::Permit
    }

    /// Ends the summons of a sender that is dropped before it confirms.
    pub(super) fn decline(&mut self) -> Wakers {
        if self.phase == ChanPhase::Closed {
            return Wakers::None;
        }
        self.summonses.outstanding -= 1;
        if self.summonses.unconfirmed <= self.summonses.outstanding {
            return Wakers::None;
        }
        self.summonses.unconfirmed -= 1;
        self.release()
    }

    /// Uses a permit. The value comes back if the channel was closed meanwhile.
    pub(crate) fn fulfil(&mut self, value: T) -> Result<Fired, T> {
        if self.phase == ChanPhase::Closed {
            return Err(value);
        }
        let seq = self.next_seq();
        self.give_by_permit(value, seq).or_else(|value| {
            self.reserved -= 1;
            self.force(value)
        })
    }

    /// Gives a permit back unused.
    pub(crate) fn forfeit(&mut self) -> Wakers {
        if self.phase == ChanPhase::Closed {
            return Wakers::None;
        }
        self.release()
    }

    /// Releases a receiver or a slot that no sender comes for (P1).
    fn release(&mut self) -> Wakers {
        let again = self.promised.fire_front(|wait| {
            wait.payload = Payload::Again;
            wait.select_waker()
        });
        if let Some((waker, fired)) = again {
            return fired.or(waker).into();
        }
        self.reserved -= 1;
        self.ring_sinks();
        // The slot may have been a stream's, which now has to find another sender.
        if !self.sendq.is_empty() {
            self.ring_streams();
        }
        self.refill().into()
    }

    /// Whether a promised receiver that leaves would leave a value without a receiver behind: all
    /// senders have confirmed, and there is no slot.
    pub(super) fn is_committed(&self) -> bool {
        !self.has_room() && self.summonses.unconfirmed == 0
    }

    /// Accounts for a receiver that has left `promised` without the value it waited for.
    ///
    /// A slot takes its place if there is one. Otherwise a summons is withdrawn. If all senders
    /// have confirmed, the value goes to the next receiver (P1).
    pub(super) fn leave_promise(&mut self) {
        if !self.has_room() && self.summonses.unconfirmed > 0 {
            self.summonses.unconfirmed -= 1;
        } else {
            self.reserved += 1;
        }
    }

    /// Withdraws the summons for a stream when the last parked stream has left.
    pub(super) fn leave_stream(&mut self) {
        let beyond = self.buf.len().saturating_add(self.reserved) > self.cap;
        let summoned = self.reserved > 0 && self.summonses.unconfirmed > 0;
        if self.streams.is_empty() && beyond && summoned {
            self.reserved -= 1;
            self.summonses.unconfirmed -= 1;
        }
    }

    /// Forgets all permits, because a closed channel does not use them.
    pub(super) fn drop_permits(&mut self) {
        self.reserved = 0;
        self.summonses = Summonses::default();
    }
}
