//! `Once`, `OnceCell` and `Lazy`, after Go's `once_test.go` and `oncefunc_test.go`.

use super::cancel::Polled;
use super::support::{Gate, runtime};
use gmp::go;
use gmp::sync::{Lazy, Once, OnceCell, SetError};
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the message of a panic.
fn panic_of(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("must panic");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast::<&'static str>().expect("a message").to_string(),
    }
}

/// `TestOnce`: the call runs once for any number of callers, and all of them see that it is done.
#[test]
fn concurrent_callers_run_once() {
    let runtime = runtime(2);
    let (once, count) = (Arc::new(Once::new()), Arc::new(AtomicUsize::new(0)));
    let handles: Vec<_> = (0..10)
        .map(|_| {
            let (once, count) = (once.clone(), count.clone());
            runtime.spawn(async move {
                once.call(|| async {
                    gmp::yield_now().await;
                    count.fetch_add(1, Ordering::Relaxed);
                })
                .await;
                assert_eq!(count.load(Ordering::Relaxed), 1);
            })
        })
        .collect();
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
    once.call_blocking(|| unreachable!("it is done"));
    assert_eq!(format!("{once:?}"), "Once { is_done: true }");
}

/// `TestOncePanic`: a panic counts as done.
#[test]
fn a_panic_counts_as_done() {
    let once = Once::new();
    let text = panic_of(|| once.call_blocking(|| panic!("expected by the test")));
    assert_eq!(text, "expected by the test");
    once.call_blocking(|| unreachable!("called twice"));
    let once = Once::new();
    panic_of(|| gmp::block_on(once.call(|| async { panic!("expected by the test") })));
    gmp::block_on(once.call(|| async { unreachable!("called twice") }));
}

/// A dropped call counts as done, as Go's `Goexit` does. Waiters continue.
#[test]
fn a_dropped_call_counts_as_done() {
    let once = Once::new();
    let mut first = Polled::waiting(once.call(std::future::pending));
    let mut second = Polled::waiting(once.call(|| async { unreachable!("called twice") }));
    first.cancel();
    assert!(second.is_woken() && once.is_done());
    assert!(second.poll().is_some());
}

/// `TestOnceFunc`, `TestOnceValue`, `TestOnceValues`: one call, and all callers get its result.
#[gmp::test]
async fn a_lazy_value_is_made_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = |calls: &Arc<AtomicUsize>| {
        let calls = calls.clone();
        move || calls.fetch_add(1, Ordering::Relaxed)
    };
    let (f, v, vs) = (counted(&calls), counted(&calls), counted(&calls));
    let func = Lazy::new(async move { _ = f() });
    let value = Lazy::new(async move { v() });
    let values = Lazy::new(async move { (vs(), "two") });
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    assert_eq!(format!("{value:?}"), "Lazy(<not yet>)");
    assert!(value.get().is_none());
    for _ in 0..3 {
        func.force().await;
        assert_eq!(*value.force().await, 1);
        assert_eq!(*values.force().await, (2, "two"));
    }
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    assert_eq!(value.force_blocking(), value.get().unwrap());
    assert_eq!(format!("{value:?}"), "Lazy(1)");
}

/// `TestOnceFuncPanic`, `TestOnceValuePanic`, `TestOnceValuesPanic`: the same panic each time.
#[test]
fn a_lazy_panic_is_raised_each_time() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let lazy: Lazy<()> = Lazy::new(async move {
        panic!("call {}", counted.fetch_add(1, Ordering::Relaxed));
    });
    for _ in 0..3 {
        assert_eq!(panic_of(|| _ = gmp::block_on(lazy.force())), "call 0");
        assert_eq!(panic_of(|| _ = lazy.get()), "call 0");
    }
    assert_eq!(format!("{lazy:?}"), "Lazy(<panicked>)");
    let lazy: Lazy<()> = Lazy::new(async { panic!("a literal") });
    for _ in 0..2 {
        assert_eq!(panic_of(|| _ = lazy.force_blocking()), "a literal");
    }
    let lazy: Lazy<()> = Lazy::new(async { std::panic::panic_any(7u8) });
    let first = catch_unwind(AssertUnwindSafe(|| _ = lazy.force_blocking())).unwrap_err();
    assert_eq!(first.downcast_ref::<u8>(), Some(&7));
    assert_eq!(panic_of(|| _ = lazy.force_blocking()), "the future of a Lazy panicked");
}

/// Waiters of a lazy value panic too if its future panics.
#[test]
fn waiters_of_a_lazy_value_that_panics_panic() {
    let gate = Arc::new(Gate::default());
    let inside = gate.clone();
    let lazy: Lazy<()> = Lazy::new(async move {
        inside.wait().await;
        panic!("expected by the test");
    });
    let mut first = Polled::waiting(lazy.force());
    let mut second = Polled::waiting(lazy.force());
    gate.open();
    assert_eq!(panic_of(|| _ = first.poll()), "expected by the test");
    assert_eq!(panic_of(|| _ = second.poll()), "expected by the test");
}

