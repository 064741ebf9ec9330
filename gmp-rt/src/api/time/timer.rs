//! `Timer`.

use super::timer_shared::{OwnAlarm, TimerShared};
use super::timer_wait::TimerWait;
use crate::util::clock;
use futures_core::FusedFuture;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A one-shot timer that can be stopped and set again (Go: `time.Timer`).
///
/// Awaiting it returns the time at which it was due, once for each setting. A timer that was
/// stopped, or whose time was received, stays pending until [`reset`](Self::reset).
///
/// A timer can be shared, by a reference or in an `Arc`: `(&*timer).await` waits for it while
/// others stop and reset it. If several tasks wait, one of them receives the time, as with Go's
/// channel of capacity 1.
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
///
/// A goroutine that closes something which has been idle for some time:
///
/// ```
/// # use gmp_rt as gmp;
/// use gmp::{Timer, go};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// gmp::block_on(async {
///     let idle = Arc::new(Timer::new(Duration::from_millis(2)));
///     let timer = idle.clone();
///     let closes = go!({ (&*timer).await });
///     // Something happens.
///     idle.reset(Duration::from_millis(2));
///     closes.await.unwrap();
/// });
/// ```
#[must_use = "a timer does nothing unless awaited"]
pub struct Timer {
    shared: TimerShared,
    /// What the timer needs as a future of its own.
    own: OwnAlarm,
}

/// Returns a timer that is due `duration` from now (Go: `time.After`). The same as
/// [`Timer::new`].
///
/// It is a future for a case of [`select!`](https://docs.rs/gmp/latest/gmp/macro.select.html).
/// A plain wait is [`sleep`](super::sleep()).
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

// No user code runs under the lock, so the state stays consistent when a thread unwinds.
impl UnwindSafe for Timer {}
impl RefUnwindSafe for Timer {}

impl Timer {
    /// Creates a timer that is due `duration` from now.
    pub fn new(duration: Duration) -> Self {
        Self { shared: TimerShared::new(clock::after(duration)), own: OwnAlarm::default() }
    }

    /// Stops the timer. Returns `true` if it was pending.
    ///
    /// After that no wait receives an earlier time. Waits continue until a [`reset`](Self::reset).
    pub fn stop(&self) -> bool {
        self.shared.stop()
    }

    /// Sets the timer to `duration` from now, also for those that wait. Returns `true` if it was
    /// pending.
    pub fn reset(&self, duration: Duration) -> bool {
        self.shared.set(clock::after(duration))
    }

    /// Whether its time was not received yet.
    ///
    /// A timer that is due but was not awaited is pending, as in Go since 1.23.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.shared.is_pending()
    }

    pub(super) fn shared(&self) -> &TimerShared {
        &self.shared
    }
}

impl Future for Timer {
    type Output = Instant;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Instant> {
        let Self { shared, own } = self.get_mut();
        shared.poll_wait(own, cx)
    }
}

impl FusedFuture for Timer {
    /// Whether it was stopped or its moment has been taken. A [`reset`](Timer::reset) changes that.
    fn is_terminated(&self) -> bool {
        !self.is_pending()
    }
}

impl<'a> IntoFuture for &'a Timer {
    type Output = Instant;
    type IntoFuture = TimerWait<'a>;

    fn into_future(self) -> TimerWait<'a> {
        TimerWait::new(self)
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("is_pending", &self.is_pending()).finish_non_exhaustive()
    }
}
