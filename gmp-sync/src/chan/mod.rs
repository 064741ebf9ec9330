//! Channels (Go: `chan`): values from goroutine to goroutine, in order.
//!
//! - `core`: the channel; `shared`: its lock.
//! - `wait`, `waits`: what waits on it; `permits`: how senders in a select meet receivers.
//! - `send`, `recv`: the futures; `attempt`: operations that do not wait; `timed`: time limits.
//! - `pipe`: a receiver as a stream, a sender as a sink; `iter`: receiving on a plain thread.
//!
//! # Values that were handed over and not taken
//!
//! A sender hands its value to a waiting receive directly, and the receive takes it when it is
//! polled again, without a lock. Between the two the receive may be dropped, by a timeout around it
//! or by an abort. The value then goes to the front of the buffer, in the order of the hand-overs.
//! [`Receiver::recv`] says what other receivers may have seen meanwhile.
//!
//! The alternative is to wake the receive and let it take its value from the buffer. The order
//! would then hold for all receivers in all cases, at the price of one more lock per hand-over. A
//! count of untaken values, with which no receive would return "closed" too early, needs an
//! atomic operation per hand-over. Both are paid by each receive, for the sake of receives that are
//! dropped. So the operations of this crate that give up a receive decide under the lock
//! ([`Recv::give_up`]) and keep its value, and drops are documented.

mod attempt;
pub(crate) mod core;
mod error;
mod iter;
pub(crate) mod permits;
mod pipe;
pub(crate) mod recv;
pub(crate) mod send;
mod shared;
mod timed;
pub(crate) mod wait;
pub(crate) mod waits;

pub use self::error::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
};
pub use self::iter::{IntoIter, Iter, TryIter};
pub use self::recv::Recv;
pub use self::send::Send;

use self::core::Phase;
use self::pipe::Pipe;
use self::shared::Chan;
use self::waits::Side;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A channel that holds up to `cap` values; with 0, each send waits for a receive.
///
/// Go: `make(chan T, cap)`. Both ends can be cloned and used by any number of goroutines and
/// threads. When all senders are dropped, or either end [closes](Sender::close) it, receivers
/// get what is left and then [`RecvError`]. When all receivers are dropped sends fail.
///
/// # Panics
///
/// If a buffer of `cap` values could not be allocated on any machine, with Go's words.
///
/// # Examples
///
/// ```
/// use gmp_sync::chan;
///
/// gmp_rt::block_on(async {
///     let (tx, rx) = chan::<u32>(0);
///     gmp_rt::spawn(async move {
///         for n in 1..=3 {
///             tx.send(n).await.unwrap();
///         }
///     });
///     let mut sum = 0;
///     while let Ok(n) = rx.recv().await {
///         sum += n;
///     }
///     assert_eq!(sum, 6);
/// });
/// ```
#[must_use]
#[track_caller]
pub fn chan<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    let bytes = cap.checked_mul(size_of::<T>());
    assert!(
        bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok()),
        "makechan: size out of range"
    );
    // The greatest number stands for unbounded.
    new(cap.min(usize::MAX - 1))
}

/// A channel that holds any number of values: a send never waits.
///
/// # Examples
///
/// ```
/// let (tx, rx) = gmp_sync::unbounded_chan();
/// for n in 0..1000 {
///     tx.try_send(n).unwrap();
/// }
/// assert_eq!((rx.len(), rx.cap()), (1000, None));
/// ```
#[must_use]
pub fn unbounded_chan<T>() -> (Sender<T>, Receiver<T>) {
    new(usize::MAX)
}

fn new<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    let chan = Arc::new(Chan::new(cap));
    let sender = Sender { chan: chan.clone(), pipe: Pipe::new(Side::Sink) };
    (sender, Receiver { chan, pipe: Pipe::new(Side::Stream) })
}

/// The sending end of a channel. See [`chan`].
///
/// Also a [`Sink`](futures::Sink).
pub struct Sender<T> {
    pub(crate) chan: Arc<Chan<T>>,
    pipe: Pipe<T>,
}

/// The receiving end of a channel. See [`chan`].
///
/// Also a [`Stream`](futures::Stream), and, for plain threads, an iterator: [`iter`](Self::iter).
pub struct Receiver<T> {
    pub(crate) chan: Arc<Chan<T>>,
    pipe: Pipe<T>,
}

