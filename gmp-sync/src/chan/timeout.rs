//! Sending and receiving with a time limit.
//!
//! The operation is polled before the timer, so an operation that is possible at once succeeds with
//! any limit. When the limit expires, the operation decides under the channel's lock whether it has
//! succeeded. So both sides agree.
//!
//! The budget is checked once per poll, before all else. The operation itself is polled whether the
//! time slice is over or not, so the end of a slice is never taken for an empty or full channel.

use super::recv::{GaveUp, Leave};
use super::{Receiver, RecvTimeoutError, SendError, SendTimeoutError, Sender, TrySendError};
use crate::tuning::{COMMITTED, RENDEZVOUS};
use gmp_rt::task::park::poll_proceed;
use gmp_rt::time::Sleep;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

impl<T> Sender<T> {
    /// As [`send`](Self::send), but waits until `deadline` at most.
    ///
    /// # Errors
    ///
    /// If the value was not sent in time, or the channel is closed. The error contains the value.
    ///
    /// # Cancel safety
    ///
    /// As [`send`](Self::send).
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::{block_on, time}; pub use gmp_sync::chan; }
    /// use gmp::chan::{SendTimeoutError, chan};
    /// use gmp::time::{Duration, Instant};
    ///
    /// gmp::block_on(async {
    ///     let (tx, _rx) = chan(1);
    ///     let deadline = Instant::now() + Duration::from_millis(2);
    ///     assert_eq!(tx.send_at(1, deadline).await, Ok(()));
    ///     assert_eq!(tx.send_at(2, deadline).await, Err(SendTimeoutError::Timeout(2)));
    /// });
    /// ```
    pub async fn send_at(&self, value: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        send(self, value, gmp_rt::sleep_until(deadline)).await
    }

    /// As [`send_timeout`](Self::send_timeout), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    ///
    /// # Errors
    ///
    /// As [`send_timeout`](Self::send_timeout).
    #[doc(alias = "blocking_send_timeout")]
    pub fn send_timeout_blocking(
        &self,
        value: T,
        limit: Duration,
    ) -> Result<(), SendTimeoutError<T>> {
        gmp_rt::block_on(self.send_timeout(value, limit))
    }
}

impl<T> Receiver<T> {
    /// As [`recv`](Self::recv), but waits until `deadline` at most.
    ///
    /// At the deadline it decides as [`recv_timeout`](Self::recv_timeout) does at its limit.
    ///
    /// # Errors
    ///
    /// If no value arrived in time, or the channel is closed and empty.
    ///
    /// # Cancel safety
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::{block_on, time}; pub use gmp_sync::chan; }
    /// use gmp::chan::{RecvTimeoutError, chan};
    /// use gmp::time::{Duration, Instant};
    ///
    /// gmp::block_on(async {
    ///     let (_tx, rx) = chan::<u8>(1);
    ///     let deadline = Instant::now() + Duration::from_millis(2);
    ///     assert_eq!(rx.recv_at(deadline).await, Err(RecvTimeoutError::Timeout));
    ///     assert!(Instant::now() >= deadline);
    /// });
    /// ```
    pub async fn recv_at(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        recv(self, gmp_rt::sleep_until(deadline)).await
    }

    /// As [`recv_timeout`](Self::recv_timeout), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    ///
    /// # Errors
    ///
    /// As [`recv_timeout`](Self::recv_timeout).
    #[doc(alias = "blocking_recv_timeout")]
    pub fn recv_timeout_blocking(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        gmp_rt::block_on(self.recv_timeout(limit))
    }
}

pub(super) async fn recv<T>(receiver: &Receiver<T>, late: Sleep) -> Result<T, RecvTimeoutError> {
    let mut recv = pin!(receiver.recv());
    let mut late = pin!(late);
    let mut stage = Stage::Limit;
    poll_fn(|cx| {
        ready!(poll_proceed(cx));
        if let Poll::Ready(result) = recv.as_mut().poll_unbudgeted(cx) {
            return Poll::Ready(result.map_err(|_| RecvTimeoutError::Closed));
        }
        loop {
            // After the limit it waits only for a summoned sender, which may have left.
            let has_left = stage != Stage::Limit && !recv.as_mut().is_promised();
            if !has_left {
                ready!(late.as_mut().poll(cx));
            }
            let leave = match stage {
                // The sender needs time to run, or a loop of short receives starves it.
                Stage::Limit if recv.as_mut().is_promised() => {
                    stage = Stage::Rendezvous;
                    late.reset_at(Instant::now() + RENDEZVOUS);
                    continue;
                }
                Stage::Limit | Stage::Rendezvous => Leave::Uncommitted,
                Stage::Committed => Leave::Always,
            };
            return Poll::Ready(match recv.as_mut().give_up(leave) {
                GaveUp::With(result) => result.map_err(|_| RecvTimeoutError::Closed),
                GaveUp::Empty => Err(RecvTimeoutError::Timeout),
                GaveUp::Committed => {
                    stage = Stage::Committed;
                    late.reset_at(Instant::now() + COMMITTED);
                    continue;
                }
            });
        }
    })
    .await
}

/// What a receive with a time limit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A value.
    Limit,
    /// A sender that it has summoned, after the limit.
    Rendezvous,
    /// The value of a sender that has confirmed.
    Committed,
}

pub(super) async fn send<T>(
    sender: &Sender<T>,
    value: T,
    late: Sleep,
) -> Result<(), SendTimeoutError<T>> {
    let mut send = pin!(sender.send(value));
    let mut late = pin!(late);
    poll_fn(|cx| {
        ready!(poll_proceed(cx));
        if let Poll::Ready(result) = send.as_mut().poll_unbudgeted(cx) {
            return Poll::Ready(result.map_err(|SendError(v)| SendTimeoutError::Closed(v)));
        }
        ready!(late.as_mut().poll(cx));
        Poll::Ready(send.as_mut().give_up().map_err(|error| match error {
            TrySendError::Full(value) => SendTimeoutError::Timeout(value),
            TrySendError::Closed(value) => SendTimeoutError::Closed(value),
        }))
    })
    .await
}
