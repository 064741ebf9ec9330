//! tower's middleware around a slow service: a buffer, a limit of concurrency, a limit of the rate
//! and a timeout. `cargo run --release -p gmp-ecosystem-tokio --bin tower`.
//!
//! Each call is a goroutine. The worker of the buffer is a Tokio task. The service blocks its
//! thread, which is allowed because the goroutine of the caller polls it.

use gmp::go;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tower::timeout::error::Elapsed;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt};

const CALLS: u32 = 40;
const AT_A_TIME: usize = 4;
/// The rate of calls.
const PER: (u64, Duration) = (20, Duration::from_millis(100));
const LIMIT: Duration = Duration::from_millis(200);

/// The calls that run now, and the most that ran at a time.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Blocks its thread for a short time. Every tenth call waits for ever.
async fn square(n: u32) -> Result<u32, BoxError> {
    MOST.fetch_max(RUNNING.fetch_add(1, Relaxed) + 1, Relaxed);
    std::thread::sleep(Duration::from_millis(2));
    RUNNING.fetch_sub(1, Relaxed);
    if n % 10 == 9 {
        std::future::pending::<()>().await;
    }
    Ok(n * n)
}

#[gmp::main(tokio)]
async fn main() -> Result<(), BoxError> {
    let service = ServiceBuilder::new()
        .buffer(CALLS as usize)
        .rate_limit(PER.0, PER.1)
        .concurrency_limit(AT_A_TIME)
        .timeout(LIMIT)
        .service_fn(square);
    let start = Instant::now();
    let calls = (0..CALLS).map(|n| {
        let mut service = service.clone();
        go!(async move { service.ready().await?.call(n).await })
    });
    let mut outcomes = BTreeMap::new();
    let mut sum = 0;
    for call in calls.collect::<Vec<_>>() {
        let outcome = match call.await? {
            Ok(square) => {
                sum += square;
                "answered"
            }
            Err(error) if error.is::<Elapsed>() => "timed out",
            Err(error) => return Err(error),
        };
        *outcomes.entry(outcome).or_insert(0) += 1;
    }
    println!("{outcomes:?}, sum {sum}");
    println!("at most {AT_A_TIME} at a time: {}", MOST.load(Relaxed) <= AT_A_TIME);
    println!("within the rate: {}", start.elapsed() >= PER.1);
    Ok(())
}
