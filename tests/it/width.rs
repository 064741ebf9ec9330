//! Fewer Ps run where that gets more done, and all of them as soon as somebody needs them.

use super::support::{not_checked, runtime, until};
use gmp::go;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// Eight goroutines that do nothing but pass values through one channel, until told to stop.
fn fight(runtime: &gmp::Runtime, stop: &Arc<AtomicBool>) -> Vec<gmp::JoinHandle<()>> {
    let (tx, rx) = gmp::chan::<u64>(16);
    (0..4)
        .flat_map(|_| {
            let (tx, rx, stop) = (tx.clone(), rx.clone(), stop.clone());
            let sender = runtime.spawn(async move {
                while !stop.load(Ordering::Relaxed) && tx.send(1).await.is_ok() {}
            });
            let receiver = runtime.spawn(async move { while rx.recv().await.is_ok() {} });
            [sender, receiver]
        })
        .collect()
}

/// The right to let goroutines fight for the CPUs, which two tests at once would do with each other; `None` if they
/// cannot on this machine.
fn ring() -> Option<MutexGuard<'static, ()>> {
    static RING: Mutex<()> = Mutex::new(());
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if cpus < 2 {
        not_checked("one CPU only", "whether fewer Ps run where goroutines fight");
        return None;
    }
    Some(RING.lock().unwrap_or_else(PoisonError::into_inner))
}

fn end(stop: &AtomicBool, work: Vec<gmp::JoinHandle<()>>) {
    stop.store(true, Ordering::Relaxed);
    for work in work {
        gmp::block_on(work).unwrap();
    }
}

#[test]
fn who_fights_runs_on_fewer() {
    let Some(_ring) = ring() else { return };
    let runtime = runtime(2);
    let stop = Arc::new(AtomicBool::new(false));
    let work = fight(&runtime, &stop);
    until(|| runtime.handle().stats().width == 1);
    assert_eq!((runtime.max_procs(), runtime.handle().stats().procs), (2, 2));
    // What is set holds, and counts from then on.
    runtime.handle().set_max_procs(4).unwrap();
    assert_eq!(runtime.max_procs(), 4);
    until(|| runtime.handle().stats().width < 4);
    end(&stop, work);
    // All may run when the next one comes.
    until(|| runtime.handle().stats().width == 4);
}

/// The promise, while fewer run: sleepers and hogs do not hold up the rest.
#[test]
fn who_blocks_brings_the_others_back() {
    let Some(_ring) = ring() else { return };
    let runtime = runtime(2);
    let stop = Arc::new(AtomicBool::new(false));
    let work = fight(&runtime, &stop);
    for block in
        [|| std::thread::sleep(200 * MS), || gmp::blocking(|| std::thread::sleep(200 * MS))]
    {
        until(|| runtime.handle().stats().width == 1);
        let blocked = runtime.spawn(async move { block() });
        let late = runtime.spawn(async move {
            let mut worst = Duration::ZERO;
            while !blocked.is_finished() {
                let start = Instant::now();
                gmp::sleep(MS).await;
                worst = worst.max(start.elapsed());
            }
            worst
        });
        let worst = gmp::block_on(late).unwrap();
        assert!(worst < 100 * MS, "1 ms took {worst:?}");
    }
    end(&stop, work);
}

#[test]
fn as_many_as_may_if_so_asked() {
    let runtime = gmp::Builder::new().max_procs(2).adaptive(false).build().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let work = fight(&runtime, &stop);
    let polls = runtime.handle().stats().polls;
    until(|| {
        assert_eq!(runtime.handle().stats().width, 2);
        runtime.handle().stats().polls > polls + 100_000
    });
    end(&stop, work);
}

/// Goroutines that compute and give way have nothing to gain from being fewer, and are never tried with it.
#[test]
fn who_computes_is_left_alone() {
    let runtime = runtime(2);
    let stop = Arc::new(AtomicBool::new(false));
    let compute = |stop: Arc<AtomicBool>| async move {
        while !stop.load(Ordering::Relaxed) {
            let start = Instant::now();
            while start.elapsed() < MS / 20 {}
            gmp::yield_now().await;
        }
    };
    let work = (0..4).map(|_| runtime.spawn(compute(stop.clone()))).collect();
    let polls = runtime.handle().stats().polls;
    until(|| {
        assert_eq!(runtime.handle().stats().width, 2);
        runtime.handle().stats().polls > polls + 4000
    });
    end(&stop, work);
}

/// Narrowed and widened all the time, nothing is lost: every value arrives, every goroutine ends.
#[test]
fn changes_lose_nothing() {
    let runtime = runtime(4);
    let sum = runtime.block_on(async {
        let mut sum = 0;
        for round in 0..40u64 {
            let (tx, rx) = gmp::chan::<u64>(8);
            for n in 0..8 {
                let tx = tx.clone();
                go!(async move {
                    for i in 0..500 {
                        tx.send(n * 500 + i).await.unwrap();
                    }
                    if round % 8 == 0 {
                        std::thread::sleep(2 * MS);
                    }
                });
            }
            drop(tx);
            while let Ok(value) = rx.recv().await {
                sum += value;
            }
        }
        sum
    });
    assert_eq!(sum, 40 * (4000 * 3999 / 2));
    until(|| runtime.handle().num_goroutine() == 0);
}
