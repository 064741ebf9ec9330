//! Error groups, after `errgroup_test.go` of `x/sync`.

use super::support::{Gate, Mutex, runtime, until};
use gmp::context::{Context, ContextError};
use gmp::go;
use gmp::sync::{ErrGroup, GroupError};
use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

type Group = ErrGroup<&'static str>;

fn text(result: Result<(), GroupError<&'static str>>) -> Option<&'static str> {
    result.err().map(|error| *error.member().expect("a member's error"))
}

/// `TestZeroGroup`: the first error remains, for any number of waits.
#[gmp::test]
async fn wait_returns_the_first_error() {
    let cases: [&[Option<&str>]; 5] =
        [&[], &[None], &[Some("1")], &[Some("1"), None], &[Some("1"), None, Some("2")]];
    for errors in cases {
        let group = Group::new();
        let mut first = None;
        for error in errors.iter().copied() {
            group.go(async move { error.map_or(Ok(()), Err) }).await;
            first = first.or(error);
            assert_eq!(text(group.wait().await), first);
        }
        assert_eq!(text(group.wait().await), first);
    }
}

/// `TestWithContext`, `TestCancelCause`: the context ends with the first error or the wait.
#[gmp::test]
async fn the_context_ends_with_the_first_error_or_the_wait() {
    let cases: [&[Option<&str>]; 4] = [&[], &[None], &[Some("doom")], &[Some("doom"), None]];
    for errors in cases {
        let (group, ctx) = Group::with_context(&Context::background());
        for error in errors.iter().copied() {
            assert!(group.try_go(async move { error.map_or(Ok(()), Err) }).is_ok());
        }
        let wanted = errors.iter().copied().flatten().next();
        assert_eq!(text(group.wait().await), wanted);
        assert_eq!(ctx.err(), Some(ContextError::Cancelled));
        let cause = ctx.cause().unwrap();
        match wanted {
            None => assert!(cause.downcast_ref::<ContextError>().is_some()),
            Some(wanted) => {
                let error = cause.downcast_ref::<GroupError<&str>>().unwrap();
                assert_eq!(error.member(), Some(&wanted));
            }
        }
    }
}

/// The first error ends the context while other members run. They see it and stop.
#[gmp::test]
async fn members_see_the_end_of_the_context_after_the_first_error() {
    let (group, ctx) = Group::with_context(&Context::background());
    for _ in 0..10 {
        let ctx = ctx.clone();
        group
            .go(async move {
                ctx.done().await;
                Err("stopped")
            })
            .await;
    }
    group.go(ready(Err("first"))).await;
    assert_eq!(text(group.wait().await), Some("first"));
}

/// `TestTryGo`.
#[gmp::test]
async fn try_go_fails_at_the_limit() {
    let group = Group::new();
    let gates: Vec<Arc<Gate>> = (0..42).map(|_| Arc::default()).collect();
    let member = |gate: &Arc<Gate>| {
        let gate = gate.clone();
        async move {
            gate.wait().await;
            Ok(())
        }
    };
    group.set_limit(42);
    for gate in &gates {
        assert!(group.try_go(member(gate)).is_ok());
    }
    assert!(group.try_go(ready(Ok(()))).is_err());
    gates.iter().for_each(|gate| gate.open());
    assert_eq!(text(group.wait().await), None);
    assert!(group.try_go(ready(Ok(()))).is_ok());
    group.wait().await.unwrap();

    group.set_limit(1);
    let gate = Arc::default();
    assert!(group.try_go(member(&gate)).is_ok());
    assert!(group.try_go(ready(Ok(()))).is_err());
    gate.open();
    group.wait().await.unwrap();

    group.set_limit(0);
    for _ in 0..1024 {
        assert!(group.try_go(ready(Ok(()))).is_err());
    }
    group.wait().await.unwrap();
}

/// A limit of zero admits no member until it is raised.
#[gmp::test]
async fn a_limit_of_zero_admits_no_member() {
    let group = Group::new();
    group.set_limit(0);
    let starter = {
        let group = group.clone();
        go!({ group.go(ready(Err("ran"))).await })
    };
    assert!(gmp::timeout(Duration::from_millis(2), group.go(ready(Ok(())))).await.is_err());
    assert!(gmp::timeout(Duration::from_millis(2), group.wait()).await.is_err());
    assert!(!starter.is_finished());
    assert_eq!(group.active(), 0);
    group.set_limit(None);
    starter.await.unwrap();
    assert_eq!(text(group.wait().await), Some("ran"));
}

/// Members start although no one awaits that, in the order of the calls, one at a time.
#[gmp::test]
async fn members_above_the_limit_start_in_the_order_of_their_calls() {
    let (group, started) = (Group::new(), Arc::new(Mutex::new(Vec::new())));
    group.set_limit(1);
    for n in 0..100 {
        let (group, started) = (group.clone(), started.clone());
        let inside = group.clone();
        group.go(async move {
            started.lock().unwrap().push(n);
            gmp::yield_now().await;
            assert_eq!(inside.active(), 1);
            Ok(())
        });
    }
    group.wait().await.unwrap();
    assert_eq!(*started.lock().unwrap(), (0..100).collect::<Vec<_>>());
    assert_eq!(group.active(), 0);
}

/// The runtime shuts down before a member has got a place.
#[test]
fn a_member_that_never_started_has_failed() {
    let (group, runtime) = (Group::new(), runtime(1));
    group.set_limit(0);
    let entered = runtime.enter();
    let start = group.go(ready(Ok(())));
    drop(entered);
    drop(runtime);
    gmp::block_on(start);
    assert!(matches!(group.wait_blocking(), Err(GroupError::Cancelled)));
}

#[gmp::test]
async fn members_return_values() {
    let group = Group::new();
    group.set_limit(1);
    let values: Vec<_> = (0..10).map(|n| group.go_value(async move { Ok(n) })).collect();
    let mut sum = 0;
    for value in values {
        sum += value.await.unwrap();
    }
    assert_eq!(sum, 45);
    drop(group.go_value(ready(Ok(()))));
    group.wait().await.unwrap();
    let failed = group.go_value(async { Err::<u8, _>("failed") });
    assert_eq!(failed.await, None);
    assert_eq!(text(group.wait().await), Some("failed"));
    let panicked = group.go_value(async {
        if gmp::goid().is_some() {
            panic!("expected by the test");
        }
        Ok(1)
    });
    assert_eq!(panicked.await, None);
}

#[gmp::test]
async fn the_last_holder_of_an_error_takes_it() {
    let group = ErrGroup::<Box<str>>::new();
    group.go(ready(Err("mine".into())));
    let error = group.wait().await.unwrap_err();
    let error = error.into_member().unwrap_err();
    assert_eq!(error.member().map(|text| &**text), Some("mine"), "the group has it too");
    drop(group);
    assert_eq!(&*error.into_member().unwrap(), "mine");
    let cancelled = GroupError::<u8>::Cancelled.into_member();
    assert!(matches!(cancelled, Err(GroupError::Cancelled)));
}

/// `TestGoLimit`.
#[gmp::test]
async fn no_more_members_run_than_the_limit() {
    const LIMIT: usize = 10;
    let (group, active) = (Group::new(), Arc::new(AtomicUsize::new(0)));
    group.set_limit(LIMIT);
    for _ in 0..=1024 {
        let active = active.clone();
        group
            .go(async move {
                let seen = active.fetch_add(1, Ordering::AcqRel) + 1;
                gmp::yield_now().await;
                active.fetch_sub(1, Ordering::AcqRel);
                if seen > LIMIT { Err("too many at once") } else { Ok(()) }
            })
            .await;
    }
    assert_eq!(text(group.wait().await), None);
}

/// Go's message for a limit that is changed while members run.
#[test]
#[should_panic(
    expected = "errgroup: modify limit while 1 goroutines in the group are still active"
)]
fn a_new_limit_while_members_run_panics() {
    // The runtime ends, and the member with it.
    let (group, runtime) = (Group::new(), runtime(1));
    runtime.block_on(async { group.go(pending()).await });
    group.set_limit(3);
}

