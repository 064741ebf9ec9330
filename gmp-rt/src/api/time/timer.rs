//! `Timer`.

use super::sleep::{Sleep, sleep};
use crate::util::clock;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// A one-shot timer that can be stopped and set again (Go: `time.Timer`).
///
/// `(&mut timer).await` returns the time at which the timer was due, once for each setting. A timer
/// that was stopped, or whose time was received, stays pending until [`reset`](Self::reset).
///
/// # Cancel safety
///
/// Cancel-safe. A dropped wait receives nothing.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use std::time::Duration;
///
/// gmp::block_on(async {
///     let mut timer = gmp::Timer::new(Duration::from_secs(60));
///     assert!(timer.reset(Duration::from_millis(1)), "it was pending");
///     (&mut timer).await;
///     assert!(!timer.stop(), "it has fired");
/// });
/// ```
#[derive(Debug)]
#[must_use = "a timer does nothing unless awaited"]
pub struct Timer {
    sleep: Sleep,
    state: TimerState,
}

/// Returns a timer that is due `duration` from now (Go: `time.After`). The same as
/// [`Timer::new`].
///
/// It is a future for a case of [`select!`](https://docs.rs/gmp/latest/gmp/macro.select.html).
/// A plain wait is [`sleep`].
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let due = gmp::block_on(gmp::after(Duration::from_millis(2)));
/// assert!(due >= start + Duration::from_millis(2));
/// ```
#[doc(alias("After", "NewTimer"))]
pub fn after(duration: Duration) -> Timer {
    Timer::new(duration)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimerState {
    /// Its time was not received yet.
    Set,
    /// Stopped, or its time was received.
    Off,
}

impl Timer {
    /// Creates a timer that is due `duration` from now.
    pub fn new(duration: Duration) -> Self {
        Self { sleep: sleep(duration), state: TimerState::Set }
    }

    /// Stops the timer. Returns `true` if it was pending.
    ///
    /// After that no earlier time can be received.
    pub fn stop(&mut self) -> bool {
        let stopped = self.is_pending();
        self.state = TimerState::Off;
        self.sleep.reset_to(clock::FOREVER);
        stopped
    }

    /// Sets the timer to `duration` from now. Returns `true` if it was pending.
    pub fn reset(&mut self, duration: Duration) -> bool {
        let pending = self.is_pending();
        self.state = TimerState::Set;
        self.sleep.reset_to(clock::after(duration));
        pending
    }

    /// Whether its time was not received yet.
    ///
    /// A timer that is due but was not awaited is pending, as in Go since 1.23.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.state == TimerState::Set
    }
}

impl Future for Timer {
    type Output = Instant;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Instant> {
        let due = self.sleep.when();
        ready!(Pin::new(&mut self.sleep).poll(cx));
        self.state = TimerState::Off;
        self.sleep.reset_to(clock::FOREVER);
        Poll::Ready(clock::instant(due).unwrap_or_else(Instant::now))
    }
}
