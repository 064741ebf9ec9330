//! The CPU time that small work costs on an otherwise idle runtime.

use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::future::Future;
use std::time::{Duration, Instant};

/// Repetitions in one measurement.
const REPEAT: u32 = 400;

/// Measurements of which the median counts.
const ROUNDS: usize = 5;

/// The CPU time of a tick and of a fan-out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// A sleep of 500 µs.
    pub(crate) tick: Duration,
    /// Eight goroutines that compute 20 µs each, and a sleep.
    pub(crate) fan: Duration,
}

impl Cost {
    /// Measures on `runtime`.
    pub(crate) fn measure(runtime: &gmp::Runtime) -> Self {
        let measured =
            runtime.spawn(async { Self { tick: median(tick).await, fan: median(fan).await } });
        gmp::block_on(measured).expect("nothing here panics")
    }

    /// Whether `self` exceeds `before` by more than a quarter.
    pub(crate) fn exceeds(self, before: Self) -> bool {
        let grew = |now: Duration, before: Duration| 4 * now > 5 * before;
        grew(self.tick, before.tick) || grew(self.fan, before.fan)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CPU time of a tick {:.1?}, of a fan-out {:.1?}", self.tick, self.fan)
    }
}

/// Returns the median of the CPU time of the process for one `work`.
async fn median<F: Future<Output = ()>>(work: fn() -> F) -> Duration {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let start = process_cpu();
        for _ in 0..REPEAT {
            work().await;
        }
        rounds.push((process_cpu() - start) / REPEAT);
    }
    rounds.sort_unstable();
    rounds[ROUNDS / 2]
}

async fn tick() {
    gmp::sleep(Duration::from_micros(500)).await;
}

async fn fan() {
    let compute = || async {
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(20) {
            std::hint::spin_loop();
        }
    };
    let goroutines: Vec<_> = (0..8).map(|_| gmp::spawn(compute())).collect();
    for goroutine in goroutines {
        goroutine.await.expect("nothing here panics");
    }
    gmp::sleep(Duration::from_micros(200)).await;
}

fn process_cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}
