//! A tour of gmp. Each part shows one feature, checks it, and prints how long it took.
//!
//! `cargo run --release --example tour`

use gmp::{JoinError, WaitGroup, go};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[gmp::main]
async fn main() {
    println!("gmp on {} procs\n", gmp::max_procs());
    stop("a hundred thousand goroutines", many().await);
    stop("a tree of goroutines that sums a million leaves", tree().await);
    stop("ten thousand sleepers", sleepers().await);
    stop("a timeout that fires, a hundred thousand that do not", timeouts().await);
    stop("four threads blocked, a ticker beside them", blocked().await);
    stop("a panic stays in its goroutine", panics().await);
    stop("resize while running", resize().await);
    let metrics = gmp::runtime::metrics();
    println!(
        "\n{} goroutines, {} polls, {} steals, {} thread wake-ups, {} timers, on {} threads",
        metrics.goroutines.created,
        metrics.total().polls,
        metrics.total().steals,
        metrics.wakeups,
        metrics.timers.fired,
        metrics.threads.total
    );
}

fn stop(title: &str, report: (Instant, String)) {
    let (start, text) = report;
    println!("{title}\n    {text} ({:.1} ms)", start.elapsed().as_secs_f64() * 1000.0);
}

async fn many() -> (Instant, String) {
    let start = Instant::now();
    let (wg, sum) = (WaitGroup::new(), Arc::new(AtomicU64::new(0)));
    for n in 0..100_000 {
        let sum = sum.clone();
        wg.go(async move { sum.fetch_add(n, Ordering::Relaxed) });
    }
    wg.wait().await;
    let sum = sum.load(Ordering::Relaxed);
    assert_eq!(sum, 99_999 * 50_000);
    (start, format!("they added up to {sum}"))
}

type Boxed = std::pin::Pin<Box<dyn Future<Output = u64> + Send>>;

async fn tree() -> (Instant, String) {
    fn node(base: u64, size: u64) -> Boxed {
        Box::pin(async move {
            if size == 1 {
                return base;
            }
            let step = size / 10;
            let children: Vec<_> = (0..10).map(|n| go!(node(base + n * step, step))).collect();
            let mut sum = 0;
            for child in children {
                sum += child.await.unwrap();
            }
            sum
        })
    }
    let start = Instant::now();
    let sum = go!(node(0, 1_000_000)).await.unwrap();
    assert_eq!(sum, 499_999_500_000);
    (start, format!("the sum is {sum}"))
}

async fn sleepers() -> (Instant, String) {
    let start = Instant::now();
    let wg = WaitGroup::new();
    for n in 0..10_000 {
        wg.go(gmp::sleep(Duration::from_micros(n)));
    }
    wg.wait().await;
    assert!(start.elapsed() >= Duration::from_micros(9_999));
    (start, "the longest slept 10 ms".to_owned())
}

async fn timeouts() -> (Instant, String) {
    let start = Instant::now();
    for _ in 0..100_000 {
        gmp::timeout(Duration::from_secs(60), gmp::yield_now()).await.expect("in time");
    }
    let never = std::future::pending::<()>();
    let late = gmp::timeout(Duration::from_millis(1), never).await;
    assert!(late.is_err());
    (start, format!("{} timers are left behind", gmp::runtime::metrics().timers.pending))
}

async fn blocked() -> (Instant, String) {
    let start = Instant::now();
    let wg = WaitGroup::new();
    for _ in 0..4 {
        wg.go(async { gmp::block_in_place(|| std::thread::sleep(Duration::from_millis(50))) });
    }
    let mut ticker = gmp::Ticker::new(Duration::from_millis(1));
    let mut worst = Duration::ZERO;
    while start.elapsed() < Duration::from_millis(50) {
        let due = ticker.tick().await;
        worst = worst.max(due.elapsed());
    }
    wg.wait().await;
    (start, format!("the 1 ms ticker was at worst {:.2} ms late", worst.as_secs_f64() * 1000.0))
}

async fn panics() -> (Instant, String) {
    let start = Instant::now();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let error = go!(async { panic!("one goroutine's problem") }).await.unwrap_err();
    std::panic::set_hook(hook);
    assert!(matches!(error, JoinError::Panic(_)));
    (start, error.to_string())
}

async fn resize() -> (Instant, String) {
    let start = Instant::now();
    let wg = WaitGroup::new();
    for _ in 0..1000 {
        wg.go(async {
            for _ in 0..100 {
                gmp::yield_now().await;
            }
        });
    }
    let before = gmp::max_procs();
    for procs in [1, 4, 2, 3, before] {
        gmp::set_max_procs(procs).expect("a possible number");
        gmp::yield_now().await;
    }
    wg.wait().await;
    (start, "five times, under a thousand goroutines".to_owned())
}
