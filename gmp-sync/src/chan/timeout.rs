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
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

pub(super) async fn recv<T>(
    receiver: &Receiver<T>,
    limit: Duration,
) -> Result<T, RecvTimeoutError> {
    let mut recv = pin!(receiver.recv());
    let mut late = pin!(gmp_rt::sleep(limit));
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
    limit: Duration,
) -> Result<(), SendTimeoutError<T>> {
    let mut send = pin!(sender.send(value));
    let mut late = pin!(gmp_rt::sleep(limit));
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
