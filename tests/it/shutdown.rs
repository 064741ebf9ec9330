//! The end of a runtime.

use super::support::{Gate, runtime, until};
use gmp::go;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

struct CountDrop(Arc<AtomicUsize>);

impl Drop for CountDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn parked_queued_and_sleeping_goroutines_are_dropped() {
    let runtime = runtime(2);
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut handles = Vec::new();
    for n in 0..300 {
        let guard = CountDrop(dropped.clone());
        handles.push(runtime.spawn(async move {
            let _guard = guard;
            match n % 3 {
                0 => std::future::pending().await,
                1 => gmp::sleep(LONG).await,
                _ => loop {
                    gmp::yield_now().await;
                },
            }
        }));
    }
    runtime.shutdown(LONG).unwrap();
    assert_eq!(dropped.load(Ordering::Relaxed), 300);
    for handle in handles {
        assert!(gmp::block_on(handle).unwrap_err().is_cancelled());
    }
}

#[test]
fn dropping_is_shutdown() {
    /// The drop of a runtime waits at most for this time.
    const GRACE: Duration = Duration::from_secs(1);
    until(|| {
        let runtime = runtime(1);
        let dropped = Arc::new(AtomicUsize::new(0));
        let guard = CountDrop(dropped.clone());
        runtime.spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
        let start = Instant::now();
        drop(runtime);
        let in_time = start.elapsed() < GRACE;
        assert!(!in_time || dropped.load(Ordering::Relaxed) == 1);
        in_time
    });
}

#[test]
fn goroutines_that_spawn_while_it_ends() {
    fn endless() {
        gmp::spawn(async {
            gmp::yield_now().await;
            endless();
            endless();
        });
    }
    let runtime = runtime(2);
    runtime.block_on(async { endless() });
    runtime.shutdown(LONG).unwrap();
}

#[test]
fn spawn_after_shutdown_is_cancelled_at_once() {
    let runtime = runtime(1);
    let handle = runtime.handle().clone();
    runtime.shutdown(LONG).unwrap();
    let dropped = Arc::new(AtomicUsize::new(0));
    let guard = CountDrop(dropped.clone());
    let late = handle.spawn(async move {
        drop(guard);
        1
    });
    assert_eq!(dropped.load(Ordering::Relaxed), 1, "the future was dropped, not run");
    assert!(gmp::block_on(late).unwrap_err().is_cancelled());
    assert_eq!(handle.num_goroutine(), 0);
}

#[test]
fn spawns_from_threads_against_shutdown() {
    for _ in 0..30 {
        let runtime = runtime(2);
        let handle = runtime.handle().clone();
        let start = Arc::new(AtomicBool::new(false));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (handle, start) = (handle.clone(), start.clone());
                std::thread::spawn(move || {
                    while !start.load(Ordering::Acquire) {
                        std::hint::spin_loop();
                    }
                    let spawned: Vec<_> =
                        (0..50).map(|_| handle.spawn(std::future::pending::<()>())).collect();
                    // Each goroutine ends: none is left in a queue that is not read any more.
                    for goroutine in spawned {
                        assert!(gmp::block_on(goroutine).unwrap_err().is_cancelled());
                    }
                })
            })
            .collect();
        start.store(true, Ordering::Release);
        runtime.shutdown(LONG).unwrap();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(handle.num_goroutine(), 0);
    }
}

#[test]
fn a_stuck_goroutine_is_named_and_left_behind() {
    let runtime = runtime(1);
    let (running, release) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (is_running, may_end) = (running.clone(), release.clone());
    let handle = runtime.handle().clone();
    let stuck = handle.spawn_named("stubborn", async move {
        is_running.store(true, Ordering::Release);
        while !may_end.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    });
    until(|| running.load(Ordering::Acquire));
    let start = Instant::now();
    let error = runtime.shutdown(Duration::from_millis(20)).unwrap_err();
    assert!(start.elapsed() < LONG);
    assert_eq!(error.stuck().len(), 1);
    let text = error.to_string();
    assert!(text.contains("\"stubborn\"") && text.contains("shutdown.rs"), "{text}");
    // The poll returns, and the runtime ends without further calls. The goroutine has an output,
    // because this poll was its last.
    release.store(true, Ordering::Release);
    gmp::block_on(stuck).unwrap();
    until(|| handle.stats().threads == 0);
}

#[test]
fn a_runtime_dropped_by_its_own_goroutine() {
    let runtime = runtime(1);
    let handle = runtime.handle().clone();
    let gate = Arc::new(Gate::default());
    let done = gate.clone();
    handle.spawn(async move {
        drop(runtime);
        done.open();
    });
    gmp::block_on(gate.wait());
    until(|| handle.stats().threads == 0);
}

#[test]
fn many_runtimes_leave_no_threads() {
    for _ in 0..100 {
        let runtime = runtime(2);
        let sum: u32 = runtime.block_on(async {
            let handles: Vec<_> = (0..10).map(|n| go!({ n })).collect();
            let mut sum = 0;
            for handle in handles {
                sum += handle.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 45);
        let handle = runtime.handle().clone();
        runtime.shutdown(LONG).unwrap();
        assert_eq!(handle.stats().threads, 0);
    }
}
