//! Models of the condition variable: signals against waits that begin, end and are dropped.

use crate::{Cond, Mutex};
use ::loom::future::block_on;
use ::loom::sync::Arc;
use ::loom::thread;
use std::task::{Context, Waker};

type Shared = Arc<(Mutex<usize>, Cond)>;

fn shared() -> Shared {
    Arc::new((Mutex::new(0), Cond::new()))
}

fn take_one((mutex, cond): &(Mutex<usize>, Cond)) {
    block_on(async {
        let mut items = mutex.lock().await;
        while *items == 0 {
            items = cond.wait(items).await;
        }
        *items -= 1;
    });
}

fn put_one((mutex, cond): &(Mutex<usize>, Cond)) {
    *block_on(mutex.lock()) += 1;
    cond.signal();
}

fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(f);
}

/// No signal is lost between the check and the wait.
#[test]
fn loom_signal_vs_wait() {
    model(|| {
        let shared = shared();
        let other = shared.clone();
        let puts = thread::spawn(move || put_one(&other));
        take_one(&shared);
        puts.join().unwrap();
    });
}

/// A wait that is dropped after a possible signal passes the signal on.
#[test]
fn loom_signal_vs_dropped_wait() {
    model(|| {
        let shared = shared();
        let mut cx = Context::from_waker(Waker::noop());
        let mut dropped = Box::pin(shared.1.wait(shared.0.try_lock().unwrap()));
        assert!(dropped.as_mut().poll(&mut cx).is_pending());
        let (taker, putter) = (shared.clone(), shared.clone());
        let takes = thread::spawn(move || take_one(&taker));
        let puts = thread::spawn(move || put_one(&putter));
        // Has the mutex again, waits for it, or is not signalled yet.
        let _ = dropped.as_mut().poll(&mut cx).map(|guard| {
            // It took the signal, so this thread passes it on.
            drop(guard);
            shared.1.signal();
        });
        drop(dropped);
        takes.join().unwrap();
        puts.join().unwrap();
        assert_eq!(*shared.0.try_lock().unwrap(), 0);
    });
}

/// The same with the mutex locked: the wait has seen the signal and waits for the mutex.
#[test]
fn loom_signal_vs_wait_dropped_before_it_has_the_mutex() {
    model(|| {
        let shared = shared();
        let mut cx = Context::from_waker(Waker::noop());
        let mut dropped = Box::pin(shared.1.wait(shared.0.try_lock().unwrap()));
        assert!(dropped.as_mut().poll(&mut cx).is_pending());
        let (taker, putter) = (shared.clone(), shared.clone());
        let takes = thread::spawn(move || take_one(&taker));
        let puts = thread::spawn(move || put_one(&putter));
        if let Some(guard) = shared.0.try_lock() {
            assert!(dropped.as_mut().poll(&mut cx).is_pending());
            drop(guard);
        }
        drop(dropped);
        takes.join().unwrap();
        puts.join().unwrap();
    });
}

/// A broadcast wakes each waiter.
#[test]
fn loom_broadcast_vs_wait() {
    model(|| {
        let shared = shared();
        let other = shared.clone();
        let takes = thread::spawn(move || take_one(&other));
        *block_on(shared.0.lock()) += 1;
        shared.1.broadcast();
        takes.join().unwrap();
    });
}
