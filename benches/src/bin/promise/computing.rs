//! Counts the goroutines that compute at once after marked blocking calls: never more than
//! `max_procs`.
//!
//! A crowd of goroutines leaves a call together and computes for a short time, round after round.
//! While a goroutine computes it is counted, and each one notes the highest count. So the number
//! does not depend on when a thread samples it, nor on the load of the machine.

use crate::Verdict;
use crate::options::Computing;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Rounds of a run.
const ROUNDS: usize = 20;

/// Time of a computation. Far below the CPU time after which sysmon hands off the P.
const SECTION: Duration = Duration::from_micros(500);

type Call = fn(&Crowd);

/// The ways into a blocking call and back.
const CALLS: [(&str, Call); 3] = [
    ("block_in_place", |crowd| {
        gmp::block_in_place(|| crowd.threads.wait());
    }),
    ("block_on", |crowd| {
        gmp::block_on(crowd.goroutines.wait());
    }),
    ("wait_blocking", |crowd| {
        crowd.goroutines.wait_blocking();
    }),
];

/// Where the goroutines wait for each other, and how many of them compute.
struct Crowd {
    threads: std::sync::Barrier,
    goroutines: gmp::sync::Barrier,
    computing: AtomicUsize,
    peak: AtomicUsize,
}

impl Crowd {
    fn compute(&self) {
        let computing = self.computing.fetch_add(1, SeqCst) + 1;
        self.peak.fetch_max(computing, SeqCst);
        let start = Instant::now();
        while start.elapsed() < SECTION {
            spin_loop();
        }
        self.computing.fetch_sub(1, SeqCst);
    }
}

/// Makes one run. Returns the highest number of goroutines that computed at once.
fn peak(procs: usize, goroutines: usize, call: Call) -> usize {
    let runtime = gmp::runtime::Builder::new().max_procs(procs).build().expect("a runtime");
    let crowd = Arc::new(Crowd {
        threads: std::sync::Barrier::new(goroutines),
        goroutines: gmp::sync::Barrier::new(goroutines),
        computing: AtomicUsize::new(0),
        peak: AtomicUsize::new(0),
    });
    let goroutines: Vec<_> = (0..goroutines)
        .map(|_| {
            let crowd = crowd.clone();
            runtime.spawn(async move {
                for _ in 0..ROUNDS {
                    call(&crowd);
                    crowd.compute();
                    gmp::yield_now().await;
                }
            })
        })
        .collect();
    goroutines.into_iter().for_each(|goroutine| gmp::block_on(goroutine).expect("no panic"));
    crowd.peak.load(SeqCst)
}

/// Runs the mode.
pub(crate) fn run(options: &Computing) -> Verdict {
    let mut verdict = Verdict::Kept;
    for procs in [1, 2, 4] {
        for (name, call) in CALLS {
            let peaks: Vec<_> =
                (0..options.runs).map(|_| peak(procs, options.goroutines, call)).collect();
            let above = peaks.iter().filter(|peak| **peak > procs).count();
            let worst = peaks.iter().max().copied().unwrap_or(0);
            println!(
                "max_procs {procs}, {name:>14}: at most {worst} of {} computed at once; above \
                 max_procs in {above} of {} runs",
                options.goroutines, options.runs,
            );
            if above > 0 {
                verdict = Verdict::Broken;
            }
        }
    }
    verdict
}
