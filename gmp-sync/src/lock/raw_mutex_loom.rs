//! Models of the mutex: barging, waking, starvation and handover, with cancelled waits.
//!
//! Each model runs in both modes. In normal mode the clock of the model moves by a microsecond with
//! each read, so no waiter starves. In starving mode it moves by [`STARVING_AFTER`], so a waiter
//! starves as soon as another thread took the lock that it was woken for.
//!
//! Each of these mutations of the shipped code makes the models in its row fail, in both modes
//! unless one is named.
//!
//! | mutation | models |
//! |----------|--------|
//! | `unlock` is relaxed | `barging_vs_waiter`, `try_lock_vs_waiter`, `unlock_vs_cancel` |
//! | `give` leaves `WAITERS` when the queue is empty | all |
//! | `take_or_wait` leaves `WOKEN` | `unlock_vs_cancel`, `unlock_vs_drop_of_woken_waiter` |
//! | a cancelled waiter leaves `WOKEN` | `unlock_vs_cancel`, `unlock_vs_drop_of_woken_waiter` |
//! | a cancelled waiter wakes no waiter | `unlock_vs_cancel`, `unlock_vs_hand_over_by_another` |
//! | a cancelled waiter keeps the lock | `unlock_vs_drop_of_woken_waiter`, starving |
//! | `next` acts on a locked mutex | `unlock_vs_hand_over_by_another`, starving |
//! | `next` is relaxed | `unlock_vs_hand_over_by_another`, starving |

use crate::Mutex;
use crate::tuning::STARVING_AFTER;
use ::loom::cell::UnsafeCell;
use ::loom::future::block_on;
use ::loom::sync::Arc;
use ::loom::thread;
use gmp_rt::prim::set_clock_step;
use std::pin::pin;
use std::task::{Context, Waker};

/// A number that loom checks for concurrent access.
type Watched = Mutex<UnsafeCell<usize>>;

fn watched() -> Arc<Watched> {
    Arc::new(Mutex::new(UnsafeCell::new(0)))
}

fn bump(value: &UnsafeCell<usize>) {
    // SAFETY: the mutex gives exclusive access, which is what the model checks.
    value.with_mut(|value| unsafe { *value += 1 });
}

fn lock_and_bump(mutex: &Watched) {
    bump(&block_on(mutex.lock()));
}

/// Polls a lock once and drops it. Returns 1 if it got the lock, otherwise 0.
fn poll_and_drop(mutex: &Watched) -> usize {
    let lock = pin!(mutex.lock());
    let mut cx = Context::from_waker(Waker::noop());
    usize::from(lock.poll(&mut cx).map(|guard| bump(&guard)).is_ready())
}

/// The mode that a mutex enters when a woken waiter loses.
#[derive(Clone, Copy)]
enum Clock {
    /// Normal mode only.
    Slow,
    /// Starving mode.
    Fast,
}

fn model(bound: usize, clock: Clock, f: fn()) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(move || {
        if let Clock::Fast = clock {
            set_clock_step(STARVING_AFTER);
        }
        f();
    });
}

fn count(mutex: &Watched) -> usize {
    let guard = mutex.try_lock().expect("free and nobody starving");
    // SAFETY: under the lock.
    guard.with(|value| unsafe { *value })
}

/// One thread takes the lock again and again; the other waits and gets it in the end.
fn barging_vs_waiter() {
    let mutex = watched();
    let other = mutex.clone();
    let waits = thread::spawn(move || lock_and_bump(&other));
    for _ in 0..3 {
        lock_and_bump(&mutex);
    }
    waits.join().unwrap();
    assert_eq!(count(&mutex), 4);
}

#[test]
fn loom_barging_vs_waiter_in_normal_mode() {
    model(3, Clock::Slow, barging_vs_waiter);
}

#[test]
fn loom_barging_vs_waiter_in_starving_mode() {
    model(3, Clock::Fast, barging_vs_waiter);
}

/// Of three threads that want the lock, one or two cancel; the waiting one gets it.
fn unlock_vs_cancel() {
    let mutex = watched();
    let (dropped, waiting) = (mutex.clone(), mutex.clone());
    let guard = mutex.try_lock().unwrap();
    let drops = thread::spawn(move || poll_and_drop(&dropped));
    let waits = thread::spawn(move || lock_and_bump(&waiting));
    drop(guard);
    // Barges in: the woken waiter finds the lock taken.
    let barged = poll_and_drop(&mutex);
    let had = drops.join().unwrap();
    waits.join().unwrap();
    assert_eq!(count(&mutex), 1 + had + barged);
}

#[test]
fn loom_unlock_vs_cancel_in_normal_mode() {
    model(2, Clock::Slow, unlock_vs_cancel);
}

#[test]
fn loom_unlock_vs_cancel_in_starving_mode() {
    model(2, Clock::Fast, unlock_vs_cancel);
}

/// A waiter is woken, or handed the lock, and dropped without another poll. The next waiter gets
/// the lock.
fn unlock_vs_drop_of_woken_waiter() {
    let mutex = watched();
    let guard = mutex.try_lock().unwrap();
    let mut dropped = Box::pin(mutex.lock());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(dropped.as_mut().poll(&mut cx).is_pending());
    let waiting = mutex.clone();
    let waits = thread::spawn(move || lock_and_bump(&waiting));
    drop(guard);
    // If this takes the lock, the woken waiter loses. Then it starves and is handed the lock on
    // unlock.
    if let Some(guard) = mutex.try_lock() {
        let _ = dropped.as_mut().poll(&mut cx);
        drop(guard);
    }
    drop(dropped);
    waits.join().unwrap();
    assert_eq!(count(&mutex), 1);
}

#[test]
fn loom_unlock_vs_drop_of_woken_waiter_in_normal_mode() {
    model(3, Clock::Slow, unlock_vs_drop_of_woken_waiter);
}

#[test]
fn loom_unlock_vs_drop_of_woken_waiter_in_starving_mode() {
    model(3, Clock::Fast, unlock_vs_drop_of_woken_waiter);
}

/// A cancelled wait hands over a lock that another thread has unlocked: the waiter sees the writes
/// of that thread.
fn unlock_vs_hand_over_by_another() {
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
}

#[test]
fn loom_unlock_vs_hand_over_by_another_in_normal_mode() {
    model(3, Clock::Slow, unlock_vs_hand_over_by_another);
}

#[test]
fn loom_unlock_vs_hand_over_by_another_in_starving_mode() {
    model(3, Clock::Fast, unlock_vs_hand_over_by_another);
}

/// `try_lock` does not lose the wake-up of a waiter.
fn try_lock_vs_waiter() {
    let mutex = watched();
    let other = mutex.clone();
    let tries = thread::spawn(move || {
        (0..2).filter(|_| other.try_lock().map(|guard| bump(&guard)).is_some()).count()
    });
    lock_and_bump(&mutex);
    let got = tries.join().unwrap();
    assert_eq!(count(&mutex), 1 + got);
}

#[test]
fn loom_try_lock_vs_waiter_in_normal_mode() {
    model(3, Clock::Slow, try_lock_vs_waiter);
}

#[test]
fn loom_try_lock_vs_waiter_in_starving_mode() {
    model(3, Clock::Fast, try_lock_vs_waiter);
}