impl<T> Sender<T> {
    /// Sends a value: waits for a receiver, or for room in the buffer.
    ///
    /// Senders that wait are served in order.
    ///
    /// # Errors
    ///
    /// The channel is closed, or all receivers are gone. The error has the value. (Go panics:
    /// `send on closed channel`.)
    ///
    /// # Cancel safety
    ///
    /// A send that is dropped while it waits does not send; its value is dropped with it. To keep
    /// the value, use [`select!`](macro@crate::select): a send case that is not chosen does not
    /// move its value.
    #[inline]
    pub fn send(&self, value: T) -> Send<'_, T> {
        Send::new(self, value)
    }

    /// Sends a value if that is possible at once.
    ///
    /// A receiver that waits as a stream has room for one value, even if the channel has no buffer.
    /// Of several such receivers all are woken by one value, and then wait again. The value stays
    /// in the channel until that stream, or another receiver, takes it.
    ///
    /// # Errors
    ///
    /// The buffer is full and no receiver waits; or the channel is closed. The error has the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use gmp_sync::{TrySendError, chan};
    ///
    /// let (tx, rx) = chan(1);
    /// assert_eq!(tx.try_send("a"), Ok(()));
    /// assert_eq!(tx.try_send("b"), Err(TrySendError::Full("b")));
    /// drop(rx);
    /// assert_eq!(tx.try_send("c"), Err(TrySendError::Closed("c")));
    /// ```
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        attempt::try_send(&self.chan, value)
    }

    /// [`send`](Self::send) that waits for at most `limit`.
    ///
    /// # Errors
    ///
    /// Not sent in time, or closed. The error has the value.
    ///
    /// # Cancel safety
    ///
    /// As [`send`](Self::send).
    pub async fn send_timeout(&self, value: T, limit: Duration) -> Result<(), SendTimeoutError<T>> {
        timed::send(self, value, limit).await
    }

    /// [`send`](Self::send) for plain threads. In a goroutine it is a blocking call: others go on
    /// without this thread.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub fn send_blocking(&self, value: T) -> Result<(), SendError<T>> {
        gmp_rt::block_on(self.send(value))
    }

    /// The number of receivers.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.chan.with(|core| core.receivers)
    }
}

impl<T> Sender<T> {
    /// Ends this sender: drops its end of the channel, and fails from now on.
    ///
    /// It becomes the sender of a closed channel of its own, so that sends need not check.
    fn end(&mut self) {
        let cap = self.chan.with(|core| core.capacity());
        let ended = Self { chan: Arc::new(Chan::closed(cap)), pipe: Pipe::new(Side::Sink) };
        drop(std::mem::replace(self, ended));
    }
}

impl<T> Receiver<T> {
    /// Receives a value: waits for a sender unless one is there.
    ///
    /// Receivers that wait are served in order.
    ///
    /// # Errors
    ///
    /// The channel is closed, or all senders are gone, and all that was sent has been received.
    ///
    /// # Cancel safety
    ///
    /// A receive that is dropped loses no value. A value that was handed to it, and that it has not
    /// returned yet, goes to the next receive, before all values that were sent later.
    ///
    /// While one receive at a time waits on a channel, drops are invisible. With several receivers,
    /// another receiver may have run between the hand-over and the drop:
    ///
    /// - It may have received values that were sent later.
    /// - If the channel was closed, it may have returned that the channel is closed and empty. The
    ///   value that came back is then found by the next receive, or dropped with the last receiver.
    ///
    /// [`gmp::timeout`](gmp_rt::timeout()) around a receive, an abort of a goroutine and a future
    /// case of [`select!`](macro@crate::select) drop receives. [`recv_timeout`](Self::recv_timeout)
    /// returns a value that was handed to it. A receive case of `select!` that is not chosen is
    /// given no value.
    #[inline]
    pub fn recv(&self) -> Recv<'_, T> {
        Recv::new(self)
    }

    /// Receives a value if one is there.
    ///
    /// A sender that waits in [`select!`](macro@crate::select) has to run before its value is
    /// there: the value is moved when its case is chosen. If the next sender is such a one, this
    /// call wakes it and blocks until it has sent. It waits at most a millisecond for the sender to
    /// run, and at most 100 ms more while the sender evaluates its value.
    ///
    /// In a goroutine that is a blocking call: other goroutines go on without this thread. A sender
    /// that is driven by this very thread cannot run meanwhile: the call returns
    /// [`TryRecvError::Empty`] and the sender waits on. A sender on a busy machine may not run in
    /// time either. The calls that find it are [`recv`](Self::recv) and a `select!` with a
    /// `default`.
    ///
    /// # Errors
    ///
    /// The channel is empty; or closed and empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use gmp_sync::{TryRecvError, chan};
    ///
    /// let (tx, rx) = chan(1);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.try_send(7).unwrap();
    /// drop(tx);
    /// assert_eq!(rx.try_recv(), Ok(7));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    /// ```
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        attempt::try_recv(self)
    }

    /// [`recv`](Self::recv) that waits for at most `limit`.
    ///
    /// A value that is handed over in the last moment is returned: a send never succeeds while its
    /// receiver times out. If a sender in [`select!`](macro@crate::select) is on its way with its
    /// value when the limit is over, this waits for it as [`try_recv`](Self::try_recv) does: up to
    /// a millisecond, and up to 100 ms more while the sender evaluates its value.
    ///
    /// # Errors
    ///
    /// No value came in time; or the channel is closed and empty.
    ///
    /// # Cancel safety
    ///
    /// As [`recv`](Self::recv).
    pub async fn recv_timeout(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        timed::recv(self, limit).await
    }

    /// [`recv`](Self::recv) for plain threads. In a goroutine it is a blocking call: others go on
    /// without this thread.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn recv_blocking(&self) -> Result<T, RecvError> {
        gmp_rt::block_on(self.recv())
    }

    /// The values until the channel is closed, for plain threads: each step is a
    /// [`recv_blocking`](Self::recv_blocking).
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = gmp_sync::chan(4);
    /// std::thread::spawn(move || (1..=4).for_each(|n| tx.send_blocking(n).unwrap()));
    /// assert_eq!(rx.iter().sum::<i32>(), 10);
    /// ```
    pub fn iter(&self) -> Iter<'_, T> {
        Iter::new(self)
    }

    /// The values that are there now: each step is a [`try_recv`](Self::try_recv).
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter::new(self)
    }

    /// The number of senders.
    #[must_use]
    pub fn sender_count(&self) -> usize {
        self.chan.with(|core| core.senders)
    }
}

