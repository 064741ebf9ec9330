//! `RateLimiter`: admits events at a limited rate (Go: `x/time/rate`).
//!
//! - `bucket`: the arithmetic; `limit`: events per second.
//! - `reservation`: tokens that are taken for a later time; `wait`: the future.
//!
//! One lock guards the bucket and a queue. A wait usually knows its time at once: it reserves its
//! tokens and sleeps until then. Only a wait that would never end, because the limit is 0, is in
//! the queue. A change of the limit reserves for the waits in the queue, in order.

mod bucket;
mod limit;
mod reservation;
mod wait;

pub use self::limit::Limit;
pub use self::reservation::Reservation;
pub use self::wait::RateWait;

use self::bucket::{Bucket, Refused, Reserved};
use crate::wait::queue::{Queue, Verdict};
use crate::wait::waiter::{Abandoned, WaitList};
use crate::wait::wakers::Wakers;
use gmp_rt::prim::{self, Mutex};
use std::error::Error;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Instant;

/// Admits events at a limited rate, with bursts (Go: `x/time/rate.Limiter`).
///
/// A bucket holds up to `burst` tokens, begins full, and gets tokens at the rate of its [`Limit`].
/// Each event takes a token. There are three ways to ask:
///
/// - [`allow`](Self::allow): admits the event now or not at all. To drop events.
/// - [`wait`](Self::wait): waits until the event is admitted. The usual way.
/// - [`reserve_n`](Self::reserve_n): says how long to wait. For other schedulers.
///
/// # Examples
///
/// ```
/// # mod gmp { pub use gmp_rt::block_on; pub use gmp_sync as sync; }
/// use gmp::sync::{Limit, RateLimiter};
/// use std::time::{Duration, Instant};
///
/// gmp::block_on(async {
///     let limiter = RateLimiter::new(Limit::per_second(1000.0), 3);
///     let start = Instant::now();
///     for _ in 0..8 {
///         limiter.wait().await.unwrap();
///     }
///     // Three at once, then one per millisecond.
///     assert!(start.elapsed() >= Duration::from_millis(5) - Duration::from_micros(1));
/// });
/// ```
#[doc(alias("Limiter", "rate"))]
pub struct RateLimiter {
    state: Mutex<LimiterState>,
}

/// What the lock guards.
#[derive(Debug)]
pub(crate) struct LimiterState {
    bucket: Bucket,
    /// Waits that would never end without a change.
    waiting: Queue<Parked>,
}

/// The data of a wait in the queue.
#[derive(Debug)]
pub(crate) struct Parked {
    n: usize,
    /// What it was fired with.
    result: Option<Result<Reserved, RateError>>,
}

impl LimiterState {
    /// Reserves for waits in the queue, in order, as far as that is possible.
    fn serve(&mut self, now: Instant) -> Wakers {
        let mut wakers = Wakers::None;
        let bucket = &mut self.bucket;
        loop {
            let fired = self.waiting.fire_first(|parked| {
                parked.result = match bucket.reserve(now, parked.n, None) {
                    Ok(reserved) => Some(Ok(reserved)),
                    Err(Refused::Error(error)) => Some(Err(error)),
                    Err(Refused::Never) => return Verdict::Stop,
                };
                Verdict::Fire(())
            });
            match fired {
                Some(((), fired)) => wakers.push(fired),
                None => return wakers,
            }
        }
    }

    /// Cancels a reservation, and serves the queue with its tokens.
    fn cancel(&mut self, now: Instant, reserved: &Reserved) -> Wakers {
        self.bucket.cancel(now, reserved);
        self.serve(now)
    }
}

// SAFETY: one lock, one queue behind it.
unsafe impl WaitList for RateLimiter {
    type State = LimiterState;
    type Data = Parked;

    fn with<R>(&self, f: impl FnOnce(&mut LimiterState) -> R) -> R {
        f(&mut self.state.lock())
    }

