//! RateLimiter: never admits more events than its limit and its burst allow.

use crate::context::{Cx, abort, join};
use crate::coverage::{End, did};
use crate::violation::violation;
use gmp::sync::{Limit, RateError, RateLimiter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// A limiter, and what it has admitted.
struct Gate {
    limiter: RateLimiter,
    /// Before the limiter was made.
    start: Instant,
    rate: f64,
    burst: usize,
    admitted: AtomicU64,
}

impl Gate {
    fn new(rate: f64, burst: usize) -> Self {
        let start = Instant::now();
        let limiter = RateLimiter::new(Limit::per_second(rate), burst);
        Self { limiter, start, rate, burst, admitted: AtomicU64::new(0) }
    }

    /// Counts `n` events that were just admitted.
    fn admit(&self, n: usize) {
        let admitted = self.admitted.fetch_add(n as u64, SeqCst) + n as u64;
        // Read after the count: other goroutines count theirs before.
        let since = self.start.elapsed().as_secs_f64();
        // A timer may count as due up to a microsecond early.
        let most = self.burst as f64 + self.rate * (since + 2e-6);
        if admitted as f64 > most {
            violation(format!("{admitted} events were admitted, at most {most} are allowed"));
        }
    }
}

async fn events(mut cx: Cx, gate: Arc<Gate>) {
    for _ in 0..1 + cx.rand.below(4) {
        let n = 1 + cx.rand.size(gate.burst);
        match cx.rand.below(5) {
            0 => {
                let admitted = gate.limiter.allow_n(n);
                did("RateLimiter::allow", if admitted { End::Ok } else { End::Not });
                if admitted {
                    gate.admit(n);
                }
            }
            1 => {
                let soon = Instant::now() + cx.rand.micros(1000);
                match gate.limiter.wait_until(n, soon).await {
                    Ok(()) => {
                        gate.admit(n);
                        did("RateLimiter::wait_until", End::Ok);
                    }
                    Err(RateError::DeadlineExceeded) => {
                        did("RateLimiter::wait_until", End::Timeout)
                    }
                    Err(error) => violation(format!("wait_until: {error}")),
                }
            }
            2 => {
                let Some(reservation) = gate.limiter.reserve_n(n) else {
                    violation(format!("no reservation of {n} with a burst of {}", gate.burst))
                };
                if cx.rand.once_in(2) {
                    did("Reservation::cancel", End::Ok);
                    continue;
                }
                // Its drop before that gives the tokens back.
                gmp::sleep(reservation.delay()).await;
                reservation.keep();
                gate.admit(n);
                did("RateLimiter::reserve_n", End::Ok);
            }
            3 => {
                // A wait that is dropped gives its tokens back.
                let limit = cx.rand.micros(300);
                if let Ok(result) = gmp::timeout(limit, gate.limiter.wait_n(n)).await {
                    note_wait(&gate, n, result);
                }
            }
            _ => note_wait(&gate, n, gate.limiter.wait_n(n).await),
        }
    }
}

fn note_wait(gate: &Gate, n: usize, result: Result<(), RateError>) {
    match result {
        Ok(()) => gate.admit(n),
        Err(error) => violation(format!("a wait for {n} events: {error}")),
    }
    did("RateLimiter::wait_n", End::Ok);
}

/// Goroutines share a limiter. The number that is admitted never exceeds the limit.
pub(crate) async fn limited(mut cx: Cx) {
    let (rate, burst) = (1000.0 * (1 + cx.rand.below(20)) as f64, 1 + cx.rand.size(4));
    let gate = Arc::new(Gate::new(rate, burst));
    let mut children = Vec::new();
    for _ in 0..1 + cx.rand.size(4) {
        let gate = gate.clone();
        children.push(cx.spawn_anywhere(|inner| events(inner, gate)));
    }
    match gate.limiter.wait_n(burst + 1).await {
        Err(RateError::ExceedsBurst { n, burst: most }) if (n, most) == (burst + 1, burst) => {}
        other => violation(format!("a wait for more than the burst: {other:?}")),
    }
    if cx.rand.once_in(3) {
        abort(cx.rand.pick(&children));
    }
    for child in children {
        join(child).await;
    }
}

/// A limiter with a limit of 0 until it is raised.
struct Raised {
    limiter: RateLimiter,
    is_raised: AtomicBool,
}

/// Removes the limit when it is dropped, so that an aborted operation leaves no waiter.
struct Opens(Arc<Raised>);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.is_raised.store(true, SeqCst);
        self.0.limiter.set_limit(Limit::INF);
    }
}

/// Waits at a limit of 0 end when the limit is raised, and not before.
pub(crate) async fn raised(mut cx: Cx) {
    let limiter = RateLimiter::new(Limit::per_second(0.0), 1);
    if !limiter.allow() || limiter.allow() || limiter.reserve_n(1).is_some() {
        violation("a limit of 0 admits more or less than its burst");
    }
    let raised = Arc::new(Raised { limiter, is_raised: AtomicBool::new(false) });
    let opens = Opens(raised.clone());
    let mut children = Vec::new();
    for _ in 0..1 + cx.rand.size(4) {
        let raised = raised.clone();
        children.push(cx.spawn_anywhere(|_| async move {
            let result = raised.limiter.wait().await;
            if result.is_err() || !raised.is_raised.load(SeqCst) {
                violation(format!("a wait at a limit of 0: {result:?} before it was raised"));
            }
        }));
    }
    if gmp::timeout(Duration::from_micros(200), raised.limiter.wait()).await.is_ok() {
        violation("a wait at a limit of 0 has ended");
    }
    drop(opens);
    for child in children {
        join(child).await;
    }
    did("RateLimiter::set_limit", End::Ok);
}
