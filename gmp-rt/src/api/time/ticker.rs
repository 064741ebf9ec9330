//! `Ticker`.

use super::sleep::{Sleep, sleep, sleep_until};
use crate::util::clock;
use futures_core::{FusedStream, Stream};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Ticks at a fixed period (Go: `time.Ticker`).
///
/// If several ticks are due when the next one is awaited, the ticker returns the first of them at
/// once, with its own time, and skips the others. The tick after it is the next one in the phase of
/// the ticker that is not due yet. So a late receiver gets one tick, as from Go's channel, and no
/// burst. [`set_missed_ticks`](Self::set_missed_ticks) selects another rule. A ticker is also a
/// [`Stream`] that does not end.
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
    missed: MissedTicks,
}

/// What a [`Ticker`] does with the ticks that it missed: those that were due before the tick before
/// them was taken.
///
/// The first tick that is due always comes at once, with its own time. This is about the ticks
/// after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "MissedTickBehavior")]
pub enum MissedTicks {
    /// The missed ticks never come. The next tick is the next one in the phase of the ticker that
    /// is not due yet. The default, and what Go's ticker does.
    #[default]
    Skip,
    /// The missed ticks never come. The next tick is one period after the late one was taken, so
    /// the phase changes.
    Delay,
    /// Every missed tick comes, one at once after the other, until none is due.
    Burst,
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
        Self::starting(sleep(period), period)
    }

    /// Creates a ticker whose first tick is at `first`. The others follow, a `period` apart.
    ///
    /// If `first` has passed, ticks are missed as they are with a late receiver.
    ///
    /// # Panics
    ///
    /// If `period` is zero, as Go does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// use std::time::{Duration, Instant};
    ///
    /// gmp::block_on(async {
    ///     let (first, period) = (Duration::from_millis(2), Duration::from_millis(1));
    ///     let first = Instant::now() + first;
    ///     let mut ticker = gmp::Ticker::new_at(first, period);
    ///     assert_eq!(ticker.tick().await, first);
    ///     assert!(ticker.tick().await >= first + period);
    /// });
    /// ```
    #[doc(alias = "interval_at")]
    #[track_caller]
    #[must_use]
    pub fn new_at(first: Instant, period: Duration) -> Self {
        assert!(!period.is_zero(), "non-positive interval for Ticker::new_at");
        Self::starting(sleep_until(first), period)
    }

    fn starting(first: Sleep, period: Duration) -> Self {
        Self { period: clock::nanos(period), sleep: first, missed: MissedTicks::default() }
    }

    /// Returns the period.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period)
    }

    /// Sets what happens to ticks that are missed from now on.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// use gmp::time::MissedTicks;
    /// use std::time::{Duration, Instant};
    ///
    /// gmp::block_on(async {
    ///     let period = Duration::from_millis(1);
    ///     let mut ticker = gmp::Ticker::new(period);
    ///     ticker.set_missed_ticks(MissedTicks::Burst);
    ///     let first = ticker.tick().await;
    ///     std::thread::sleep(3 * period);
    ///     for n in 1..=3 {
    ///         assert_eq!(ticker.tick().await, first + n * period);
    ///     }
    /// });
    /// ```
    #[doc(alias = "set_missed_tick_behavior")]
    pub fn set_missed_ticks(&mut self, how: MissedTicks) {
        self.missed = how;
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
        self.sleep.reset_to(self.after_tick(due, clock::now()));
        Poll::Ready(clock::instant(due).unwrap_or_else(Instant::now))
    }

    /// Returns when the tick after that of `due` is due, if the latter is taken at `now`.
    fn after_tick(&self, due: u64, now: u64) -> u64 {
        let missed = now.saturating_sub(due) / self.period;
        match self.missed {
            MissedTicks::Delay if missed > 0 => now.saturating_add(self.period),
            MissedTicks::Skip => due.saturating_add(self.period.saturating_mul(missed + 1)),
            MissedTicks::Delay | MissedTicks::Burst => due.saturating_add(self.period),
        }
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

impl FusedStream for Ticker {
    fn is_terminated(&self) -> bool {
        false
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "ticker_tests.rs"]
mod tests;
