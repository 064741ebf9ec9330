//! The rate limiter through its futures. The arithmetic has tests of its own beside the bucket.

use super::cancel::Polled;
use super::explore::{Choices, every_story};
use super::support::{runtime, waiting};
use futures::future::FusedFuture;
use gmp::sync::{Limit, RateError, RateLimiter};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A limit whose next token does not come during a test.
fn slow() -> Limit {
    Limit::every(Duration::from_secs(3600))
}

/// However late each wait is polled, no more are admitted than the rate allows.
#[test]
fn waits_of_goroutines_keep_the_rate() {
    const RATE: f64 = 2000.0;
    let runtime = runtime(2);
    let limiter = Arc::new(RateLimiter::new(Limit::per_second(RATE), 5));
    let (admitted, start) = (Arc::new(AtomicUsize::new(0)), Instant::now());
    let handles: Vec<_> = (0..10)
        .map(|_| {
            let (limiter, admitted) = (limiter.clone(), admitted.clone());
            runtime.spawn(async move {
                for _ in 0..20 {
                    limiter.wait().await.unwrap();
                    let count = admitted.fetch_add(1, Ordering::Relaxed) + 1;
                    let most = 5.0 + RATE * start.elapsed().as_secs_f64() + 0.01;
                    assert!(count as f64 <= most, "{count} admitted, at most {most}");
                }
            })
        })
        .collect();
    handles.into_iter().for_each(|handle| gmp::block_on(handle).unwrap());
}

#[test]
fn external_threads_wait_for_tokens() {
    let limiter = RateLimiter::new(Limit::per_second(1000.0), 1);
    let start = Instant::now();
    limiter.wait_blocking().unwrap();
    limiter.wait_n_blocking(1).unwrap();
    limiter.wait_until_blocking(1, start + Duration::from_secs(3600)).unwrap();
    assert!(start.elapsed() >= Duration::from_micros(1999));
}

#[test]
fn a_wait_that_cannot_end_fails_at_once() {
    let limiter = RateLimiter::new(slow(), 2);
    let soon = Instant::now() + Duration::from_secs(60);
    assert_eq!(
        Polled::new(limiter.wait_n(3)).poll(),
        Some(Err(RateError::ExceedsBurst { n: 3, burst: 2 }))
    );
    assert!(limiter.allow_n(2) && !limiter.allow());
    let mut late = Box::pin(limiter.wait_until(1, soon));
    assert_eq!(Polled::new(late.as_mut()).poll(), Some(Err(RateError::DeadlineExceeded)));
    assert!(late.is_terminated());
    limiter.set_limit(Limit::per_second(0.0));
    let never = limiter.wait_until(1, soon);
    assert_eq!(Polled::new(never).poll(), Some(Err(RateError::DeadlineExceeded)));
    let text = "rate limiter: 3 events at once exceed the burst of 2";
    assert_eq!(RateError::ExceedsBurst { n: 3, burst: 2 }.to_string(), text);
}

/// With a limit of 0 a wait parks, `allow` and `reserve_n` refuse, and a new limit ends the wait.
#[test]
fn a_limit_of_zero_parks_until_it_is_changed() {
    let runtime = runtime(1);
    let limiter = Arc::new(RateLimiter::new(Limit::per_second(0.0), 1));
    limiter.wait_blocking().unwrap();
    assert!(!limiter.allow() && limiter.reserve_n(1).is_none());
    let waits = limiter.clone();
    let waits = runtime.spawn(async move { waits.wait().await });
    runtime.block_on(waiting("rate limit", 1));
    limiter.set_limit(Limit::INF);
    assert_eq!(gmp::block_on(waits).unwrap(), Ok(()));
    assert!(limiter.allow_n(1_000_000), "no limit ignores the burst");
}

/// A dropped wait gives its tokens back: the next one has the time that it would have had.
#[test]
fn a_dropped_wait_gives_its_tokens_back() {
    let limiter = RateLimiter::new(slow(), 1);
    assert!(limiter.allow());
    let mut waits = Polled::waiting(limiter.wait());
    assert!(limiter.tokens() < -0.9);
    waits.cancel();
    assert!(limiter.tokens() > -0.1);
    let kept = limiter.reserve_n(1).unwrap();
    let hour = Duration::from_secs(3600);
    assert!(kept.delay() <= hour && kept.delay() > Duration::ZERO);
    kept.keep();
    assert!(limiter.tokens() < -0.9);
    let given_up = limiter.reserve_n(1).unwrap();
    assert!(given_up.delay() > hour / 2);
    given_up.cancel();
    assert!(limiter.tokens() > -1.1);
}

#[test]
#[should_panic(expected = "rate limit must be a number that is not negative, not -1")]
fn a_negative_limit_panics() {
    let _ = Limit::per_second(-1.0);
}

