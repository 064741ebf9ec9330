//! Sending and receiving with a time limit.
//!
//! The operation is looked at before the clock: what is possible at once succeeds with any limit. And
//! after it: a goroutine whose slice is over is told to give way when it looks first, and must not
//! take that for a refusal.

use super::{Receiver, RecvTimeoutError, SendError, SendTimeoutError, Sender};
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Poll, ready};
use std::time::Duration;

pub(super) async fn recv<T>(
    receiver: &Receiver<T>,
    limit: Duration,
) -> Result<T, RecvTimeoutError> {
    let mut recv = pin!(receiver.recv());
    let mut late = pin!(gmp_rt::sleep(limit));
    poll_fn(|cx| {
        let mut polled = recv.as_mut().poll(cx);
        if polled.is_pending() {
            ready!(late.as_mut().poll(cx));
            polled = recv.as_mut().poll(cx);
        }
        Poll::Ready(match polled {
            Poll::Ready(result) => result.map_err(|_| RecvTimeoutError::Closed),
            Poll::Pending => Err(RecvTimeoutError::Timeout),
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
        let mut polled = send.as_mut().poll(cx);
        if polled.is_pending() {
            ready!(late.as_mut().poll(cx));
            polled = send.as_mut().poll(cx);
        }
        Poll::Ready(match polled {
            Poll::Ready(result) => result.map_err(|SendError(v)| SendTimeoutError::Closed(v)),
            // Received in the last moment: no value comes back, and that is a success.
            Poll::Pending => match send.as_mut().give_up() {
                Some(value) => Err(SendTimeoutError::Timeout(value)),
                None => Ok(()),
            },
        })
    })
    .await
}
