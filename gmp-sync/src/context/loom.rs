//! Models of contexts: the end against waits, children, calls, and another end.

use super::scope::{Dependants, Scope, ScopeEnd};
use super::{Context, ContextError};
use ::loom::future::block_on;
use ::loom::sync::atomic::{AtomicUsize, Ordering};
use ::loom::thread;
use std::sync::Arc;

fn cancelled() -> ScopeEnd {
    ScopeEnd::new(ContextError::Cancelled, None)
}

/// Returns a counter and a call that increments it.
fn counter() -> (Arc<AtomicUsize>, impl FnOnce() + Send) {
    let count = Arc::new(AtomicUsize::new(0));
    let call = count.clone();
    (count, move || {
        call.fetch_add(1, Ordering::Relaxed);
    })
}

/// A wait ends, whenever the cancel happens. Dropping another wait meanwhile does not change that.
#[test]
fn loom_cancel_vs_done() {
    ::loom::model(|| {
        let (ctx, canceller) = Context::background().with_cancel();
        let canceling = thread::spawn(move || canceller.cancel());
        let mut dropped = Box::pin(ctx.done());
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = dropped.as_mut().poll(&mut cx);
        drop(dropped);
        assert_eq!(block_on(ctx.done()), ContextError::Cancelled);
        canceling.join().unwrap();
    });
}

/// A thread that sees the end sees the writes before it, and a pending wait is ready (Go:
/// `TestContextErrDoneRace`).
#[test]
fn loom_cancel_vs_err_and_done() {
    ::loom::model(|| {
        let (ctx, canceller) = Context::background().with_cancel();
        let before = Arc::new(AtomicUsize::new(0));
        let mut done = Box::pin(ctx.done());
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(done.as_mut().poll(&mut cx).is_pending());
        let canceling = {
            let before = before.clone();
            thread::spawn(move || {
                before.store(1, Ordering::Relaxed);
                canceller.cancel();
            })
        };
        if ctx.err().is_some() {
            assert_eq!(before.load(Ordering::Relaxed), 1);
            assert!(done.as_mut().poll(&mut cx).is_ready());
        }
        drop(done);
        canceling.join().unwrap();
    });
}

/// A child that is created while its parent is cancelled ends, and leaves no entry in the parent.
#[test]
fn loom_cancel_vs_new_child() {
    ::loom::model(|| {
        let parent = Scope::new(None, None);
        let canceling = {
            let parent = parent.clone();
            thread::spawn(move || parent.end(cancelled()))
        };
        let child = Scope::new(Some(parent.clone()), None);
        canceling.join().unwrap();
        assert_eq!(child.err(), Some(ContextError::Cancelled));
        assert_eq!(parent.dependants(), Dependants { children: 0, calls: 0 });
    });
}

/// Two threads cancel the same parent: when either call returns, the child has ended.
#[test]
fn loom_cancel_vs_cancel() {
    ::loom::model(|| {
        let parent = Scope::new(None, None);
        let child = Scope::new(Some(parent.clone()), None);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (parent, child) = (parent.clone(), child.clone());
                thread::spawn(move || {
                    parent.end(cancelled());
                    assert!(child.err().is_some());
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Parent and child are cancelled concurrently: the first reason stays, and the parent keeps no
/// entry.
#[test]
fn loom_cancel_of_parent_vs_cancel_of_child() {
    ::loom::model(|| {
        let parent = Scope::new(None, None);
        let child = Scope::new(Some(parent.clone()), None);
        let canceling = {
            let child = child.clone();
            thread::spawn(move || {
                let before = child.err();
                child.end(ScopeEnd::new(ContextError::DeadlineExceeded, None));
                assert!(before.is_none() || child.err() == before);
            })
        };
        parent.end(cancelled());
        let first = child.err().expect("ended with its parent");
        canceling.join().unwrap();
        assert_eq!(child.err(), Some(first));
        assert_eq!(parent.dependants(), Dependants { children: 0, calls: 0 });
    });
}

/// A call is either made or stopped.
#[test]
fn loom_cancel_vs_stop() {
    ::loom::model(|| {
        let scope = Scope::new(None, None);
        let (count, call) = counter();
        let key = scope.add_call(Box::new(call)).ok().unwrap();
        let canceling = {
            let scope = scope.clone();
            thread::spawn(move || scope.end(cancelled()))
        };
        let stopped = scope.remove_call(key).is_some();
        canceling.join().unwrap();
        assert_eq!(count.load(Ordering::Relaxed), usize::from(!stopped));
    });
}

/// A call that is added while the context is cancelled is made once.
#[test]
fn loom_cancel_vs_new_call() {
    ::loom::model(|| {
        let scope = Scope::new(None, None);
        let (count, call) = counter();
        let canceling = {
            let scope = scope.clone();
            thread::spawn(move || scope.end(cancelled()))
        };
        if let Err(call) = scope.add_call(Box::new(call)) {
            call();
        }
        canceling.join().unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 1);
    });
}

/// The last reference to a child is dropped while its parent is cancelled: its call is made once.
#[test]
fn loom_cancel_vs_dropped_child() {
    ::loom::model(|| {
        let parent = Scope::new(None, None);
        let child = Scope::new(Some(parent.clone()), None);
        let (count, call) = counter();
        assert!(child.add_call(Box::new(call)).is_ok());
        let dropping = thread::spawn(move || drop(child));
        let canceling = {
            let parent = parent.clone();
            thread::spawn(move || parent.end(cancelled()))
        };
        dropping.join().unwrap();
        canceling.join().unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 1);
        assert_eq!(parent.dependants(), Dependants { children: 0, calls: 0 });
    });
}
