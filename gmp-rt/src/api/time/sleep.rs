//! `sleep`.

use super::alarm::Alarm;
use crate::g::waker::note_wait;
use crate::sched::budget::poll_proceed;
use crate::util::clock;
use crate::wait_reason::WaitReason;
use futures_core::FusedFuture;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Waits for at least `duration`, which may be shorter than a millisecond.
///
/// A zero duration ends at once. A duration that the clock cannot express never ends.
///
/// # Cancel safety
///
/// Cancel-safe. A dropped sleep removes its timer.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// gmp::block_on(gmp::sleep(Duration::from_millis(2)));
/// assert!(start.elapsed() >= Duration::from_millis(2));
/// ```
#[doc(alias = "delay_for")]
pub fn sleep(duration: Duration) -> Sleep {
    let now = clock::now();
    Sleep { when: now.saturating_add(clock::nanos(duration)), now, alarm: None }
}

/// Waits until `deadline`.
///
/// # Cancel safety
///
/// Cancel-safe. A dropped sleep removes its timer.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use std::time::{Duration, Instant};
///
/// let deadline = Instant::now() + Duration::from_millis(2);
/// gmp::block_on(gmp::sleep_until(deadline));
/// assert!(Instant::now() >= deadline);
/// ```
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { when: clock::of(deadline), now: clock::now(), alarm: None }
}

/// The future of [`sleep`] and [`sleep_until`].
///
/// It is `Unpin`: it can be polled by `&mut`, moved between polls, and
/// [`reset_at`](Sleep::reset_at).
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep {
    when: u64,
    /// A recent time, so that the first poll need not read the clock. [`clock::FOREVER`] once it
    /// has returned.
    now: u64,
    alarm: Option<Alarm>,
}

impl Sleep {
    /// Returns the deadline, or `None` if the sleep never ends.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        if self.when == clock::FOREVER { None } else { clock::instant(self.when) }
    }

    /// Whether the deadline has passed.
    #[must_use]
    pub fn is_elapsed(&self) -> bool {
        clock::now() >= self.when
    }

    /// Sets another deadline. A pending sleep keeps its waiter, which is woken at the new deadline.
    /// A sleep that is over must be awaited again.
    pub fn reset_at(&mut self, deadline: Instant) {
        self.reset_to(clock::of(deadline));
    }

    /// Sets it to `duration` from now. Otherwise as [`reset_at`](Self::reset_at).
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// use std::time::{Duration, Instant};
    ///
    /// let mut sleep = gmp::sleep(Duration::from_secs(60));
    /// let start = Instant::now();
    /// sleep.reset(Duration::from_millis(2));
    /// gmp::block_on(sleep);
    /// assert!(start.elapsed() >= Duration::from_millis(2));
    /// ```
    pub fn reset(&mut self, duration: Duration) {
        self.reset_to(clock::after(duration));
    }

    pub(super) fn reset_to(&mut self, when: u64) {
        self.when = when;
        self.now = clock::now();
        let moved = when != clock::FOREVER && self.alarm.as_ref().is_some_and(|a| a.reset(when));
        if !moved {
            self.alarm = None;
        }
    }

    pub(super) fn when(&self) -> u64 {
        self.when
    }

    /// Polls for the deadline without a budget check.
    pub(super) fn poll_due(&mut self, cx: &Context<'_>) -> Poll<()> {
        let when = self.when;
        if let Some(alarm) = self.alarm.take_if(|alarm| alarm.is_past(when)) {
            // There is nothing to cancel.
            alarm.forget();
            self.now = when;
        } else if self.alarm.is_some() {
            self.now = clock::now();
        }
        if self.now >= self.when {
            self.alarm = None;
            return Poll::Ready(());
        }
        let known = self.alarm.as_ref().is_some_and(|alarm| alarm.set_waker(cx.waker()));
        if !known && self.when != clock::FOREVER {
            self.alarm = Some(Alarm::set(self.now, self.when, cx.waker()));
        }
        note_wait(cx, WaitReason::Sleep, 0);
        Poll::Pending
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.poll_due(cx));
        ready!(poll_proceed(cx));
        self.now = clock::FOREVER;
        Poll::Ready(())
    }
}

impl FusedFuture for Sleep {
    /// Whether it has returned since it was made or reset.
    fn is_terminated(&self) -> bool {
        self.now == clock::FOREVER
    }
}
