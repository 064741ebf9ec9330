//! Sending and receiving with a time limit.
//!
//! The operation is polled before the clock: what is possible at once succeeds with any limit. When
//! the limit is over, the operation decides under the channel's lock whether it has succeeded. So
//! both sides agree.
//!
//! The budget is checked once per poll, before all else: the operation itself is polled whether the
//! time slice is over or not, so a slice that is over is never taken for an empty or full channel.

use super::{Receiver, RecvTimeoutError, SendError, SendTimeoutError, Sender, TrySendError};
use crate::tuning::RENDEZVOUS;
use gmp_rt::park::poll_go_on;
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
    let mut grace = Some(RENDEZVOUS);
    poll_fn(|cx| {
        ready!(poll_go_on(cx));
        if let Poll::Ready(result) = recv.as_mut().poll_unbudgeted(cx) {
            return Poll::Ready(result.map_err(|_| RecvTimeoutError::Closed));
        }
        ready!(late.as_mut().poll(cx));
        // A sender that was summoned needs time to run, or a loop of short receives starves it.
        if recv.as_mut().is_promised()
            && let Some(grace) = grace.take()
        {
            late.reset(Instant::now() + grace);
            ready!(late.as_mut().poll(cx));
        }
        Poll::Ready(match recv.as_mut().give_up() {
            Some(result) => result.map_err(|_| RecvTimeoutError::Closed),
            None => Err(RecvTimeoutError::Timeout),
        })
    })
    .await
}

pub(super) async fn send<T>(
    sender: &Sender<T>,
    value: T,
    limit: Duration,
) -> Result<(), SendTimeoutError<T>> {
    let mut send = pin!(sender.send(value));
    let mut late = pin!(gmp_rt::sleep(limit));
    poll_fn(|cx| {
        ready!(poll_go_on(cx));
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
