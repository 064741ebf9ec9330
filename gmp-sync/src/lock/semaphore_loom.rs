//! Models of the semaphore: acquiring, releasing and giving out, with dropped requests.

use super::{Ordering, PERMIT, Semaphore};
use ::loom::cell::UnsafeCell;
use ::loom::future::block_on;
use ::loom::sync::Arc;
use ::loom::thread;
use std::pin::pin;
use std::task::{Context, Waker};

/// A semaphore, and a number that loom checks. The holder of all permits may change it.
struct Watched {
    semaphore: Semaphore,
    value: UnsafeCell<usize>,
}

// SAFETY: all permits give exclusive access, which is what the models check.
unsafe impl Sync for Watched {}

impl Watched {
    fn new(permits: usize) -> Arc<Self> {
        Arc::new(Self { semaphore: Semaphore::new(permits), value: UnsafeCell::new(0) })
    }

    fn bump(&self) {
        // SAFETY: the caller has all permits.
        self.value.with_mut(|value| unsafe { *value += 1 });
    }

    /// Reads the number. The caller has a permit, so no other thread has all.
    fn look(&self) {
        // SAFETY: the caller has a permit, so no other thread has all.
        self.value.with(|value| unsafe { assert_eq!(*value, 0) });
    }

    /// Asserts that all permits are available and no request waits.
    fn assert_unused(&self, permits: usize) {
        assert_eq!(self.semaphore.word.load(Ordering::Relaxed), permits * PERMIT);
    }

    fn acquire_and_bump(&self, permits: usize) {
        let permit = block_on(self.semaphore.acquire(permits));
        self.bump();
        drop(permit);
    }
}

fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(f);
}

/// One permit works as a lock.
#[test]
fn loom_acquire_vs_acquire() {
    model(|| {
        let watched = Watched::new(1);
        let other = watched.clone();
        let thread = thread::spawn(move || other.acquire_and_bump(1));
        watched.acquire_and_bump(1);
        watched.acquire_and_bump(1);
        thread.join().unwrap();
        watched.assert_unused(1);
    });
}

/// A big request at the head is dropped: the request behind it gets its permit.
#[test]
fn loom_dropped_head_vs_acquire() {
    model(|| {
        let watched = Watched::new(2);
        let (dropped, waiting) = (watched.clone(), watched.clone());
        let permit = watched.semaphore.try_acquire(1).unwrap();
        let drops = thread::spawn(move || {
            let request = pin!(dropped.semaphore.acquire(2));
            let mut cx = Context::from_waker(Waker::noop());
            assert!(request.poll(&mut cx).is_pending());
        });
        let waits = thread::spawn(move || drop(block_on(waiting.semaphore.acquire(1))));
        drops.join().unwrap();
        waits.join().unwrap();
        drop(permit);
        watched.assert_unused(2);
    });
}

/// A dropped request gives out the permit of another thread: the writes of that thread are seen.
#[test]
fn loom_release_vs_drop_that_gives_out() {
    model(|| {
        let watched = Watched::new(1);
        let mut cx = Context::from_waker(Waker::noop());
        let permit = watched.semaphore.try_acquire(1).unwrap();
        let mut first = Box::pin(watched.semaphore.acquire(1));
        let mut second = Box::pin(watched.semaphore.acquire(1));
        assert!(first.as_mut().poll(&mut cx).is_pending());
        assert!(second.as_mut().poll(&mut cx).is_pending());
        permit.forget();
        let other = watched.clone();
        let gives = thread::spawn(move || {
            other.bump();
            other.semaphore.give_back(1);
        });
        drop(first);
        let had = second.as_mut().poll(&mut cx).map(|_permit| watched.bump()).is_ready();
        gives.join().unwrap();
        assert!(had || second.as_mut().poll(&mut cx).is_ready());
        drop(second);
        watched.assert_unused(1);
    });
}

/// A big request at the head is dropped while its permits are released: the request behind it is
/// served.
#[test]
fn loom_release_vs_dropped_head() {
    model(|| {
        let watched = Watched::new(2);
        let (dropped, waiting) = (watched.clone(), watched.clone());
        let permit = watched.semaphore.try_acquire(1).unwrap();
        let drops = thread::spawn(move || {
            let request = pin!(dropped.semaphore.acquire(2));
            let mut cx = Context::from_waker(Waker::noop());
            let _ = request.poll(&mut cx).map(|_all| dropped.bump());
        });
        let waits = thread::spawn(move || drop(block_on(waiting.semaphore.acquire(1))));
        drop(permit);
        drops.join().unwrap();
        waits.join().unwrap();
        watched.assert_unused(2);
    });
}

/// A held permit is released and the head of the queue is dropped concurrently with a request for
/// all permits. That request is served.
#[test]
fn loom_release_vs_drop_vs_request_for_all() {
    model(|| {
        let watched = Watched::new(1);
        let mut first = Box::pin(watched.semaphore.acquire(2));
        // Cannot be met yet; after `add_permits` it is the head of the queue.
        let mut cx = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(&mut cx).is_pending());
        let held = watched.semaphore.try_acquire(1).unwrap();
        watched.semaphore.add_permits(1);
        watched.semaphore.try_acquire(1).is_none().then_some(()).expect("the first is in line");
        let other = watched.clone();
        let waits = thread::spawn(move || other.acquire_and_bump(2));
        watched.look();
        drop(held);
        drop(first);
        waits.join().unwrap();
        watched.assert_unused(2);
    });
}
