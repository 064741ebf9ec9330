//! Models of the mutex: barging, waking, starving and handing over, against waits that are dropped.
//!
//! In the models a waiter starves as soon as it has been woken in vain once, so that the second mode is
//! reached whenever a thread barges in.

use crate::Mutex;
use ::loom::cell::UnsafeCell;
use ::loom::future::block_on;
use ::loom::sync::Arc;
use ::loom::thread;
use std::pin::pin;
use std::task::{Context, Waker};

/// A number that loom watches over: two at a time are found out.
type Watched = Mutex<UnsafeCell<usize>>;

fn watched() -> Arc<Watched> {
    Arc::new(Mutex::new(UnsafeCell::new(0)))
}

fn bump(value: &UnsafeCell<usize>) {
    // SAFETY: what the model is about: the mutex keeps others away.
    value.with_mut(|value| unsafe { *value += 1 });
}

fn lock_and_bump(mutex: &Watched) {
    bump(&block_on(mutex.lock()));
}

/// Polls a lock once and drops it, whatever it has got. Says whether it had the lock.
fn poll_and_drop(mutex: &Watched) -> usize {
    let lock = pin!(mutex.lock());
    let mut cx = Context::from_waker(Waker::noop());
    usize::from(lock.poll(&mut cx).map(|guard| bump(&guard)).is_ready())
}

fn model(bound: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(f);
}

fn count(mutex: &Watched) -> usize {
    let guard = mutex.try_lock().expect("free and nobody starving");
    // SAFETY: under the lock.
    guard.with(|value| unsafe { *value })
}

/// One barges in again and again; the other, woken in vain, gets it handed to.
#[test]
fn loom_barging_and_starving() {
    model(3, || {
        let mutex = watched();
        let other = mutex.clone();
        let waits = thread::spawn(move || lock_and_bump(&other));
        for _ in 0..3 {
            lock_and_bump(&mutex);
        }
        waits.join().unwrap();
        assert_eq!(count(&mutex), 4);
    });
}

/// Three who want it, one of whom gives up at its first poll or later: the others get it.
#[test]
fn loom_hand_off_against_cancel() {
    model(2, || {
        let mutex = watched();
        let (dropped, waiting) = (mutex.clone(), mutex.clone());
        let guard = mutex.try_lock().unwrap();
        let drops = thread::spawn(move || poll_and_drop(&dropped));
        let waits = thread::spawn(move || lock_and_bump(&waiting));
        drop(guard);
        // Barges in: who has been woken is woken in vain.
        let barged = poll_and_drop(&mutex);
        let had = drops.join().unwrap();
        waits.join().unwrap();
        assert_eq!(count(&mutex), 1 + had + barged);
    });
}

/// One has been woken, or handed the lock, and is dropped without having noticed: the next one
/// in the queue gets it.
#[test]
fn loom_dropped_after_it_was_fired() {
    model(3, || {
        let mutex = watched();
        let guard = mutex.try_lock().unwrap();
        let mut dropped = Box::pin(mutex.lock());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(dropped.as_mut().poll(&mut cx).is_pending());
        let waiting = mutex.clone();
        let waits = thread::spawn(move || lock_and_bump(&waiting));
        drop(guard);
        // Woken in vain if this gets it: then it starves, and dropping that has it handed to it.
        if let Some(guard) = mutex.try_lock() {
            let _ = dropped.as_mut().poll(&mut cx);
            drop(guard);
        }
        drop(dropped);
        waits.join().unwrap();
        assert_eq!(count(&mutex), 1);
    });
}

/// One that gives up hands the lock of another thread on: what was done under it is seen.
#[test]
fn loom_handed_over_by_a_third() {
    model(3, || {
        let mutex = std::sync::Arc::new(Mutex::new(UnsafeCell::new(0)));
        let mut cx = Context::from_waker(Waker::noop());
        let mut starving = Box::pin(mutex.lock());
        let mut next = Box::pin(mutex.lock());
        let guard = mutex.try_lock().unwrap();
        assert!(starving.as_mut().poll(&mut cx).is_pending());
        drop(guard);
        let guard = mutex.clone().try_lock_owned().unwrap();
        assert!(starving.as_mut().poll(&mut cx).is_pending());
        assert!(next.as_mut().poll(&mut cx).is_pending());
        let unlocks = thread::spawn(move || bump(&guard));
        drop(starving);
        let had = next.as_mut().poll(&mut cx).map(|guard| bump(&guard)).is_ready();
        unlocks.join().unwrap();
        assert!(had || next.as_mut().poll(&mut cx).is_ready());
    });
}

/// `try_lock` leaves those who wait their turn.
#[test]
fn loom_try_lock() {
    model(3, || {
        let mutex = watched();
        let other = mutex.clone();
        let tries = thread::spawn(move || {
            (0..2).filter(|_| other.try_lock().map(|guard| bump(&guard)).is_some()).count()
        });
        lock_and_bump(&mutex);
        let got = tries.join().unwrap();
        assert_eq!(count(&mutex), 1 + got);
    });
}
