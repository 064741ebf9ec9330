//! A channel that keeps the newest value (no counterpart in Go).
//!
//! - `shared`: the state and its lock; `turn`: the right to modify a copy of the value.
//! - `changed`: the waits of receivers; `closed`: those of senders.
//!
//! Receivers get the value as an `Arc`, not as a guard of a lock. A guard would let a receiver that
//! keeps it, or asks for it twice in one expression, deadlock with a sender. Each value costs an
//! allocation and each read a reference count for that.

mod changed;
mod closed;
#[expect(unsafe_code, reason = "implements `WaitList` for two queues")]
mod shared;
mod turn;

pub use self::changed::{WatchChanged, WatchStream};
pub use self::closed::WatchClosed;
pub use crate::chan::{RecvError, SendError};

use self::shared::WatchShared;
use self::turn::ModifyTurn;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// Creates a channel that keeps the newest value, and begins with `first`.
///
/// Use it for configuration, progress or a shutdown flag: state that many goroutines read, and that
/// matters only in its newest form. Receivers learn that the value changed, not each change. For
/// every value use [`broadcast`](crate::broadcast).
///
/// The first receiver has seen `first`.
///
/// # Examples
///
/// ```
/// # mod gmp { pub use gmp_rt::{block_on, spawn}; pub use gmp_sync as sync; }
/// use gmp::sync::watch;
///
/// gmp::block_on(async {
///     let (tx, mut rx) = watch::channel("starting");
///     let follows = gmp::spawn(async move {
///         let mut last = *rx.get();
///         while rx.changed().await.is_ok() {
///             last = *rx.get_and_update();
///         }
///         last
///     });
///     tx.send("running").unwrap();
///     tx.send("stopped").unwrap();
///     drop(tx);
///     assert_eq!(follows.await.unwrap(), "stopped");
/// });
/// ```
pub fn channel<T>(first: T) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(WatchShared::new(first));
    (Sender { shared: shared.clone() }, Receiver { shared, seen: Some(0) })
}

/// The sending end of a watch [`channel`]. Clones send into the same channel.
///
/// When all senders are dropped, receivers see the last value and then [`RecvError`].
pub struct Sender<T> {
    shared: Arc<WatchShared<T>>,
}

/// The receiving end of a watch [`channel`].
///
/// A clone has seen what the original has seen.
pub struct Receiver<T> {
    shared: Arc<WatchShared<T>>,
    /// The version that was seen last; `None` if any counts as a change.
    seen: Option<u64>,
}

// A panic leaves both ends consistent. The value is shared, so it must be fit for that itself.
impl<T: RefUnwindSafe> UnwindSafe for Sender<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for Sender<T> {}
impl<T: RefUnwindSafe> UnwindSafe for Receiver<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for Receiver<T> {}

