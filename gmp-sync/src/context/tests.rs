//! Tests of the links between contexts, and that none of them leaks.

use super::scope::{Dependants, Scope};
use super::{Context, ContextError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3_600_000);
const NONE: Dependants = Dependants { children: 0, calls: 0 };

fn scope(ctx: &Context) -> &Arc<Scope> {
    ctx.scope.as_ref().unwrap()
}

fn dependants(ctx: &Context) -> Dependants {
    scope(ctx).dependants()
}

/// `TestParentFinishesChild`.
#[test]
fn a_cancelled_parent_ends_its_children() {
    let (parent, canceller) = Context::background().with_cancel();
    let (cancel_child, _c) = parent.with_cancel();
    let value_child = parent.with_value("value");
    let (timer_child, _c) = value_child.with_timeout(LONG);
    let _after = parent.after_func(|| ());
    let all = [&parent, &cancel_child, &value_child, &timer_child];
    assert!(all.iter().all(|ctx| ctx.err().is_none()));
    assert_eq!(dependants(&parent), Dependants { children: 2, calls: 1 });
    canceller.cancel();
    assert_eq!(dependants(&parent), NONE);
    assert!(all.iter().all(|ctx| ctx.err() == Some(ContextError::Cancelled)));
    assert_eq!(parent.with_value("late").err(), Some(ContextError::Cancelled));
}

/// `TestChildFinishesFirst`.
#[test]
fn a_cancelled_child_leaves_its_parent() {
    let (cancelable, _c) = Context::background().with_cancel();
    for parent in [Context::background(), cancelable] {
        let (child, canceller) = parent.with_cancel();
        let children = || parent.scope.as_ref().map(|scope| scope.dependants().children);
        assert!(children().is_none_or(|n| n == 1));
        canceller.cancel();
        assert!(children().is_none_or(|n| n == 0));
        assert_eq!(child.err(), Some(ContextError::Cancelled));
        assert_eq!(parent.err(), None);
    }
}

/// `TestCancelRemoves`.
#[test]
fn cancel_and_stop_remove_entries_of_the_parent() {
    let (ctx, _c) = Context::background().with_cancel();
    assert_eq!(dependants(&ctx), NONE);
    let (_child, canceller) = ctx.with_cancel();
    assert_eq!(dependants(&ctx).children, 1);
    canceller.cancel();
    assert_eq!(dependants(&ctx), NONE);

    let (_child, canceller) = ctx.with_timeout(LONG);
    assert_eq!(dependants(&ctx).children, 1);
    canceller.cancel();
    assert_eq!(dependants(&ctx), NONE);

    let after = ctx.after_func(|| ());
    assert_eq!(dependants(&ctx).calls, 1);
    assert!(after.stop());
    assert_eq!(dependants(&ctx), NONE);
}

/// A lost cancel, which Go's vet warns about, leaks nothing.
#[test]
fn drops_remove_entries_of_the_parent() {
    let (ctx, _c) = Context::background().with_cancel();
    let (child, canceller) = ctx.with_timeout(LONG);
    let grandchild = child.with_cancel();
    drop((child, canceller));
    assert_eq!(dependants(&ctx).children, 1, "kept by its own child");
    drop(grandchild);
    assert_eq!(dependants(&ctx), NONE);
    for _ in 0..1000 {
        let many: Vec<_> = (0..100).map(|_| ctx.with_cancel()).collect();
        assert_eq!(dependants(&ctx).children, many.len());
    }
    assert_eq!(dependants(&ctx), NONE);
}

/// The timer ends with its context.
#[test]
fn a_context_without_owners_keeps_no_timer() {
    let (ctx, canceller) = Context::background().with_timeout(LONG);
    let weak = Arc::downgrade(scope(&ctx));
    let (first, second) = (ctx.after_func(|| ()), ctx.after_func(|| ()));
    // Now the timer holds the scope, until both calls are stopped.
    assert!(Arc::strong_count(scope(&ctx)) > 4);
    assert!(first.stop() && second.stop());
    drop((first, second));
    assert_eq!(Arc::strong_count(scope(&ctx)), 2);
    drop((ctx, canceller));
    assert!(weak.upgrade().is_none());
    // The end of the context removes the timer, too.
    let (ctx, canceller) = Context::background().with_timeout(LONG);
    drop(ctx.after_func(|| ()));
    canceller.cancel();
    drop(canceller);
    assert_eq!(Arc::strong_count(scope(&ctx)), 1);
}

