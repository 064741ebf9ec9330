//! Channels (Go: `chan`): values from goroutine to goroutine, in order.
//!
//! - `core`: the state of a channel; `lock`: its lock.
//! - `node`, `queue`: waiters; `permits`: how senders in a select meet receivers.
//! - `send`, `recv`, `recv_many`, `reserve`, `closed`: the futures; `permit`: what a reservation
//!   gives; `attempt`: operations that do not wait; `timeout`: time limits.
//! - `weak`: senders that do not keep the channel open; `drain`: the buffer as an iterator.
//! - `futures_traits`: a receiver as a stream, a sender as a sink; `receiver_set`: many receivers;
//!   `iter`: iterators for external threads.
//!
//! # Values that were handed over and not taken
//!
//! A sender hands its value to a waiting receive directly. The receive takes it when it is polled
//! again, without a lock. In between the receive may be dropped, by a timeout around it or by an
//! abort. The value then goes to the front of the buffer, in the order of the handovers.
//! [`Receiver::recv`] describes what other receivers may have seen meanwhile.
//!
//! The alternative is to wake the receive and let it take its value from the buffer. The order
//! would then hold for all receivers in all cases, at the cost of one more lock per handover. A
//! count of untaken values, with which no receive would return "closed" too early, needs an atomic
//! operation per handover. Every receive would pay for both, and only dropped receives need them.
//! So the operations of this crate that cancel a receive decide under the lock
//! (`RecvFut::give_up`) and keep its value. The effect of drops is documented.

mod attempt;
pub(crate) mod closed;
pub(crate) mod core;
mod drain;
mod error;
mod futures_traits;
mod iter;
pub(crate) mod lock;
pub(crate) mod node;
pub(crate) mod permit;
pub(crate) mod permits;
pub(crate) mod queue;
mod receiver_set;
pub(crate) mod recv;
pub(crate) mod recv_many;
pub(crate) mod reserve;
pub(crate) mod send;
mod timeout;
mod weak;

pub use self::drain::Drain;
pub use self::error::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
};
pub use self::iter::{IntoIterBlocking, IterBlocking, TryIter};
pub use self::permit::{OwnedPermit, Permit};
pub use self::receiver_set::{ReceiverKey, ReceiverSet, ReceiverSetRecv};
pub use self::weak::WeakSender;
pub use crate::select::{SelectCase, recv_any, select_cases};

use self::core::ChanPhase;
use self::futures_traits::Pipe;
use self::lock::Chan;
use self::queue::Side;
use self::recv::RecvFut;
use self::send::SendFut;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Creates a channel with a buffer for `cap` values and returns its two ends (Go: `make(chan T,
/// cap)`).
///
/// With a `cap` of 0, each send waits for a receive. Both ends can be cloned and used by any number
/// of goroutines and threads. When all senders are dropped, or either end [closes](Sender::close)
/// the channel, receivers get the values that are left and then [`RecvError`]. When all receivers
/// are dropped, sends fail.
///
/// # Panics
///
/// If a buffer of `cap` values exceeds the address space. The message is Go's.
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::chan;
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
#[doc(alias("make", "channel", "mpsc", "mpmc", "make_chan"))]
#[must_use]
#[track_caller]
pub fn chan<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    let bytes = cap.checked_mul(size_of::<T>());
    assert!(
        bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok()),
        "makechan: size out of range"
    );
    // `usize::MAX` means unbounded.
    new(cap.min(usize::MAX - 1))
}

/// Creates a channel with a buffer for `cap` values. The same as [`chan`](self::chan()).
///
/// With [`unbounded`] it makes a pair of names that need no import of the function `chan`.
///
/// # Panics
///
/// As [`chan`](self::chan()).
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::chan;
///
/// let (tx, rx) = chan::bounded(1);
/// tx.try_send("a").unwrap();
/// assert!(tx.is_full());
/// assert_eq!(rx.try_recv(), Ok("a"));
/// ```
#[must_use]
#[track_caller]
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    chan(cap)
}

/// Creates a channel with an unbounded buffer and returns its two ends. A send never waits.
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::chan;
///
/// let (tx, rx) = chan::unbounded();
/// for n in 0..1000 {
///     tx.try_send(n).unwrap();
/// }
/// assert_eq!((rx.len(), rx.cap()), (1000, None));
/// ```
#[doc(alias("unbounded_channel", "unbounded_chan"))]
#[must_use]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    new(usize::MAX)
}

