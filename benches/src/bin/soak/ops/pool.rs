//! Pool and SingleFlight, shared by all runtimes.

use crate::context::{Cx, abort, join};
use crate::coverage::{End, did, did_option};
use crate::violation::{expected_panic, violation};
use gmp::sync::{Pool, PoolGuard, SingleFlight};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Buffers of the shared pool belong to one owner at a time.
pub(crate) async fn pool_shared(mut cx: Cx) {
    let pool = cx.commons.pool.clone();
    let mark = cx.rand.next().to_le_bytes();
    match cx.rand.below(4) {
        0 => {
            let mut buffer = pool.get_guard();
            fill(&mut buffer, &mark);
            cx.pause().await;
            check(&buffer, &mark);
            did("Pool::get_guard", End::Ok);
            if cx.rand.once_in(4) {
                let buffer = PoolGuard::into_inner(buffer);
                check(&buffer, &mark);
            }
        }
        1 => {
            let buffer = did_option("Pool::try_get", pool.try_get());
            if let Some(buffer) = buffer {
                pool.put(buffer);
            }
        }
        2 => {
            pool.drop_idle();
            did("Pool::drop_idle", End::Ok);
        }
        _ => {
            let mut buffer = pool.get();
            fill(&mut buffer, &mark);
            cx.pause().await;
            check(&buffer, &mark);
            pool.put(buffer);
            did("Pool::get, put", End::Ok);
        }
    }
}

fn fill(buffer: &mut Vec<u8>, mark: &[u8]) {
    buffer.clear();
    buffer.extend_from_slice(mark);
}

fn check(buffer: &[u8], mark: &[u8]) {
    if buffer != mark {
        violation("two owners have the same item of a pool");
    }
}

/// A pool whose function panics, and whose items panic when they are dropped.
pub(crate) async fn pool_panics(mut cx: Cx) {
    struct Item;
    impl Drop for Item {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                expected_panic();
            }
        }
    }
    let (make_panics, ages) = (cx.rand.once_in(2), cx.rand.below(3));
    // Only the goroutine holds the pool, so the panic of a drop happens there.
    let child = cx.spawn(async move {
        let make = move || if make_panics { expected_panic() } else { Item };
        let pool = Pool::with_idle_timeout(make, Duration::from_millis(50));
        let item = pool.get();
        pool.put(item);
        (0..ages).for_each(|_| pool.drop_idle());
    });
    join(child).await;
    did("Pool with panics", End::Panicked);
}

/// Calls with one key run once at a time; callers get the value of the call that ran.
pub(crate) async fn single_flight(mut cx: Cx) {
    let flights: SingleFlight<u64, Arc<u64>> = SingleFlight::new();
    let running = Arc::new(AtomicU64::new(0));
    let mut children = Vec::new();
    for n in 0..1 + cx.rand.below(6) {
        let (flights, running) = (flights.clone(), running.clone());
        children.push(cx.spawn_anywhere(|mut inner| async move {
            let panics = inner.rand.once_in(8);
            let call = move || async move {
                struct Ends(Arc<AtomicU64>);
                impl Drop for Ends {
                    fn drop(&mut self) {
                        self.0.fetch_sub(1, Relaxed);
                    }
                }
                if running.fetch_add(1, Relaxed) != 0 {
                    violation("two calls with one key run at once");
                }
                let _ends = Ends(running.clone());
                inner.pause().await;
                if panics {
                    expected_panic();
                }
                Arc::new(n)
            };
            let result = flights.call(1, call).await;
            did("SingleFlight::call", End::Ok);
            *result.value
        }));
    }
    if cx.rand.once_in(2) {
        abort(cx.rand.pick(&children));
    }
    for child in children {
        join(child).await;
    }
}

/// The other forms of a call, on the shared group.
pub(crate) async fn flight_shared(mut cx: Cx) {
    let flights = cx.commons.flights.clone();
    let (key, mut inner) = (cx.rand.below(4), cx.fork());
    match cx.rand.below(3) {
        0 => {
            let result = flights.call_blocking(key, || async { Arc::new(key) });
            check_key(key, *result.value);
            did("SingleFlight::call_blocking", End::Ok);
        }
        1 => {
            let call = flights.spawn(key, move || async move {
                inner.pause().await;
                Arc::new(key)
            });
            if cx.rand.once_in(4) {
                call.abort();
            }
            if let Ok(result) = call.await {
                check_key(key, *result.value);
            }
            did("SingleFlight::spawn", End::Ok);
        }
        _ => {
            flights.forget(&key);
            did("SingleFlight::forget", End::Ok);
        }
    }
}

fn check_key(key: u64, value: u64) {
    if key != value {
        violation(format!("a call for key {key} gave {value}"));
    }
}
