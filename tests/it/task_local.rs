//! `task_local!`: values of a task.

use super::support::Mutex;
use gmp::task::LocalKey;
use gmp::{go, task_local};
use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

task_local! {
    /// A number.
    static NUMBER: u32;
    pub(crate) static TEXT: String;
    #[cfg(not(test))]
    static LEFT_OUT: MissingType
}

task_local!();
task_local!(static NOT_SYNC: RefCell<Vec<u32>>);

/// Notes the value of `NUMBER` when it is dropped.
struct Noting(Arc<Mutex<Vec<Option<u32>>>>);

impl Drop for Noting {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(NUMBER.try_get());
    }
}

#[gmp::test]
async fn a_value_is_set_inside_its_scope_only() {
    assert_eq!(NUMBER.try_get(), None);
    let inside = NUMBER.scope(1, async {
        assert_eq!(NUMBER.get(), 1);
        gmp::yield_now().await;
        assert_eq!(TEXT.try_with(|text| text.map(String::len)), None);
        NUMBER.with(|n| n + 1)
    });
    assert_eq!(NUMBER.try_get(), None);
    assert_eq!(inside.await, 2);
    assert_eq!(NUMBER.try_get(), None);
}

#[gmp::test]
async fn scopes_nest() {
    let outer = NUMBER.scope(1, async {
        let inner = NUMBER.scope(2, async {
            gmp::yield_now().await;
            // Also while the outer value is borrowed.
            NUMBER.with(|two| NUMBER.sync_scope(3, || (*two, NUMBER.get())))
        });
        assert_eq!(NUMBER.get(), 1);
        let inner = inner.await;
        assert_eq!(NUMBER.get(), 1);
        inner
    });
    assert_eq!(outer.await, (2, 3));
    assert_eq!(TEXT.sync_scope("a".into(), || NUMBER.sync_scope(4, || TEXT.get())), "a");
}

/// Two scopes that run by turns on one thread do not see each other.
#[gmp::test(max_procs = 1)]
async fn each_task_has_its_own_value() {
    async fn checks(n: u32) {
        for _ in 0..100 {
            assert_eq!(NUMBER.get(), n);
            gmp::yield_now().await;
        }
    }
    let spawned = go!(NUMBER.scope(1, checks(1)));
    gmp::join!(NUMBER.scope(2, checks(2)), NUMBER.scope(3, checks(3)));
    spawned.await.unwrap();
}

/// A goroutine keeps its value on whatever thread it runs.
#[gmp::test(max_procs = 4)]
async fn a_goroutine_takes_its_value_along() {
    let goroutines: Vec<_> = (0..50)
        .map(|n| {
            go!(NUMBER.scope(n, async {
                for _ in 0..50 {
                    gmp::block_in_place(|| assert!(NUMBER.try_get().is_some()));
                    gmp::yield_now().await;
                }
                NUMBER.get()
            }))
        })
        .collect();
    for (n, goroutine) in goroutines.into_iter().enumerate() {
        assert_eq!(goroutine.await.unwrap(), n as u32);
    }
}

/// The value is set while the future is dropped: when it is ready, when it is not, and before its
/// first poll.
#[gmp::test]
async fn the_value_is_set_during_the_drop() {
    let log: Arc<Mutex<Vec<Option<u32>>>> = Arc::default();
    let noting = Noting(log.clone());
    NUMBER.scope(1, async move { drop(noting) }).await;
    let noting = Noting(log.clone());
    let mut waits = Box::pin(NUMBER.scope(2, async move {
        pending::<()>().await;
        drop(noting);
    }));
    assert!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(waits);
    let noting = Noting(log.clone());
    drop(NUMBER.scope(3, async move { drop(noting) }));
    let noting = Noting(log.clone());
    NUMBER.sync_scope(4, || drop(NUMBER.carry(async move { drop(noting) })));
    // The future of `poll_fn` is dropped after it was ready.
    let noting = Noting(log.clone());
    NUMBER.scope(5, poll_fn(move |_| Poll::Ready(noting.0.lock().unwrap().len()))).await;
    assert_eq!(*log.lock().unwrap(), [Some(1), Some(2), Some(3), Some(4), Some(5)]);
}

