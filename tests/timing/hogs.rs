//! Goroutines that compute without an await.

use crate::alone;
use crate::support::{runtime, until};
use gmp::go;
use gmp::runtime::StallKind;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// Spins for `span` without an await.
fn compute(span: Duration) {
    let start = Instant::now();
    while start.elapsed() < span {
        std::hint::spin_loop();
    }
}

/// A timer fires before the slice of a hog is over. A hog that ends within its slice is no stall.
#[test]
fn a_timer_fires_before_a_cpu_bound_slice_ends() {
    let _alone = alone();
    let runtime = runtime(1);
    let stalled = Arc::new(Mutex::new(Vec::new()));
    let hook = stalled.clone();
    runtime.block_on(async {
        gmp::runtime::on_stall(move |stall| {
            // A thread may also wait for a lock of the allocator, which is a stall of its own.
            if stall.kind() == StallKind::Computing {
                hook.lock().unwrap().push(stall.goid());
            }
        });
    });
    let mut hogs = HashMap::new();
    let mut lateness = || {
        let before = Instant::now();
        let hog = runtime.spawn(async {
            let sleeper = go!(async {
                let due = Instant::now() + MS;
                gmp::sleep_until(due).await;
                due.elapsed()
            });
            gmp::yield_now().await;
            compute(8 * MS);
            (sleeper, gmp::goid())
        });
        let (sleeper, goid) = gmp::block_on(hog).unwrap();
        let lateness = gmp::block_on(sleeper).unwrap();
        // A poll ends after the goroutine, maybe much later if its thread is descheduled.
        let asleep = || {
            let metrics = runtime.handle().metrics();
            metrics.threads.sleeping() == metrics.threads.total
        };
        until(asleep);
        hogs.insert(goid.expect("a goroutine"), before.elapsed());
        lateness
    };
    // The timer is 7 ms late each time if it waits for the whole slice.
    until(|| lateness() < 3 * MS);
    // Joins sysmon, which runs the hook.
    runtime.shutdown(Duration::from_secs(60)).unwrap();
    for goid in stalled.lock().unwrap().iter() {
        assert!(hogs[goid] >= 10 * MS, "{:?} was reported as a stall", hogs[goid]);
    }
}

/// A hog that loses its P early is reported once its slice is over, also if all other goroutines
/// are parked.
#[test]
fn early_handoff_is_reported_after_a_full_slice() {
    let _alone = alone();
    let runtime = runtime(1);
    let reported = Arc::new(Mutex::new(None));
    let hook = reported.clone();
    runtime.block_on(async {
        gmp::runtime::on_stall(move |stall| *hook.lock().unwrap() = Some(stall.goid()));
    });
    // The hog computes too little for a stall if its thread waits for a CPU most of the time.
    until(|| {
        let hog = runtime.spawn(async {
            let sleeper = go!(async { gmp::sleep(MS).await });
            gmp::yield_now().await;
            compute(100 * MS);
            drop(sleeper);
            gmp::goid()
        });
        let goid = gmp::block_on(hog).unwrap();
        reported.lock().unwrap().take() == goid
    });
}

/// Without pauses forty hogs beside a ticker do not get a thread each: they slow down the hog that
/// has the P, so it keeps the P longer. With pauses each hog that loses its P early keeps a thread
/// until it has had its turns.
#[cfg(target_os = "linux")]
#[test]
fn a_ticker_does_not_give_each_hog_a_thread_without_pauses() {
    use rustix::time::{ClockId, clock_gettime};
    /// Uses 30 ms of CPU time.
    fn compute() {
        let used = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            time.tv_sec * 1_000_000_000 + time.tv_nsec
        };
        let start = used();
        while used() - start < 30_000_000 {}
    }
    let _alone = alone();
    let runtime = gmp::runtime::Builder::new().max_procs(1).pause_cpu_bound(false).build().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let ticker = runtime.spawn(async move {
        let (mut ticker, mut most) = (gmp::Ticker::new(MS), 0);
        while !stopped.load(Ordering::Relaxed) {
            ticker.tick().await;
            most = most.max(gmp::runtime::metrics().threads.total);
        }
        most
    });
    let hogs: Vec<_> = (0..40).map(|_| runtime.spawn(async { compute() })).collect();
    hogs.into_iter().for_each(|hog| gmp::block_on(hog).unwrap());
    stop.store(true, Ordering::Relaxed);
    let most = gmp::block_on(ticker).unwrap();
    // All but the first two compute for at least 5 of their 30 ms with a P: about seven at a time.
    assert!((3..=14).contains(&most), "{most} threads for 40 hogs");
}

/// Of six hogs on one P, one runs at a time beside the ticker, which keeps the P.
#[cfg(target_os = "linux")]
#[test]
fn hogs_beyond_max_procs_use_no_cpu_time() {
    let _alone = alone();
    let runtime = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    let until_stopped = |stop: Arc<AtomicBool>| async move {
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    let ticks = stop.clone();
    let ticker = runtime.spawn(async move {
        let mut ticker = gmp::Ticker::new(MS);
        while !ticks.load(Ordering::Relaxed) {
            ticker.tick().await;
        }
    });
    let hogs: Vec<_> = (0..6).map(|_| runtime.spawn(until_stopped(stop.clone()))).collect();
    until(|| runtime.handle().metrics().threads.cpu_bound == 6);
    until(|| runtime.handle().metrics().threads.paused == 5);
    let (start, used) = (Instant::now(), crate::support::cpu_time());
    std::thread::sleep(1000 * MS);
    let used = crate::support::cpu_time() - used;
    let elapsed = start.elapsed();
    stop.store(true, Ordering::Relaxed);
    hogs.into_iter().for_each(|hog| gmp::block_on(hog).unwrap());
    gmp::block_on(ticker).unwrap();
    // One hog, and at most a quarter of a CPU for the ticker, sysmon and the pauser. Without a
    // bound the hogs use every CPU of the machine.
    assert!(used <= elapsed.mul_f64(1.25), "{used:?} of CPU time in {elapsed:?}");
}
