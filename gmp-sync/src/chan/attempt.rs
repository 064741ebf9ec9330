//! Sending and receiving without waiting.

use super::core::{OnLater, Present, Push};
use super::lock::Chan;
use super::recv::{GaveUp, Leave};
use super::{Receiver, TryRecvError, TrySendError};
use crate::tuning::{COMMITTED, RENDEZVOUS};
use gmp_rt::task::park::block_on_for;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

pub(super) fn try_send<T>(chan: &Chan<T>, value: T) -> Result<(), TrySendError<T>> {
    match chan.with(|core| core.try_push(value)) {
        Push::Done(fired) => {
            fired.wake();
            Ok(())
        }
        Push::Full(value) => Err(TrySendError::Full(value)),
        Push::Closed(value) => Err(TrySendError::Closed(value)),
    }
}

pub(super) fn try_recv<T>(receiver: &Receiver<T>) -> Result<T, TryRecvError> {
    match receiver.chan.with(|core| core.take_present(OnLater::Stop)) {
        Present::Value(value, fired) => {
            fired.wake();
            Ok(value)
        }
        Present::Later => meet(receiver),
        Present::Empty => Err(TryRecvError::Empty),
        Present::Closed => Err(TryRecvError::Closed),
    }
}

/// Summons the next sender and waits for its value: at most [`RENDEZVOUS`] until it confirms, then
/// at most [`COMMITTED`].
///
/// The sender confirms under the lock before it moves its value. So either it has a receiver, or
/// the summons is withdrawn and it continues to wait.
#[cold]
fn meet<T>(receiver: &Receiver<T>) -> Result<T, TryRecvError> {
    let mut recv = pin!(receiver.recv());
    for (limit, leave) in [(RENDEZVOUS, Leave::Uncommitted), (COMMITTED, Leave::Always)] {
        let poll = poll_fn(|cx| match recv.as_mut().poll_unbudgeted(cx) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending if recv.as_mut().is_promised() => Poll::Pending,
            // The sender has left.
            Poll::Pending => Poll::Ready(None),
        });
        let met = block_on_for(limit, poll).flatten();
        match met.map_or_else(|| recv.as_mut().give_up(leave), GaveUp::With) {
            GaveUp::With(result) => return result.map_err(|_| TryRecvError::Closed),
            GaveUp::Empty => break,
            GaveUp::Committed => {}
        }
    }
    Err(TryRecvError::Empty)
}
