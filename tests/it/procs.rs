//! Changing the number of Ps under load.

use super::support::{runtime, until};
use gmp::go;
use gmp::runtime::ProcsError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// `TestStopTheWorldDeadlock`: a thousand resizes while goroutines respawn.
#[test]
fn resizes_under_load_lose_nothing() {
    fn respawn(left: Arc<AtomicU64>, stop: Arc<AtomicBool>) {
        gmp::spawn(async move {
            gmp::yield_now().await;
            if stop.load(Ordering::Relaxed) {
                left.fetch_sub(1, Ordering::AcqRel);
            } else {
                respawn(left, stop);
            }
        });
    }
    let runtime = runtime(2);
    let (left, stop) = (Arc::new(AtomicU64::new(100)), Arc::new(AtomicBool::new(false)));
    runtime.block_on(async {
        for _ in 0..100 {
            respawn(left.clone(), stop.clone());
        }
    });
    for n in 0..1000usize {
        runtime.handle().set_max_procs(1 + n % 7).unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    until(|| left.load(Ordering::Acquire) == 0);
    until(|| runtime.handle().num_goroutine() == 0);
}

#[test]
fn shrinking_stops_parallel_running() {
    let runtime = runtime(4);
    let stop = Arc::new(AtomicBool::new(false));
    let (running, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let handles: Vec<_> = (0..8)
        .map(|_| {
            let (stop, running, most) = (stop.clone(), running.clone(), most.clone());
            runtime.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let now = 1 + running.fetch_add(1, Ordering::AcqRel);
                    most.fetch_max(now, Ordering::AcqRel);
                    std::thread::yield_now();
                    running.fetch_sub(1, Ordering::AcqRel);
                    gmp::yield_now().await;
                }
            })
        })
        .collect();
    until(|| most.load(Ordering::Acquire) >= 2);
    assert_eq!(runtime.handle().set_max_procs(1), Ok(4));
    until(|| {
        runtime.handle().metrics().threads.sleeping() + 1
            >= runtime.handle().metrics().threads.total
    });
    most.store(0, Ordering::Release);
    // No two goroutines run at once during the next ten thousand polls.
    let polls = runtime.handle().metrics().total().polls;
    until(|| runtime.handle().metrics().total().polls > polls + 10_000);
    assert_eq!(most.load(Ordering::Acquire), 1);
    stop.store(true, Ordering::Relaxed);
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
}

#[test]
fn shrinking_ends_surplus_threads() {
    let builder = gmp::runtime::Builder::new().max_procs(4);
    let runtime = builder.thread_keep_alive(std::time::Duration::from_millis(20)).build().unwrap();
    let arrived = Arc::new(AtomicU64::new(0));
    let handles: Vec<_> = (0..4)
        .map(|_| {
            let arrived = arrived.clone();
            runtime.spawn(async move {
                arrived.fetch_add(1, Ordering::AcqRel);
                until(|| arrived.load(Ordering::Acquire) == 4);
            })
        })
        .collect();
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
    until(|| {
        runtime.handle().metrics().threads.sleeping() == runtime.handle().metrics().threads.total
    });
    assert!(runtime.handle().metrics().threads.total >= 4);
    assert_eq!(runtime.handle().set_max_procs(1), Ok(4));
    until(|| runtime.handle().metrics().threads.total == 1);
    gmp::block_on(runtime.spawn(async {})).unwrap();
}

#[test]
fn growing_wakes_more_threads() {
    let runtime = runtime(1);
    let arrived = Arc::new(AtomicU64::new(0));
    let handles: Vec<_> = (0..3)
        .map(|_| {
            let arrived = arrived.clone();
            runtime.spawn(async move {
                arrived.fetch_add(1, Ordering::AcqRel);
                while arrived.load(Ordering::Acquire) < 3 {
                    std::thread::yield_now();
                }
            })
        })
        .collect();
    assert_eq!(runtime.handle().set_max_procs(3), Ok(1));
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
}

#[gmp::test(max_procs = 2)]
async fn a_goroutine_changes_max_procs() {
    assert_eq!(gmp::max_procs(), 2);
    assert_eq!(gmp::set_max_procs(1), Ok(2));
    go!({ gmp::yield_now().await }).await.unwrap();
    assert_eq!(gmp::set_max_procs(5), Ok(1));
    go!({ gmp::yield_now().await }).await.unwrap();
    assert_eq!(gmp::max_procs(), 5);
}

#[gmp::test]
async fn invalid_max_procs_are_errors_and_change_nothing() {
    let before = gmp::max_procs();
    assert_eq!(gmp::set_max_procs(0), Err(ProcsError::Zero));
    assert_eq!(gmp::set_max_procs(usize::MAX), Err(ProcsError::TooMany { limit: 1024 }));
    assert!(gmp::set_max_procs(0).unwrap_err().to_string().contains("at least 1"));
    assert_eq!(gmp::max_procs(), before);
}

/// A sleep outlives the P on which its timer was set.
#[test]
fn timers_survive_a_shrink() {
    let runtime = runtime(4);
    let handles: Vec<_> = (0..200)
        .map(|n| {
            runtime.spawn(async move {
                gmp::yield_now().await;
                gmp::sleep(std::time::Duration::from_millis(5 + n % 20)).await;
            })
        })
        .collect();
    runtime.handle().set_max_procs(1).unwrap();
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
}
