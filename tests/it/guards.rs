//! Guards: parts of values, texts, and the lock that a guard of a part holds.

use gmp::sync::{
    MappedMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard,
    OwnedMappedMutexGuard, OwnedMappedRwLockReadGuard, OwnedMappedRwLockWriteGuard,
    OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, Pool, RwLock, RwLockReadGuard,
    RwLockWriteGuard,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A value, a part of it and a part of the part.
type Whole = (u8, [u8; 2]);

const WHOLE: Whole = (1, [2, 3]);

/// Checks the parts of a guard. `$lock` takes a new guard of a value `WHOLE`, and `$is_free` is
/// whether that is possible now.
macro_rules! check_parts {
    ($guard:ident, $mapped:ident, [$($ref:tt)*], $get:ident, $lock:expr, $is_free:expr) => {
        let part = $guard::map($lock, |whole| $($ref)* whole.1);
        assert_eq!(*part, [2, 3]);
        assert!(!$is_free, "a part holds the lock");
        let part = $mapped::map(part, |part| $($ref)* part[1]);
        assert_eq!((*part, part.to_string()), (3, "3".to_owned()));
        assert!(!$is_free);
        drop(part);
        assert!($is_free);

        let Ok(part) = $guard::filter_map($lock, |whole| Some($($ref)* whole.1)) else {
            panic!("there is a part");
        };
        let Ok(part) = $mapped::filter_map(part, |part| part.$get(0)) else {
            panic!("there is a part of the part");
        };
        assert_eq!(*part, 2);
        drop(part);
        assert!($is_free);

        let Err(whole) = $guard::filter_map($lock, |whole| whole.1.$get(2)) else {
            panic!("there is no such part");
        };
        assert_eq!(*whole, WHOLE);
        assert!(!$is_free, "the guard was given back");
        let part = $guard::map(whole, |whole| $($ref)* whole.1);
        let Err(part) = $mapped::filter_map(part, |part| part.$get(2)) else {
            panic!("there is no such part of the part");
        };
        assert_eq!(*part, [2, 3]);
        assert!(!$is_free, "the guard was given back");
        drop(part);
        assert!($is_free);

        // A closure that panics unlocks.
        let guard = $lock;
        let map = AssertUnwindSafe(|| drop($guard::map(guard, |_| -> $($ref)* u8 { panic!() })));
        assert!(catch_unwind(map).is_err());
        assert!($is_free);
        let part = $guard::map($lock, |whole| $($ref)* whole.1);
        let map = AssertUnwindSafe(|| drop($mapped::map(part, |_| -> $($ref)* u8 { panic!() })));
        assert!(catch_unwind(map).is_err());
        assert!($is_free);
    };
}

#[test]
fn a_guard_of_a_mutex_has_parts() {
    let mutex = Mutex::new(WHOLE);
    check_parts!(
        MutexGuard, MappedMutexGuard, [&mut], get_mut, mutex.lock_blocking(),
        mutex.try_lock().is_some()
    );
}

#[test]
fn an_owned_guard_of_a_mutex_has_parts() {
    let mutex = Arc::new(Mutex::new(WHOLE));
    check_parts!(
        OwnedMutexGuard, OwnedMappedMutexGuard, [&mut], get_mut,
        mutex.clone().lock_owned_blocking(), mutex.try_lock().is_some()
    );
    assert_eq!(Arc::strong_count(&mutex), 1, "each guard has dropped its reference");
}

#[test]
fn a_read_guard_has_parts() {
    let lock = RwLock::new(WHOLE);
    check_parts!(
        RwLockReadGuard, MappedRwLockReadGuard, [&], get, lock.read_blocking(),
        lock.try_write().is_some()
    );
}

#[test]
fn a_write_guard_has_parts() {
    let lock = RwLock::new(WHOLE);
    check_parts!(
        RwLockWriteGuard, MappedRwLockWriteGuard, [&mut], get_mut, lock.write_blocking(),
        lock.try_read().is_some()
    );
}

#[test]
fn an_owned_read_guard_has_parts() {
    let lock = Arc::new(RwLock::new(WHOLE));
    check_parts!(
        OwnedRwLockReadGuard, OwnedMappedRwLockReadGuard, [&], get,
        lock.clone().read_owned_blocking(), lock.try_write().is_some()
    );
    assert_eq!(Arc::strong_count(&lock), 1, "each guard has dropped its reference");
}

#[test]
fn an_owned_write_guard_has_parts() {
    let lock = Arc::new(RwLock::new(WHOLE));
    check_parts!(
        OwnedRwLockWriteGuard, OwnedMappedRwLockWriteGuard, [&mut], get_mut,
        lock.clone().write_owned_blocking(), lock.try_read().is_some()
    );
    assert_eq!(Arc::strong_count(&lock), 1, "each guard has dropped its reference");
}

#[test]
fn the_guards_of_parts_change_the_value() {
    let mutex = Arc::new(Mutex::new(WHOLE));
    *MutexGuard::map(mutex.lock_blocking(), |whole| &mut whole.0) = 4;
    *OwnedMutexGuard::map(mutex.clone().lock_owned_blocking(), |whole| &mut whole.1[0]) = 5;
    assert_eq!(*mutex.lock_blocking(), (4, [5, 3]));
    let lock = Arc::new(RwLock::new(WHOLE));
    *RwLockWriteGuard::map(lock.write_blocking(), |whole| &mut whole.0) = 6;
    *OwnedRwLockWriteGuard::map(lock.clone().write_owned_blocking(), |whole| &mut whole.1[0]) = 7;
    assert_eq!(*lock.read_blocking(), (6, [7, 3]));
}

/// Guards that wait: another thread holds the lock until it sees them wait.
#[test]
fn owned_guards_wait_for_their_locks() {
    let lock = Arc::new(RwLock::new(1));
    let (reader, writer) = (lock.clone().read_owned_blocking(), lock.clone());
    let thread = std::thread::spawn(move || *writer.write_owned_blocking() += 1);
    // The writer blocks new readers as soon as it waits.
    while lock.try_read().is_some() {
        std::thread::yield_now();
    }
    let late = std::thread::spawn({
        let lock = lock.clone();
        move || *lock.read_owned_blocking()
    });
    drop(reader);
    thread.join().unwrap();
    assert_eq!(late.join().unwrap(), 2);
}

#[test]
fn guards_are_shown_as_their_values() {
    let (mutex, lock) = (Mutex::new(1.5), RwLock::new("text"));
    assert_eq!(format!("{:.2}", mutex.lock_blocking()), "1.50");
    assert_eq!(format!("{:>6}", lock.read_blocking()), "  text");
    assert_eq!(format!("{}", lock.write_blocking()), "text");
    let pool = Pool::new(|| 7);
    assert_eq!(format!("{:03}", pool.get_guard()), "007");
}
