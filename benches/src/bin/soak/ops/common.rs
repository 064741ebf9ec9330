//! Operations on the objects that all workers of a phase share, across runtimes.

use crate::context::Cx;
use crate::coverage::{End, did, did_option};
use crate::ops::forms::{Blocking, Forms, Sent, receive, send};
use crate::violation::violation;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Sends one value to a shared channel.
pub(crate) async fn send_shared(mut cx: Cx) {
    let lane = cx.rand.pick(&cx.commons.lanes).clone();
    let Some(origin) = lane.next_origin() else { return };
    let token = lane.ledger.make(origin);
    let mut tx = lane.tx.clone();
    // A plain send may wait for the next receiver. The limit lets the phase end.
    let sending = send(&mut tx, token, &lane.ledger, &mut cx.rand, Blocking::No);
    match gmp::timeout(Duration::from_millis(5), sending).await {
        Ok(Sent::Back(token) | Sent::Closed(token)) => drop(token),
        Ok(Sent::Yes | Sent::Dropped) => {}
        Err(_) => did("timeout of Sender::send", End::Timeout),
    }
}

/// Receives some values from a shared channel.
pub(crate) async fn receive_shared(mut cx: Cx) {
    let lane = cx.rand.pick(&cx.commons.lanes).clone();
    let mut rx = lane.rx.clone();
    for _ in 0..1 + cx.rand.below(8) {
        let receiving = receive(&mut rx, &lane.ledger, &mut cx.rand, Forms::All);
        let _ = gmp::timeout(Duration::from_millis(2), receiving).await;
    }
}

/// Changes shared state under the shared mutex.
pub(crate) async fn mutex_shared(mut cx: Cx) {
    let commons = cx.commons.clone();
    let locked = match cx.rand.below(4) {
        0 => {
            let guard = did_option("Mutex::try_lock", commons.mutex.try_lock());
            let Some(guard) = guard else { return };
            guard
        }
        1 => {
            did("Mutex::lock_blocking", End::Ok);
            commons.mutex.lock_blocking()
        }
        2 => match gmp::timeout(cx.rand.micros(500), commons.mutex.lock()).await {
            Ok(guard) => guard,
            Err(_) => return did("Mutex::lock", End::Timeout),
        },
        _ => commons.mutex.lock().await,
    };
    let mut pair = locked;
    did("Mutex::lock", End::Ok);
    if pair.0 != pair.1 {
        violation(format!("the shared mutex does not exclude: {pair:?}"));
    }
    pair.0 += 1;
    // Sometimes holds the lock across an await, also when this goroutine is aborted.
    if cx.rand.once_in(16) {
        let before = *pair;
        pair.1 += 1;
        gmp::yield_now().await;
        if *pair != (before.0, before.1 + 1) {
            violation("the shared mutex does not exclude over an await");
        }
    } else {
        pair.1 += 1;
    }
}

/// Reads or writes under the shared read-write lock.
pub(crate) async fn rw_shared(mut cx: Cx) {
    let commons = cx.commons.clone();
    if cx.rand.once_in(3) {
        let mut pair = match cx.rand.below(3) {
            0 => match did_option("RwLock::try_write", commons.rw.try_write()) {
                Some(guard) => guard,
                None => return,
            },
            1 => commons.rw.write_blocking(),
            _ => commons.rw.write().await,
        };
        did("RwLock::write", End::Ok);
        pair.0 += 1;
        pair.1 += 1;
        if cx.rand.once_in(4) {
            let pair = gmp::sync::RwLockWriteGuard::downgrade(pair);
            did("RwLockWriteGuard::downgrade", End::Ok);
            gmp::yield_now().await;
            check_pair(*pair);
        }
        return;
    }
    let pair = match cx.rand.below(3) {
        0 => match did_option("RwLock::try_read", commons.rw.try_read()) {
            Some(guard) => guard,
            None => return,
        },
        1 => commons.rw.read_blocking(),
        _ => commons.rw.read().await,
    };
    did("RwLock::read", End::Ok);
    check_pair(*pair);
    if cx.rand.once_in(8) {
        gmp::yield_now().await;
        check_pair(*pair);
    }
}

fn check_pair(pair: (u64, u64)) {
    if pair.0 != pair.1 {
        violation(format!("the shared read-write lock does not exclude: {pair:?}"));
    }
}

/// Holds permits of the shared semaphore.
pub(crate) async fn semaphore_shared(mut cx: Cx) {
    let commons = cx.commons.clone();
    let wanted = 1 + cx.rand.size(3);
    let permit = match cx.rand.below(4) {
        0 => match did_option("Semaphore::try_acquire", commons.semaphore.try_acquire(wanted)) {
            Some(permit) => permit,
            None => return,
        },
        1 => match gmp::timeout(cx.rand.micros(500), commons.semaphore.acquire(wanted)).await {
            Ok(permit) => permit,
            Err(_) => return did("Semaphore::acquire", End::Timeout),
        },
        2 => commons.semaphore.acquire_blocking(wanted),
        _ => commons.semaphore.acquire(wanted).await,
    };
    did("Semaphore::acquire", End::Ok);
    /// Subtracts the permits from the count before they are released.
    struct Held<'a>(&'a crate::commons::Commons, usize);
    impl Drop for Held<'_> {
        fn drop(&mut self) {
            self.0.held.fetch_sub(self.1, Relaxed);
        }
    }
    let held = commons.held.fetch_add(wanted, Relaxed) + wanted;
    let _permit = permit;
    let _held = Held(&commons, wanted);
    if held > crate::commons::PERMITS {
        violation(format!("{held} permits are held of {}", crate::commons::PERMITS));
    }
    cx.pause().await;
}
