//! Adaptive procs: the runtime uses fewer Ps where that increases throughput.

use crate::alone;
use crate::support::{not_checked, runtime, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Spawns eight goroutines that only pass values through one channel. They end when `stop` is set.
fn contend(runtime: &gmp::Runtime, stop: &Arc<AtomicBool>) -> Vec<gmp::JoinHandle<()>> {
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

fn end(stop: &AtomicBool, work: Vec<gmp::JoinHandle<()>>) {
    stop.store(true, Ordering::Relaxed);
    for work in work {
        gmp::block_on(work).unwrap();
    }
}

/// Two Ps contend only if they run on two CPUs.
fn has_two_cpus() -> bool {
    let two = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() >= 2);
    if !two {
        not_checked("one CPU only", "whether fewer Ps run where goroutines contend");
    }
    two
}

#[test]
fn contending_goroutines_run_on_fewer_procs() {
    let _alone = alone();
    if !has_two_cpus() {
        return;
    }
    let runtime = runtime(2);
    let stop = Arc::new(AtomicBool::new(false));
    let work = contend(&runtime, &stop);
    until(|| runtime.handle().metrics().active_procs == 1);
    assert_eq!((runtime.max_procs(), runtime.handle().metrics().max_procs), (2, 2));
    // A new maximum starts a new trial.
    runtime.handle().set_max_procs(4).unwrap();
    assert_eq!(runtime.max_procs(), 4);
    until(|| runtime.handle().metrics().active_procs < 4);
    end(&stop, work);
    until(|| runtime.handle().metrics().active_procs == 4);
}

/// The goroutine blocks until another one has slept twenty times, which needs a second P.
#[test]
fn a_blocked_thread_brings_the_other_procs_back() {
    const SLEEPS: u32 = 20;
    type Block = fn(&std::sync::mpsc::Receiver<()>);
    let _alone = alone();
    if !has_two_cpus() {
        return;
    }
    let runtime = runtime(2);
    let stop = Arc::new(AtomicBool::new(false));
    let work = contend(&runtime, &stop);
    let unmarked: Block = |end| end.recv().unwrap();
    let marked: Block = |end| gmp::block_in_place(|| end.recv().unwrap());
    for block in [unmarked, marked] {
        until(|| runtime.handle().metrics().active_procs == 1);
        let (tx, rx) = std::sync::mpsc::channel();
        let blocked = runtime.spawn(async move { block(&rx) });
        let sleeper = runtime.spawn(async move {
            for _ in 0..SLEEPS {
                gmp::sleep(Duration::from_millis(1)).await;
            }
            tx.send(()).unwrap();
        });
        gmp::block_on(sleeper).unwrap();
        gmp::block_on(blocked).unwrap();
    }
    end(&stop, work);
}

#[test]
fn adaptive_off_keeps_max_procs() {
    let _alone = alone();
    let runtime = gmp::runtime::Builder::new().max_procs(2).adaptive_procs(false).build().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let work = contend(&runtime, &stop);
    let polls = runtime.handle().metrics().total().polls;
    until(|| {
        assert_eq!(runtime.handle().metrics().active_procs, 2);
        runtime.handle().metrics().total().polls > polls + 100_000
    });
    end(&stop, work);
}

/// Goroutines that compute and yield gain nothing from fewer Ps, so no trial is made.
#[test]
fn computing_goroutines_keep_all_procs() {
    let _alone = alone();
    let runtime = runtime(2);
    let stop = Arc::new(AtomicBool::new(false));
    let compute = |stop: Arc<AtomicBool>| async move {
        while !stop.load(Ordering::Relaxed) {
            let start = Instant::now();
            while start.elapsed() < Duration::from_micros(50) {}
            gmp::yield_now().await;
        }
    };
    let work = (0..4).map(|_| runtime.spawn(compute(stop.clone()))).collect();
    let polls = runtime.handle().metrics().total().polls;
    until(|| {
        assert_eq!(runtime.handle().metrics().active_procs, 2);
        runtime.handle().metrics().total().polls > polls + 4000
    });
    end(&stop, work);
}
