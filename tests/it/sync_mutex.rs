//! The mutex, after Go's `mutex_test.go`.

use super::cancel::Polled;
use super::support::runtime;
use gmp::go;
use gmp::sync::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// `TestMutex`: the results of `try_lock`, and ten goroutines that lock and try.
#[test]
fn goroutines_lock_and_try_one_at_a_time() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    assert!(mutex.try_lock().is_none());
    drop(guard);
    let guard = mutex.try_lock().unwrap();
    drop(guard);
    assert!(mutex.try_lock().is_some());

    let runtime = runtime(2);
    let count = Arc::new(Mutex::new(0u32));
    let handles: Vec<_> = (0..10)
        .map(|_| {
            let count = count.clone();
            runtime.spawn(async move {
                let mut tried = 0;
                for n in 0..1000 {
                    if n % 3 == 0
                        && let Some(mut guard) = count.try_lock()
                    {
                        *guard += 1;
                        tried += 1;
                        continue;
                    }
                    *count.lock().await += 1;
                }
                tried
            })
        })
        .collect();
    for handle in handles {
        assert!(gmp::block_on(handle).unwrap() <= 334);
    }
    assert_eq!(*count.lock_blocking(), 10_000);
}

/// The same with an await inside the lock, so that all of them queue.
#[test]
fn locks_are_exclusive_across_awaits() {
    let runtime = runtime(2);
    let count = Arc::new(Mutex::new(0u32));
    let handles: Vec<_> = (0..16)
        .map(|_| {
            let count = count.clone();
            runtime.spawn(async move {
                for _ in 0..100 {
                    let mut guard = count.lock().await;
                    let before = *guard;
                    gmp::yield_now().await;
                    *guard = before + 1;
                }
            })
        })
        .collect();
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
    assert_eq!(*count.lock_blocking(), 1600);
}

/// `TestMutexFairness`: an occasional user gets the mutex although another goroutine holds it
/// nearly always.
#[gmp::test]
async fn a_hog_does_not_starve_others() {
    let mutex = Arc::new(Mutex::new(()));
    let stop = Arc::new(AtomicBool::new(false));
    let hog = {
        let (mutex, stop) = (mutex.clone(), stop.clone());
        go!({
            while !stop.load(Ordering::Relaxed) {
                let _guard = mutex.lock().await;
                gmp::sleep(Duration::from_micros(100)).await;
            }
        })
    };
    let ten_times = async {
        for _ in 0..10 {
            gmp::sleep(Duration::from_micros(100)).await;
            drop(mutex.lock().await);
        }
    };
    gmp::timeout(Duration::from_secs(10), ten_times).await.expect("starved");
    stop.store(true, Ordering::Relaxed);
    hog.await.unwrap();
}

/// One waiter is woken at a time. A waiter that does not get the mutex stays first in the queue.
#[test]
fn a_woken_waiter_that_finds_the_mutex_locked_stays_first() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    let mut first = Polled::waiting(mutex.lock());
    let mut second = Polled::waiting(mutex.lock());
    drop(guard);
    assert!(first.is_woken() && !second.is_woken());
    // A barging lock and unlock wakes no other waiter while the first one is woken.
    for _ in 0..3 {
        drop(mutex.try_lock().expect("a running goroutine takes a free lock"));
        assert!(!second.is_woken());
    }
    let guard = mutex.try_lock().unwrap();
    assert!(first.poll().is_none());
    drop(guard);
    assert!(first.is_woken() && !second.is_woken());
    drop(first.poll().expect("it is free"));
    assert!(second.is_woken());
    assert!(second.poll().is_some());
}

/// After a millisecond of waiting the mutex is handed over, and barging fails.
#[test]
fn a_starving_waiter_is_handed_the_mutex() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    let mut first = Polled::waiting(mutex.lock());
    let mut second = Polled::waiting(mutex.lock());
    std::thread::sleep(Duration::from_millis(2));
    drop(guard);
    let guard = mutex.try_lock().expect("not starving yet");
    assert!(first.poll().is_none());
    drop(guard);
    assert!(mutex.try_lock().is_none(), "it is handed to the first");
    let mut third = Polled::waiting(mutex.lock());
    let guard = first.poll().expect("it has it");
    assert!(mutex.try_lock().is_none());
    drop(guard);
    let guard = second.poll().expect("it has waited too long as well");
    drop(guard);
    // The second waiter was the last that starved, so barging works again.
    drop(third.poll().expect("woken"));
    assert!(mutex.try_lock().is_some());
}

/// The mutex is handed to a waiter that is dropped. The next waiter gets it.
#[test]
fn a_mutex_handed_to_a_dropped_waiter_goes_to_the_next() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    let mut first = Polled::waiting(mutex.lock());
    let mut second = Polled::waiting(mutex.lock());
    std::thread::sleep(Duration::from_millis(2));
    drop(guard);
    let guard = mutex.try_lock().unwrap();
    assert!(first.poll().is_none());
    drop(guard);
    assert!(first.is_woken() && mutex.try_lock().is_none());
    first.cancel();
    assert!(second.poll().is_some());
    assert!(mutex.try_lock().is_some(), "nobody starves any more");
}

#[test]
fn external_threads_and_goroutines_share_a_mutex() {
    let runtime = runtime(2);
    let count = Arc::new(Mutex::new(0u32));
    let handles: Vec<_> = (0..4)
        .map(|_| {
            let count = count.clone();
            runtime.spawn(async move {
                for _ in 0..500 {
                    *count.clone().lock_owned().await += 1;
                }
            })
        })
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for n in 0..500 {
                    match n % 2 {
                        0 => *count.lock_blocking() += 1,
                        _ => *count.clone().lock_owned_blocking() += 1,
                    }
                }
            });
        }
    });
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
    assert_eq!(*count.lock_blocking(), 3000);
}

/// A panic unlocks. There is no poisoning.
#[gmp::test]
async fn a_panic_unlocks() {
    let mutex = Arc::new(Mutex::new(1));
    let inside = mutex.clone();
    let panics = go!({
        let mut guard = inside.lock().await;
        *guard = 2;
        panic!("expected by the test");
    });
    assert!(panics.await.unwrap_err().is_panic());
    assert_eq!(*mutex.lock().await, 2);
}

#[test]
fn guards_map_and_show_the_value() {
    let mut mutex = Mutex::new((1, 2));
    *mutex.get_mut() = (3, 4);
    assert_eq!(format!("{mutex:?}"), "Mutex { value: (3, 4) }");
    {
        let mut second = MutexGuard::map(mutex.lock_blocking(), |pair| &mut pair.1);
        *second += 1;
        assert_eq!(format!("{second:?} {mutex:?}"), "5 Mutex { value: <locked> }");
        assert!(mutex.is_locked());
    }
    assert_eq!(mutex.into_inner(), (3, 5));
    // An unsized value.
    let unsized_: Arc<Mutex<[u8]>> = Arc::new(Mutex::new([1, 2, 3]));
    unsized_.lock_blocking()[0] = 7;
    assert_eq!(*unsized_.try_lock_owned().unwrap(), [7, 2, 3]);
}
