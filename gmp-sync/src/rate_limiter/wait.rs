//! The future of [`RateLimiter::wait_n`]: reserves tokens, then sleeps until their time.

use super::bucket::{Refused, Reserved};
use super::{Parked, RateError, RateLimiter};
use crate::wait::waiter::{Ended, Waiter};
use futures::future::FusedFuture;
use gmp_rt::prim;
use gmp_rt::task::park::{WaitReason, note_wait, poll_proceed};
use gmp_rt::time::Sleep;
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// The progress of a wait.
enum RatePhase {
    /// Nothing is reserved. It may be in the queue.
    Unreserved,
    /// Tokens are reserved, and given back if the wait is dropped.
    Reserved(Reserved, Sleep),
    Done,
}

pin_project! {
    /// The future of [`RateLimiter::wait`], `wait_n` and `wait_until`.
    #[must_use = "futures do nothing unless awaited"]
    pub struct RateWait<'a> {
        n: usize,
        deadline: Option<Instant>,
        phase: RatePhase,
        #[pin]
        waiter: Waiter<&'a RateLimiter>,
    }

    impl PinnedDrop for RateWait<'_> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let RatePhase::Reserved(reserved, _) = this.phase {
                this.waiter.list().cancel(reserved);
            }
        }
    }
}

impl<'a> RateWait<'a> {
    pub(super) fn new(limiter: &'a RateLimiter, n: usize, deadline: Option<Instant>) -> Self {
        let waiter = Waiter::new(limiter, Parked { n, result: None });
        Self { n, deadline, phase: RatePhase::Unreserved, waiter }
    }
}

/// Reserves tokens, or waits in the queue while they would never come.
fn poll_reserve(
    mut waiter: Pin<&mut Waiter<&RateLimiter>>,
    n: usize,
    deadline: Option<Instant>,
    cx: &Context<'_>,
) -> Poll<Result<Reserved, RateError>> {
    let now = prim::now();
    let ended =
        waiter.as_mut().poll_wait(cx, |state, _| match state.bucket.reserve(now, n, deadline) {
            Ok(reserved) => ControlFlow::Break(Ok(reserved)),
            Err(Refused::Error(error)) => ControlFlow::Break(Err(error)),
            Err(Refused::Never) => ControlFlow::Continue(()),
        });
    ended.map(|ended| match ended {
        Ended::AtOnce(result) => result,
        Ended::Fired => {
            waiter.as_mut().reset();
            waiter.own(|parked| parked.result.take()).expect("fired with a result")
        }
    })
}

impl Future for RateWait<'_> {
    type Output = Result<(), RateError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        ready!(poll_proceed(cx));
        let limiter = ptr::from_ref::<RateLimiter>(this.waiter.list()).addr();
        if let RatePhase::Unreserved = this.phase {
            let polled = poll_reserve(this.waiter.as_mut(), *this.n, *this.deadline, cx);
            match polled {
                Poll::Pending => {
                    note_wait(cx, WaitReason::RateLimit, limiter);
                    return Poll::Pending;
                }
                Poll::Ready(Err(error)) => {
                    *this.phase = RatePhase::Done;
                    return Poll::Ready(Err(error));
                }
                Poll::Ready(Ok(reserved)) => {
                    *this.phase = RatePhase::Reserved(reserved, gmp_rt::sleep_until(reserved.at));
                }
            }
        }
        if let RatePhase::Reserved(_, sleep) = this.phase
            && Pin::new(sleep).poll(cx).is_pending()
        {
            note_wait(cx, WaitReason::RateLimit, limiter);
            return Poll::Pending;
        }
        *this.phase = RatePhase::Done;
        Poll::Ready(Ok(()))
    }
}

/// Terminated once a result was returned.
impl FusedFuture for RateWait<'_> {
    fn is_terminated(&self) -> bool {
        matches!(self.phase, RatePhase::Done)
    }
}

impl fmt::Debug for RateWait<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateWait").field("n", &self.n).field("waiter", &self.waiter).finish()
    }
}