impl<T> Sender<T> {
    /// Sets the value and wakes the receivers that wait for a change. Never waits.
    ///
    /// # Errors
    ///
    /// [`SendError`] with the value, if there is no receiver. The channel keeps its value then.
    /// [`send_replace`](Self::send_replace) sets it in any case.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let value = Arc::new(value);
        let installed = self.shared.with(|state| match state.receivers {
            0 => Err(value),
            _ => Ok(state.install(value)),
        });
        match installed {
            Ok((_old, wakers)) => {
                wakers.wake_all();
                Ok(())
            }
            Err(value) => Err(SendError(Arc::into_inner(value).expect("not shared yet"))),
        }
    }

    /// Sets the value, also without receivers, and returns the old one.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_sync as sync; }
    /// use gmp::sync::watch;
    ///
    /// let (tx, _) = watch::channel(1);
    /// assert!(tx.send(2).is_err());
    /// assert_eq!(*tx.send_replace(2), 1);
    /// assert_eq!(*tx.subscribe().get(), 2);
    /// ```
    pub fn send_replace(&self, value: T) -> Arc<T> {
        let value = Arc::new(value);
        let (old, wakers) = self.shared.with(|state| state.install(value));
        wakers.wake_all();
        old
    }

    /// Changes a copy of the value and sets it, also without receivers.
    ///
    /// Concurrent modifications run one after the other, so none is lost. A [`send`](Self::send)
    /// does not wait for `f`: a value that is sent while `f` runs overwrites the changed copy.
    ///
    /// A modification that another thread makes at the time blocks this thread until it is done. In
    /// a goroutine that is a blocking call.
    ///
    /// # Panics
    ///
    /// If `f` modifies the same channel, and with the panic of `f`. The value is then unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_sync as sync; }
    /// use gmp::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(vec![1]);
    /// let before = rx.get();
    /// tx.send_modify(|list| list.push(2));
    /// assert_eq!((&*before, &*rx.get()), (&vec![1], &vec![1, 2]));
    /// ```
    #[track_caller]
    pub fn send_modify(&self, f: impl FnOnce(&mut T))
    where
        T: Clone,
    {
        self.send_if_modified(|value| {
            f(value);
            true
        });
    }

    /// As [`send_modify`](Self::send_modify), but keeps the value, and wakes no receiver, if `f`
    /// returns `false`. Returns what `f` returned.
    ///
    /// # Panics
    ///
    /// As [`send_modify`](Self::send_modify).
    #[track_caller]
    pub fn send_if_modified(&self, f: impl FnOnce(&mut T) -> bool) -> bool
    where
        T: Clone,
    {
        let turn = ModifyTurn::take(&self.shared);
        let (before, version) = self.shared.with(|state| (state.value.clone(), state.version));
        let mut copy = T::clone(&before);
        if !f(&mut copy) {
            return false;
        }
        let copy = Arc::new(copy);
        let installed = self.shared.with(|state| match state.version == version {
            true => Ok(state.install(copy)),
            false => Err(copy),
        });
        drop(turn);
        if let Ok((_old, wakers)) = installed {
            wakers.wake_all();
        }
        true
    }

    /// Returns the value.
    #[doc(alias = "borrow")]
    #[must_use]
    pub fn get(&self) -> Arc<T> {
        self.shared.with(|state| state.value.clone())
    }

    /// Creates a receiver that has seen the current value.
    pub fn subscribe(&self) -> Receiver<T> {
        let seen = self.shared.with(|state| {
            state.receivers += 1;
            state.version
        });
        Receiver { shared: self.shared.clone(), seen: Some(seen) }
    }

    /// Returns the number of receivers.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.shared.with(|state| state.receivers)
    }

    /// Whether there is no receiver, so that a [`send`](Self::send) fails.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// Waits until there is no receiver.
    ///
    /// [`subscribe`](Self::subscribe) can make one again after that.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe.
    pub fn closed(&self) -> WatchClosed<'_, T> {
        WatchClosed::new(&self.shared)
    }

    /// As [`closed`](Self::closed), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_closed")]
    pub fn closed_blocking(&self) {
        gmp_rt::block_on(self.closed());
    }
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
        let (version, receivers) = self.shared.with(|state| (state.version, state.receivers));
        let mut shown = f.debug_struct("Sender");
        shown.field("version", &version).field("receivers", &receivers).finish()
    }
}

impl<T> Receiver<T> {
    /// Returns the value. Does not mark it as seen.
    ///
    /// The snapshot is kept as long as the `Arc`, and blocks no other end.
    #[doc(alias = "borrow")]
    #[must_use]
    pub fn get(&self) -> Arc<T> {
        self.shared.with(|state| state.value.clone())
    }

    /// Returns the value and marks it as seen.
    #[doc(alias = "borrow_and_update")]
    pub fn get_and_update(&mut self) -> Arc<T> {
        let (value, version) = self.shared.with(|state| (state.value.clone(), state.version));
        self.seen = Some(version);
        value
    }

