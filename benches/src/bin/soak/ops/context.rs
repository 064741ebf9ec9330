//! Context: cancellation, deadlines, values, functions.

use crate::context::{Cx, join};
use crate::coverage::{End, did};
use crate::violation::{expected_panic, violation};
use crate::world::the_world;
use gmp::context::{Context, ContextError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

struct RequestId(u64);

/// A tree of contexts: what ends the parent ends the children.
pub(crate) async fn tree(mut cx: Cx) {
    let (root, canceller) = Context::background().with_value(RequestId(9)).with_cancel();
    // Also cancels if this operation is aborted, because blocked children must end.
    let guard = canceller.drop_guard();
    let mut children = Vec::new();
    for _ in 0..1 + cx.rand.size(5) {
        let (ctx, own) = match cx.rand.below(3) {
            0 => root.with_cancel(),
            1 => root.with_timeout(Duration::from_secs(600)),
            _ => root.with_timeout_cause(Duration::from_secs(600), "late"),
        };
        let form = cx.rand.below(3);
        children.push(cx.spawn(async move {
            let _own = own;
            let error = match form {
                0 => ctx.done().await,
                1 => ctx.clone().done_owned().await,
                _ => ctx.done_blocking(),
            };
            let id = ctx.value::<RequestId>().map(|id| id.0);
            did("Context::done", End::Cancelled);
            (error, id, ctx.cause().map(|cause| cause.to_string()))
        }));
    }
    let detached = root.without_cancel();
    cx.pause().await;
    guard.disarm().cancel_cause("enough");
    did("Canceller::cancel_cause, drop_guard", End::Ok);
    for child in children {
        let Some((error, id, cause)) = join(child).await else { continue };
        let expected = (ContextError::Cancelled, Some(9), Some("enough"));
        if (error, id, cause.as_deref()) != expected {
            violation(format!("a child context ended with {error:?}, {id:?}, {cause:?}"));
        }
    }
    if detached.err().is_some() || root.err() != Some(ContextError::Cancelled) {
        violation("without_cancel or the root's error is wrong");
    }
    did("Context::without_cancel", End::Ok);
}

/// A deadline ends a context: not early, and within the bound.
pub(crate) async fn deadline(mut cx: Cx) {
    let deadline = Instant::now() + cx.rand.micros(3000);
    let (ctx, _canceller) = match cx.rand.below(3) {
        0 => Context::background().with_deadline_cause(deadline, "closed"),
        1 => Context::background().with_timeout(deadline - Instant::now().min(deadline)),
        _ => Context::background().with_deadline(deadline),
    };
    let until = ctx.deadline().unwrap_or_else(|| violation("a context lost its deadline"));
    let (narrow, cancel) = ctx.with_timeout(Duration::from_secs(60));
    let early = cx.rand.once_in(4);
    if early {
        cancel.cancel();
        did("Canceller::cancel", End::Ok);
    }
    let error = narrow.done().await;
    if early && error == ContextError::Cancelled {
        return;
    }
    if error != ContextError::DeadlineExceeded || !error.is_timeout() {
        violation(format!("a deadline ended a context with {error:?}"));
    }
    the_world().lateness.timer("Context deadline", until);
    did("Context::with_deadline", End::Timeout);
}

/// Functions run once after the end of a context, unless they are stopped; some panic.
pub(crate) async fn after_func(mut cx: Cx) {
    let (ctx, canceller) = Context::background().with_cancel();
    let (calls, ended) = (Arc::new(AtomicU64::new(0)), gmp::WaitGroup::new());
    /// Removes a call from the group when the closure is dropped, called or not.
    struct Ends(gmp::WaitGroup);
    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.done();
        }
    }
    let mut expected = 0;
    let mut pending = Vec::new();
    for _ in 0..1 + cx.rand.size(4) {
        ended.add(1);
        let (calls, ends) = (calls.clone(), Ends(ended.clone()));
        // Rare, because the runtime reports each of these panics on stderr.
        let panics = cx.rand.once_in(200);
        pending.push(ctx.after_func(move || {
            let _ends = ends;
            calls.fetch_add(1, Relaxed);
            if panics {
                expected_panic();
            }
        }));
        expected += 1;
    }
    for after in &pending {
        if cx.rand.once_in(3) && after.stop() {
            did("AfterDone::stop", End::Ok);
            expected -= 1;
        }
    }
    canceller.cancel();
    drop((ctx, canceller));
    ended.wait().await;
    did("Context::after_func", End::Ok);
    let calls = calls.load(Relaxed);
    // Fewer if the runtime has ended in between.
    if calls > expected {
        violation(format!("{calls} functions of a context ran; {expected} were not stopped"));
    }
    for after in &pending {
        if after.stop() {
            violation("a function of a context was stopped after its end");
        }
    }
}
