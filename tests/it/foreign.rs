//! Foreign wakers and foreign executors.

use super::support::{Gate, Mutex, runtime};
use futures::StreamExt;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use gmp::go;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

#[gmp::test]
async fn handles_work_in_join_all_and_futures_unordered() {
    let sum: u64 = join_all((0..100u64).map(|n| go!({ n }))).await.into_iter().flatten().sum();
    assert_eq!(sum, 4950);
    let mut set: FuturesUnordered<_> = (0..100u64)
        .map(|n| {
            go!({
                gmp::sleep(Duration::from_micros(n)).await;
                n
            })
        })
        .collect();
    let mut sum = 0;
    while let Some(n) = set.next().await {
        sum += n.unwrap();
    }
    assert_eq!(sum, 4950);
}

#[gmp::test]
async fn sleeps_yields_and_timeouts_work_in_futures_unordered() {
    let mut set: FuturesUnordered<futures::future::BoxFuture<'static, u32>> =
        FuturesUnordered::new();
    set.push(Box::pin(async {
        gmp::sleep(Duration::from_millis(1)).await;
        1
    }));
    set.push(Box::pin(async {
        gmp::yield_now().await;
        2
    }));
    set.push(Box::pin(async {
        let late = gmp::timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
        if late.is_err() { 3 } else { 0 }
    }));
    let mut sum = 0;
    while let Some(n) = set.next().await {
        sum += n;
    }
    assert_eq!(sum, 6);
}

#[test]
fn another_executor_joins_and_sleeps() {
    futures::executor::block_on(async {
        assert_eq!(gmp::spawn(async { 3 }).await.unwrap(), 3);
        gmp::sleep(Duration::from_millis(1)).await;
        gmp::yield_now().await;
        let mut ticker = gmp::Ticker::new(Duration::from_millis(1));
        ticker.tick().await;
    });
}

#[test]
fn a_handle_moves_between_executors_while_polled() {
    // One executor polls the future first, then another one awaits it. The wake-up must call the
    // second waker.
    let gate = Arc::new(Gate::default());
    let inside = gate.clone();
    let mut handle = gmp::spawn(async move { inside.wait().await });
    futures::executor::block_on(poll_fn(|cx| {
        assert!(std::pin::Pin::new(&mut handle).poll(cx).is_pending());
        Poll::Ready(())
    }));
    gate.open();
    gmp::block_on(handle).unwrap();
}

#[test]
fn a_waker_outlives_its_goroutine_and_its_runtime() {
    let runtime = runtime(1);
    let kept: Arc<Mutex<Option<Waker>>> = Arc::default();
    let keep = kept.clone();
    let handle = runtime.spawn(poll_fn(move |cx| {
        *keep.lock().unwrap() = Some(cx.waker().clone());
        Poll::Ready(())
    }));
    gmp::block_on(handle).unwrap();
    let waker = kept.lock().unwrap().take().unwrap();
    waker.wake_by_ref();
    drop(runtime);
    waker.wake_by_ref();
    let other = waker.clone();
    waker.wake();
    drop(other);
}

#[test]
fn wake_ups_from_many_threads_are_not_lost() {
    let runtime = runtime(2);
    for _ in 0..50 {
        let gates: Vec<_> = (0..8).map(|_| Arc::new(Gate::default())).collect();
        let waits: Vec<_> = gates
            .iter()
            .cloned()
            .map(|gate| runtime.spawn(async move { gate.wait().await }))
            .collect();
        let threads: Vec<_> =
            gates.into_iter().map(|gate| std::thread::spawn(move || gate.open())).collect();
        for wait in waits {
            gmp::block_on(wait).unwrap();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