    /// Waits until the value is one that this receiver has not seen, and marks it as seen.
    ///
    /// Several changes may pass in one call. Read the value by [`get`](Self::get) or
    /// [`get_and_update`](Self::get_and_update).
    ///
    /// # Errors
    ///
    /// [`RecvError`] if all senders are dropped and the last value was seen.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped `changed` has marked nothing as seen.
    pub fn changed(&mut self) -> WatchChanged<'_, T> {
        WatchChanged::new(&self.shared, &mut self.seen)
    }

    /// As [`changed`](Self::changed), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    ///
    /// # Errors
    ///
    /// As [`changed`](Self::changed).
    #[doc(alias = "blocking_changed")]
    pub fn changed_blocking(&mut self) -> Result<(), RecvError> {
        gmp_rt::block_on(self.changed())
    }

    /// Waits until `f` returns `true` for the value, and returns that very value.
    ///
    /// The current value is tested first. Each value that is tested is marked as seen.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if all senders are dropped and `f` returned `false` for the last value.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. Values that were tested are marked as seen.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::{block_on, spawn}; pub use gmp_sync as sync; }
    /// use gmp::sync::watch;
    ///
    /// gmp::block_on(async {
    ///     let (tx, mut rx) = watch::channel(0);
    ///     let counts = gmp::spawn(async move {
    ///         for n in 1..=10 {
    ///             tx.send_replace(n);
    ///         }
    ///     });
    ///     assert!(*rx.wait_for(|n| *n >= 5).await.unwrap() >= 5);
    ///     counts.await.unwrap();
    /// });
    /// ```
    pub async fn wait_for(&mut self, mut f: impl FnMut(&T) -> bool) -> Result<Arc<T>, RecvError> {
        loop {
            let value = self.get_and_update();
            if f(&value) {
                return Ok(value);
            }
            drop(value);
            self.changed().await?;
        }
    }

    /// As [`wait_for`](Self::wait_for), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    ///
    /// # Errors
    ///
    /// As [`wait_for`](Self::wait_for).
    #[doc(alias = "blocking_wait_for")]
    pub fn wait_for_blocking(&mut self, f: impl FnMut(&T) -> bool) -> Result<Arc<T>, RecvError> {
        gmp_rt::block_on(self.wait_for(f))
    }

    /// Whether the value is one that this receiver has not seen.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if all senders are dropped and the last value was seen, as
    /// [`changed`](Self::changed).
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        self.shared.with(|state| match self.seen == Some(state.version) {
            false => Ok(true),
            true if state.senders == 0 => Err(RecvError),
            true => Ok(false),
        })
    }

    /// Marks the current value as not seen, so that the next [`changed`](Self::changed) is ready.
    pub fn mark_changed(&mut self) {
        self.seen = None;
    }

    /// Marks the current value as seen.
    pub fn mark_unchanged(&mut self) {
        self.seen = Some(self.shared.with(|state| state.version));
    }

    /// Turns the receiver into a stream of the values that it has not seen.
    ///
    /// Values that are replaced before they are polled are skipped. To begin with the current
    /// value, call [`mark_changed`](Self::mark_changed) before. The stream ends after the last
    /// value when all senders are dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::block_on; pub use gmp_sync as sync; }
    /// use futures::StreamExt;
    /// use gmp::sync::watch;
    ///
    /// gmp::block_on(async {
    ///     let (tx, mut rx) = watch::channel(1);
    ///     rx.mark_changed();
    ///     let mut values = rx.into_stream();
    ///     assert_eq!(values.next().await.as_deref(), Some(&1));
    ///     tx.send(2).unwrap();
    ///     tx.send(3).unwrap();
    ///     drop(tx);
    ///     assert_eq!(values.next().await.as_deref(), Some(&3));
    ///     assert_eq!(values.next().await, None);
    /// });
    /// ```
    pub fn into_stream(self) -> WatchStream<T> {
        WatchStream::new(self)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.with(|state| state.receivers += 1);
        Self { shared: self.shared.clone(), seen: self.seen }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let wakers = self.shared.with(|state| state.receiver_leaves());
        wakers.wake_all();
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (version, senders) = self.shared.with(|state| (state.version, state.senders));
        f.debug_struct("Receiver")
            .field("version", &version)
            .field("has_changed", &(self.seen != Some(version)))
            .field("senders", &senders)
            .finish()
    }
}
