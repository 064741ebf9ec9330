//! Models of `Notify`: notifications against waits that are created, enabled and dropped.

use super::{Notify, NotifyPermit};
use crate::wait::waiter::WaitList;
use ::loom::future::block_on;
use ::loom::sync::Arc;
use ::loom::sync::atomic::{AtomicBool, Ordering};
use ::loom::thread;
use std::task::{Context, Waker};

fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(f);
}

fn has_permit(notify: &Notify) -> bool {
    notify.with(|state| state.permit == NotifyPermit::Stored)
}

/// A wait that is created before the check of a condition misses no change of it, although the flag
/// alone orders nothing.
///
/// Loom does not show stale values to the thread that made them, so both sides have threads of
/// their own.
#[test]
fn loom_created_vs_notify_waiters() {
    model(|| {
        let shared = Arc::new((AtomicBool::new(false), Notify::new()));
        let (notifier, waiter) = (shared.clone(), shared.clone());
        let notifies = thread::spawn(move || {
            notifier.0.store(true, Ordering::Relaxed);
            notifier.1.notify_waiters();
        });
        let waits = thread::spawn(move || {
            let notified = waiter.1.notified();
            if !waiter.0.load(Ordering::Relaxed) {
                block_on(notified);
                assert!(waiter.0.load(Ordering::Relaxed));
            }
        });
        notifies.join().unwrap();
        waits.join().unwrap();
        assert!(!has_permit(&shared.1));
    });
}

/// A notification wakes the wait or is stored for it.
#[test]
fn loom_notify_one_vs_wait() {
    model(|| {
        let notify = Arc::new(Notify::new());
        let other = notify.clone();
        let notifies = thread::spawn(move || other.notify_one());
        block_on(notify.notified());
        notifies.join().unwrap();
        assert!(!has_permit(&notify));
    });
}

/// A chosen wait that is dropped passes the notification on.
#[test]
fn loom_notify_one_vs_dropped_wait() {
    model(|| {
        let notify = Arc::new(Notify::new());
        let (notifier, waiter) = (notify.clone(), notify.clone());
        let mut dropped = Box::pin(notify.notified());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(dropped.as_mut().poll(&mut cx).is_pending());
        let notifies = thread::spawn(move || notifier.notify_one());
        let waits = thread::spawn(move || block_on(waiter.notified()));
        drop(dropped);
        notifies.join().unwrap();
        waits.join().unwrap();
        assert!(!has_permit(&notify));
    });
}

/// A wait that both calls may end ends once.
#[test]
fn loom_notify_one_vs_notify_waiters() {
    model(|| {
        let notify = Arc::new(Notify::new());
        let (one, all) = (notify.clone(), notify.clone());
        let waits = notify.notified();
        let one = thread::spawn(move || one.notify_one());
        let all = thread::spawn(move || all.notify_waiters());
        block_on(waits);
        one.join().unwrap();
        all.join().unwrap();
    });
}
