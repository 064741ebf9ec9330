//! The workloads whose goroutines compute between their operations.

use crate::channels::Channels;
use crate::contestant::Contestant;
use crate::link::{Link, Shared};
use crate::locks::Locks;
use crate::row::percentile;
use crate::work::work;
use crate::workload::{SPAN, cpu_micros, per_op};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Microseconds of work per item.
const ITEM: u64 = 20;
/// Items of one round.
const ITEMS: u64 = 500;
/// The sum of the numbers of all items of a round.
const SUM: u64 = ITEMS * (ITEMS - 1) / 2;
/// The workload with more threads than CPUs.
pub(crate) const OVERSUBSCRIBED: &str = "oversubscribed";
/// Threads per CPU in that workload.
const THREADS_PER_CPU: usize = 4;

/// Runs a workload and returns its figures.
pub(crate) fn run<C: Channels + Locks>(name: &str) -> Option<Vec<f64>> {
    Some(match name {
        "fork2" => vec![C::run(per_op(1, fork2::<C>)) / 1e3],
        "pipeline2" => vec![C::run(per_op(ITEMS as u32, pipeline2::<C>)) / 1e3],
        OVERSUBSCRIBED => {
            let threads = threads(name);
            let round = move || workers::<C>(threads);
            vec![C::run_on(threads, per_op(ITEMS as u32, round)) / 1e3]
        }
        "mutex_compute" => C::run(mutex_compute::<C>()).into(),
        "bursts" => C::run(bursts::<C>()).into(),
        _ => return None,
    })
}

/// Returns the number of threads that a workload runs on.
pub(crate) fn threads(workload: &str) -> usize {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if workload == OVERSUBSCRIBED { THREADS_PER_CPU * cpus } else { cpus }
}

/// A task spawns another one. Both compute for a millisecond, and the first joins the second.
async fn fork2<C: Contestant>() {
    let other = C::spawn(async {
        work(1_000);
        1
    });
    work(1_000);
    assert_eq!(other.await, 1);
}

/// Two tasks compute on each item in turn, with a channel between them.
async fn pipeline2<C: Channels>() {
    let (tx, mut rx) = C::Single::new(16);
    let first = C::spawn(async move {
        for n in 0..ITEMS {
            work(ITEM);
            C::Single::send(&tx, n).await;
        }
    });
    let second = C::spawn(async move {
        let (mut count, mut sum) = (0, 0);
        while let Some(n) = C::Single::recv(&mut rx).await {
            work(ITEM);
            count += 1;
            sum += n;
        }
        (count, sum)
    });
    first.await;
    assert_eq!(second.await, (ITEMS, SUM));
}

/// `n` workers take jobs from one channel, compute, and put the results into another.
async fn workers<C: Channels>(n: usize) {
    let (jobs, todo) = C::Many::new(64);
    let (results, mut done) = C::Single::new(64);
    for _ in 0..n {
        let (mut todo, results) = (C::Many::share(&todo), results.clone());
        C::go(async move {
            while let Some(n) = C::Many::recv(&mut todo).await {
                work(ITEM);
                C::Single::send(&results, n).await;
            }
        });
    }
    drop((todo, results));
    C::go(async move {
        for n in 0..ITEMS {
            C::Many::send(&jobs, n).await;
        }
    });
    let (mut count, mut sum) = (0, 0);
    while let Some(n) = C::Single::recv(&mut done).await {
        count += 1;
        sum += n;
    }
    assert_eq!((count, sum), (ITEMS, SUM));
}

/// Four tasks compute item after item and yield after each. Eight others lock one mutex all the
/// time. Returns the microseconds per item and the nanoseconds per lock, so that starving either
/// kind is visible.
async fn mutex_compute<C: Locks>() -> [f64; 2] {
    let start = Instant::now();
    let is_over = move || start.elapsed() >= SPAN;
    let mutex = Arc::new(C::Mutex::default());
    let lockers: Vec<_> =
        (0..8).map(|_| C::spawn(lock_until::<C, _>(mutex.clone(), is_over))).collect();
    let computers: Vec<_> = (0..4).map(|_| C::spawn(compute_until::<C, _>(is_over))).collect();
    let (mut items, mut locks) = (0, 0);
    for computer in computers {
        items += computer.await;
    }
    let items_took = start.elapsed();
    for locker in lockers {
        locks += locker.await;
    }
    let locks_took = start.elapsed();
    assert_eq!(C::bump(&mutex).await, locks, "a lock was lost");
    [items_took.as_secs_f64() * 1e6 / items as f64, locks_took.as_secs_f64() * 1e9 / locks as f64]
}

/// Locks until `is_over`. Returns the number of locks.
async fn lock_until<C: Locks, F: Fn() -> bool>(mutex: Arc<C::Mutex>, is_over: F) -> u64 {
    // Reads the clock once per this number of locks.
    const LOCKS_PER_CHECK: u64 = 64;
    let mut locks = 0;
    loop {
        for _ in 0..LOCKS_PER_CHECK {
            C::bump(&mutex).await;
        }
        locks += LOCKS_PER_CHECK;
        if is_over() {
            return locks;
        }
    }
}

/// Computes at least one item, until `is_over`. Returns the number of items.
async fn compute_until<C: Contestant, F: Fn() -> bool>(is_over: F) -> u64 {
    let mut items = 0;
    loop {
        work(ITEM);
        items += 1;
        if is_over() {
            return items;
        }
        C::yield_now().await;
    }
}

/// Four tasks compute 50 µs each after every millisecond of sleep. Returns the 99th percentile of
/// the time until all have ended, and the CPU time per burst, both in microseconds.
async fn bursts<C: Contestant>() -> [f64; 2] {
    const BURSTS: usize = 400;
    burst::<C>().await;
    let mut times = Vec::with_capacity(BURSTS);
    let before = cpu_micros();
    for _ in 0..BURSTS {
        C::sleep(Duration::from_millis(1)).await;
        let start = Instant::now();
        burst::<C>().await;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let cpu = (cpu_micros() - before) / BURSTS as f64;
    [percentile(&times, 0.99).expect("there are bursts"), cpu]
}

/// Four tasks compute 50 µs each.
async fn burst<C: Contestant>() {
    let tasks: Vec<_> = (0..4u64)
        .map(|n| {
            C::spawn(async move {
                work(50);
                n
            })
        })
        .collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await;
    }
    assert_eq!(sum, 6);
}
