//! The token bucket: plain data, with the time as an argument (Go: `x/time/rate`).
//!
//! A reservation takes its tokens at once. The number of tokens may become negative. Then the
//! reservation may act when the bucket would be at zero again. A refused reservation changes
//! nothing.

use super::{Limit, RateError};
use std::time::Instant;

/// The bucket of a rate limiter.
#[derive(Debug)]
pub(crate) struct Bucket {
    limit: Limit,
    burst: usize,
    /// Tokens at `last`. Negative: they are owed to reservations.
    tokens: f64,
    last: Instant,
    /// The latest time at which a reservation may act.
    last_event: Instant,
}

/// Tokens that were taken, and when their owner may act.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserved {
    tokens: usize,
    pub(super) at: Instant,
    /// The limit at that time.
    limit: Limit,
}

/// Why tokens were not taken.
#[derive(Debug, PartialEq)]
pub(crate) enum Refused {
    /// As long as the limit and the burst do not change.
    Never,
    Error(RateError),
}

impl Bucket {
    /// Creates a full bucket.
    pub(super) fn new(limit: Limit, burst: usize, now: Instant) -> Self {
        Self { limit, burst, tokens: burst as f64, last: now, last_event: now }
    }

    pub(super) fn limit(&self) -> Limit {
        self.limit
    }

    pub(super) fn burst(&self) -> usize {
        self.burst
    }

    /// Returns the tokens at `now`.
    pub(super) fn tokens(&self, now: Instant) -> f64 {
        if self.limit.is_infinite() {
            // A product of an infinite limit and no time would be no number.
            return self.burst as f64;
        }
        let come = self.limit.tokens_in(now.saturating_duration_since(self.last));
        (self.tokens + come).min(self.burst as f64)
    }

    /// Takes what has come until `now` into the bucket.
    fn advance(&mut self, now: Instant) {
        self.tokens = self.tokens(now);
        self.last = self.not_before_last(now);
    }

    /// Returns `now`, or the time of the last change if it is later: callers read the clock before
    /// they take the lock. Otherwise the time between the two would count twice.
    fn not_before_last(&self, now: Instant) -> Instant {
        now.max(self.last)
    }

    /// Takes `n` tokens, if their owner may act at `deadline` at the latest.
    pub(super) fn reserve(
        &mut self,
        now: Instant,
        n: usize,
        deadline: Option<Instant>,
    ) -> Result<Reserved, Refused> {
        let limit = self.limit;
        if limit.is_infinite() {
            return Ok(Reserved { tokens: n, at: now, limit });
        }
        if n > self.burst {
            let burst = self.burst;
            return Err(Refused::Error(RateError::ExceedsBurst { n, burst }));
        }
        let tokens = self.tokens(now) - n as f64;
        let now = self.not_before_last(now);
        let at = if tokens >= 0.0 {
            Some(now)
        } else {
            limit.duration_of(-tokens).and_then(|wait| now.checked_add(wait))
        };
        match (at, deadline) {
            (None, None) => Err(Refused::Never),
            (None, Some(_)) => Err(Refused::Error(RateError::DeadlineExceeded)),
            (Some(at), Some(deadline)) if at > deadline => {
                Err(Refused::Error(RateError::DeadlineExceeded))
            }
            (Some(at), _) => {
                (self.tokens, self.last, self.last_event) = (tokens, now, at);
                Ok(Reserved { tokens: n, at, limit })
            }
        }
    }

    /// Gives tokens back whose owner may not act yet, as far as later reservations do not rely on
    /// them.
    pub(super) fn cancel(&mut self, now: Instant, reserved: &Reserved) {
        if self.limit.is_infinite() || reserved.limit.is_infinite() || reserved.at < now {
            return;
        }
        let later = self.last_event.saturating_duration_since(reserved.at);
        let restored = reserved.tokens as f64 - reserved.limit.tokens_in(later);
        if restored <= 0.0 {
            return;
        }
        self.advance(now);
        self.tokens = (self.tokens + restored).min(self.burst as f64);
        if reserved.at == self.last_event
            && let Some(taken) = reserved.limit.duration_of(reserved.tokens as f64)
            && let Some(before) = reserved.at.checked_sub(taken)
            && before >= now
        {
            self.last_event = before;
        }
    }

    /// Sets the limit for tokens that come from `now` on.
    pub(super) fn set_limit(&mut self, now: Instant, limit: Limit) {
        self.advance(now);
        self.limit = limit;
    }

    /// Sets the size of the bucket.
    pub(super) fn set_burst(&mut self, now: Instant, burst: usize) {
        self.advance(now);
        self.burst = burst;
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "bucket_tests.rs"]
mod tests;
