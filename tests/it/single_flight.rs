//! Calls that run once for many callers, after `singleflight_test.go` of `x/sync`.

use super::support::{Gate, runtime, until};
use futures::FutureExt;
use gmp::sync::{FlightResult, SingleFlight, WaitGroup};
use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `TestDo`.
#[gmp::test]
async fn a_call_returns_its_value() {
    let flights = SingleFlight::new();
    let result = flights.call("key", || ready("bar")).await;
    assert_eq!(result, FlightResult { value: "bar", shared: false });
    assert_eq!(flights.call_blocking("key", || ready("again")).value, "again");
    assert_eq!(format!("{flights:?}"), "SingleFlight { in_flight: 0 }");
}

/// `TestDoErr`.
#[gmp::test]
async fn an_error_is_returned_as_the_value() {
    let flights = SingleFlight::new();
    let result = flights.call(1, || ready(Err::<(), _>("some error"))).await;
    assert_eq!(result.value, Err("some error"));
}

/// `TestDoDupSuppress`: ten callers, one call.
#[test]
fn ten_callers_share_one_call() {
    let runtime = runtime(2);
    let flights = SingleFlight::new();
    let (gate, calls) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
    let callers: Vec<_> = (0..10)
        .map(|_| {
            let (flights, gate, calls) = (flights.clone(), gate.clone(), calls.clone());
            runtime.spawn(async move {
                let call = || async move {
                    calls.fetch_add(1, Ordering::Relaxed);
                    gate.wait().await;
                    "bar"
                };
                flights.call("key", call).await
            })
        })
        .collect();
    // Nine callers wait for the one that runs the call. A dump shows them.
    until(|| {
        let dump = runtime.block_on(async { gmp::runtime::dump() });
        dump.matches(" [sync.WaitGroup.Wait]").count() == 9
    });
    gate.open();
    for caller in callers {
        assert_eq!(gmp::block_on(caller).unwrap(), FlightResult { value: "bar", shared: true });
    }
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

/// `TestForget`.
#[gmp::test]
async fn a_forgotten_key_starts_a_new_call() {
    let flights = SingleFlight::<String, u32>::new();
    let gates: [Arc<Gate>; 2] = Default::default();
    let call = |n: usize| {
        let gate = gates[n].clone();
        move || async move {
            gate.wait().await;
            n as u32 + 1
        }
    };
    let first = flights.spawn("key".into(), call(0));
    flights.forget("key");
    let second = flights.spawn("key".into(), call(1));
    gates[0].open();
    assert_eq!(first.await.unwrap(), FlightResult { value: 1, shared: false });
    let third = flights.spawn("key".into(), || ready(3));
    gates[1].open();
    assert_eq!(second.await.unwrap(), FlightResult { value: 2, shared: true });
    assert_eq!(third.await.unwrap(), FlightResult { value: 2, shared: true });
}

/// `TestDoChan`.
#[gmp::test]
async fn spawn_runs_the_call_in_its_own_goroutine() {
    let flights = SingleFlight::new();
    let call = flights.spawn("key", || ready("bar"));
    assert_eq!(call.await.unwrap().value, "bar");
}

/// `TestPanicDo`: every caller whose function panics gets the panic, and none hangs.
#[gmp::test]
async fn every_caller_whose_function_panics_gets_the_panic() {
    let (flights, group) = (SingleFlight::<_, ()>::new(), WaitGroup::new());
    let panics = Arc::new(AtomicUsize::new(0));
    for _ in 0..5 {
        let (flights, panics) = (flights.clone(), panics.clone());
        group.go(async move {
            let call = flights.call("key", || async {
                gmp::yield_now().await;
                panic!("expected by the test")
            });
            if AssertUnwindSafe(call).catch_unwind().await.is_err() {
                panics.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    group.wait().await;
    assert_eq!(panics.load(Ordering::Relaxed), 5);
}

/// A panic does not affect the other callers: the next one runs its own function.
#[gmp::test]
async fn the_next_caller_runs_its_own_function_after_a_panic() {
    let (flights, gate) = (SingleFlight::new(), Arc::new(Gate::default()));
    let first = flights.spawn("key", {
        let gate = gate.clone();
        || async move {
            gate.wait().await;
            panic!("expected by the test")
        }
    });
    let second = flights.spawn("key", || ready(2));
    gate.open();
    assert!(first.await.unwrap_err().is_panic());
    assert_eq!(second.await.unwrap().value, 2);
}

/// `TestGoexitDo`: if the goroutine that runs the call is aborted, the call passes to another
/// caller.
#[gmp::test]
async fn an_aborted_leader_passes_the_call_on() {
    let flights = SingleFlight::new();
    let stuck = flights.spawn("key", std::future::pending);
    let followers: Vec<_> = (0..5).map(|n| flights.spawn("key", move || ready(n))).collect();
    gmp::yield_now().await;
    stuck.abort();
    assert!(stuck.await.unwrap_err().is_cancelled());
    for follower in followers {
        follower.await.unwrap();
    }
    assert_eq!(format!("{flights:?}"), "SingleFlight { in_flight: 0 }");
}

/// Calls with different keys do not wait for each other, also on external threads.
#[test]
fn calls_with_different_keys_do_not_wait_for_each_other() {
    let flights = SingleFlight::<usize, usize>::new();
    let stuck = flights.spawn(99, std::future::pending);
    std::thread::scope(|scope| {
        for n in 0..4 {
            let flights = &flights;
            scope.spawn(move || {
                for round in 0..500 {
                    let key = (round + n) % 3;
                    let call = || async move {
                        gmp::yield_now().await;
                        key
                    };
                    assert_eq!(flights.call_blocking(key, call).value, key);
                }
            });
        }
    });
    stuck.abort();
}
