//! Private locks: owned and mapped guards, panics and aborts while a lock is held.

use crate::context::{Cx, abort, join};
use crate::coverage::{End, did, did_option};
use crate::violation::{expected_panic, violation};
use gmp::sync::{Mutex, MutexGuard, OwnedRwLockWriteGuard, RwLock};
use std::sync::Arc;

/// Several goroutines count under one mutex; some panic or are aborted with the lock held.
pub(crate) async fn mutex(mut cx: Cx) {
    let mutex = Arc::new(Mutex::new((0u64, 0u64)));
    let mut children = Vec::new();
    for _ in 0..1 + cx.rand.size(5) {
        let mutex = mutex.clone();
        children.push(cx.spawn_anywhere(|mut inner| async move {
            for _ in 0..1 + inner.rand.below(5) {
                let mut guard = match inner.rand.below(4) {
                    0 => {
                        let guard = mutex.clone().try_lock_owned();
                        match did_option("Mutex::try_lock_owned", guard) {
                            Some(guard) => guard,
                            None => continue,
                        }
                    }
                    1 => mutex.clone().lock_owned_blocking(),
                    _ => mutex.clone().lock_owned().await,
                };
                did("Mutex::lock_owned", End::Ok);
                guard.0 += 1;
                guard.1 += 1;
                inner.pause().await;
                if guard.0 != guard.1 {
                    violation(format!("a mutex does not exclude: {:?}", *guard));
                }
                if inner.rand.once_in(20) {
                    expected_panic();
                }
            }
        }));
    }
    if cx.rand.once_in(2) {
        cx.pause().await;
        abort(cx.rand.pick(&children));
    }
    for child in children {
        join(child).await;
    }
    let guard = mutex.lock().await;
    let mut first = MutexGuard::map(guard, |pair| &mut pair.0);
    *first += 1;
    drop(first);
    did("MutexGuard::map", End::Ok);
    let Some(mut mutex) = Arc::into_inner(mutex) else {
        violation("a guard outlives its goroutine")
    };
    let second = mutex.get_mut().1;
    let (first, _) = mutex.into_inner();
    if first != second + 1 {
        violation(format!("a mutex ends with {first} and {second}"));
    }
    did("Mutex::get_mut, into_inner", End::Ok);
}

/// Readers and writers with owned guards. A writer excludes all others.
pub(crate) async fn rw_lock(mut cx: Cx) {
    let lock = Arc::new(RwLock::new((0u64, 0u64)));
    let mut children = Vec::new();
    for _ in 0..1 + cx.rand.size(6) {
        let lock = lock.clone();
        children.push(cx.spawn_anywhere(|mut inner| async move {
            if inner.rand.once_in(2) {
                let mut pair = lock.clone().write_owned().await;
                did("RwLock::write_owned", End::Ok);
                // Equal at each await: the end of a runtime may drop the guard there.
                let before = *pair;
                *pair = (before.0 + 1, before.1 + 1);
                inner.pause().await;
                if *pair != (before.0 + 1, before.1 + 1) {
                    violation("a read-write lock does not exclude a second writer");
                }
                if inner.rand.once_in(2) {
                    let pair = OwnedRwLockWriteGuard::downgrade(pair);
                    inner.pause().await;
                    check(*pair);
                }
            } else {
                let pair = lock.clone().read_owned().await;
                did("RwLock::read_owned", End::Ok);
                check(*pair);
                inner.pause().await;
                check(*pair);
            }
            let read = did_option("RwLock::try_read_owned", lock.clone().try_read_owned());
            drop(read);
            drop(did_option("RwLock::try_write_owned", lock.try_write_owned()));
        }));
    }
    for child in children {
        join(child).await;
    }
}

fn check(pair: (u64, u64)) {
    if pair.0 != pair.1 {
        violation(format!("a read-write lock does not exclude: {pair:?}"));
    }
}
