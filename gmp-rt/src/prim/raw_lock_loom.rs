//! Models of the lock.

use super::{FREE, RawLock};
use crate::prim::{AtomicU32, UnsafeCell};
use std::sync::Arc;

struct Counter {
    lock: RawLock,
    count: UnsafeCell<usize>,
}

// SAFETY: `count` is touched under the lock only, which is what the models prove.
unsafe impl Sync for Counter {}

impl Counter {
    fn new() -> Arc<Self> {
        let lock = RawLock::over(AtomicU32::new(FREE));
        Arc::new(Self { lock, count: UnsafeCell::new(0) })
    }

    fn add(&self) {
        self.lock.lock();
        self.add_locked();
    }

    /// One more, and unlocks: the caller has locked it.
    fn add_locked(&self) {
        // SAFETY: under the lock; loom complains if it is not.
        self.count.with_mut(|count| unsafe { *count += 1 });
        // SAFETY: locked by the caller.
        unsafe { self.lock.unlock() };
    }
}

/// Nobody is in it beside another, and each sees what the one before has done.
#[test]
fn who_has_the_lock_is_alone() {
    loom::model(|| {
        let counter = Counter::new();
        let other = {
            let counter = counter.clone();
            loom::thread::spawn(move || {
                counter.add();
                counter.add();
            })
        };
        counter.add();
        other.join().unwrap();
        // SAFETY: the other thread is gone.
        assert_eq!(counter.count.with(|count| unsafe { *count }), 3);
    });
}

/// Who only tries either gets it, or sees that somebody else has it.
#[test]
fn who_tries_is_alone_too() {
    loom::model(|| {
        let counter = Counter::new();
        let other = {
            let counter = counter.clone();
            loom::thread::spawn(move || counter.add())
        };
        let got = counter.lock.try_lock();
        if got {
            counter.add_locked();
        }
        other.join().unwrap();
        // SAFETY: the other thread is gone.
        assert_eq!(counter.count.with(|count| unsafe { *count }), 1 + usize::from(got));
    });
}