/// A panic ends the scopes that it leaves.
#[gmp::test]
async fn a_panic_restores_the_value() {
    let log: Arc<Mutex<Vec<Option<u32>>>> = Arc::default();
    NUMBER
        .scope(1, async {
            let panicked = catch_unwind(|| NUMBER.sync_scope(2, || panic!("{}", NUMBER.get())));
            assert!(panicked.is_err());
            assert_eq!(NUMBER.get(), 1);
            let noting = Noting(log.clone());
            let mut inner = Box::pin(NUMBER.scope(3, async move {
                let _noting = noting;
                panic!("{}", NUMBER.get());
            }));
            let mut cx = Context::from_waker(Waker::noop());
            let polled = catch_unwind(AssertUnwindSafe(|| inner.as_mut().poll(&mut cx).is_ready()));
            assert!(polled.is_err());
            assert_eq!(NUMBER.get(), 1);
        })
        .await;
    assert_eq!(*log.lock().unwrap(), [Some(3)]);
    assert_eq!(NUMBER.try_get(), None);
}

/// A spawned goroutine has no value, unless it is carried over.
#[gmp::test]
async fn carry_passes_the_value_to_a_goroutine() {
    async fn read() -> Option<u32> {
        gmp::yield_now().await;
        NUMBER.try_get()
    }
    NUMBER
        .scope(1, async {
            assert_eq!(go!(read()).await.unwrap(), None);
            assert_eq!(go!(NUMBER.carry(read())).await.unwrap(), Some(1));
        })
        .await;
    let without = NUMBER.carry(read());
    assert_eq!(go!(without).await.unwrap(), None);
    let without = NUMBER.carry(read());
    assert_eq!(NUMBER.scope(2, without).await, Some(2));
}

/// The value need not be `Sync`: only one thread at a time has it.
#[gmp::test]
async fn values_need_not_be_sync() {
    let sum = go!(NOT_SYNC.scope(RefCell::default(), async {
        for n in 0..5 {
            NOT_SYNC.with(|list| list.borrow_mut().push(n));
            gmp::yield_now().await;
        }
        NOT_SYNC.with(|list| list.take().into_iter().sum::<u32>())
    }));
    assert_eq!(sum.await.unwrap(), 10);
}

/// `try_with` calls its closure in any case.
#[gmp::test]
async fn try_with_keeps_the_closure() {
    let calls = Cell::new(0);
    let call = |n: Option<&u32>| {
        calls.set(calls.get() + 1);
        n.copied()
    };
    assert_eq!(NUMBER.try_with(call), None);
    assert_eq!(NUMBER.sync_scope(7, || NUMBER.try_with(call)), Some(7));
    assert_eq!(calls.get(), 2);
}

#[test]
#[should_panic(expected = "a task-local value of type `u32` is read outside of its scope")]
fn a_read_outside_of_a_scope_panics() {
    NUMBER.get();
}

/// The value may be read in a destructor of another thread-local value.
#[test]
fn a_destructor_of_the_thread_reads_no_value() {
    struct Late(&'static LocalKey<u32>);
    impl Drop for Late {
        fn drop(&mut self) {
            assert_eq!(self.0.try_get(), None);
        }
    }
    thread_local!(static LATE: Late = const { Late(&NUMBER) });
    let thread = std::thread::spawn(|| LATE.with(|_| NUMBER.sync_scope(1, || NUMBER.get())));
    assert_eq!(thread.join().unwrap(), 1);
}

/// A future that is polled again after it was ready panics, also in its scope.
#[test]
#[should_panic(expected = "polled after it was ready")]
fn a_second_poll_after_the_end_panics() {
    let mut cx = Context::from_waker(Waker::noop());
    let mut future = pin!(NUMBER.scope(1, async {}));
    assert!(future.as_mut().poll(&mut cx).is_ready());
    let _ = future.as_mut().poll(&mut cx);
}
