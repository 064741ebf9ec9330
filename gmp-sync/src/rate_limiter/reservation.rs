//! Tokens that are taken for a later time.

use super::RateLimiter;
use super::bucket::Reserved;
use gmp_rt::prim;
use std::fmt;
use std::time::Duration;

/// Tokens of a [`RateLimiter`] that are taken. The events may happen after [`delay`](Self::delay).
///
/// Dropping it cancels it; [`keep`](Self::keep) keeps it.
#[must_use = "dropping the reservation gives its tokens back"]
pub struct Reservation<'a> {
    limiter: &'a RateLimiter,
    reserved: Reserved,
}

impl<'a> Reservation<'a> {
    pub(super) fn new(limiter: &'a RateLimiter, reserved: Reserved) -> Self {
        Self { limiter, reserved }
    }

    /// Returns how long to wait from now on. Zero if the events may happen now.
    #[must_use]
    pub fn delay(&self) -> Duration {
        self.reserved.at.saturating_duration_since(prim::now())
    }

    /// Gives the tokens back, except for those that later reservations rely on.
    ///
    /// Does nothing when the time has come: the events count as having happened. As Go's `Cancel`.
    pub fn cancel(self) {}

    /// Keeps the tokens: the events happen.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.limiter.cancel(&self.reserved);
    }
}

impl fmt::Debug for Reservation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("delay", &self.delay()).finish()
    }
}