/// Returns a receiver that is never ready (Go: a nil channel).
///
/// Use it for a case of [`select!`](macro@crate::select) that is off for now: replace the receiver
/// by this one, and put it back later. It has no sender and is not closed, so a receive waits until
/// the receiver is [closed](Receiver::close).
///
/// # Examples
///
/// ```
/// # mod gmp { pub use gmp_rt::block_on; pub use gmp_sync::{chan, select}; }
/// use gmp::{chan, select};
///
/// gmp::block_on(async {
///     let (tx, mut rx) = chan(1);
///     let (_quit, quits) = chan::<()>(0);
///     tx.send(1).await.unwrap();
///     let mut got = Vec::new();
///     for _ in 0..2 {
///         select! {
///             value = rx.recv() => {
///                 got.push(value.unwrap());
///                 rx = chan::never();
///             },
///             _ = quits.recv() => unreachable!("nobody quits"),
///             default => {}
///         }
///     }
///     assert_eq!(got, [1]);
/// });
/// ```
#[doc(alias = "nil")]
#[must_use]
pub fn never<T>() -> Receiver<T> {
    let chan = Arc::new(Chan::new(0));
    chan.with(|core| core.senders = 0);
    Receiver { chan, pipe: Pipe::new(Side::Stream) }
}

fn new<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    let chan = Arc::new(Chan::new(cap));
    let sender = Sender { chan: chan.clone(), pipe: Pipe::new(Side::Sink) };
    (sender, Receiver { chan, pipe: Pipe::new(Side::Stream) })
}

/// The sending end of a channel. See [`chan`](self::chan()).
///
/// Also a [`Sink`](futures::Sink).
pub struct Sender<T> {
    pub(crate) chan: Arc<Chan<T>>,
    pipe: Pipe<T>,
}

/// The receiving end of a channel. See [`chan`](self::chan()).
///
/// A loop over all values until the channel is closed:
///
/// ```
/// # use gmp_sync as gmp;
/// # gmp_rt::block_on(async {
/// # let (tx, rx) = gmp::chan(2);
/// # tx.send(1).await.unwrap();
/// # drop(tx);
/// while let Ok(v) = rx.recv().await {
///     println!("{v}");
/// }
/// # });
/// ```
///
/// It is no iterator, because an iterator would block the thread. It is a
/// [`Stream`](futures::Stream), and external threads have
/// [`iter_blocking`](Self::iter_blocking).
pub struct Receiver<T> {
    pub(crate) chan: Arc<Chan<T>>,
    pipe: Pipe<T>,
}

impl<T> Sender<T> {
    /// Sends a value and waits for a receiver or for room in the buffer.
    ///
    /// Waiting senders are served in arrival order.
    ///
    /// # Errors
    ///
    /// [`SendError`] with the value, if the channel is closed or all receivers are dropped. (Go
    /// panics: `send on closed channel`.)
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped while it waits, the value is not sent and is dropped too. To keep
    /// the value, use [`select!`](macro@crate::select): a send case that is not chosen does not
    /// move its value.
    #[doc(alias("<-", "send_async"))]
    #[inline]
    pub fn send(&self, value: T) -> SendFut<'_, T> {
        SendFut::new(self, value)
    }

    /// Sends a value if that is possible without waiting.
    ///
    /// A receiver that waits as a stream has room for one value, even if the channel has no buffer.
    /// One value wakes all such receivers; all but one of them wait again. The value stays in the
    /// channel until a receiver takes it.
    ///
    /// # Errors
    ///
    /// If the buffer is full and no receiver waits, or if the channel is closed. The error contains
    /// the value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::chan::{TrySendError, chan};
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

    /// As [`send`](Self::send), but waits for at most `limit`.
    ///
    /// # Errors
    ///
    /// If the value was not sent in time, or the channel is closed. The error contains the value.
    ///
    /// # Cancel safety
    ///
    /// As [`send`](Self::send).
    pub async fn send_timeout(&self, value: T, limit: Duration) -> Result<(), SendTimeoutError<T>> {
        timeout::send(self, value, gmp_rt::sleep(limit)).await
    }

    /// As [`send`](Self::send), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call: other goroutines
    /// continue on other threads.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    #[doc(alias = "blocking_send")]
    pub fn send_blocking(&self, value: T) -> Result<(), SendError<T>> {
        gmp_rt::block_on(self.send(value))
    }

    /// Returns the number of receivers.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.chan.with(|core| core.receivers)
    }
}

impl<T> Sender<T> {
    /// Ends this sender: drops its end of the channel, so that all later sends fail.
    ///
    /// It becomes the sender of a new closed channel, so that sends need not check.
    fn end(&mut self) {
        let cap = self.chan.with(|core| core.capacity());
        let ended = Self { chan: Arc::new(Chan::closed(cap)), pipe: Pipe::new(Side::Sink) };
        drop(std::mem::replace(self, ended));
    }
}