    fn queue(state: &mut LimiterState) -> &mut Queue<Parked> {
        &mut state.waiting
    }

    fn abandoned(&self, state: &mut LimiterState, parked: &mut Parked, how: Abandoned) -> Wakers {
        match (how, parked.result.take()) {
            (Abandoned::Fired, Some(Ok(reserved))) => state.cancel(prim::now(), &reserved),
            // The waits behind it may ask for less.
            (Abandoned::Queued, _) => state.serve(prim::now()),
            (Abandoned::Fired, _) => Wakers::None,
        }
    }
}

impl UnwindSafe for RateLimiter {}
impl RefUnwindSafe for RateLimiter {}

impl RateLimiter {
    /// Creates a limiter with a full bucket of `burst` tokens.
    ///
    /// With a burst of 0 nothing is admitted, unless the limit is [`Limit::INF`].
    #[must_use]
    pub fn new(limit: Limit, burst: usize) -> Self {
        let bucket = Bucket::new(limit, burst, prim::now());
        Self { state: Mutex::new(LimiterState { bucket, waiting: Queue::new() }) }
    }

    /// Admits one event now, if the bucket has a token. Never waits.
    #[must_use]
    pub fn allow(&self) -> bool {
        self.allow_n(1)
    }

    /// Admits `n` events now, if the bucket has `n` tokens. Takes none otherwise.
    #[must_use]
    pub fn allow_n(&self, n: usize) -> bool {
        let now = prim::now();
        self.with(|state| state.bucket.reserve(now, n, Some(now))).is_ok()
    }

