//! Wait reasons in dumps, and `Send` and `Sync` of the types.

use super::cancel::Polled;
use super::support::{runtime, until};
use futures::future::BoxFuture;
use gmp::sync::futures::{Acquire, BarrierWait, CondWait, Lock, LockOwned, ReadLock, WriteLock};
use gmp::sync::{
    Barrier, Cond, Lazy, MappedMutexGuard, Mutex, MutexGuard, Once, OnceCell, OwnedMutexGuard,
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLock, RwLockReadGuard,
    RwLockWriteGuard, Semaphore, SemaphorePermit,
};
use std::cell::Cell;
use std::rc::Rc;

/// The primitives on which goroutines wait below.
struct Waited {
    mutex: Mutex<()>,
    other_mutex: Mutex<()>,
    lock: RwLock<()>,
    cond: Cond,
    once: Once,
    cell: OnceCell<()>,
    semaphore: Semaphore,
    barrier: Barrier,
}

static WAITED: Waited = Waited {
    mutex: Mutex::new(()),
    other_mutex: Mutex::new(()),
    lock: RwLock::new(()),
    cond: Cond::new(),
    once: Once::new(),
    cell: OnceCell::new(),
    semaphore: Semaphore::new(0),
    barrier: Barrier::new(2),
};

/// Returns waits that never end, with their wait reasons in a dump.
fn waits() -> Vec<(&'static str, BoxFuture<'static, ()>)> {
    let w = &WAITED;
    vec![
        ("sync.Mutex.Lock", Box::pin(async { drop(w.mutex.lock().await) })),
        ("sync.RWMutex.RLock", Box::pin(async { drop(w.lock.read().await) })),
        ("sync.RWMutex.Lock", Box::pin(async { drop(w.lock.write().await) })),
        ("sync.Cond.Wait", Box::pin(async { drop(w.cond.wait(w.other_mutex.lock().await).await) })),
        ("sync.Once.Do", Box::pin(async { w.once.call(|| async {}).await })),
        ("sync.Once.Do", Box::pin(async { _ = w.cell.wait().await })),
        ("semacquire", Box::pin(async { drop(w.semaphore.acquire(1).await) })),
        ("sync.Barrier.Wait", Box::pin(async { _ = w.barrier.wait().await })),
    ]
}

#[test]
fn dumps_show_the_reasons_of_waits() {
    let runtime = runtime(2);
    let guards = (WAITED.mutex.lock_blocking(), WAITED.lock.write_blocking());
    let _doing = Polled::waiting(WAITED.once.call(std::future::pending));
    let handles: Vec<_> = waits()
        .into_iter()
        .enumerate()
        .map(|(n, (reason, future))| {
            (
                format!(" [{reason}] {{name: {n}}}:\n"),
                gmp::task::Builder::new().name(n.to_string()).on(runtime.handle()).spawn(future),
            )
        })
        .collect();
    for (line, _) in &handles {
        until(|| runtime.block_on(async { gmp::runtime::dump() }).contains(line));
    }
    for (_, handle) in handles {
        handle.abort();
    }
    drop(guards);
}

#[test]
fn primitives_and_guards_are_send_and_sync() {
    fn both<T: Send + Sync>() {}
    fn send<T: Send>() {}
    both::<Mutex<Cell<u8>>>();
    both::<RwLock<u8>>();
    both::<(Cond, Once, OnceCell<u8>, Lazy<u8>, Semaphore, Barrier)>();
    both::<(MutexGuard<'_, u8>, OwnedMutexGuard<u8>, MappedMutexGuard<'_, u8>)>();
    both::<(RwLockReadGuard<'_, u8>, RwLockWriteGuard<'_, u8>)>();
    both::<(OwnedRwLockReadGuard<u8>, OwnedRwLockWriteGuard<u8>)>();
    both::<(SemaphorePermit<'_>, OwnedSemaphorePermit)>();
    // A future moves to another thread with its goroutine.
    send::<(Lock<'_, Cell<u8>>, LockOwned<Cell<u8>>, ReadLock<'_, u8>, WriteLock<'_, u8>)>();
    send::<(Acquire<'_>, CondWait<'_, Cell<u8>>, BarrierWait<'_>)>();
    send::<(MutexGuard<'_, Cell<u8>>, OwnedMutexGuard<Cell<u8>>, OnceCell<Cell<u8>>)>();
}

/// Fails to compile if `$type` is `$bound`: then both impls apply and the choice is ambiguous.
macro_rules! not {
    ($bound:ident: $($type:ty),+ $(,)?) => { $({
        trait Ambiguous<A> {
            fn check() {}
        }
        impl<T: ?Sized> Ambiguous<()> for T {}
        impl<T: ?Sized + $bound> Ambiguous<u8> for T {}
        <$type as Ambiguous<_>>::check();
    })+ };
}

#[test]
fn primitives_of_unsendable_values_are_not_send() {
    type NotSend = Rc<u8>;
    type NotSync = Cell<u8>;
    not!(Sync: Mutex<NotSend>, RwLock<NotSend>, RwLock<NotSync>, OnceCell<NotSync>, Lazy<NotSync>);
    not!(Send: Mutex<NotSend>, RwLock<NotSend>, OnceCell<NotSend>);
    not!(Sync: MutexGuard<'static, NotSync>, OwnedMutexGuard<NotSync>);
    not!(Sync: MappedMutexGuard<'static, NotSync>, RwLockWriteGuard<'static, NotSync>);
    not!(Send: MutexGuard<'static, NotSend>, OwnedMutexGuard<NotSend>);
    not!(Send: MappedMutexGuard<'static, NotSend>, RwLockReadGuard<'static, NotSync>);
    not!(Send: OwnedRwLockReadGuard<NotSync>, OwnedRwLockWriteGuard<NotSend>);
    not!(Send: Lock<'static, NotSend>, ReadLock<'static, NotSync>, WriteLock<'static, NotSend>);
}

/// Bounds the size of a wait, because a million goroutines may wait on one semaphore.
#[test]
fn waits_are_small() {
    assert!(size_of::<Acquire<'_>>() <= 56, "{}", size_of::<Acquire<'_>>());
    assert!(size_of::<Lock<'_, u8>>() <= 88, "{}", size_of::<Lock<'_, u8>>());
    assert!(size_of::<Mutex<()>>() <= 24 + 8, "{}", size_of::<Mutex<()>>());
}
