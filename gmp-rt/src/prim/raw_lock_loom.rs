//! Models of the lock. Threads sleep in the queue of `futex_queue.rs`.
//!
//! Mutations that were tried, and the models that fail on them:
//!
//! | mutation | models |
//! |----------|--------|
//! | `unlock` wakes no thread | all |
//! | a waiter sleeps without the mark | all |
//! | the store in `unlock`, or the exchange in `try_lock`, is Relaxed | all |
//! | the unlock, or the waiter, runs no barrier (O2) | all |
//! | a woken thread takes the lock without the mark | `loom_unlock_vs_two_sleepers` |
//! | `unlock` wakes before it removes the mark | that, `loom_overtaking_vs_woken_sleeper` |
//! | a waiter sleeps although the mark is gone | the same two |

use super::RawLock;
use crate::prim::{AtomicU16, UnsafeCell};
use std::sync::Arc;

struct Counter {
    lock: RawLock,
    count: UnsafeCell<usize>,
}

// SAFETY: threads use `count` under the lock only. The models show that this is enough.
unsafe impl Sync for Counter {}

impl Counter {
    fn new() -> Arc<Self> {
        let lock = RawLock::over(AtomicU16::new(0), AtomicU16::new(0));
        Arc::new(Self { lock, count: UnsafeCell::new(0) })
    }

    fn add(&self) {
        self.lock.lock();
        self.add_and_unlock();
    }

    /// Adds one and unlocks. The caller has locked.
    fn add_and_unlock(&self) {
        // SAFETY: under the lock. Loom reports an access by two threads.
        self.count.with_mut(|count| unsafe { *count += 1 });
        // SAFETY: locked by the caller, on this thread.
        unsafe { self.lock.unlock() };
    }

    /// Asserts the final state. All other threads have ended.
    fn assert_count(&self, expected: usize) {
        // SAFETY: no other thread is left.
        assert_eq!(self.count.with(|count| unsafe { *count }), expected);
        assert_eq!((self.lock.0.is_held(), self.lock.has_sleepers()), (false, false));
    }
}

/// Starts a thread that adds `times` times.
fn adder(counter: &Arc<Counter>, times: usize) -> loom::thread::JoinHandle<()> {
    let counter = counter.clone();
    loom::thread::spawn(move || (0..times).for_each(|_| counter.add()))
}

/// Explores `f` with at most three preemptions: an unbounded search takes minutes.
fn bounded(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(f);
}

/// At most one thread holds the lock, and it sees the writes of the previous holder.
#[test]
fn loom_lock_vs_lock() {
    bounded(|| {
        let counter = Counter::new();
        let other = adder(&counter, 2);
        counter.add();
        other.join().unwrap();
        counter.assert_count(3);
    });
}

/// `try_lock` takes the lock or returns `false`.
#[test]
fn loom_try_lock_vs_lock() {
    loom::model(|| {
        let counter = Counter::new();
        let other = adder(&counter, 1);
        let is_locked = counter.lock.try_lock();
        if is_locked {
            counter.add_and_unlock();
        }
        other.join().unwrap();
        counter.assert_count(1 + usize::from(is_locked));
    });
}

/// A thread that is about to sleep, or sleeps, gets the lock after the holder unlocks.
#[test]
fn loom_unlock_vs_sleep() {
    loom::model(|| {
        let counter = Counter::new();
        counter.lock.lock();
        let other = adder(&counter, 1);
        counter.add_and_unlock();
        other.join().unwrap();
        counter.assert_count(2);
    });
}

/// Two threads that sleep both get the lock after one unlock of the holder.
#[test]
fn loom_unlock_vs_two_sleepers() {
    bounded(|| {
        let counter = Counter::new();
        counter.lock.lock();
        let others = [adder(&counter, 1), adder(&counter, 1)];
        counter.add_and_unlock();
        for other in others {
            other.join().unwrap();
        }
        counter.assert_count(3);
    });
}

/// A running thread that takes the lock before a woken one does not strand the woken one.
#[test]
fn loom_overtaking_vs_woken_sleeper() {
    bounded(|| {
        let counter = Counter::new();
        counter.lock.lock();
        let other = adder(&counter, 1);
        counter.add_and_unlock();
        counter.add();
        other.join().unwrap();
        counter.assert_count(3);
    });
}
