//! `unconstrained`: a future that is not asked to yield.

use crate::sched::budget;
use pin_project_lite::pin_project;
use std::future::IntoFuture;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs a future without forced yields.
///
/// Every future of gmp checks whether its goroutine has to yield: when the time slice of 10 ms is
/// over, or when a goroutine waits that a timer, a socket or an external thread made runnable (see
/// [`checkpoint`](crate::checkpoint())). Inside `unconstrained` no check asks for that. Use it for
/// a combinator that polls hundreds of children in one poll and shall see each ready one.
///
/// It does not keep code from being interrupted, because code between two awaits never is, with or
/// without it. It does not make the future hold its P: if a poll lasts, the P is handed off to
/// another thread, and the goroutine has a P again after its next await. A goroutine that is
/// spawned inside is an ordinary one.
///
/// A future that is always ready never ends its poll inside `unconstrained`. Then a timeout around
/// it never ends either, and the goroutine yields only by [`yield_now`](crate::yield_now).
///
/// # Cancel safety
///
/// That of the future.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// gmp::block_on(async {
///     let n = gmp::unconstrained(async {
///         gmp::checkpoint().await; // Does not yield.
///         7
///     });
///     assert_eq!(n.await, 7);
/// });
/// ```
#[doc(alias("without_budget", "coop"))]
pub fn unconstrained<F: IntoFuture>(future: F) -> Unconstrained<F::IntoFuture> {
    Unconstrained { future: future.into_future() }
}

pin_project! {
    /// The future of [`unconstrained`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Unconstrained<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        budget::poll_unconstrained(|| self.project().future.poll(cx))
    }
}
