//! A future is terminated from the poll that returns until it is reset, and not before.

use futures::future::FusedFuture;
use futures::stream::FusedStream;
use futures::{FutureExt, StreamExt};
use gmp::sync::{Barrier, Cond, ErrGroup, Mutex, RwLock, Semaphore, WaitGroup};
use std::future::{pending, ready};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// Checks a future that is ready at its first poll, and returns its output.
fn ends_at_once<F: FusedFuture>(future: F) -> F::Output {
    let mut future = pin!(future);
    assert!(!future.is_terminated(), "it was not polled");
    let output = future.as_mut().now_or_never().expect("it is ready");
    assert!(future.is_terminated());
    output
}

/// Checks a future that waits until `end` is called.
fn ends_after_a_wait<F: FusedFuture>(future: F, end: impl FnOnce()) -> F::Output {
    let mut future = pin!(future);
    assert!(!future.is_terminated(), "it was not polled");
    assert!(future.as_mut().now_or_never().is_none());
    assert!(!future.is_terminated(), "it waits");
    end();
    assert!(!future.is_terminated(), "its result was not taken");
    let output = future.as_mut().now_or_never().expect("it is ready");
    assert!(future.is_terminated());
    output
}

#[test]
fn locks_end_once() {
    let (mutex, lock) = (Arc::new(Mutex::new(1)), Arc::new(RwLock::new(1)));
    let guard = ends_at_once(mutex.lock());
    drop(ends_after_a_wait(mutex.lock(), || drop(guard)));
    let guard = ends_at_once(mutex.clone().lock_owned());
    drop(ends_after_a_wait(mutex.clone().lock_owned(), || drop(guard)));
    let guard = ends_at_once(lock.write());
    drop(ends_after_a_wait(lock.read(), || drop(guard)));
    let guard = ends_at_once(lock.read());
    drop(ends_after_a_wait(lock.write(), || drop(guard)));
    let guard = ends_at_once(lock.clone().write_owned());
    drop(ends_after_a_wait(lock.clone().read_owned(), || drop(guard)));
    let guard = ends_at_once(lock.clone().read_owned());
    drop(ends_after_a_wait(lock.clone().write_owned(), || drop(guard)));
}

#[test]
fn waits_for_others_end_once() {
    let semaphore = Arc::new(Semaphore::new(1));
    let permit = ends_at_once(semaphore.acquire(1));
    drop(ends_after_a_wait(semaphore.acquire(1), || drop(permit)));
    let permit = ends_at_once(semaphore.clone().acquire_owned(1));
    drop(ends_after_a_wait(semaphore.clone().acquire_owned(1), || drop(permit)));
    let barrier = Barrier::new(2);
    let result = ends_after_a_wait(barrier.wait(), || {
        assert!(ends_at_once(barrier.wait()).is_leader());
    });
    assert!(!result.is_leader());
    let group = WaitGroup::new();
    ends_at_once(group.wait());
    group.add(1);
    ends_after_a_wait(group.wait(), || group.done());
    let (mutex, cond) = (Mutex::new(1), Cond::new());
    let guard = mutex.try_lock().unwrap();
    drop(ends_after_a_wait(cond.wait(guard), || cond.signal()));
    let mut unpolled = pin!(cond.wait(mutex.try_lock().unwrap()));
    assert!(!unpolled.as_mut().is_terminated());
}

#[gmp::test]
async fn groups_end_once() {
    let group = ErrGroup::<()>::new();
    ends_at_once(group.wait()).unwrap();
    let (stop, stopped) = gmp::chan::<()>(0);
    group.go(async move {
        let _ = stopped.recv().await;
        Ok(())
    });
    let mut wait = pin!(group.wait());
    assert!(wait.as_mut().now_or_never().is_none() && !wait.is_terminated());
    drop(stop);
    wait.as_mut().await.unwrap();
    assert!(wait.is_terminated());
    let mut value = group.go_value(ready(Ok(7)));
    assert!(!value.is_terminated());
    assert_eq!((&mut value).await, Some(7));
    assert!(value.is_terminated());
}

#[gmp::test]
async fn handles_end_once() {
    let mut handle = gmp::spawn(ready(7));
    assert!(!handle.is_terminated());
    assert_eq!((&mut handle).await.unwrap(), 7);
    assert!(handle.is_terminated());
    let mut handle = gmp::spawn(ready(7)).abort_on_drop();
    assert!(!handle.is_terminated());
    (&mut handle).await.unwrap();
    assert!(handle.is_terminated());
}

#[gmp::test]
async fn timers_end_once_per_setting() {
    let mut sleep = gmp::sleep(Duration::ZERO);
    assert!(!sleep.is_terminated());
    (&mut sleep).await;
    assert!(sleep.is_terminated());
    sleep.reset(HOUR);
    assert!(!sleep.is_terminated());
    assert!((&mut sleep).now_or_never().is_none() && !sleep.is_terminated());

    let mut timer = gmp::after(Duration::ZERO);
    assert!(!timer.is_terminated());
    (&mut timer).await;
    assert!(timer.is_terminated());
    timer.reset(Duration::ZERO);
    assert!(!timer.is_terminated());
    let mut shared = (&timer).into_future();
    (&mut shared).await;
    assert!(shared.is_terminated() && timer.is_terminated());

    let mut timeout = gmp::timeout(HOUR, ready(7));
    assert!(!timeout.is_terminated());
    (&mut timeout).await.unwrap();
    assert!(timeout.is_terminated());
    let mut timeout = gmp::timeout(Duration::ZERO, pending::<()>());
    (&mut timeout).await.unwrap_err();
    assert!(timeout.is_terminated());

    let mut ticker = gmp::Ticker::new(Duration::from_millis(1));
    ticker.next().await.unwrap();
    assert!(!ticker.is_terminated());
    ticker.stop();
    assert!(!ticker.is_terminated(), "it can be reset");
}
