//! `Limit`: how many events a rate limiter admits per second.

use std::time::Duration;

/// A number of events per second (Go: `rate.Limit`).
///
/// # Examples
///
/// ```
/// # mod gmp { pub use gmp_sync as sync; }
/// use gmp::sync::Limit;
/// use std::time::Duration;
///
/// assert_eq!(Limit::every(Duration::from_millis(20)), Limit::per_second(50.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Limit(f64);

impl Limit {
    /// No limit: all events are admitted, and the burst is ignored.
    pub const INF: Self = Self(f64::INFINITY);

    /// Creates a limit of `n` events per second. With 0 only the burst is admitted.
    ///
    /// # Panics
    ///
    /// If `n` is negative or not a number.
    #[must_use]
    #[track_caller]
    pub fn per_second(n: f64) -> Self {
        assert!(n >= 0.0, "rate limit must be a number that is not negative, not {n}");
        Self(n)
    }

    /// Creates a limit of one event per `interval`. A zero interval is no limit.
    #[must_use]
    pub fn every(interval: Duration) -> Self {
        Self(interval.as_secs_f64().recip())
    }

    /// Returns the number of events per second.
    #[must_use]
    pub fn events_per_second(self) -> f64 {
        self.0
    }

    /// Whether nothing is limited.
    pub(super) fn is_infinite(self) -> bool {
        self.0.is_infinite()
    }

    /// Returns the time in which `tokens` tokens come. `None` if they never do.
    pub(super) fn duration_of(self, tokens: f64) -> Option<Duration> {
        // With a limit of 0 the quotient is infinite.
        Duration::try_from_secs_f64(tokens / self.0).ok()
    }

    /// Returns the tokens that come in `duration`.
    pub(super) fn tokens_in(self, duration: Duration) -> f64 {
        duration.as_secs_f64() * self.0
    }
}
