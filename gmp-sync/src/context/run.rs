//! `Run`: a future that ends with a context.

use super::done::Done;
use super::error::ContextError;
use crate::wait::phase::WaitPhase;
use futures::future::FusedFuture;
use gmp_rt::task::park::poll_deciding;
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The future of [`Context::run`](super::Context::run).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Run<'a, F> {
        #[pin]
        future: F,
        #[pin]
        done: Done<'a>,
        phase: WaitPhase,
    }
}

impl<'a, F> Run<'a, F> {
    pub(super) fn new(future: F, done: Done<'a>) -> Self {
        Self { future, done, phase: WaitPhase::Waits }
    }
}

impl<F: Future> Future for Run<'_, F> {
    type Output = Result<F::Output, ContextError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = ready!(self.as_mut().poll_first(cx));
        *self.project().phase = WaitPhase::Done;
        Poll::Ready(result)
    }
}

impl<F: Future> Run<'_, F> {
    /// Polls for what comes first, the output of the future or the end of the context.
    fn poll_first(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<F::Output, ContextError>> {
        let mut this = self.project();
        // The future is polled last, so that a dump shows what it waits for. Its output counts
        // nevertheless.
        let ended = this.done.poll(cx);
        if let Poll::Ready(output) = this.future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        let error = ready!(ended);
        // The end of the time slice may have hidden that the future is ready.
        match poll_deciding(|| this.future.poll(cx)) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => Poll::Ready(Err(error)),
        }
    }
}

impl<F: Future> FusedFuture for Run<'_, F> {
    fn is_terminated(&self) -> bool {
        self.phase == WaitPhase::Done
    }
}
