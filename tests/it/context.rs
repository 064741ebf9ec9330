//! Contexts, after Go's `context_test.go`, `x_test.go` and `afterfunc_test.go`. Tests of the links
//! between contexts are in `gmp-sync/src/context/tests.rs`.

use super::support::{Gate, runtime, until};
use gmp::context::{Canceller, Context, ContextError};
use gmp::go;
use gmp::sync::WaitGroup;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(3_600_000);

/// Whether `done` is ready now.
async fn is_done(ctx: &Context) -> bool {
    let mut done = std::pin::pin!(ctx.done());
    poll_fn(|cx| Poll::Ready(done.as_mut().poll(cx).is_ready())).await
}

/// `TestBackground`, `TestTODO`: never done.
#[gmp::test]
async fn the_background_never_ends() {
    for ctx in [Context::background(), Context::default()] {
        assert!(!is_done(&ctx).await);
        assert_eq!((ctx.err(), ctx.deadline()), (None, None));
        assert!(ctx.cause().is_none());
        assert_eq!(format!("{ctx:?}"), "Context { err: None, deadline: None, values: [] }");
    }
}

/// `TestWithCancel`: cancel reaches all descendants before it returns.
#[gmp::test]
async fn cancel_ends_all_descendants_before_it_returns() {
    let (first, canceller) = Context::background().with_cancel();
    let other = first.with_value("wrapped");
    let (second, _c) = other.with_cancel();
    for ctx in [&first, &other, &second] {
        assert!(!is_done(ctx).await && ctx.err().is_none());
    }
    canceller.cancel();
    for ctx in [&first, &other, &second] {
        assert!(is_done(ctx).await);
        assert_eq!(ctx.err(), Some(ContextError::Cancelled));
        assert_eq!(ctx.done().await, ContextError::Cancelled);
    }
}

async fn assert_times_out(ctx: Context) {
    let why = gmp::timeout(Duration::from_secs(60), ctx.done()).await.expect("in time");
    assert_eq!(why, ContextError::DeadlineExceeded);
    assert_eq!(ctx.err(), Some(why));
    assert!(ctx.deadline().is_some_and(|deadline| deadline <= Instant::now()), "not early");
}

/// `TestDeadline`.
#[gmp::test]
async fn contexts_end_at_their_deadline() {
    let (root, now) = (Context::background(), Instant::now());
    assert_times_out(root.with_deadline(now + SHORT).0).await;
    assert_times_out(root.with_deadline(now + SHORT).0.with_value(1)).await;
    let (outer, _c) = root.with_deadline(now + SHORT);
    assert_times_out(outer.with_deadline(now + LONG).0).await;
    assert_times_out(root.with_deadline(now - SHORT).0).await;
    assert_times_out(root.with_deadline(Instant::now()).0).await;
}

/// `TestTimeout`.
#[gmp::test]
async fn contexts_end_after_their_timeout() {
    let root = Context::background();
    assert_times_out(root.with_timeout(SHORT).0).await;
    assert_times_out(root.with_timeout(SHORT).0.with_value(1)).await;
    let (outer, _c) = root.with_timeout(SHORT);
    let (inner, _c) = outer.with_value(1).with_timeout(LONG);
    assert_eq!(inner.deadline(), outer.deadline());
    assert_times_out(inner).await;
    let (never, _c) = root.with_timeout(Duration::MAX);
    assert_eq!((never.deadline(), never.err()), (None, None));
}

/// `TestCanceledTimeout`.
#[gmp::test]
async fn a_cancelled_timeout_leaves_its_parent_alone() {
    let (outer, _c) = Context::background().with_timeout(LONG);
    let (inner, canceller) = outer.with_value(1).with_timeout(2 * LONG);
    canceller.cancel();
    assert!(is_done(&inner).await);
    assert_eq!(inner.err(), Some(ContextError::Cancelled));
    assert_eq!(outer.err(), None);
}

/// Errors of a context have Go's texts, and only an expired deadline is a timeout
/// (`TestDeadlineExceededSupportsTimeout`, `TestDeadlineExceededIsNetError`).
#[test]
fn errors_have_the_texts_of_go() {
    assert!(ContextError::DeadlineExceeded.is_timeout() && !ContextError::Cancelled.is_timeout());
    assert_eq!(ContextError::Cancelled.to_string(), "context canceled");
    assert_eq!(ContextError::DeadlineExceeded.to_string(), "context deadline exceeded");
    let error: Box<dyn std::error::Error + Send + Sync> = ContextError::Cancelled.into();
    assert!(error.source().is_none());
}

