//! Time as one number: nanoseconds since the first use of the clock in this process.
//!
//! A `u64` fits into an atomic, an [`Instant`] does not. It lasts 584 years. Later instants become
//! [`FOREVER`], which no timer reaches.

#[cfg(all(test, not(gmp_loom)))]
#[path = "stopped_clock_tests.rs"]
pub(crate) mod stopped;

#[cfg(all(test, not(gmp_loom)))]
use self::stopped::read;
#[cfg(not(all(test, not(gmp_loom))))]
use crate::prim::now as read;
use crate::prim::{self, fixed::Lazy};
use std::time::{Duration, Instant};

/// A time that is never reached.
pub(crate) const FOREVER: u64 = u64::MAX;

/// Returns the instant of time 1. Time 0 is never a real time, so it can mean "none".
fn epoch() -> Instant {
    static EPOCH: Lazy<Instant> = Lazy::new(prim::first_moment);
    *EPOCH
}

/// Returns the current time; never 0.
#[inline]
pub(crate) fn now() -> u64 {
    of(read())
}

/// Returns the time of `at`; 1 if it is before the epoch, [`FOREVER`] if it does not fit.
pub(crate) fn of(at: Instant) -> u64 {
    nanos(at.saturating_duration_since(epoch())).saturating_add(1)
}

/// Returns the instant of the time `at`, if the platform can express it.
pub(crate) fn instant(at: u64) -> Option<Instant> {
    epoch().checked_add(Duration::from_nanos(at.saturating_sub(1)))
}

/// Returns the time `after` from now.
pub(crate) fn after(after: Duration) -> u64 {
    now().saturating_add(nanos(after))
}

/// Returns `d` in nanoseconds, at most [`FOREVER`].
pub(crate) fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(FOREVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_times_are_clamped() {
        assert_eq!(after(Duration::MAX), FOREVER);
        assert!(after(Duration::ZERO) >= 1);
    }

    #[test]
    fn timestamps_and_instants_agree() {
        let at = Instant::now() + Duration::from_secs(3);
        assert_eq!(instant(of(at)), Some(at));
    }
}