#[test]
#[should_panic(expected = "rate limit must be a number that is not negative, not NaN")]
fn a_limit_that_is_no_number_panics() {
    let _ = Limit::per_second(f64::NAN);
}

#[test]
fn the_types_have_the_usual_traits() {
    fn usual<T: Send + Sync + UnwindSafe + RefUnwindSafe + std::fmt::Debug>(_: &T) {}
    let limiter = RateLimiter::new(Limit::per_second(0.0), 2);
    usual(&limiter);
    let shown = "RateLimiter { limit: Limit(0.0), burst: 2, tokens: 2.0 }";
    assert_eq!(format!("{limiter:?}"), shown);
    fn fused<T: FusedFuture + Send>(_: &T) {}
    fused(&limiter.wait());
    assert_eq!((limiter.burst(), limiter.limit().events_per_second()), (2, 0.0));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A wait for this number of events.
    Begin(usize),
    Poll(usize),
    Drop(usize),
    Allow,
    /// The burst, whose growth gives no tokens.
    Burst(usize),
    /// No limit for a short time: all waits end.
    Unlimited,
}

struct Wait<'a> {
    polled: Polled<'a, Result<(), RateError>>,
    n: usize,
    /// What it was woken with.
    result: Option<Result<(), RateError>>,
}

/// A limiter with a limit of 0, so that no time passes in it.
struct World<'a> {
    limiter: &'a RateLimiter,
    tokens: usize,
    burst: usize,
    waits: Vec<Option<Wait<'a>>>,
}

impl World<'_> {
    fn events(&self) -> Vec<Event> {
        let mut events =
            vec![Event::Allow, Event::Burst(1), Event::Burst(2), Event::Burst(3), Event::Unlimited];
        if self.waits.len() < 3 {
            events.extend([Event::Begin(1), Event::Begin(2)]);
        }
        for (at, wait) in self.waits.iter().enumerate() {
            if wait.is_some() {
                events.extend([Event::Poll(at), Event::Drop(at)]);
            }
        }
        events
    }

    /// What happens to a request now. `None`: it parks.
    fn request(&mut self, n: usize) -> Option<Result<(), RateError>> {
        if n > self.burst {
            return Some(Err(RateError::ExceedsBurst { n, burst: self.burst }));
        }
        self.tokens = self.tokens.min(self.burst);
        let enough = n <= self.tokens;
        self.tokens -= if enough { n } else { 0 };
        enough.then_some(Ok(()))
    }

    /// Serves the parked waits, in order.
    fn serve(&mut self) {
        for at in 0..self.waits.len() {
            let Some(wait) = &self.waits[at] else { continue };
            if wait.result.is_none() {
                let n = wait.n;
                let Some(result) = self.request(n) else { break };
                self.waits[at].as_mut().unwrap().result = Some(result);
            }
        }
    }

    fn poll(&mut self, at: usize) {
        let wait = self.waits[at].as_mut().unwrap();
        assert_eq!(wait.polled.poll(), wait.result);
        if wait.result.is_some() {
            self.waits[at] = None;
        }
    }
}

impl<'a> World<'a> {
    fn act(&mut self, event: Event) {
        match event {
            Event::Begin(n) => {
                let polled = Polled::new(self.limiter.wait_n(n));
                let result = self.request(n);
                self.waits.push(Some(Wait { polled, n, result }));
                self.poll(self.waits.len() - 1);
            }
            Event::Poll(at) => self.poll(at),
            Event::Drop(at) => {
                let mut wait = self.waits[at].take().unwrap();
                wait.polled.cancel();
                // A wait that was served and not polled: its time has come, so its tokens are gone.
                self.serve();
            }
            Event::Allow => assert_eq!(self.limiter.allow(), self.request(1) == Some(Ok(()))),
            Event::Burst(burst) => {
                self.limiter.set_burst(burst);
                self.tokens = self.tokens.min(self.burst);
                self.burst = burst;
                self.serve();
            }
            Event::Unlimited => {
                self.limiter.set_limit(Limit::INF);
                self.limiter.set_limit(Limit::per_second(0.0));
                for wait in self.waits.iter_mut().flatten() {
                    wait.result.get_or_insert(Ok(()));
                }
                self.tokens = self.burst;
            }
        }
    }

    fn check(&self) {
        for wait in self.waits.iter().flatten() {
            assert_eq!(wait.polled.is_woken(), wait.result.is_some());
        }
    }
}

#[test]
fn every_sequence_without_a_rate_agrees_with_the_model() {
    every_story(|choices: &mut Choices| {
        let limiter = RateLimiter::new(Limit::per_second(0.0), 2);
        let mut world = World { limiter: &limiter, tokens: 2, burst: 2, waits: Vec::new() };
        for _ in 0..5 {
            let events = world.events();
            world.act(choices.choose(&events));
            world.check();
        }
    });
}
