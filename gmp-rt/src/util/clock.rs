//! Time as one number: nanoseconds since the first use of the clock in this process.
//!
//! A `u64` fits an atomic, an [`Instant`] does not. It lasts 584 years; later instants clamp to
//! [`FOREVER`], which no timer ever reaches.

#[cfg(all(test, not(gmp_loom)))]
#[path = "stopped_clock_tests.rs"]
pub(crate) mod stopped;

#[cfg(all(test, not(gmp_loom)))]
use self::stopped::read;
#[cfg(not(all(test, not(gmp_loom))))]
use crate::prim::now as read;
use crate::prim::{self, fixed::Lazy};
use std::time::{Duration, Instant};

/// A moment that never comes.
pub(crate) const FOREVER: u64 = u64::MAX;

/// Moment 0, and 1 ns before it: so that 0 is never a real moment and can mean "none".
fn epoch() -> Instant {
    static EPOCH: Lazy<Instant> = Lazy::new(prim::first_moment);
    *EPOCH
}

/// The moment now; never 0.
#[inline]
pub(crate) fn now() -> u64 {
    of(read())
}

/// The moment of `at`; 1 if before the epoch, [`FOREVER`] if too late to tell.
pub(crate) fn of(at: Instant) -> u64 {
    nanos(at.saturating_duration_since(epoch())).saturating_add(1)
}

/// The instant of moment `at`, if the platform can express it.
pub(crate) fn instant(at: u64) -> Option<Instant> {
    epoch().checked_add(Duration::from_nanos(at.saturating_sub(1)))
}

/// The moment `after` from now.
pub(crate) fn after(after: Duration) -> u64 {
    now().saturating_add(nanos(after))
}

/// `d` in nanoseconds, clamped.
pub(crate) fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(FOREVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_moments_clamp() {
        assert_eq!(after(Duration::MAX), FOREVER);
        assert!(after(Duration::ZERO) >= 1);
    }

    #[test]
    fn moments_and_instants_agree() {
        let at = Instant::now() + Duration::from_secs(3);
        assert_eq!(instant(of(at)), Some(at));
    }
}