/// Neither the end nor the drop of a deep tree overflows the stack.
#[test]
fn deep_trees_end_and_drop_without_a_stack_overflow() {
    const DEEP: usize = 100_000;
    let small = std::thread::Builder::new().stack_size(128 * 1024);
    let thread = small.spawn(|| {
        for cancelled in [true, false] {
            let (root, canceller) = Context::background().with_cancel();
            let mut leaf = root.clone();
            for n in 0..DEEP {
                leaf = leaf.with_value(n).with_cancel().0;
            }
            if cancelled {
                canceller.cancel();
                assert_eq!(leaf.err(), Some(ContextError::Cancelled));
            }
            assert_eq!(leaf.value::<usize>(), Some(&(DEEP - 1)));
            drop(leaf);
            assert_eq!(dependants(&root), NONE);
        }
    });
    thread.unwrap().join().unwrap();
}

/// A wait that is dropped at any time leaves the queue empty, and other waits end.
#[test]
fn a_wait_that_is_dropped_at_any_time_leaves_the_queue() {
    let mut cx = std::task::Context::from_waker(Waker::noop());
    for polls_before in 0..3 {
        for polls_after in 0..3 {
            for cancelled in [true, false] {
                let (ctx, canceller) = Context::background().with_cancel();
                let (mut dropped, mut stays) = (Box::pin(ctx.done()), Box::pin(ctx.done()));
                assert!(stays.as_mut().poll(&mut cx).is_pending());
                for _ in 0..polls_before {
                    assert!(dropped.as_mut().poll(&mut cx).is_pending());
                }
                if cancelled {
                    canceller.cancel();
                }
                for _ in 0..polls_after {
                    assert_eq!(dropped.as_mut().poll(&mut cx).is_ready(), cancelled);
                }
                drop(dropped);
                canceller.cancel();
                assert!(stays.as_mut().poll(&mut cx).is_ready());
                assert!(stays.as_mut().poll(&mut cx).is_ready(), "and again");
                drop(stays);
                assert!(scope(&ctx).with(|state| state.waiting().is_empty()));
            }
        }
    }
}

/// The call is made even if the context, its handle and its canceller are dropped: by the end of
/// the parent, passed up through several levels, and by the deadline.
#[test]
fn a_call_outlives_its_context() {
    let (sender, calls) = std::sync::mpsc::channel();
    let call = |name: &'static str| {
        let sender = sender.clone();
        move || sender.send(name).unwrap()
    };
    let (parent, canceller) = Context::background().with_cancel();
    let (child, _) = parent.with_cancel();
    drop(child.with_cancel().0.after_func(call("parent")));
    drop(child);
    assert_eq!(dependants(&parent), Dependants { children: 0, calls: 1 });
    canceller.cancel();
    assert_eq!(calls.recv().unwrap(), "parent");

    let (child, _) = Context::background().with_timeout(Duration::from_millis(5));
    drop(child.after_func(call("deadline")));
    drop(child);
    assert_eq!(calls.recv().unwrap(), "deadline");

    // Nothing can end these contexts: the call is dropped.
    drop(Context::background().with_cancel().0.after_func(call("never")));
    drop(Context::background().after_func(call("never")));
    drop(sender);
    assert!(calls.recv().is_err());
}

/// A stopped call is not confused with a later one that has the same key.
#[test]
fn a_second_stop_leaves_a_later_call_alone() {
    let (ctx, canceller) = Context::background().with_cancel();
    let called = Arc::new(AtomicUsize::new(0));
    let first = ctx.after_func(|| unreachable!());
    assert!(first.stop());
    let second = ctx.after_func({
        let called = called.clone();
        move || {
            called.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(!first.stop());
    canceller.cancel();
    while called.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    assert!(!second.stop());
}