    /// Waits until one event is admitted.
    ///
    /// # Errors
    ///
    /// As [`wait_n`](Self::wait_n).
    ///
    /// # Cancel safety
    ///
    /// As [`wait_n`](Self::wait_n).
    pub fn wait(&self) -> RateWait<'_> {
        self.wait_n(1)
    }

    /// Waits until `n` events are admitted.
    ///
    /// The first poll reserves the tokens, so waits are admitted in the order of their first polls.
    /// If the limit is 0 and the burst is used up, it waits until the limit is
    /// [changed](Self::set_limit). A wait that has reserved is not affected by such a change.
    ///
    /// # Errors
    ///
    /// [`RateError::ExceedsBurst`] if `n` is more than the burst, unless the limit is
    /// [`Limit::INF`].
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped wait gives its tokens back, except for those that later reservations
    /// rely on, as in Go.
    pub fn wait_n(&self, n: usize) -> RateWait<'_> {
        RateWait::new(self, n, None)
    }

    /// As [`wait_n`](Self::wait_n), but fails at once if the events are not admitted by `deadline`.
    ///
    /// # Errors
    ///
    /// [`RateError::DeadlineExceeded`] without a wait, otherwise as [`wait_n`](Self::wait_n).
    ///
    /// # Cancel safety
    ///
    /// As [`wait_n`](Self::wait_n).
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::block_on; pub use gmp_sync as sync; }
    /// use gmp::sync::{Limit, RateError, RateLimiter};
    /// use std::time::{Duration, Instant};
    ///
    /// let limiter = RateLimiter::new(Limit::every(Duration::from_secs(3600)), 1);
    /// let soon = Instant::now() + Duration::from_secs(60);
    /// gmp::block_on(async {
    ///     assert_eq!(limiter.wait_until(1, soon).await, Ok(()));
    ///     assert_eq!(limiter.wait_until(1, soon).await, Err(RateError::DeadlineExceeded));
    /// });
    /// ```
    pub fn wait_until(&self, n: usize, deadline: Instant) -> RateWait<'_> {
        RateWait::new(self, n, Some(deadline))
    }

    /// As [`wait`](Self::wait), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    ///
    /// # Errors
    ///
    /// As [`wait_n`](Self::wait_n).
    #[doc(alias = "blocking_wait")]
    pub fn wait_blocking(&self) -> Result<(), RateError> {
        gmp_rt::block_on(self.wait())
    }

    /// As [`wait_n`](Self::wait_n), but blocks the thread.
    ///
    /// # Errors
    ///
    /// As [`wait_n`](Self::wait_n).
    #[doc(alias = "blocking_wait_n")]
    pub fn wait_n_blocking(&self, n: usize) -> Result<(), RateError> {
        gmp_rt::block_on(self.wait_n(n))
    }

    /// As [`wait_until`](Self::wait_until), but blocks the thread.
    ///
    /// # Errors
    ///
    /// As [`wait_until`](Self::wait_until).
    #[doc(alias = "blocking_wait_until")]
    pub fn wait_until_blocking(&self, n: usize, deadline: Instant) -> Result<(), RateError> {
        gmp_rt::block_on(self.wait_until(n, deadline))
    }

    /// Takes `n` tokens for a later time, and returns when that is.
    ///
    /// Returns `None`, and takes nothing, if `n` is more than the burst, or if the tokens would
    /// never come because the limit is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::{block_on, sleep}; pub use gmp_sync as sync; }
    /// use gmp::sync::{Limit, RateLimiter};
    ///
    /// gmp::block_on(async {
    ///     let limiter = RateLimiter::new(Limit::per_second(1000.0), 1);
    ///     for _ in 0..3 {
    ///         let reservation = limiter.reserve_n(1).unwrap();
    ///         gmp::sleep(reservation.delay()).await;
    ///         reservation.keep();
    ///     }
    ///     assert!(limiter.reserve_n(2).is_none());
    /// });
    /// ```
    pub fn reserve_n(&self, n: usize) -> Option<Reservation<'_>> {
        let now = prim::now();
        let reserved = self.with(|state| state.bucket.reserve(now, n, None)).ok()?;
        Some(Reservation::new(self, reserved))
    }

    /// Returns the number of tokens in the bucket. It is negative if reservations wait for tokens.
    #[must_use]
    pub fn tokens(&self) -> f64 {
        let now = prim::now();
        self.with(|state| state.bucket.tokens(now))
    }

    /// Returns the limit.
    #[must_use]
    pub fn limit(&self) -> Limit {
        self.with(|state| state.bucket.limit())
    }

    /// Returns the burst: the size of the bucket.
    #[must_use]
    pub fn burst(&self) -> usize {
        self.with(|state| state.bucket.burst())
    }

    /// Sets the limit for tokens that come from now on.
    ///
    /// Reservations, and waits that have reserved, keep their times.
    pub fn set_limit(&self, limit: Limit) {
        self.change(|bucket, now| bucket.set_limit(now, limit));
    }

    /// Sets the burst.
    pub fn set_burst(&self, burst: usize) {
        self.change(|bucket, now| bucket.set_burst(now, burst));
    }

    fn change(&self, change: impl FnOnce(&mut Bucket, Instant)) {
        let now = prim::now();
        let wakers = self.with(|state| {
            change(&mut state.bucket, now);
            state.serve(now)
        });
        wakers.wake_all();
    }

    /// Gives the tokens of a reservation back.
    fn cancel(&self, reserved: &Reserved) {
        let now = prim::now();
        let wakers = self.with(|state| state.cancel(now, reserved));
        wakers.wake_all();
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimiter")
            .field("limit", &self.limit())
            .field("burst", &self.burst())
            .field("tokens", &self.tokens())
            .finish()
    }
}

/// Why a [`RateLimiter`] did not admit events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateError {
    /// More events at once than the bucket can ever hold.
    ExceedsBurst {
        /// The events that were asked for.
        n: usize,
        /// The size of the bucket.
        burst: usize,
    },
    /// They would not be admitted by the deadline.
    DeadlineExceeded,
}

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExceedsBurst { n, burst } => {
                write!(f, "rate limiter: {n} events at once exceed the burst of {burst}")
            }
            Self::DeadlineExceeded => {
                f.write_str("rate limiter: the wait would exceed the deadline")
            }
        }
    }
}

impl Error for RateError {}
