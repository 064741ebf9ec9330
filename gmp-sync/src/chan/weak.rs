//! Senders that do not keep their channel open.

use super::futures_traits::Pipe;
use super::lock::Chan;
use super::queue::Side;
use super::{Receiver, Sender};
use std::fmt;
use std::sync::Arc;

impl<T> Sender<T> {
    /// Returns a weak sender, which does not keep the channel open.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::chan;
    ///
    /// let (tx, rx) = chan(1);
    /// let weak = tx.downgrade();
    /// weak.upgrade().unwrap().try_send(1).unwrap();
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// assert_eq!(rx.try_iter().count(), 1);
    /// assert!(rx.is_closed());
    /// ```
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender { chan: self.chan.clone() }
    }

    /// Whether values of this sender go to this receiver, because both are ends of one channel.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::chan;
    ///
    /// let (tx, rx) = chan::<u8>(1);
    /// assert!(tx.is_connected_to(&rx));
    /// assert!(!tx.is_connected_to(&chan::never()));
    /// ```
    #[must_use]
    pub fn is_connected_to(&self, receiver: &Receiver<T>) -> bool {
        Arc::ptr_eq(&self.chan, &receiver.chan)
    }
}

/// A sender that does not keep its channel open, from [`Sender::downgrade`].
///
/// For a goroutine that owns the receiver and hands out senders: with a [`Sender`] of its own it
/// would never see the end of the channel.
pub struct WeakSender<T> {
    chan: Arc<Chan<T>>,
}

impl<T> WeakSender<T> {
    /// Returns a sender, or `None` if the last sender was dropped.
    ///
    /// If the channel was closed by [`close`](Sender::close), its senders can still be cloned, so
    /// this returns a sender whose sends fail.
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        let is_alive = self.chan.with(|core| {
            let is_alive = core.senders > 0;
            core.senders += usize::from(is_alive);
            is_alive
        });
        is_alive.then(|| Sender { chan: self.chan.clone(), pipe: Pipe::new(Side::Sink) })
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self { chan: self.chan.clone() }
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakSender").field(&self.chan).finish()
    }
}