/// `TestOnceXGC`: the values that the future owned are dropped when it has ended.
#[test]
fn a_lazy_future_is_dropped_when_done() {
    let owned = Arc::new(());
    let inside = owned.clone();
    let lazy = Lazy::new(async move { Arc::strong_count(&inside) });
    assert_eq!(*lazy.force_blocking(), 2);
    assert_eq!(Arc::strong_count(&owned), 1);
    let inside = owned.clone();
    let lazy: Lazy<()> = Lazy::new(async move {
        let _inside = inside;
        panic!("expected by the test");
    });
    panic_of(|| _ = lazy.force_blocking());
    assert_eq!(Arc::strong_count(&owned), 1);
}

/// The caller that runs the future is dropped. The next caller continues the same future.
#[test]
fn the_next_caller_continues_a_lazy_future() {
    let gate = Arc::new(Gate::default());
    let (inside, begun) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
    let count = begun.clone();
    let lazy = Lazy::new(async move {
        count.fetch_add(1, Ordering::Relaxed);
        inside.wait().await;
        42
    });
    let mut first = Polled::waiting(lazy.force());
    let mut second = Polled::waiting(lazy.force());
    first.cancel();
    assert!(second.is_woken());
    assert!(second.poll().is_none());
    gate.open();
    assert_eq!(*second.poll().unwrap(), 42);
    assert_eq!(begun.load(Ordering::Relaxed), 1);
}

#[gmp::test]
async fn a_cell_is_set_once() {
    let cell = Arc::new(OnceCell::new());
    let handles: Vec<_> = (0..10)
        .map(|n| {
            let cell = cell.clone();
            go!({
                *cell
                    .get_or_init(|| async {
                        gmp::yield_now().await;
                        n
                    })
                    .await
            })
        })
        .collect();
    let value = *cell.wait().await;
    for handle in handles {
        assert_eq!(handle.await.unwrap(), value);
    }
    assert_eq!(cell.set(11), Err(SetError::AlreadySet(11)));
    assert_eq!(cell.set(11).unwrap_err().into_inner(), 11);
    assert_eq!(*cell.get_or_init_blocking(|| unreachable!("it is set")), value);
    assert_eq!(format!("{cell:?}"), format!("OnceCell(Some({value}))"));
}

/// An initialiser that fails, panics or is dropped sets nothing, and the next one tries.
#[test]
fn a_failed_initialiser_lets_the_next_one_try() {
    let cell = OnceCell::new();
    let failed = gmp::block_on(cell.get_or_try_init(|| async { Err::<u32, _>("failed") }));
    assert_eq!(failed, Err("failed"));
    panic_of(|| {
        gmp::block_on(cell.get_or_init(|| async { panic!("expected by the test") }));
    });
    let mut first = Polled::waiting(cell.get_or_init(std::future::pending));
    assert_eq!(
        cell.set(1).unwrap_err().to_string(),
        "the cell is being set: use `wait` for its value"
    );
    let mut waits = Polled::waiting(cell.wait());
    let mut second = Polled::waiting(cell.get_or_try_init(|| async { Ok::<_, Infallible>(2) }));
    let mut third = Polled::waiting(cell.get_or_init(|| async { 3 }));
    first.cancel();
    assert!(second.is_woken() && !third.is_woken() && !waits.is_woken());
    // It was given the turn and is dropped as well.
    second.cancel();
    assert!(third.is_woken());
    assert_eq!(third.poll(), Some(&3));
    assert_eq!(waits.poll(), Some(&3));
    assert_eq!(*cell.wait_blocking(), 3);
}

#[test]
fn the_value_of_a_cell_can_be_taken_and_changed() {
    let mut cell = OnceCell::from(1);
    *cell.get_mut().unwrap() += 1;
    assert_eq!(cell.take(), Some(2));
    assert_eq!(cell.get(), None);
    assert_eq!(cell.set(3), Ok(()));
    assert_eq!(cell.into_inner(), Some(3));
    assert_eq!(OnceCell::<u8>::default().into_inner(), None);
}

#[test]
fn cells_are_compared_and_cloned_as_their_values() {
    let (empty, full) = (OnceCell::<String>::new(), OnceCell::from("full".to_owned()));
    assert_eq!(full.clone(), full);
    assert_eq!(empty.clone(), empty);
    assert_ne!(empty, full);
    let clone = empty.clone();
    clone.set("later".into()).unwrap();
    assert!(empty.get().is_none(), "a clone has a value of its own");
    let refused = full.set("again".into()).unwrap_err();
    assert_eq!(refused.clone(), refused);
    assert_eq!(refused.into_inner(), "again");
}

/// A thread that fails to set the value gives the turn to the next one.
#[test]
fn a_thread_tries_again_after_a_failure() {
    let cell = OnceCell::new();
    assert_eq!(cell.get_or_try_init_blocking(|| Err::<u8, _>("failed")), Err("failed"));
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _ = cell.get_or_try_init_blocking(|| -> Result<u8, ()> { panic!("expected") });
    }));
    assert!(caught.is_err() && cell.get().is_none());
    assert_eq!(cell.get_or_try_init_blocking(|| Ok::<_, ()>(7)), Ok(&7));
    let other = cell.get_or_try_init_blocking(|| -> Result<u8, ()> { unreachable!("it is set") });
    assert_eq!(other, Ok(&7));
}
