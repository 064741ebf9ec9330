//! `Ticker`.

use super::sleep::{Sleep, sleep};
use crate::util::clock;
use futures::Stream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Ticks at a fixed period (Go: `time.Ticker`).
///
/// A tick that nobody waited for is not made up for: the ticker skips what was missed and keeps
/// its phase. It is also a [`Stream`] that does not end.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use std::time::{Duration, Instant};
///
/// gmp::block_on(async {
///     let start = Instant::now();
///     let mut ticker = gmp::Ticker::new(Duration::from_millis(1));
///     ticker.tick().await;
///     ticker.tick().await;
///     assert!(start.elapsed() >= Duration::from_millis(2));
/// });
/// ```
#[derive(Debug)]
pub struct Ticker {
    period: u64,
    sleep: Sleep,
}

impl Ticker {
    /// A ticker whose first tick is one `period` from now.
    ///
    /// # Panics
    ///
    /// If `period` is zero, as Go does.
    #[track_caller]
    #[must_use]
    pub fn new(period: Duration) -> Self {
        assert!(!period.is_zero(), "non-positive interval for Ticker::new");
        Self { period: clock::nanos(period), sleep: sleep(period) }
    }

    /// Waits for the next tick; returns the moment it was due.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no tick.
    pub async fn tick(&mut self) -> Instant {
        std::future::poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Polls for the next tick.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(Pin::new(&mut self.sleep).poll(cx));
        let due = self.sleep.when();
        let late = clock::now().saturating_sub(due);
        let periods = 1 + late / self.period;
        self.sleep.reset_to(due.saturating_add(self.period.saturating_mul(periods)));
        Poll::Ready(clock::instant(due).unwrap_or_else(Instant::now))
    }

    /// Ticks every `period` from now on, the first time one `period` from now.
    ///
    /// # Panics
    ///
    /// If `period` is zero, as Go does.
    #[track_caller]
    pub fn reset(&mut self, period: Duration) {
        assert!(!period.is_zero(), "non-positive interval for Ticker::reset");
        self.period = clock::nanos(period);
        self.sleep.reset_to(clock::after(period));
    }

    /// Ticks no more, until [`reset`](Self::reset).
    pub fn stop(&mut self) {
        self.sleep.reset_to(clock::FOREVER);
    }
}

impl Stream for Ticker {
    type Item = Instant;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.poll_tick(cx).map(Some)
    }
}
