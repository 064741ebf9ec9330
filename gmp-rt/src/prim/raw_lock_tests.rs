//! Tests of the lock on real threads.

use super::super::Mutex;
use super::{RawLock, take_contended};
use std::thread;
use std::time::Duration;

// Channels, timers and queues have space for one word.
const _: () = assert!(size_of::<RawLock>() == 4 && size_of::<Mutex<u32>>() == 8);

/// Waits until another thread has stopped spinning for `lock`, and sleeps or is about to.
fn await_sleeper(lock: &RawLock) {
    while !lock.has_sleepers() {
        thread::yield_now();
    }
}

/// Unlocks `lock`, which this thread has locked.
fn unlock(lock: &RawLock) {
    // SAFETY: guaranteed by the caller.
    unsafe { lock.unlock() };
}

#[test]
fn try_lock_fails_while_the_lock_is_held() {
    let lock = RawLock::new();
    assert!(lock.try_lock());
    assert!(!lock.try_lock());
    unlock(&lock);
    assert!(lock.try_lock());
    unlock(&lock);
}

#[test]
fn unlock_wakes_every_sleeper_in_turn() {
    let lock = RawLock::new();
    lock.lock();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                lock.lock();
                unlock(&lock);
            });
        }
        await_sleeper(&lock);
        // Gives more threads time to sleep. The test passes in any case.
        thread::sleep(Duration::from_millis(5));
        unlock(&lock);
    });
    assert_eq!((lock.0.is_held(), lock.has_sleepers()), (false, false));
}

#[test]
fn a_waiter_counts_its_wait_once() {
    let lock = RawLock::new();
    lock.lock();
    let contended = thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            assert_eq!(take_contended(), 0);
            lock.lock();
            unlock(&lock);
            lock.lock();
            unlock(&lock);
            take_contended()
        });
        await_sleeper(&lock);
        unlock(&lock);
        waiter.join().unwrap()
    });
    assert_eq!(contended, 1);
}

/// More threads than CPUs, holders that sleep, and holders that yield their CPU.
#[test]
fn many_threads_lock_one_at_a_time() {
    const THREADS: u32 = 16;
    const LOCKS: u32 = 2_000;
    let lock = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for n in 0..LOCKS {
                    let mut count = lock.lock();
                    let before = *count;
                    match n % 500 {
                        0 => thread::sleep(Duration::from_micros(200)),
                        1..32 => thread::yield_now(),
                        _ => {}
                    }
                    *count = before + 1;
                }
            });
        }
    });
    assert_eq!(*lock.lock(), THREADS * LOCKS);
}
