//! `timeout`.

use super::sleep::{Sleep, sleep, sleep_until};
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Awaits `future`, but at most for `duration`; then it is dropped.
///
/// # Errors
///
/// [`Elapsed`] if the time was over first.
///
/// # Cancel safety
///
/// As safe as `future` itself.
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
pub fn timeout<F: Future>(duration: Duration, future: F) -> Timeout<F> {
    Timeout { future, sleep: sleep(duration) }
}

/// Awaits `future`, but at most until `deadline`; then it is dropped.
///
/// # Errors
///
/// [`Elapsed`] if the time was over first.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let never = std::future::pending::<()>();
/// assert!(gmp::block_on(gmp::timeout_at(std::time::Instant::now(), never)).is_err());
/// ```
pub fn timeout_at<F: Future>(deadline: Instant, future: F) -> Timeout<F> {
    Timeout { future, sleep: sleep_until(deadline) }
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Timeout<F> {
        #[pin]
        future: F,
        sleep: Sleep,
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        // The future first: what is ready in time counts, however late we look.
        if let Poll::Ready(output) = this.future.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        Pin::new(this.sleep).poll(cx).map(|()| Err(Elapsed(())))
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
