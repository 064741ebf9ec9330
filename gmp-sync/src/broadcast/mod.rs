//! A channel that gives each value to every receiver (no counterpart in Go).
//!
//! - `ring`: the kept values; `shared`: the lock around them and the waiters.
//! - `recv`: the waits of receivers; `closed`: those of senders; `error`: the errors.
//!
//! A send never waits, so a slow receiver delays no other. It loses the oldest values instead, and
//! its next receive returns their number. Values are cloned outside of the lock, so a value for
//! several receivers is in an `Arc`. A value that only one receiver can get is not.

mod closed;
mod error;
mod recv;
mod ring;
#[expect(unsafe_code, reason = "implements `WaitList` for two queues")]
mod shared;

pub use self::closed::BroadcastClosed;
pub use self::error::{Lagged, RecvError, TryRecvError};
pub use self::recv::BroadcastRecv;
pub use crate::chan::SendError;

use self::recv::BroadcastStreamWait;
use self::ring::Kept;
use self::shared::BroadcastShared;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;

/// Creates a channel that gives each value to every receiver, and keeps up to `cap` values.
///
/// Use it for events that several goroutines follow. For the newest state only, use
/// [`watch`](crate::watch). For work that one of several goroutines does, use
/// [`chan`](crate::chan()).
///
/// # Slow receivers
///
/// A send never waits. If a receiver is more than `cap` values behind, the oldest ones are dropped,
/// and its next receive returns [`RecvError::Lagged`] with their exact number. So `cap` is the
/// number of values that the slowest receiver may be behind; it does not depend on the number of
/// receivers. What to do in the case of a lag depends on the values:
///
/// - Each value replaces the ones before (prices, positions): continue with the next receive.
/// - The values are changes of a state: read the whole state again, then continue.
/// - No value may be lost: end the connection of that receiver, or give each receiver a
///   [`chan`](crate::chan()) whose sends wait.
///
/// # Panics
///
/// If `cap` is 0.
///
/// # Examples
///
/// ```
/// # mod gmp { pub use gmp_rt::{block_on, spawn}; pub use gmp_sync as sync; }
/// use gmp::sync::broadcast::{self, RecvError};
///
/// gmp::block_on(async {
///     let (tx, mut rx) = broadcast::channel(2);
///     let mut other = tx.subscribe();
///     let sums = gmp::spawn(async move {
///         let mut sum = 0;
///         loop {
///             match other.recv().await {
///                 Ok(n) => sum += n,
///                 Err(RecvError::Lagged(_)) => {} // Goes on with the oldest kept value.
///                 Err(RecvError::Closed) => break sum,
///             }
///         }
///     });
///     for n in 1..=3 {
///         assert_eq!(tx.send(n), Ok(2));
///     }
///     drop(tx);
///     assert_eq!(rx.recv().await, Err(RecvError::Lagged(1)));
///     assert_eq!(rx.recv().await, Ok(2));
///     assert_eq!(rx.recv().await, Ok(3));
///     assert_eq!(rx.recv().await, Err(RecvError::Closed));
///     assert!(sums.await.unwrap() >= 5);
/// });
/// ```
#[track_caller]
pub fn channel<T: Clone>(cap: usize) -> (Sender<T>, Receiver<T>) {
    assert!(cap > 0, "broadcast: the capacity must be at least 1");
    let shared = Arc::new(BroadcastShared::new(cap));
    (Sender { shared: shared.clone() }, Receiver { stream: None, shared, at: 0 })
}

/// The sending end of a broadcast [`channel`]. Clones send into the same channel.
///
/// When all senders are dropped, receivers get the values that are left and then
/// [`RecvError::Closed`].
pub struct Sender<T> {
    shared: Arc<BroadcastShared<T>>,
}

/// The receiving end of a broadcast [`channel`]: gets each value that is sent after it subscribed.
///
/// Also a [`Stream`](futures::Stream) of `Result<T, Lagged>`.
pub struct Receiver<T> {
    /// The wait of the stream, made by its first poll. Dropped before the state that it waits at.
    stream: Option<Pin<Box<BroadcastStreamWait<T>>>>,
    shared: Arc<BroadcastShared<T>>,
    /// The number of the next value that it receives.
    at: u64,
}

