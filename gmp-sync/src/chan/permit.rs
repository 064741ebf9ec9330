//! Permits: the right to send one value without waiting. [`permits`](super::permits) describes how
//! a permit is got and used.

use super::core::ChanPhase;
use super::lock::Chan;
use super::{SendError, Sender};
use std::fmt;
use std::sync::Arc;

/// The right to send one value at once, from [`Sender::reserve`] or
/// [`try_reserve`](Sender::try_reserve).
///
/// A permit that is held takes a place of the buffer. Senders behind it wait, although the buffer
/// may hold fewer values than its capacity. On a channel without a buffer, a receiver waits for the
/// value of the permit. So send soon. A receiver that is dropped meanwhile leaves the place: the
/// value then stays in the channel for the next receiver.
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

    /// Sends the value. Never waits.
    ///
    /// # Errors
    ///
    /// [`SendError`] with the value, if the channel was closed since the permit was reserved.
    /// (Tokio delivers the value of a permit after a close.)
    pub fn send(mut self, value: T) -> Result<(), SendError<T>> {
        self.used = Used::Yes;
        fulfil(self.chan, value)
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
            forfeit(self.chan);
        }
    }
}

/// A [`Permit`] that contains its sender, from [`Sender::reserve_owned`].
///
/// It is not bound to a borrow, so it can be moved into a goroutine. It counts as a sender: the
/// channel stays open while it exists. Dropping it gives the permit back and drops the sender.
pub struct OwnedPermit<T> {
    /// `None` once the permit was used or given back.
    sender: Option<Sender<T>>,
}

impl<T> OwnedPermit<T> {
    /// Creates a permit. The caller has one of the channel of `sender`.
    pub(super) fn new(sender: Sender<T>) -> Self {
        Self { sender: Some(sender) }
    }

    /// Sends the value and returns the sender. Never waits.
    ///
    /// # Errors
    ///
    /// [`SendError`] with the value, if the channel was closed since the permit was reserved. The
    /// sender is dropped then.
    pub fn send(mut self, value: T) -> Result<Sender<T>, SendError<T>> {
        let sender = take(&mut self.sender);
        fulfil(&sender.chan, value)?;
        Ok(sender)
    }

    /// Gives the permit back unused and returns the sender.
    #[must_use = "to give up the sender too, drop the permit"]
    pub fn release(mut self) -> Sender<T> {
        let sender = take(&mut self.sender);
        forfeit(&sender.chan);
        sender
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").field("sender", &self.sender).finish()
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if let Some(sender) = &self.sender {
            forfeit(&sender.chan);
        }
    }
}

fn take<T>(sender: &mut Option<Sender<T>>) -> Sender<T> {
    match sender.take() {
        Some(sender) => sender,
        None => unreachable!("a permit is used once"),
    }
}

/// Uses a permit of `chan`.
fn fulfil<T>(chan: &Chan<T>, value: T) -> Result<(), SendError<T>> {
    match chan.with(|core| core.fulfil(value)) {
        Ok(fired) => {
            fired.wake();
            Ok(())
        }
        Err(value) => Err(SendError(value)),
    }
}

/// Gives a permit of `chan` back.
fn forfeit<T>(chan: &Chan<T>) {
    chan.with(|core| core.forfeit()).wake_all();
}
