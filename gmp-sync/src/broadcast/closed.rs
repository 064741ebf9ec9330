//! The wait of a sender until no receiver is left.

use super::shared::{BroadcastClosing, BroadcastShared};
use crate::wait::phase::WaitPhase;
use crate::wait::waiter::{Ended, Waiter};
use futures::future::FusedFuture;
use gmp_rt::task::park::{WaitReason, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The future of [`Sender::closed`](super::Sender::closed).
    #[must_use = "futures do nothing unless awaited"]
    pub struct BroadcastClosed<'a, T> {
        phase: WaitPhase,
        #[pin]
        waiter: Waiter<BroadcastClosing<&'a BroadcastShared<T>>>,
    }
}

impl<'a, T> BroadcastClosed<'a, T> {
    pub(super) fn new(shared: &'a BroadcastShared<T>) -> Self {
        Self { phase: WaitPhase::Waits, waiter: Waiter::new(BroadcastClosing(shared), ()) }
    }
}

impl<T> Future for BroadcastClosed<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        ready!(poll_proceed(cx));
        let ended = this.waiter.as_mut().poll_wait(cx, |state, ()| match state.receivers {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        match ended {
            Poll::Pending => {
                let shared = ptr::from_ref(this.waiter.list().0);
                note_wait(cx, WaitReason::BroadcastClosed, shared.addr());
                return Poll::Pending;
            }
            Poll::Ready(Ended::AtOnce(())) => {}
            Poll::Ready(Ended::Fired) => this.waiter.reset(),
        }
        *this.phase = WaitPhase::Done;
        Poll::Ready(())
    }
}

impl<T> FusedFuture for BroadcastClosed<'_, T> {
    fn is_terminated(&self) -> bool {
        self.phase == WaitPhase::Done
    }
}

impl<T> fmt::Debug for BroadcastClosed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastClosed").field("waiter", &self.waiter).finish()
    }
}
