//! The barrier.

use super::cancel::Polled;
use super::support::runtime;
use gmp::sync::Barrier;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rounds of several goroutines. No goroutine is a round ahead, and each round has one leader.
#[test]
fn each_round_has_one_leader() {
    const N: usize = 7;
    const ROUNDS: usize = 100;
    let runtime = runtime(2);
    let barrier = Arc::new(Barrier::new(N));
    let come = Arc::new(AtomicUsize::new(0));
    let handles: Vec<_> = (0..N)
        .map(|_| {
            let (barrier, come) = (barrier.clone(), come.clone());
            runtime.spawn(async move {
                let mut led = 0;
                for round in 1..=ROUNDS {
                    come.fetch_add(1, Ordering::Relaxed);
                    led += usize::from(barrier.wait().await.is_leader());
                    assert!(come.load(Ordering::Relaxed) >= N * round, "too early");
                    barrier.wait().await;
                }
                led
            })
        })
        .collect();
    let led: usize = handles.into_iter().map(|handle| gmp::block_on(handle).unwrap()).sum();
    assert_eq!(led, ROUNDS);
}

/// A dropped wait does not count as an arrival.
#[test]
fn a_dropped_wait_does_not_count_as_an_arrival() {
    let barrier = Barrier::new(3);
    let mut first = Polled::waiting(barrier.wait());
    let mut second = Polled::waiting(barrier.wait());
    assert_eq!(format!("{barrier:?}"), "Barrier { size: 3, come: 2 }");
    first.cancel();
    let mut third = Polled::waiting(barrier.wait());
    assert!(barrier.wait_blocking().is_leader());
    assert!(!second.poll().unwrap().is_leader() && !third.poll().unwrap().is_leader());
    // A dropped wait that has already passed is not missing in the next round.
    let mut passed = Polled::waiting(barrier.wait());
    let mut other = Polled::waiting(barrier.wait());
    assert!(Polled::new(barrier.wait()).poll().unwrap().is_leader());
    passed.cancel();
    assert!(other.poll().is_some());
    assert!(Polled::new(barrier.wait()).poll().is_none());
}

#[test]
fn a_barrier_of_zero_or_one_never_blocks() {
    for size in [0, 1] {
        let barrier = Barrier::new(size);
        for _ in 0..3 {
            assert!(barrier.wait_blocking().is_leader());
        }
    }
}

#[test]
fn external_threads_wait_at_a_barrier() {
    let barrier = Barrier::new(4);
    let led = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    led.fetch_add(
                        usize::from(barrier.wait_blocking().is_leader()),
                        Ordering::Relaxed,
                    );
                }
            });
        }
    });
    assert_eq!(led.into_inner(), 50);
}
