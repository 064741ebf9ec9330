//! Lateness of a 1 ms sleep while goroutines block their threads or compute. A plain thread sleeps
//! 1 ms at the same time: delays that the machine causes appear in both.
//!
//! `cargo run --release -p gmp-bench --bin late [rounds]` prints for each load the worst lateness
//! of each round, sorted, for gmp and for the thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(1);

fn block() {
    std::thread::sleep(Duration::from_millis(500));
}

fn compute() {
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(800) {
        std::hint::spin_loop();
    }
}

/// The worst lateness measured.
struct Worst(Duration);

impl Worst {
    fn take(&mut self, start: Instant) {
        self.0 = self.0.max(start.elapsed() - TICK);
    }

    fn millis(&self) -> f64 {
        self.0.as_secs_f64() * 1e3
    }
}

/// Runs one round. Returns the worst lateness in gmp and of a plain thread.
fn round(n: usize, work: fn()) -> (f64, f64) {
    let runtime = gmp_rt::runtime::Builder::new().max_procs(2).build().unwrap();
    // All threads are started and warm.
    runtime.block_on(gmp_rt::sleep(20 * TICK));
    let left = Arc::new(AtomicUsize::new(n));
    let ticking = left.clone();
    let ticker = runtime.spawn(async move {
        let mut worst = Worst(Duration::ZERO);
        while ticking.load(Ordering::Relaxed) > 0 {
            let start = Instant::now();
            gmp_rt::sleep(TICK).await;
            worst.take(start);
        }
        worst.millis()
    });
    for _ in 0..n {
        let left = left.clone();
        runtime.spawn(async move {
            work();
            left.fetch_sub(1, Ordering::Relaxed);
        });
    }
    let mut floor = Worst(Duration::ZERO);
    while left.load(Ordering::Relaxed) > 0 {
        let start = Instant::now();
        std::thread::sleep(TICK);
        floor.take(start);
    }
    (gmp_rt::block_on(ticker).unwrap(), floor.millis())
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10);
    let loads: [(&str, usize, fn()); 3] =
        [("4 blocked", 4, block), ("2 hogs", 2, compute), ("4 hogs", 4, compute)];
    for (name, n, work) in loads {
        let (mut gmp, mut floor): (Vec<f64>, Vec<f64>) =
            (0..rounds).map(|_| round(n, work)).unzip();
        gmp.sort_by(f64::total_cmp);
        floor.sort_by(f64::total_cmp);
        println!("{name:>10}  gmp    {gmp:6.1?} ms");
        println!("{:>10}  thread {floor:6.1?} ms", "");
    }
}
