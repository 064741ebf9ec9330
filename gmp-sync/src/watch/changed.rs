//! The waits of receivers for a change: the future of [`Receiver::changed`], and the stream.

use super::shared::{Changing, WatchShared, WatchState};
use super::{Receiver, RecvError};
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

/// Looks for a change since version `seen`. Returns the current version, to be marked as seen.
fn look<T>(state: &WatchState<T>, seen: Option<u64>) -> ControlFlow<Result<u64, RecvError>> {
    if seen != Some(state.version) {
        ControlFlow::Break(Ok(state.version))
    } else if state.senders == 0 {
        ControlFlow::Break(Err(RecvError))
    } else {
        ControlFlow::Continue(())
    }
}

/// Waits for a change, and marks it as seen in the poll that returns it.
fn poll_changed<T, S>(
    mut waiter: Pin<&mut Waiter<Changing<S>>>,
    seen: &mut Option<u64>,
    cx: &Context<'_>,
) -> Poll<Result<(), RecvError>>
where
    S: Deref<Target = WatchShared<T>>,
{
    ready!(poll_proceed(cx));
    let found = loop {
        match waiter.as_mut().poll_wait(cx, |state, ()| look(state, *seen)) {
            Poll::Ready(Ended::AtOnce(found)) => break found,
            // Looks again: the version may have changed again since it was fired.
            Poll::Ready(Ended::Fired) => waiter.as_mut().reset(),
            Poll::Pending => {
                let shared = ptr::from_ref::<WatchShared<T>>(&waiter.list().0);
                note_wait(cx, WaitReason::WatchChanged, shared.addr());
                return Poll::Pending;
            }
        }
    };
    Poll::Ready(found.map(|version| *seen = Some(version)))
}

pin_project! {
    /// The future of [`Receiver::changed`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct WatchChanged<'a, T> {
        seen: &'a mut Option<u64>,
        phase: WaitPhase,
        #[pin]
        waiter: Waiter<Changing<&'a WatchShared<T>>>,
    }
}

impl<'a, T> WatchChanged<'a, T> {
    pub(super) fn new(shared: &'a WatchShared<T>, seen: &'a mut Option<u64>) -> Self {
        Self { seen, phase: WaitPhase::Waits, waiter: Waiter::new(Changing(shared), ()) }
    }
}

impl<T> Future for WatchChanged<'_, T> {
    type Output = Result<(), RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let changed = ready!(poll_changed(this.waiter, this.seen, cx));
        *this.phase = WaitPhase::Done;
        Poll::Ready(changed)
    }
}

impl<T> FusedFuture for WatchChanged<'_, T> {
    fn is_terminated(&self) -> bool {
        self.phase == WaitPhase::Done
    }
}

impl<T> fmt::Debug for WatchChanged<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchChanged").field("waiter", &self.waiter).finish()
    }
}

/// A wait that owns its share of the channel.
type WatchStreamWait<T> = Waiter<Changing<Arc<WatchShared<T>>>>;

/// The values of a watch channel as a stream. See [`Receiver::into_stream`].
#[must_use = "streams do nothing unless polled"]
pub struct WatchStream<T> {
    /// Boxed, so that the stream is `Unpin`.
    waiter: Pin<Box<WatchStreamWait<T>>>,
    receiver: Receiver<T>,
}

impl<T> WatchStream<T> {
    pub(super) fn new(receiver: Receiver<T>) -> Self {
        let waiter = Box::pin(Waiter::new(Changing(receiver.shared.clone()), ()));
        Self { waiter, receiver }
    }

    /// Returns the receiver.
    #[must_use]
    pub fn into_inner(self) -> Receiver<T> {
        self.receiver
    }
}

impl<T> Stream for WatchStream<T> {
    type Item = Arc<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Arc<T>>> {
        let this = &mut *self;
        let changed = ready!(poll_changed(this.waiter.as_mut(), &mut this.receiver.seen, cx));
        Poll::Ready(changed.ok().map(|()| this.receiver.get_and_update()))
    }
}

impl<T> FusedStream for WatchStream<T> {
    fn is_terminated(&self) -> bool {
        self.receiver.has_changed().is_err()
    }
}

impl<T> fmt::Debug for WatchStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchStream").field("receiver", &self.receiver).finish()
    }
}
