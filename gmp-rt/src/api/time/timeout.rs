//! `timeout`.

use super::sleep::{Sleep, sleep, sleep_until};
use crate::sched::budget;
use futures_core::FusedFuture;
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Awaits `future` for at most `duration`.
///
/// # Errors
///
/// [`Elapsed`] if the time is over first. The future is dropped with the [`Timeout`].
///
/// # Cancel safety
///
/// Cancel-safe if `future` is.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use std::time::Duration;
///
/// gmp::block_on(async {
///     assert_eq!(gmp::timeout(Duration::from_secs(5), async { 1 }).await, Ok(1));
///     let never = std::future::pending::<()>();
///     assert!(gmp::timeout(Duration::from_millis(1), never).await.is_err());
/// });
/// ```
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout { future: future.into_future(), sleep: sleep(duration), state: TimeoutState::Open }
}

/// Awaits `future` until `deadline` at the latest.
///
/// # Errors
///
/// [`Elapsed`] if the time is over first. The future is dropped with the [`Timeout`].
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let never = std::future::pending::<()>();
/// assert!(gmp::block_on(gmp::timeout_at(std::time::Instant::now(), never)).is_err());
/// ```
#[doc(alias("deadline", "with_deadline"))]
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        future: future.into_future(),
        sleep: sleep_until(deadline),
        state: TimeoutState::Open,
    }
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Timeout<F> {
        #[pin]
        future: F,
        sleep: Sleep,
        state: TimeoutState,
    }
}

/// How far a [`Timeout`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeoutState {
    /// Not decided.
    Open,
    /// The time was over first, and the goroutine yields before it returns.
    Elapsed,
    /// It has returned.
    Done,
}

impl<F> Timeout<F> {
    /// Returns the future.
    #[must_use]
    pub fn get_ref(&self) -> &F {
        &self.future
    }

    /// Returns the future, to change it.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut F {
        &mut self.future
    }

    /// Returns the future, without the limit.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// use std::time::Duration;
    ///
    /// let (limit, ready) = (Duration::from_millis(1), std::future::ready(7));
    /// assert_eq!(gmp::block_on(gmp::timeout(limit, ready).into_inner()), 7);
    /// ```
    #[must_use]
    pub fn into_inner(self) -> F {
        self.future
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let output = ready!(self.as_mut().poll_first(cx));
        *self.project().state = TimeoutState::Done;
        Poll::Ready(output)
    }
}

impl<F: Future> Timeout<F> {
    /// Polls for what comes first, the output of the future or the end of the time.
    fn poll_first(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<F::Output, Elapsed>> {
        let mut this = self.project();
        if *this.state == TimeoutState::Elapsed {
            return Poll::Ready(Err(Elapsed(())));
        }
        // The future comes before the clock: a future that is ready counts, however late it is
        // polled.
        if let Poll::Ready(output) = this.future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        // No budget check between the two: a future that uses up each slice would never time out.
        ready!(this.sleep.poll_due(cx));
        if budget::was_refused() {
            if let Poll::Ready(output) = budget::poll_deciding(|| this.future.poll(cx)) {
                return Poll::Ready(Ok(output));
            }
            *this.state = TimeoutState::Elapsed;
        }
        ready!(budget::poll_proceed(cx));
        Poll::Ready(Err(Elapsed(())))
    }
}

impl<F: Future> FusedFuture for Timeout<F> {
    fn is_terminated(&self) -> bool {
        self.state == TimeoutState::Done
    }
}

/// The time of a [`timeout`] was over before the future was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for std::io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(std::io::ErrorKind::TimedOut, elapsed)
    }
}
