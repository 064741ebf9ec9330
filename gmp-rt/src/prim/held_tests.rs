//! Every kind of lock counts itself, and the check panics under each of them.

use super::super::{Mutex, RawLock, fixed};
use super::{HELD, Relaxed, debug_assert_no_lock_held};

fn held() -> usize {
    HELD.with(|held| held.load(Relaxed))
}

/// A raw lock that this thread has locked. A panic unlocks it, for the next test on the thread.
struct Locked(RawLock);

impl Locked {
    fn new() -> Self {
        let lock = RawLock::new();
        lock.lock();
        Self(lock)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: locked by `new`, on this thread.
        unsafe { self.0.unlock() };
    }
}

#[test]
fn the_check_passes_without_a_lock() {
    let lock = Mutex::new(0);
    *lock.lock() += 1;
    debug_assert_no_lock_held("tests");
}

#[test]
#[should_panic(expected = "this thread tests while it holds 1 lock(s) of gmp")]
fn the_check_fires_under_a_raw_lock() {
    let _locked = Locked::new();
    debug_assert_no_lock_held("tests");
}

#[test]
#[should_panic(expected = "this thread tests while it holds 1 lock(s) of gmp")]
fn the_check_fires_under_a_mutex() {
    let lock = Mutex::new(());
    let _guard = lock.lock();
    debug_assert_no_lock_held("tests");
}

#[test]
#[should_panic(expected = "this thread tests while it holds 1 lock(s) of gmp")]
fn the_check_fires_under_a_fixed_mutex() {
    let lock = fixed::Mutex::new(());
    let _guard = lock.lock();
    debug_assert_no_lock_held("tests");
}

#[test]
#[should_panic(expected = "this thread tests while it holds 1 lock(s) of gmp")]
fn the_check_fires_under_a_read_lock() {
    let lock = fixed::RwLock::new(());
    let _guard = lock.read();
    debug_assert_no_lock_held("tests");
}

#[test]
#[should_panic(expected = "this thread tests while it holds 2 lock(s) of gmp")]
fn the_check_counts_all_locks() {
    let (_locked, other) = (Locked::new(), fixed::RwLock::new(()));
    let _guard = other.write();
    debug_assert_no_lock_held("tests");
}

#[test]
fn a_failed_attempt_counts_nothing() {
    let (raw, mutex) = (Locked::new(), fixed::Mutex::new(()));
    let guard = mutex.lock();
    assert!(!raw.0.try_lock());
    assert!(mutex.try_lock().is_none());
    assert_eq!(held(), 2);
    drop(guard);
    drop(raw);
    assert_eq!(held(), 0);
}

#[test]
fn a_lock_of_another_thread_does_not_count() {
    let lock = Mutex::new(());
    let _guard = lock.lock();
    std::thread::scope(|scope| scope.spawn(|| debug_assert_no_lock_held("tests")).join().unwrap());
}

#[test]
fn a_guard_dropped_by_a_panic_is_uncounted() {
    let lock = Mutex::new(());
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _guard = lock.lock();
        panic!("under the lock");
    }));
    assert!(unwound.is_err());
    assert_eq!(held(), 0);
}