macro_rules! both_ends {
    ($End:ident, $count:ident, $counted:literal, $last:ident, $side:ident) => {
        impl<T> $End<T> {
            /// Closes the channel: sends fail from now on, what was sent can still be received.
            /// All who wait to send get their value back. `false` if it was closed already.
            pub fn close(&self) -> bool {
                self.chan.close()
            }

            /// Whether the channel is closed. Values may be left in it.
            #[must_use]
            pub fn is_closed(&self) -> bool {
                self.chan.with(|core| core.phase() == Phase::Closed)
            }

            /// The number of values in the buffer.
            #[must_use]
            pub fn len(&self) -> usize {
                self.chan.with(|core| core.len())
            }

            /// Whether no value is in the buffer.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Whether the buffer has no room: always so without a buffer.
            #[must_use]
            pub fn is_full(&self) -> bool {
                self.chan.with(|core| !core.has_room())
            }

            /// The size of the buffer; `None` if it is unbounded.
            #[must_use]
            pub fn cap(&self) -> Option<usize> {
                let cap = self.chan.with(|core| core.capacity());
                (cap != usize::MAX).then_some(cap)
            }

            #[doc = $counted]
            #[must_use]
            pub fn $count(&self) -> usize {
                self.chan.with(|core| core.$last)
            }

            /// Whether both are ends of the same channel.
            #[must_use]
            pub fn same_channel(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.chan, &other.chan)
            }
        }

        impl<T> Clone for $End<T> {
            fn clone(&self) -> Self {
                self.chan.with(|core| core.$last += 1);
                Self { chan: self.chan.clone(), pipe: Pipe::new(Side::$side) }
            }
        }

        impl<T> fmt::Debug for $End<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($End)).field(&self.chan).finish()
            }
        }
    };
}

both_ends!(Sender, sender_count, "The number of senders.", senders, Sink);
both_ends!(Receiver, receiver_count, "The number of receivers.", receivers, Stream);

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.pipe.cancel(&self.chan);
        let left = self.chan.with(|core| {
            core.senders -= 1;
            core.senders
        });
        if left == 0 {
            self.chan.close();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.pipe.cancel(&self.chan);
        let left = self.chan.with(|core| {
            core.receivers -= 1;
            core.leave_stream();
            core.receivers
        });
        if left == 0 {
            self.chan.close();
            // No receiver will take it. Dropped after the lock is released.
            let rest = self.chan.with(|core| core.take_buffer());
            drop(rest);
        }
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter::new(self)
    }
}

#[cfg(all(test, gmp_loom))]
mod loom;

#[cfg(all(test, not(gmp_loom)))]
mod tests;
