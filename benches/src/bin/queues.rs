//! Compares gmp's queues with crossbeam's, per use, in one run.
//!
//! `cargo run --release -p gmp-bench --bin queues` prints nanoseconds per goroutine: the median of
//! several interleaved rounds. The conclusions are in the headers of `gmp-rt/src/p/runq.rs`,
//! `sched/globq.rs`, `sched/inbox.rs` and `g/heap.rs`.

#![expect(unsafe_code, reason = "the ring's owner is a promise: one thread per ring here")]

use crossbeam_deque::{Injector, Worker};
use crossbeam_queue::SegQueue;
use gmp_rt::dev_hooks::{Batch, Global, In, Ring};
use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

const ROUNDS: usize = 15;

fn main() {
    println!("local queue, owner alone: push 200, pop 200");
    table(&[("own ring", ring_alone), ("crossbeam Worker", worker_alone)]);
    println!("local queue, filled by its owner, emptied by one thief that takes half");
    table(&[("own ring", ring_stolen), ("crossbeam Worker", worker_stolen)]);
    println!("global queue, a batch of 129 in and out");
    table(&[
        ("locked list", list_batches),
        ("crossbeam Injector", injector_batches),
        ("crossbeam SegQueue", seg_batches),
    ]);
    println!("inbox, 8 threads push singles, 1 takes");
    table(&[
        ("inbox, shares of 64", || inbox_singles(64)),
        ("inbox, one by one", || inbox_singles(1)),
        ("locked list", list_singles),
        ("crossbeam SegQueue", seg_singles),
    ]);
}

/// A job that returns nanoseconds per goroutine.
type Job = fn() -> f64;

fn table(jobs: &[(&str, Job)]) {
    let mut figures = vec![Vec::new(); jobs.len()];
    for _ in 0..ROUNDS {
        for (figures, (_, job)) in figures.iter_mut().zip(jobs) {
            figures.push(job());
        }
    }
    for (mut figures, (name, _)) in figures.into_iter().zip(jobs) {
        figures.sort_by(f64::total_cmp);
        println!("    {name:<20} {:>8.2} ns", figures[figures.len() / 2]);
    }
}

fn per_item(start: Instant, items: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / items as f64
}

fn ring_alone() -> f64 {
    let (ring, start) = (Ring::default(), Instant::now());
    for _ in 0..2000 {
        for n in 0..200 {
            // SAFETY: one thread.
            assert!(unsafe { ring.push(n) });
        }
        for _ in 0..200 {
            // SAFETY: one thread.
            black_box(unsafe { ring.pop() }).unwrap();
        }
    }
    per_item(start, 2000 * 200)
}

fn worker_alone() -> f64 {
    let (worker, start) = (Worker::new_fifo(), Instant::now());
    for _ in 0..2000 {
        (0..200).for_each(|n| worker.push(n));
        for _ in 0..200 {
            black_box(worker.pop()).unwrap();
        }
    }
    per_item(start, 2000 * 200)
}

const STOLEN: usize = 200_000;

fn ring_stolen() -> f64 {
    let (ring, done) = (Ring::default(), AtomicBool::new(false));
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let own = Ring::default();
            while !done.load(Ordering::Acquire) {
                // SAFETY: this thread owns `own`.
                black_box(unsafe { ring.steal_into(&own) });
                // SAFETY: as above.
                while let Some(n) = unsafe { own.pop() } {
                    black_box(n);
                }
            }
        });
        for n in 0..STOLEN {
            // SAFETY: this thread is the owner.
            while !unsafe { ring.push(n) } {
                // SAFETY: as above.
                black_box(unsafe { ring.pop() });
            }
        }
        done.store(true, Ordering::Release);
    });
    per_item(start, STOLEN)
}

fn worker_stolen() -> f64 {
    let (worker, done) = (Worker::new_fifo(), AtomicBool::new(false));
    let stealer = worker.stealer();
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let own = Worker::new_fifo();
            while !done.load(Ordering::Acquire) {
                black_box(stealer.steal_batch_and_pop(&own).success());
                while let Some(n) = own.pop() {
                    black_box(n);
                }
            }
        });
        for n in 0..STOLEN {
            while worker.len() >= 256 {
                black_box(worker.pop());
            }
            worker.push(n);
        }
        done.store(true, Ordering::Release);
    });
    per_item(start, STOLEN)
}

const BATCH: usize = 129;

fn list_batches() -> f64 {
    let (queue, mut spare) = (Global::default(), Global::goroutines(BATCH));
    let start = Instant::now();
    for _ in 0..2000 {
        queue.push_batch(&mut spare);
        queue.pop_batch(BATCH, &mut spare);
    }
    per_item(start, 2000 * BATCH)
}

fn injector_batches() -> f64 {
    let (queue, start) = (Injector::new(), Instant::now());
    for _ in 0..2000 {
        (0..BATCH).for_each(|n| queue.push(n));
        for _ in 0..BATCH {
            black_box(queue.steal().success()).unwrap();
        }
    }
    per_item(start, 2000 * BATCH)
}

fn seg_batches() -> f64 {
    let (queue, start) = (SegQueue::new(), Instant::now());
    for _ in 0..2000 {
        (0..BATCH).for_each(|n| queue.push(n));
        for _ in 0..BATCH {
            black_box(queue.pop()).unwrap();
        }
    }
    per_item(start, 2000 * BATCH)
}

const PUSHERS: usize = 8;
const SINGLES: usize = 5_000;

/// `PUSHERS` threads push. This thread takes until it has all goroutines.
fn singles(push: impl Fn(usize) + Sync, take: impl Fn() -> usize) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..PUSHERS {
            scope.spawn(|| (0..SINGLES).for_each(&push));
        }
        let mut taken = 0;
        while taken < PUSHERS * SINGLES {
            taken += take();
        }
    });
    per_item(start, PUSHERS * SINGLES)
}

fn inbox_singles(share: usize) -> f64 {
    let (inbox, batch) = (In::default(), Batch::default());
    let take = || {
        let mut taken = 0;
        inbox.take(share, &batch, |n| {
            black_box(n);
            taken += 1;
        });
        taken
    };
    singles(|n| inbox.push(n), take)
}

fn list_singles() -> f64 {
    let queue = Global::default();
    let spare = Mutex::new(Vec::new());
    let pools: Vec<_> = (0..PUSHERS).map(|_| Mutex::new(Global::goroutines(SINGLES))).collect();
    let turn = AtomicUsize::new(0);
    // Each thread has its own goroutines ready, so the threads share only the queue.
    thread_local!(static MINE: std::cell::Cell<usize> = const { std::cell::Cell::new(usize::MAX) });
    let push = |n: usize| {
        if n == 0 {
            MINE.set(turn.fetch_add(1, Ordering::Relaxed));
        }
        let parked = pools[MINE.get()].lock().unwrap().pop().unwrap();
        queue.push(parked);
    };
    singles(push, || {
        let mut spare = spare.lock().unwrap();
        let before = spare.len();
        queue.pop_batch(128, &mut spare);
        spare.len() - before
    })
}

fn seg_singles() -> f64 {
    let queue = SegQueue::new();
    singles(|n| queue.push(n), || usize::from(queue.pop().is_some()))
}
