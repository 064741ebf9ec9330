//! The waits of receivers for a value: the future of [`Receiver::recv`], and the stream.

use super::ring::{Kept, RingTake};
use super::shared::{BroadcastShared, BroadcastState, Receiving};
use super::{Lagged, Receiver, RecvError, TryRecvError};
use crate::wait::phase::WaitPhase;
use crate::wait::waiter::{Ended, Waiter};
use futures::future::FusedFuture;
use futures::stream::{FusedStream, Stream};
use gmp_rt::task::park::{WaitReason, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::{ControlFlow, Deref};
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A wait of a receiver that is a stream.
pub(super) type BroadcastStreamWait<T> = Waiter<Receiving<Arc<BroadcastShared<T>>>>;

/// Takes what is at position `at`, under the lock.
pub(super) fn take<T>(
    state: &mut BroadcastState<T>,
    at: &mut u64,
) -> Result<Kept<T>, TryRecvError> {
    match state.ring.take(at) {
        RingTake::Value(value) => Ok(value),
        RingTake::Lagged(missed) => Err(TryRecvError::Lagged(missed)),
        RingTake::Empty if state.senders == 0 => Err(TryRecvError::Closed),
        RingTake::Empty => Err(TryRecvError::Empty),
    }
}

/// Waits for what comes at position `at`, and advances it in the poll that returns.
fn poll_recv<T: Clone, S>(
    mut waiter: Pin<&mut Waiter<Receiving<S>>>,
    at: &mut u64,
    cx: &Context<'_>,
) -> Poll<Result<T, RecvError>>
where
    S: Deref<Target = BroadcastShared<T>>,
{
    ready!(poll_proceed(cx));
    let took = loop {
        let attempt = |state: &mut BroadcastState<T>, (): &mut ()| match take(state, at) {
            Ok(value) => ControlFlow::Break(Ok(value)),
            Err(TryRecvError::Closed) => ControlFlow::Break(Err(RecvError::Closed)),
            Err(TryRecvError::Lagged(n)) => ControlFlow::Break(Err(RecvError::Lagged(n))),
            Err(TryRecvError::Empty) => ControlFlow::Continue(()),
        };
        match waiter.as_mut().poll_wait(cx, attempt) {
            Poll::Ready(Ended::AtOnce(took)) => break took,
            // Now the value is in the ring, or the channel is closed.
            Poll::Ready(Ended::Fired) => waiter.as_mut().reset(),
            Poll::Pending => {
                let shared = ptr::from_ref::<BroadcastShared<T>>(&waiter.list().0);
                note_wait(cx, WaitReason::BroadcastReceive, shared.addr());
                return Poll::Pending;
            }
        }
    };
    // Cloned after the lock is released.
    Poll::Ready(took.map(Kept::into_value))
}

pin_project! {
    /// The future of [`Receiver::recv`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct BroadcastRecv<'a, T> {
        at: &'a mut u64,
        phase: WaitPhase,
        #[pin]
        waiter: Waiter<Receiving<&'a BroadcastShared<T>>>,
    }
}

impl<'a, T> BroadcastRecv<'a, T> {
    pub(super) fn new(shared: &'a BroadcastShared<T>, at: &'a mut u64) -> Self {
        Self { at, phase: WaitPhase::Waits, waiter: Waiter::new(Receiving(shared), ()) }
    }
}

impl<T: Clone> Future for BroadcastRecv<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let received = ready!(poll_recv(this.waiter, this.at, cx));
        *this.phase = WaitPhase::Done;
        Poll::Ready(received)
    }
}

impl<T: Clone> FusedFuture for BroadcastRecv<'_, T> {
    fn is_terminated(&self) -> bool {
        self.phase == WaitPhase::Done
    }
}

impl<T> fmt::Debug for BroadcastRecv<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastRecv").field("waiter", &self.waiter).finish()
    }
}

/// The stream continues after [`Lagged`]. It ends when all senders are dropped and all values have
/// been received.
impl<T: Clone> Stream for Receiver<T> {
    type Item = Result<T, Lagged>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let waiter = this
            .stream
            .get_or_insert_with(|| Box::pin(Waiter::new(Receiving(this.shared.clone()), ())));
        let received = ready!(poll_recv(waiter.as_mut(), &mut this.at, cx));
        Poll::Ready(match received {
            Ok(value) => Some(Ok(value)),
            Err(RecvError::Lagged(missed)) => Some(Err(Lagged(missed))),
            Err(RecvError::Closed) => None,
        })
    }
}

impl<T: Clone> FusedStream for Receiver<T> {
    fn is_terminated(&self) -> bool {
        self.is_closed() && self.is_empty()
    }
}