/// `TestValues`: found by type, the newest first, through contexts of other kinds.
#[test]
fn values_are_found_by_type_the_newest_first() {
    #[derive(Debug, PartialEq)]
    struct One(&'static str);
    #[derive(Debug, PartialEq)]
    struct Two(&'static str);
    let assert_values = |ctx: &Context, one, two| {
        assert_eq!((ctx.value::<One>(), ctx.value::<Two>()), (one, two));
    };
    let root = Context::background();
    assert_values(&root, None, None);
    let first = root.with_value(One("c1"));
    assert_values(&first, Some(&One("c1")), None);
    let second = first.with_cancel().0.with_value(Two("c2"));
    assert_values(&second, Some(&One("c1")), Some(&Two("c2")));
    let third = second.with_value(One("c3"));
    assert_values(&third, Some(&One("c3")), Some(&Two("c2")));
    assert_values(&second, Some(&One("c1")), Some(&Two("c2")));
    let (other, canceller) = third.with_timeout(LONG);
    canceller.cancel();
    assert_values(&other, Some(&One("c3")), Some(&Two("c2")));
    assert!(
        format!("{second:?}")
            .contains("::Two, it::context::values_are_found_by_type_the_newest_first::One]"),
        "{second:?}"
    );
}

/// `TestSimultaneousCancels`: a tree of a hundred contexts, all cancelled at once.
#[gmp::test]
async fn a_hundred_contexts_are_cancelled_at_once() {
    let mut all = vec![Context::background().with_cancel()];
    for n in 0..25 {
        for _ in 0..4 {
            let child = all[n].0.with_cancel();
            all.push(child);
        }
    }
    let group = WaitGroup::new();
    for (ctx, canceller) in all.iter().rev() {
        let (ctx, canceller) = (ctx.clone(), canceller.clone());
        group.go(async move {
            canceller.cancel();
            assert!(ctx.err().is_some());
        });
    }
    for (ctx, _) in &all {
        ctx.done().await;
    }
    group.wait().await;
}

/// `TestInterlockedCancels`.
#[gmp::test]
async fn a_cancel_of_the_child_during_that_of_the_parent_does_not_hang() {
    let (parent, cancel_parent) = Context::background().with_cancel();
    let (child, cancel_child) = parent.with_cancel();
    let waiter = go!({
        parent.done().await;
        cancel_child.cancel();
    });
    cancel_parent.cancel();
    child.done().await;
    waiter.await.unwrap();
}

/// Returns thirty layers of values, cancels and timeouts in an order that `seed` decides.
fn layers(mut seed: u64, timeout: Duration) -> (Context, Vec<Canceller>) {
    let (mut ctx, mut cancellers) = (Context::background().with_value(0usize), Vec::new());
    for n in 0..30 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (next, canceller) = match seed >> 62 {
            0 => ctx.with_cancel(),
            1 => ctx.with_timeout(timeout),
            _ => {
                ctx = ctx.with_value(n + 1);
                continue;
            }
        };
        ctx = next;
        cancellers.push(canceller);
    }
    assert!(cancellers.len() > 2);
    (ctx, cancellers)
}

/// `TestLayersCancel`, `TestLayersTimeout`.
#[gmp::test]
async fn a_context_ends_with_any_of_its_layers() {
    for seed in 1..20 {
        let (_, cancellers) = layers(seed, LONG);
        for n in 0..cancellers.len() {
            let (ctx, cancellers) = layers(seed, LONG);
            let newest = ctx.value::<usize>().copied();
            assert!(ctx.err().is_none());
            cancellers[n].cancel();
            assert!(is_done(&ctx).await, "seed {seed}, layer {n}");
            assert_eq!(ctx.value(), newest.as_ref());
        }
        let (ctx, _cancellers) = layers(seed, SHORT);
        if ctx.deadline().is_some() {
            assert_eq!(ctx.done().await, ContextError::DeadlineExceeded);
        }
    }
}

/// `TestWithCancelCanceledParent`.
#[test]
fn the_child_of_a_cancelled_parent_has_ended() {
    let (parent, canceller) = Context::background().with_cancel();
    canceller.cancel_cause("Because!");
    for (child, _) in [parent.with_cancel(), parent.with_timeout(LONG)] {
        assert_eq!(child.err(), Some(ContextError::Cancelled));
        assert_eq!(child.cause().unwrap().to_string(), "Because!");
    }
}

/// `TestWithCancelSimultaneouslyCanceledParent`.
#[gmp::test]
async fn a_child_that_is_made_during_a_cancel_ends() {
    for _ in 0..300 {
        let (parent, canceller) = Context::background().with_cancel();
        let canceling = go!(move || canceller.cancel_cause("Because!"));
        let (child, _c) = parent.with_cancel();
        assert_eq!(child.done().await, ContextError::Cancelled);
        assert_eq!(child.cause().unwrap().to_string(), "Because!");
        canceling.await.unwrap();
    }
}

/// `TestCause`: all its rows except those about custom context types.
#[test]
fn each_context_has_the_cause_of_its_end() {
    use ContextError::{Cancelled, DeadlineExceeded};
    let canceled = || (Some(Cancelled), Some("context canceled".to_string()));
    let with = |err, cause: &str| (Some(err), Some(cause.to_string()));
    let of = |ctx: &Context| (ctx.err(), ctx.cause().map(|cause| cause.to_string()));
    let root = Context::background();
    assert_eq!(of(&root), (None, None));
    let (ctx, canceller) = root.with_cancel();
    canceller.cancel();
    assert_eq!(of(&ctx), canceled());
    let (ctx, canceller) = root.with_cancel();
    canceller.cancel_cause("parent");
    assert_eq!(of(&ctx), with(Cancelled, "parent"));

    type Cancel = fn(&Canceller);
    let rows: [(Cancel, Cancel, &str, &str); 4] = [
        (|c| c.cancel_cause("parent"), |c| c.cancel_cause("child"), "parent", "child"),
        (|c| c.cancel_cause("parent"), |c| c.cancel(), "parent", "context canceled"),
        (|c| c.cancel(), |c| c.cancel_cause("child"), "context canceled", "child"),
        (|c| c.cancel(), |c| c.cancel(), "context canceled", "context canceled"),
    ];
    for (parent, child, parent_first, child_first) in rows {
        let ((ctx, p), (below, c)) = chain(&root);
        parent(&p);
        child(&c);
        assert_eq!(of(&below), with(Cancelled, parent_first));
        assert_eq!(of(&ctx), with(Cancelled, parent_first));
        let ((_ctx, p), (below, c)) = chain(&root);
        child(&c);
        parent(&p);
        assert_eq!(of(&below), with(Cancelled, child_first));
    }

    let (ctx, canceller) = root.with_timeout(Duration::ZERO);
    canceller.cancel();
    assert_eq!(of(&ctx), with(DeadlineExceeded, "context deadline exceeded"));
    let (ctx, canceller) = root.with_timeout_cause(Duration::ZERO, "too slow");
    canceller.cancel();
    assert_eq!(of(&ctx), with(DeadlineExceeded, "too slow"));
    let (ctx, canceller) = root.with_timeout_cause(LONG, "too slow");
    canceller.cancel();
    assert_eq!(of(&ctx), canceled());
    for (timeout, expected) in
        [(Duration::ZERO, with(DeadlineExceeded, "too slow")), (LONG, with(Cancelled, "early"))]
    {
        let (ctx, canceller) = root.with_cancel();
        let (ctx, _c) = ctx.with_timeout_cause(timeout, "too slow");
        canceller.cancel_cause("early");
        assert_eq!(of(&ctx), expected);
    }
    let (ctx, canceller) = root.with_cancel();
    let apart = ctx.without_cancel();
    canceller.cancel_cause("early");
    assert_eq!(of(&apart), (None, None));
    let (ctx, _c) = root.with_timeout_cause(Duration::ZERO, "too slow");
    assert_eq!(of(&ctx.without_cancel()), (None, None));
}

fn chain(root: &Context) -> ((Context, Canceller), (Context, Canceller)) {
    let (parent, cancel_parent) = root.with_cancel();
    let child = parent.with_cancel();
    ((parent, cancel_parent), child)
}

/// A timeout that fires passes its cause to its descendants.
#[gmp::test]
async fn a_timeout_passes_its_cause_to_its_descendants() {
    let (ctx, _c) = Context::background().with_timeout_cause(SHORT, "too slow");
    let (child, _c) = ctx.with_cancel();
    assert_eq!(child.done().await, ContextError::DeadlineExceeded);
    assert_eq!(child.cause().unwrap().to_string(), "too slow");
}

/// `TestCauseRace`: a context that is done has a cause.
#[gmp::test]
async fn a_context_that_has_ended_has_a_cause() {
    let (ctx, canceller) = Context::background().with_cancel();
    let canceling = go!(move || canceller.cancel_cause("race"));
    let cause = loop {
        match ctx.cause() {
            Some(cause) => break cause,
            None => gmp::yield_now().await,
        }
    };
    assert_eq!(cause.to_string(), "race");
    canceling.await.unwrap();
}

/// `TestWithoutCancel`.
#[gmp::test]
async fn without_cancel_keeps_values_and_never_ends() {
    let (ctx, canceller) = Context::background().with_value("value").with_timeout(LONG);
    let apart = ctx.without_cancel();
    canceller.cancel();
    assert!(!is_done(&apart).await);
    assert_eq!((apart.deadline(), apart.err()), (None, None));
    assert_eq!(apart.value(), Some(&"value"));
}

/// `TestCustomContextGoroutines`: a context never starts a goroutine.
#[test]
fn a_context_starts_no_goroutine() {
    let runtime = runtime(1);
    runtime.block_on(async {
        let (root, canceller) = Context::background().with_cancel();
        let all: Vec<_> = (0..1000).map(|_| root.with_timeout(LONG)).collect();
        assert_eq!(gmp::num_goroutine(), 0);
        canceller.cancel();
        assert!(all.iter().all(|(ctx, _)| ctx.err().is_some()));
        assert_eq!(gmp::num_goroutine(), 0);
    });
}

/// `TestAfterFuncCalledAfterCancel`, `TestAfterFuncCalledAfterTimeout`,
/// `TestAfterFuncCalledImmediately`.
#[gmp::test]
async fn after_func_is_called() {
    let gates: [Arc<Gate>; 3] = Default::default();
    let open = |n: usize| {
        let gate = gates[n].clone();
        move || gate.open()
    };
    let (ctx, canceller) = Context::background().with_cancel();
    let after = ctx.after_func(open(0));
    canceller.cancel();
    gates[0].wait().await;
    assert!(!after.stop());
    let (ctx, _c) = Context::background().with_timeout(SHORT);
    ctx.after_func(open(1));
    gates[1].wait().await;
    assert!(!ctx.after_func(open(2)).stop());
    gates[2].wait().await;
}

/// `TestAfterFuncNotCalledAfterStop`.
#[test]
fn after_func_is_not_called_after_stop() {
    let runtime = runtime(2);
    runtime.block_on(async {
        let (ctx, canceller) = Context::background().with_cancel();
        let after = ctx.after_func(|| panic!("stopped"));
        assert!(after.stop());
        canceller.cancel();
        assert!(!after.stop());
        assert_eq!(gmp::num_goroutine(), 0, "nothing was started");
        let never = Context::background().after_func(|| panic!("never ends"));
        assert!(never.stop() && !never.stop());
    });
}

/// `TestAfterFuncCalledAsynchronously`: cancel does not wait for the call, which may block.
#[gmp::test]
async fn cancel_does_not_wait_for_after_func() {
    let (sender, receiver) = std::sync::mpsc::sync_channel(0);
    let (ctx, canceller) = Context::background().with_cancel();
    ctx.after_func(move || sender.send(()).unwrap());
    canceller.cancel();
    gmp::block_in_place(|| receiver.recv()).unwrap();
}

/// Stop races with cancel, many times. The function is either called or stopped.
#[gmp::test]
async fn stop_returns_whether_it_prevented_the_call() {
    let called = Arc::new(AtomicUsize::new(0));
    let mut stopped = 0;
    for _ in 0..500 {
        let (ctx, canceller) = Context::background().with_cancel();
        let after = ctx.after_func({
            let called = called.clone();
            move || {
                called.fetch_add(1, Ordering::Relaxed);
            }
        });
        let canceling = go!(move || canceller.cancel());
        stopped += usize::from(after.stop());
        canceling.await.unwrap();
    }
    until(|| called.load(Ordering::Relaxed) + stopped >= 500);
    assert_eq!(called.load(Ordering::Relaxed) + stopped, 500);
}

/// `TestContextErrDoneRace`: an error means done.
#[gmp::test]
async fn a_context_with_an_error_is_done() {
    for _ in 0..100 {
        let (ctx, canceller) = Context::background().with_cancel();
        let mut done = Box::pin(ctx.done());
        let pending = poll_fn(|cx| Poll::Ready(done.as_mut().poll(cx).is_pending())).await;
        assert!(pending);
        let canceling = std::thread::spawn(move || canceller.cancel());
        until(|| ctx.err().is_some());
        let ready = poll_fn(|cx| Poll::Ready(done.as_mut().poll(cx).is_ready())).await;
        assert!(ready);
        drop(done);
        canceling.join().unwrap();
    }
}

/// A guard cancels when its scope is left, unless it is disarmed.
#[test]
fn a_guard_cancels_unless_it_is_disarmed() {
    let (ctx, canceller) = Context::background().with_cancel();
    let canceller = canceller.drop_guard().disarm();
    drop(canceller.clone());
    assert_eq!(ctx.err(), None);
    drop(canceller.drop_guard());
    assert_eq!(ctx.err(), Some(ContextError::Cancelled));
}

/// A dump shows what a goroutine waits for. Many waiters wake at once. External threads and foreign
/// executors can wait as well.
#[test]
fn waits_for_the_end_work_everywhere_and_are_in_dumps() {
    let runtime = runtime(2);
    let (ctx, canceller) = Context::background().with_cancel();
    let goroutines: Vec<_> = (0..100)
        .map(|_| {
            let ctx = ctx.clone();
            runtime.spawn(async move { ctx.done().await })
        })
        .collect();
    until(|| {
        let dump = runtime.block_on(async { gmp::runtime::dump() });
        dump.matches(" [context.Done]").count() == 100
    });
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(ctx.done_blocking(), ContextError::Cancelled));
        let owned = ctx.clone().done_owned();
        scope.spawn(move || futures::executor::block_on(owned));
        canceller.cancel();
    });
    for goroutine in goroutines {
        assert_eq!(gmp::block_on(goroutine).unwrap(), ContextError::Cancelled);
    }
}

