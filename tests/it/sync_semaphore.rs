//! The semaphore, after Go's `runtime_sema` tests and `x/sync/semaphore`.

use super::cancel::Polled;
use super::support::runtime;
use gmp::sync::Semaphore;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `TestSemaphore` (`sync/runtime_sema_test.go`, `HammerSemaphore`).
#[test]
fn goroutines_take_and_give_permits() {
    let runtime = runtime(2);
    let semaphore = Arc::new(Semaphore::new(1));
    let inside = Arc::new(AtomicUsize::new(0));
    let handles: Vec<_> = (0..10)
        .map(|_| {
            let (semaphore, inside) = (semaphore.clone(), inside.clone());
            runtime.spawn(async move {
                for _ in 0..1000 {
                    let _permit = semaphore.acquire(1).await;
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                    inside.fetch_sub(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
    assert_eq!(semaphore.available_permits(), 1);
}

/// `TestWeighted`: many weights at once never exceed the size.
#[test]
fn weights_never_exceed_the_size() {
    const SIZE: usize = 5;
    let runtime = runtime(2);
    let semaphore = Arc::new(Semaphore::new(SIZE));
    let taken = Arc::new(AtomicUsize::new(0));
    let handles: Vec<_> = (1..=SIZE)
        .flat_map(|weight| [weight; 3])
        .map(|weight| {
            let (semaphore, taken) = (semaphore.clone(), taken.clone());
            runtime.spawn(async move {
                for _ in 0..200 {
                    let permit = semaphore.clone().acquire_owned(weight).await;
                    assert!(taken.fetch_add(weight, Ordering::Relaxed) + weight <= SIZE);
                    gmp::yield_now().await;
                    taken.fetch_sub(weight, Ordering::Relaxed);
                    drop(permit);
                }
            })
        })
        .collect();
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
    assert_eq!(semaphore.available_permits(), SIZE);
}

/// `TestWeightedPanic`.
#[test]
#[should_panic(expected = "semaphore: released more than held")]
fn a_release_above_the_size_panics() {
    let semaphore = Semaphore::new(1);
    semaphore.release(1);
}

/// `TestWeightedTryAcquire`.
#[test]
fn try_acquire_takes_only_free_permits() {
    let semaphore = Semaphore::new(2);
    semaphore.try_acquire(1).unwrap().forget();
    let second = semaphore.try_acquire(1);
    assert!(second.is_some() && semaphore.try_acquire(1).is_none());
    drop(second);
    semaphore.release(1);
    assert!(semaphore.try_acquire(2).is_some());
}

/// `TestWeightedAcquire`.
#[test]
fn a_request_waits_for_permits() {
    let semaphore = Semaphore::new(2);
    let first = Polled::new(semaphore.acquire(1)).poll().unwrap();
    let second = Polled::new(semaphore.acquire(1)).poll().unwrap();
    let mut third = Polled::waiting(semaphore.acquire(1));
    drop(first);
    let third = third.poll().unwrap();
    drop((second, third));
    assert_eq!(semaphore.available_permits(), 2);
}

/// `TestWeightedDoesntBlockIfTooBig`: a request above the size waits and blocks no other request.
#[test]
fn a_request_above_the_size_blocks_no_other() {
    let semaphore = Semaphore::new(2);
    let mut too_big = Polled::waiting(semaphore.acquire(3));
    for _ in 0..3 {
        let permit = Polled::new(semaphore.acquire(1)).poll().expect("not held up");
        let other = semaphore.try_acquire(1).expect("not held up either");
        let mut waits = Polled::waiting(semaphore.acquire(2));
        drop((permit, other));
        assert!(waits.poll().is_some());
    }
    assert!(too_big.poll().is_none());
    // The semaphore grows, so the request is now first in the queue.
    let held = semaphore.try_acquire(2).unwrap();
    semaphore.add_permits(1);
    assert!(semaphore.try_acquire(1).is_none(), "it is first in line");
    drop(held);
    assert_eq!(too_big.poll().expect("big enough").permits(), 3);
}

/// `TestLargeAcquireDoesntStarve`: a stream of small requests does not starve a large one.
#[test]
fn big_requests_do_not_starve() {
    const N: usize = 8;
    let runtime = runtime(2);
    let semaphore = Arc::new(Semaphore::new(N));
    let running = Arc::new(AtomicUsize::new(1));
    let small: Vec<_> = (0..N)
        .map(|_| {
            let (semaphore, running) = (semaphore.clone(), running.clone());
            runtime.spawn(async move {
                while running.load(Ordering::Relaxed) == 1 {
                    let _permit = semaphore.acquire(1).await;
                    gmp::yield_now().await;
                }
            })
        })
        .collect();
    let big = semaphore.clone();
    gmp::block_on(runtime.spawn(async move { drop(big.acquire(N).await) })).unwrap();
    running.store(0, Ordering::Relaxed);
    for handle in small {
        gmp::block_on(handle).unwrap();
    }
}

/// `TestAllocCancelDoesntStarve`, `TestWeightedAcquireCanceled`: a large request at the head is
/// dropped, and the small ones behind it are served.
#[test]
fn a_dropped_large_request_lets_small_ones_in() {
    let semaphore = Semaphore::new(10);
    let one = semaphore.try_acquire(1).unwrap();
    let mut all = Polled::waiting(semaphore.acquire(10));
    let mut small: Vec<_> = (0..9).map(|_| Polled::waiting(semaphore.acquire(1))).collect();
    assert!(semaphore.try_acquire(1).is_none(), "a big one is first in line");
    all.cancel();
    let got: Vec<_> = small.iter_mut().map(|small| small.poll().expect("its turn")).collect();
    assert_eq!(semaphore.available_permits(), 0);
    drop((one, got));
    assert_eq!(semaphore.available_permits(), 10);
}

/// `TestSemaHandoff`: a released permit belongs to the first waiter. Unlike Go's `handoff` the
/// release does not switch to that waiter, because a drop cannot await.
#[test]
fn a_released_permit_belongs_to_the_first_waiter() {
    let semaphore = Semaphore::new(1);
    for _ in 0..1000 {
        let permit = semaphore.try_acquire(1).unwrap();
        let mut waits = Polled::waiting(semaphore.acquire(1));
        drop(permit);
        assert!(semaphore.try_acquire(1).is_none(), "taken from the next waiter");
        assert!(waits.poll().is_some());
    }
}

#[test]
fn permits_are_split_and_merged() {
    let semaphore = Arc::new(Semaphore::new(5));
    let mut permits = semaphore.try_acquire(4).unwrap();
    let two = permits.split(2).unwrap();
    assert!(permits.split(3).is_none());
    assert_eq!((permits.permits(), two.permits(), semaphore.available_permits()), (2, 2, 1));
    permits.merge(two);
    drop(permits);
    let mut owned = semaphore.clone().try_acquire_owned(3).unwrap();
    let one = owned.split(1).unwrap();
    drop(owned);
    assert_eq!(one.semaphore().available_permits(), 4);
    one.forget();
    assert_eq!(format!("{semaphore:?}"), "Semaphore { available: 4, size: 5 }");
    semaphore.release(1);
    assert_eq!(semaphore.available_permits(), 5);
}

#[test]
#[should_panic(expected = "semaphore: permits of different semaphores cannot be put together")]
fn a_merge_of_permits_of_different_semaphores_panics() {
    let (one, other) = (Semaphore::new(1), Semaphore::new(1));
    one.try_acquire(1).unwrap().merge(other.try_acquire(1).unwrap());
}

#[test]
#[should_panic(expected = "semaphore: too many permits")]
fn more_permits_than_the_maximum_panic() {
    Semaphore::new(Semaphore::MAX_PERMITS).add_permits(1);
}

/// A request for zero permits never waits, also if other requests do.
#[test]
fn a_request_for_zero_permits_never_waits() {
    let semaphore = Semaphore::new(0);
    let mut waits = Polled::waiting(semaphore.acquire(1));
    assert!(Polled::new(semaphore.acquire(0)).poll().is_some());
    assert!(semaphore.try_acquire(0).is_some());
    semaphore.add_permits(1);
    assert!(waits.poll().is_some());
}

#[test]
fn external_threads_wait_for_permits() {
    let semaphore = Semaphore::new(2);
    std::thread::scope(|scope| {
        for weight in [1, 2, 1, 2] {
            let semaphore = &semaphore;
            scope.spawn(move || {
                for _ in 0..200 {
                    drop(semaphore.acquire_blocking(weight));
                }
            });
        }
    });
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn a_thread_waits_for_permits_of_its_own() {
    let semaphore = Arc::new(Semaphore::new(2));
    let held = semaphore.clone().acquire_owned_blocking(1);
    let thread = {
        let semaphore = semaphore.clone();
        std::thread::spawn(move || semaphore.acquire_owned_blocking(2).permits())
    };
    // A waiter that needs two permits is before any other.
    while semaphore.try_acquire(1).is_some() {
        std::thread::yield_now();
    }
    drop(held);
    assert_eq!(thread.join().unwrap(), 2);
    assert_eq!(semaphore.available_permits(), 2);
}