// A panic leaves both ends consistent. Values are shared, so they must be fit for that themselves.
impl<T: RefUnwindSafe> UnwindSafe for Sender<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for Sender<T> {}
impl<T: RefUnwindSafe> UnwindSafe for Receiver<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for Receiver<T> {}

impl<T> Sender<T> {
    /// Sends a value to all receivers and returns their number. Never waits.
    ///
    /// `Ok` does not mean that they receive it: a receiver may be dropped, or
    /// [lag](channel#slow-receivers).
    ///
    /// # Errors
    ///
    /// [`SendError`] with the value, if there is no receiver.
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        let sent = self.shared.with(|state| state.send(value)).map_err(SendError)?;
        sent.wakers.wake_all();
        drop(sent.left);
        Ok(sent.receivers)
    }

    /// Creates a receiver that gets the values that are sent from now on.
    pub fn subscribe(&self) -> Receiver<T> {
        subscribe(&self.shared)
    }

    /// Returns the number of receivers.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.shared.with(|state| state.receivers)
    }

    /// Returns the number of values that are kept because a receiver has not received them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.with(|state| state.ring.len())
    }

    /// Whether no values are kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until there is no receiver.
    ///
    /// [`subscribe`](Self::subscribe) can make one again after that.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe.
    pub fn closed(&self) -> BroadcastClosed<'_, T> {
        BroadcastClosed::new(&self.shared)
    }

    /// As [`closed`](Self::closed), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_closed")]
    pub fn closed_blocking(&self) {
        gmp_rt::block_on(self.closed());
    }
}

fn subscribe<T>(shared: &Arc<BroadcastShared<T>>) -> Receiver<T> {
    let at = shared.with(|state| state.subscribe());
    Receiver { stream: None, shared: shared.clone(), at }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.with(|state| state.senders += 1);
        Self { shared: self.shared.clone() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let wakers = self.shared.with(|state| state.sender_leaves());
        wakers.wake_all();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, receivers) = self.shared.with(|state| (state.ring.len(), state.receivers));
        f.debug_struct("Sender").field("len", &len).field("receivers", &receivers).finish()
    }
}

impl<T> Receiver<T> {
    /// Waits for the next value.
    ///
    /// # Errors
    ///
    /// - [`RecvError::Lagged`] if values were dropped before this receiver got them, with their
    ///   number. The next call returns the oldest value that is kept.
    /// - [`RecvError::Closed`] if all senders are dropped and all values have been received.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped `recv` has taken nothing.
    pub fn recv(&mut self) -> BroadcastRecv<'_, T>
    where
        T: Clone,
    {
        BroadcastRecv::new(&self.shared, &mut self.at)
    }

    /// As [`recv`](Self::recv), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    #[doc(alias = "blocking_recv")]
    pub fn recv_blocking(&mut self) -> Result<T, RecvError>
    where
        T: Clone,
    {
        gmp_rt::block_on(self.recv())
    }

    /// Receives the next value if it was sent.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] if all values have been received, otherwise as
    /// [`recv`](Self::recv).
    pub fn try_recv(&mut self) -> Result<T, TryRecvError>
    where
        T: Clone,
    {
        let at = &mut self.at;
        let took = self.shared.with(|state| recv::take(state, at));
        took.map(Kept::into_value)
    }

    /// Creates a receiver that gets the values that are sent from now on, and none before.
    pub fn resubscribe(&self) -> Self {
        subscribe(&self.shared)
    }

    /// Returns the number of values that were sent to this receiver and not received, including
    /// those that it has missed.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.shared.with(|state| state.ring.next()) - self.at
    }

    /// Whether all values have been received.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all senders are dropped. There may be values left.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.with(|state| state.senders) == 0
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let at = self.at;
        let (unneeded, wakers) = self.shared.with(|state| state.receiver_leaves(at));
        wakers.wake_all();
        drop(unneeded);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (next, senders) = self.shared.with(|state| (state.ring.next(), state.senders));
        f.debug_struct("Receiver")
            .field("len", &(next - self.at))
            .field("senders", &senders)
            .finish()
    }
}
