//! The condition variable, after Go's `cond_test.go`.

use super::cancel::Polled;
use super::support::{runtime, until};
use gmp::sync::{Cond, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// `TestCondSignal`: each signal wakes exactly one waiter.
#[test]
fn a_signal_wakes_one() {
    const N: usize = 10;
    let runtime = runtime(2);
    let shared = Arc::new((Mutex::new(0), Cond::new()));
    let awake = Arc::new(AtomicUsize::new(0));
    let handles: Vec<_> = (0..N)
        .map(|_| {
            let (shared, awake) = (shared.clone(), awake.clone());
            runtime.spawn(async move {
                let mut running = shared.0.lock().await;
                *running += 1;
                drop(shared.1.wait(running).await);
                awake.fetch_add(1, Ordering::Relaxed);
            })
        })
        .collect();
    // A goroutine that counts itself holds the mutex until it waits.
    until(|| *shared.0.lock_blocking() == N);
    assert_eq!(awake.load(Ordering::Relaxed), 0, "awake without a signal");
    for n in 1..=N {
        let guard = shared.0.lock_blocking();
        shared.1.signal();
        drop(guard);
        until(|| awake.load(Ordering::Relaxed) == n);
    }
    shared.1.signal();
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
}

/// `TestCondSignalGenerations`: a signal wakes the one that has waited longest.
#[test]
fn a_signal_wakes_the_oldest() {
    let (mutex, cond) = (Mutex::new(()), Cond::new());
    let mut waits: Vec<_> =
        (0..100).map(|_| Polled::waiting(cond.wait(mutex.try_lock().unwrap()))).collect();
    for n in 0..100 {
        cond.signal();
        assert!(waits[n].is_woken());
        assert!(waits[n + 1..].iter().all(|wait| !wait.is_woken()), "more than one, at {n}");
        assert!(waits[n].poll().is_some());
    }
}

/// `TestCondBroadcast`: a broadcast wakes all waiters, and none wakes without one.
#[test]
fn a_broadcast_wakes_all() {
    const N: usize = 20;
    const ROUNDS: usize = 10;
    let runtime = runtime(2);
    let shared = Arc::new((Mutex::new(0), Cond::new()));
    let passed = Arc::new(AtomicUsize::new(0));
    let handles: Vec<_> = (0..N)
        .map(|_| {
            let (shared, passed) = (shared.clone(), passed.clone());
            runtime.spawn(async move {
                let mut guard = shared.0.lock().await;
                for _ in 0..ROUNDS {
                    *guard += 1;
                    guard = shared.1.wait(guard).await;
                    passed.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for round in 1..=ROUNDS {
        until(|| *shared.0.lock_blocking() == N * round);
        assert_eq!(passed.load(Ordering::Relaxed), N * (round - 1), "awake without a signal");
        shared.1.broadcast();
    }
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
    assert_eq!(passed.load(Ordering::Relaxed), N * ROUNDS);
}

/// `TestRace`: a waiter sees what the previous holder wrote under the mutex.
#[test]
fn a_waiter_sees_the_writes_of_the_previous_holder() {
    let runtime = runtime(2);
    let shared = Arc::new((Mutex::new(0), Cond::new()));
    let step = |from: u32, to: u32| {
        let shared = shared.clone();
        runtime.spawn(async move {
            let mut x = shared.1.wait_while(shared.0.lock().await, |x| *x != from).await;
            *x = to;
            shared.1.broadcast();
        })
    };
    let handles = [step(2, 3), step(1, 2), step(0, 1)];
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
    assert_eq!(*shared.0.lock_blocking(), 3);
}

/// `TestCondSignalStealing`: a newer waiter does not take the signal of an older one.
#[test]
fn a_newer_waiter_does_not_take_the_signal_of_an_older_one() {
    for _ in 0..100 {
        let (mutex, cond) = (Mutex::new(false), Cond::new());
        // The first one waits, is signalled, and has not run yet.
        let mut first = Polled::waiting(cond.wait(mutex.try_lock().unwrap()));
        cond.signal();
        // A newer one waits and releases the mutex.
        let mut second = Polled::waiting(cond.wait(mutex.try_lock().unwrap()));
        assert!(first.is_woken() && !second.is_woken());
        *mutex.try_lock().unwrap() = true;
        cond.broadcast();
        assert!(*first.poll().unwrap());
        assert!(*second.poll().unwrap());
    }
}

/// A wait that was signalled and is dropped before it has the mutex passes the signal on.
#[test]
fn a_dropped_wait_passes_the_signal_on() {
    let (mutex, cond) = (Mutex::new(()), Cond::new());
    let mut first = Polled::waiting(cond.wait(mutex.try_lock().unwrap()));
    let mut second = Polled::waiting(cond.wait(mutex.try_lock().unwrap()));
    let mut third = Polled::waiting(cond.wait(mutex.try_lock().unwrap()));
    cond.signal();
    first.cancel();
    assert!(second.is_woken() && !third.is_woken());
    // The second one has taken the signal and waits for the mutex.
    let guard = mutex.try_lock().unwrap();
    assert!(second.poll().is_none());
    second.cancel();
    assert!(third.is_woken());
    drop(guard);
    assert!(third.poll().is_some());
    assert!(mutex.try_lock().is_some());
    // A broadcast is not passed on: it does not apply to later waiters.
    let mut fourth = Polled::waiting(cond.wait(mutex.try_lock().unwrap()));
    cond.broadcast();
    let fifth = Polled::waiting(cond.wait(mutex.try_lock().unwrap()));
    fourth.cancel();
    assert!(!fifth.is_woken());
}

#[test]
fn external_threads_wait_for_a_condition() {
    let (mutex, cond) = (Mutex::new(0), Cond::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..100 {
                let mut guard = mutex.lock_blocking();
                while *guard != 2 * n + 1 {
                    guard = cond.wait_blocking(guard);
                }
                *guard += 1;
                cond.signal();
            }
        });
        for n in 0..100 {
            let mut guard = mutex.lock_blocking();
            while *guard != 2 * n {
                guard = cond.wait_blocking(guard);
            }
            *guard += 1;
            cond.signal();
        }
    });
    assert_eq!(mutex.into_inner(), 200);
}

#[gmp::test]
async fn a_wait_with_a_limit_ends_with_either() {
    let shared = Arc::new((Mutex::new(false), Cond::new()));
    let (ready, cond) = &*shared;
    let (guard, result) = cond.wait_timeout(ready.lock().await, Duration::from_millis(1)).await;
    assert!(result.timed_out() && !*guard && ready.try_lock().is_none(), "it has the lock");
    let other = shared.clone();
    // It gets the lock when the wait below has joined the queue.
    gmp::go!({
        *other.0.lock().await = true;
        other.1.signal();
    });
    let (guard, result) = cond.wait_timeout(guard, HOUR).await;
    assert!(!result.timed_out() && *guard && ready.try_lock().is_none());
}

/// A wait that has left the queue takes no signal from others.
#[test]
fn a_signal_after_the_limit_reaches_another_wait() {
    let (mutex, cond) = (Mutex::new(()), Cond::new());
    let limited = cond.wait_timeout(mutex.try_lock().unwrap(), Duration::ZERO);
    let (guard, result) = gmp::block_on(limited);
    assert!(result.timed_out());
    let mut other = Polled::waiting(cond.wait(guard));
    cond.signal();
    assert!(other.is_woken() && other.poll().is_some());
}

/// The limit passes while a wait that was signalled waits for the mutex.
#[test]
fn a_limit_does_not_count_the_wait_for_the_mutex() {
    let (mutex, cond, mut limit) = (Mutex::new(()), Cond::new(), Duration::from_millis(1));
    // On a slow machine the limit may pass within the first poll.
    let mut wait = loop {
        let mut wait = Polled::new(cond.wait_timeout(mutex.try_lock().unwrap(), limit));
        if wait.poll().is_none() {
            break wait;
        }
        limit *= 2;
    };
    let guard = mutex.try_lock().unwrap();
    cond.signal();
    assert!(wait.poll().is_none(), "the mutex is locked");
    std::thread::sleep(2 * limit);
    assert!(wait.poll().is_none(), "the mutex is locked");
    drop(guard);
    let (_guard, result) = wait.poll().unwrap();
    assert!(!result.timed_out());
}

#[test]
fn a_thread_waits_while_a_condition_holds() {
    let shared = Arc::new((Mutex::new(0), Cond::new()));
    let waits = {
        let shared = shared.clone();
        std::thread::spawn(move || {
            *shared.1.wait_while_blocking(shared.0.lock_blocking(), |count| *count < 3)
        })
    };
    for _ in 0..3 {
        assert!(!waits.is_finished());
        *shared.0.lock_blocking() += 1;
        shared.1.signal();
    }
    assert_eq!(waits.join().unwrap(), 3);
}
