//! A machine with more runnable threads than CPUs.
//!
//! Threads then wait for a CPU. A thread that waits for a CPU is neither blocked nor CPU-bound.
//! Handing off its P would only add one more thread that waits.

use crate::alone;
use gmp::go;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Processes that compute until this value is dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn new(n: usize) -> Self {
        let start = |_| {
            let mut shell = Command::new("sh");
            // Each process ends with this one, however this one ends.
            let compute = "while kill -0 $PPID; do :; done 2>/dev/null";
            shell.args(["-c", compute]).stdin(Stdio::null()).spawn().unwrap()
        };
        Self((0..n).map(start).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A hundred goroutines yield a hundred times each.
async fn yields() {
    let round = || async {
        for _ in 0..100 {
            gmp::yield_now().await;
        }
    };
    let goroutines: Vec<_> = (0..100).map(|_| go!(round())).collect();
    for goroutine in goroutines {
        goroutine.await.unwrap();
    }
}

/// Spawns two thousand goroutines at once, more than local queues hold.
async fn spawns() {
    let goroutines: Vec<_> = (0..2_000u64).map(|n| go!(async move { n })).collect();
    let mut sum = 0;
    for goroutine in goroutines {
        sum += goroutine.await.unwrap();
    }
    assert_eq!(sum, 1_999 * 1_000);
}

/// A chain in which each goroutine spawns the next.
async fn chain() {
    fn link(left: u32) -> gmp::JoinHandle<u32> {
        go!(async move { if left == 0 { 0 } else { 1 + link_boxed(left - 1).await } })
    }
    fn link_boxed(left: u32) -> std::pin::Pin<Box<dyn Future<Output = u32> + Send>> {
        Box::pin(async move { link(left).await.unwrap() })
    }
    assert_eq!(link(500).await.unwrap(), 500);
}

/// Goroutines that sleep, so timers come due.
async fn sleeps() {
    let sleep = |n: u64| gmp::sleep(Duration::from_micros(50 * n));
    let goroutines: Vec<_> = (0..20).map(|n| go!(sleep(n))).collect();
    for goroutine in goroutines {
        goroutine.await.unwrap();
    }
}

#[test]
fn nothing_is_handed_off_beside_eight_busy_processes() {
    let _alone = alone();
    let _busy = Busy::new(8);
    let end = Instant::now() + Duration::from_secs(3);
    let runtime = gmp::runtime::Builder::new().max_procs(2).build().unwrap();
    let rounds = runtime.block_on(async {
        gmp::runtime::on_stall(|stall| eprintln!("{stall}"));
        go!({
            let mut rounds = 0;
            while Instant::now() < end {
                yields().await;
                spawns().await;
                chain().await;
                sleeps().await;
                rounds += 1;
            }
            rounds
        })
        .await
        .unwrap()
    });
    let metrics = runtime.handle().metrics();
    assert_eq!(metrics.stalls.total(), 0, "in {rounds} rounds");
    assert!(rounds > 0 && metrics.threads.total <= 3, "{metrics:?}");
}