#[gmp::test]
async fn a_context_ends_a_future_that_it_runs() {
    let (ctx, canceller) = Context::background().with_cancel();
    assert_eq!(ctx.run(async { 7 }).await, Ok(7));
    assert!(!ctx.is_done() && !canceller.is_cancelled());
    let (inner, dropped) = gmp::chan::<()>(0);
    let runs = {
        let ctx = ctx.clone();
        go!({
            let never = async move {
                let _inner = inner;
                std::future::pending::<()>().await
            };
            ctx.run(never).await
        })
    };
    gmp::yield_now().await;
    canceller.cancel();
    assert_eq!(runs.await.unwrap(), Err(ContextError::Cancelled));
    assert!(dropped.recv().await.is_err(), "the future was dropped");
    assert!(ctx.is_done() && canceller.is_cancelled());
    // A future that is ready counts, also after the end.
    assert_eq!(ctx.run(async { 8 }).await, Ok(8));
}

/// A context ends while the future is refused, because the time slice is over: it counts as ready.
#[gmp::test(max_procs = 1)]
async fn an_ended_context_hides_no_future_that_is_ready() {
    let (ctx, canceller) = Context::background().with_cancel();
    canceller.cancel();
    let (tx, rx) = gmp::chan(1);
    for n in 0..100_000 {
        assert_eq!(ctx.run(tx.send(n)).await, Ok(Ok(())));
        assert_eq!(ctx.run(rx.recv()).await, Ok(Ok(n)));
    }
}

#[gmp::test]
async fn the_rest_of_the_time_counts_down() {
    assert_eq!(Context::background().remaining(), None);
    let (ctx, canceller) = Context::background().with_timeout(LONG);
    let first = ctx.remaining().unwrap();
    gmp::sleep(SHORT).await;
    assert!(first <= LONG && ctx.remaining().unwrap() <= first - SHORT);
    let (over, other) = ctx.with_deadline(Instant::now());
    assert_eq!(over.remaining(), Some(Duration::ZERO));
    assert!(over.is_done() && other.is_cancelled(), "its deadline has passed");
    assert!(!ctx.is_done() && !canceller.is_cancelled());
}
