//! The read-write lock, after Go's `rwmutex_test.go`.

use super::cancel::Polled;
use super::support::runtime;
use gmp::sync::{Barrier, OwnedRwLockWriteGuard, RwLock, RwLockWriteGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `TestParallelReaders`: all readers are inside at once, with any number of Ps.
#[test]
fn readers_hold_the_lock_together() {
    for (readers, procs) in [(1, 4), (3, 4), (4, 2)] {
        let runtime = runtime(procs);
        let lock = Arc::new(RwLock::new(()));
        // Passes only if all readers are inside.
        let inside = Arc::new(Barrier::new(readers));
        let handles: Vec<_> = (0..readers)
            .map(|_| {
                let (lock, inside) = (lock.clone(), inside.clone());
                runtime.spawn(async move {
                    let _guard = lock.read().await;
                    inside.wait().await;
                })
            })
            .collect();
        for handle in handles {
            gmp::block_on(handle).unwrap();
        }
    }
}

/// `TestRWMutex`: the results of `try_read` and `try_write`.
#[test]
fn try_read_and_try_write_respect_other_holders() {
    let lock = RwLock::new(());
    {
        let _writer = lock.try_write().unwrap();
        assert!(lock.try_write().is_none());
        assert!(lock.try_read().is_none());
    }
    {
        let _reader = lock.try_read().unwrap();
        let _other = lock.try_read().unwrap();
        assert!(lock.try_write().is_none());
        // A waiting writer keeps readers out.
        let mut writer = Polled::waiting(lock.write());
        assert!(lock.try_read().is_none());
        writer.cancel();
        assert!(lock.try_read().is_some());
    }
    assert!(lock.try_write().is_some());
}

/// `TestRWMutex`, `HammerRWMutex`: a writer is alone, and readers exclude writers only.
#[test]
fn a_writer_is_alone_among_many_readers_and_writers() {
    for (procs, readers) in [(1, 1), (1, 3), (1, 10), (4, 1), (4, 3), (4, 10), (2, 5)] {
        let runtime = runtime(procs);
        let lock = Arc::new(RwLock::new(()));
        let activity = Arc::new(AtomicUsize::new(0));
        const WRITER: usize = 10_000;
        let mut handles = Vec::new();
        for n in 0..readers + 2 {
            let (lock, activity) = (lock.clone(), activity.clone());
            handles.push(runtime.spawn(async move {
                for _ in 0..200 {
                    let (weight, guards) = match n < readers {
                        true => (1, (Some(lock.read().await), None)),
                        false => (WRITER, (None, Some(lock.write().await))),
                    };
                    let now = activity.fetch_add(weight, Ordering::Relaxed) + weight;
                    let alone = if n < readers { now < WRITER } else { now == WRITER };
                    assert!(alone, "{now}");
                    for _ in 0..10 {
                        std::hint::spin_loop();
                    }
                    activity.fetch_sub(weight, Ordering::Relaxed);
                    drop(guards);
                }
            }));
        }
        for handle in handles {
            gmp::block_on(handle).unwrap();
        }
        assert!(lock.try_write().is_some());
    }
}

/// `TestRLocker`: readers that enter one after the other, and a writer between them.
#[test]
fn later_readers_wait_for_a_waiting_writer() {
    let lock = RwLock::new(0);
    for round in 0..10 {
        let reader = lock.try_read().unwrap();
        assert_eq!(*reader, round);
        let mut writer = Polled::waiting(lock.write());
        let mut next = Polled::waiting(lock.read());
        drop(reader);
        assert!(next.poll().is_none());
        *writer.poll().expect("the reader has left") += 1;
        assert_eq!(*next.poll().expect("the writer has left"), round + 1);
    }
}

/// When a writer leaves, all blocked readers enter before the next writer.
#[test]
fn readers_and_writers_take_turns() {
    let lock = RwLock::new(());
    let writer = lock.try_write().unwrap();
    let mut next = Polled::waiting(lock.write());
    let mut readers: Vec<_> = (0..3).map(|_| Polled::waiting(lock.read())).collect();
    drop(writer);
    let mut inside: Vec<_> = readers.iter_mut().map(|reader| reader.poll().unwrap()).collect();
    assert!(next.poll().is_none());
    let mut late = Polled::waiting(lock.read());
    for _ in 0..3 {
        assert!(!next.is_woken());
        inside.pop();
    }
    let guard = next.poll().expect("all readers have left");
    assert!(late.poll().is_none());
    drop(guard);
    assert!(late.poll().is_some());
}

#[test]
fn a_downgrade_admits_readers_and_no_writer() {
    let lock = Arc::new(RwLock::new(1));
    let mut writer = lock.try_write().unwrap();
    let mut blocked = Polled::waiting(lock.read());
    let mut next = Polled::waiting(lock.write());
    *writer = 2;
    let reader = RwLockWriteGuard::downgrade(writer);
    assert_eq!(*blocked.poll().expect("readers are together"), 2);
    assert!(next.poll().is_none());
    drop(reader);
    drop(next.poll().expect("nobody is inside"));
    let owned = lock.clone().try_write_owned().unwrap();
    let reader = OwnedRwLockWriteGuard::downgrade(owned);
    assert_eq!(*reader + *lock.clone().try_read_owned().unwrap(), 4);
    drop(reader);
    assert!(lock.try_write().is_some());
}

#[test]
fn external_threads_and_owned_guards_use_the_lock() {
    let runtime = runtime(2);
    let lock = Arc::new(RwLock::new(0));
    let adds = {
        let lock = lock.clone();
        runtime.spawn(async move {
            for _ in 0..300 {
                *lock.clone().write_owned().await += 1;
                let guard = lock.clone().read_owned().await;
                assert!(*guard > 0);
            }
        })
    };
    for _ in 0..300 {
        *lock.write_blocking() += 1;
        assert!(*lock.read_blocking() > 0);
    }
    gmp::block_on(adds).unwrap();
    assert!(!lock.is_locked());
    assert_eq!(format!("{lock:?}"), "RwLock { value: 600 }");
    let mut lock = Arc::into_inner(lock).unwrap();
    *lock.get_mut() += 1;
    assert_eq!(lock.into_inner(), 601);
}