/// A panic is a failure: the context ends, `wait` returns it, and the group remains usable.
#[gmp::test]
async fn a_member_that_panics_is_a_failure() {
    let (group, ctx) = Group::with_context(&Context::background());
    group.go(async { panic!("expected by the test: {}", 7) }).await;
    ctx.done().await;
    let error = group.wait().await.unwrap_err();
    assert!(error.is_panic());
    assert_eq!(error.to_string(), "a member of the group panicked: expected by the test: 7");
    assert_eq!(ctx.cause().unwrap().to_string(), error.to_string());
}

/// A member whose runtime shuts down has not succeeded.
#[test]
fn a_member_whose_runtime_ends_is_a_failure() {
    let (group, runtime) = (Group::new(), runtime(1));
    runtime.block_on(async { group.go(pending()).await });
    drop(runtime);
    assert!(matches!(group.wait_blocking(), Err(GroupError::Cancelled)));
}

/// A member's values are dropped before the wait for it ends.
#[gmp::test]
async fn values_of_members_are_dropped_before_wait_returns() {
    for _ in 0..100 {
        let (group, held) = (Group::new(), Arc::new(()));
        for n in 0..4 {
            let held = held.clone();
            group
                .go(async move {
                    gmp::yield_now().await;
                    drop(held.clone());
                    if n == 3 { Err("failed") } else { Ok(()) }
                })
                .await;
        }
        assert_eq!(text(group.wait().await), Some("failed"));
        assert_eq!(Arc::strong_count(&held), 1);
    }
}

/// Threads and foreign executors use groups. A dump shows what a goroutine waits for and where
/// members start.
#[test]
fn waits_and_starts_work_everywhere_and_are_in_dumps() {
    let (group, gate, runtime) = (Group::new(), Arc::new(Gate::default()), runtime(2));
    group.set_limit(1);
    let member = {
        let gate = gate.clone();
        async move {
            gate.wait().await;
            Ok(())
        }
    };
    runtime.block_on(async { group.go(member).await });
    let starter = {
        let group = group.clone();
        runtime.spawn(async move { group.go(briefly()).await })
    };
    let waiter = {
        let group = group.clone();
        runtime.spawn(async move { group.wait().await.is_ok() })
    };
    let dump = || runtime.block_on(async { gmp::runtime::dump() });
    until(|| dump().contains(" [semacquire]") && dump().contains(" [sync.WaitGroup.Wait]"));
    gate.open();
    gmp::block_on(starter).unwrap();
    assert!(gmp::block_on(waiter).unwrap());
    assert!(futures::executor::block_on(group.wait()).is_ok());
    assert!(format!("{group:?}").contains("limit: Some(1), failed: false"), "{group:?}");
}

async fn briefly() -> Result<(), &'static str> {
    gmp::yield_now().await;
    Ok(())
}