impl<T> Receiver<T> {
    /// Receives the next value and waits while the channel has none.
    ///
    /// Waiting receivers get values in arrival order. In a goroutine only the goroutine waits; its
    /// thread runs other goroutines.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if the channel is closed or all senders are dropped, and all values have been
    /// received.
    ///
    /// # Cancel safety
    ///
    /// A dropped receive loses no value. A value that was handed to it, and that it has not
    /// returned yet, goes to the next receive, before all values that were sent later.
    ///
    /// While one receive at a time waits on a channel, drops are invisible. With several receivers,
    /// another receiver may have run between the handover and the drop:
    ///
    /// - It may have received values that were sent later.
    /// - If the channel was closed, it may have returned that the channel is closed and empty. Then
    ///   the next receive finds the value that came back, or it is dropped with the last receiver.
    ///
    /// [`gmp::timeout`](gmp_rt::timeout()) around a receive, an abort of a goroutine and a future
    /// case of [`select!`](macro@crate::select) drop receives. [`recv_timeout`](Self::recv_timeout)
    /// returns a value that was handed to it. A receive case of `select!` that is not chosen gets
    /// no value.
    #[doc(alias("recv_async", "next"))]
    #[inline]
    pub fn recv(&self) -> RecvFut<'_, T> {
        RecvFut::new(self)
    }

    /// Receives a value if one is available without waiting.
    ///
    /// A sender that waits in [`select!`](macro@crate::select) or [`reserve`](Sender::reserve) has
    /// to run before its value is available, because the value is moved when its case is chosen. If
    /// the next sender is of that kind, this call wakes it and blocks until it has sent. It waits
    /// at most 1 ms for the sender to run, and at most 100 ms more for its value.
    ///
    /// In a goroutine that is a blocking call: other goroutines continue on other threads. A sender
    /// that runs on this very thread cannot run meanwhile. Then the call returns
    /// [`TryRecvError::Empty`] and the sender continues to wait. On a busy machine a sender may not
    /// run in time either. [`recv`](Self::recv) and a `select!` with a `default` find such a
    /// sender.
    ///
    /// # Errors
    ///
    /// If the channel is empty, or closed and empty.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::chan::{TryRecvError, chan};
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

    /// As [`recv`](Self::recv), but waits for at most `limit`.
    ///
    /// A value that is handed over just before the limit is returned: a send never succeeds while
    /// its receiver times out. A sender in [`select!`](macro@crate::select) may be on its way with
    /// its value when the limit expires. Then this call waits for it as
    /// [`try_recv`](Self::try_recv) does: up to 1 ms, and up to 100 ms more while the sender
    /// evaluates its value.
    ///
    /// # Errors
    ///
    /// If no value arrived in time, or the channel is closed and empty.
    ///
    /// # Cancel safety
    ///
    /// As [`recv`](Self::recv).
    pub async fn recv_timeout(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        timeout::recv(self, gmp_rt::sleep(limit)).await
    }

    /// As [`recv`](Self::recv), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call: other goroutines
    /// continue on other threads.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    #[doc(alias = "blocking_recv")]
    pub fn recv_blocking(&self) -> Result<T, RecvError> {
        gmp_rt::block_on(self.recv())
    }

    /// Returns an iterator over the values until the channel is closed, for external threads.
    ///
    /// Each step is a [`recv_blocking`](Self::recv_blocking).
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = gmp_sync::chan(4);
    /// std::thread::spawn(move || (1..=4).for_each(|n| tx.send_blocking(n).unwrap()));
    /// assert_eq!(rx.iter_blocking().sum::<i32>(), 10);
    /// ```
    #[doc(alias("range", "blocking_iter"))]
    pub fn iter_blocking(&self) -> IterBlocking<'_, T> {
        IterBlocking::new(self)
    }

    /// Returns an iterator over the available values. Each step is a [`try_recv`](Self::try_recv).
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter::new(self)
    }

    /// Returns the number of senders.
    #[must_use]
    pub fn sender_count(&self) -> usize {
        self.chan.with(|core| core.senders)
    }
}

macro_rules! both_ends {
    ($End:ident, $count:ident, $counted:literal, $last:ident, $side:ident) => {
        impl<T> $End<T> {
            /// Closes the channel. Returns `false` if it was closed already.
            ///
            /// Sends fail from now on. Waiting sends fail and return their value. Values in the
            /// buffer can still be received.
            pub fn close(&self) -> bool {
                self.chan.close()
            }

            /// Whether the channel is closed. It may still hold values.
            #[must_use]
            pub fn is_closed(&self) -> bool {
                self.chan.with(|core| core.phase() == ChanPhase::Closed)
            }

            /// Returns the number of values in the buffer.
            #[must_use]
            pub fn len(&self) -> usize {
                self.chan.with(|core| core.len())
            }

            /// Whether the buffer is empty.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Whether the buffer has no room. A place that a [`Permit`] has reserved is no room.
            /// Always `true` without a buffer.
            #[must_use]
            pub fn is_full(&self) -> bool {
                self.chan.with(|core| !core.has_room())
            }

            /// Returns the capacity of the buffer, or `None` if it is unbounded.
            #[doc(alias("capacity", "max_capacity"))]
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
            #[doc(alias = "is_same")]
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
            // No receiver is left to take the values. They are dropped after the lock is released.
            let rest = self.chan.with(|core| core.take_buffer());
            drop(rest);
        }
    }
}

#[cfg(all(test, gmp_loom))]
mod loom;

#[cfg(all(test, not(gmp_loom)))]
mod tests;
