//! `Ticker`.

use super::sleep::{Sleep, sleep};
use crate::util::clock;
use futures_core::Stream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Ticks at a fixed period (Go: `time.Ticker`).
///
/// If several ticks are due when the next one is awaited, the ticker returns the first of them at
/// once, with its own time, and skips the others. The tick after it is the next one in the phase of
/// the ticker that is not due yet. So a late receiver gets one tick, as from Go's channel, and no
/// burst. A ticker is also a [`Stream`] that does not end.
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
#[doc(alias("Interval", "NewTicker"))]
#[derive(Debug)]
pub struct Ticker {
    period: u64,
    sleep: Sleep,
}

/// Returns a ticker whose first tick is one `period` from now (Go: `time.Tick`). The same as
/// [`Ticker::new`].
///
/// # Panics
///
/// If `period` is zero, as Go does.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use gmp::time::{self, Duration};
///
/// gmp::block_on(async {
///     let mut ticker = time::tick(Duration::from_millis(1));
///     let first = ticker.tick().await;
///     assert!(ticker.tick().await > first);
/// });
/// ```
#[doc(alias("interval", "Tick"))]
#[track_caller]
#[must_use]
pub fn tick(period: Duration) -> Ticker {
    Ticker::new(period)
}

impl Ticker {
    /// Creates a ticker whose first tick is one `period` from now.
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

    /// Waits for the next tick and returns the time at which it was due. That time may be long past
    /// if ticks were missed.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped wait loses no tick.
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

    /// Sets the period. The next tick is one `period` from now. Ticks that are due are skipped.
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

    /// Stops the ticks, also one that is due, until [`reset`](Self::reset).
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
