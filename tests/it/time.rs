//! Timers, after Go's `sleep_test.go` and `tick_test.go`.

use super::support::{Mutex, runtime};
use futures::{FutureExt, StreamExt};
use gmp::go;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

#[gmp::test]
async fn sleeps_are_never_short() {
    for micros in [0, 1, 50, 100, 500, 1000, 3000] {
        let (start, span) = (Instant::now(), Duration::from_micros(micros));
        gmp::sleep(span).await;
        assert!(start.elapsed() >= span, "{micros} us took {:?}", start.elapsed());
    }
}

#[gmp::test]
async fn far_deadlines_never_come_and_delay_no_other() {
    let never = go!(gmp::sleep(Duration::MAX));
    let late = go!(gmp::sleep(Duration::from_secs(1 << 40)));
    gmp::sleep(2 * MS).await;
    assert!(!never.is_finished() && !late.is_finished());
    assert!(gmp::timeout_at(Instant::now() - MS, std::future::pending::<()>()).await.is_err());
}

/// `TestAfterQueuing`: on one P, timers fire in the order of their deadlines, however late.
#[gmp::test(max_procs = 1)]
async fn timers_fire_in_the_order_of_their_deadlines() {
    // A timer that is set after its deadline, or after another one has fired, has no order. If the
    // OS stops the thread until then, the timers are set again with later deadlines.
    let mut lead = 5 * MS;
    while !fire_in_order(lead).await {
        lead *= 2;
    }
}

/// Sets timers that are due after `lead` and later. Returns `false` if they were not all set before
/// the first deadline. Otherwise checks their order.
async fn fire_in_order(lead: Duration) -> bool {
    let order = Arc::new(Mutex::new(Vec::new()));
    let delays = [5u32, 3, 9, 3, 5, 5, 9, 5, 3, 10, 6, 2, 4];
    let start = Instant::now() + lead;
    let handles: Vec<_> = delays
        .iter()
        .map(|&n| {
            let order = order.clone();
            go!({
                let mut sleep = gmp::sleep_until(start + 4 * n * MS);
                // The first poll sets the timer.
                let is_set = (&mut sleep).now_or_never().is_none();
                let is_in_time = is_set && Instant::now() < start;
                sleep.await;
                order.lock().unwrap().push(n);
                is_in_time
            })
        })
        .collect();
    let mut are_in_time = true;
    for handle in handles {
        are_in_time &= handle.await.unwrap();
    }
    let order = order.lock().unwrap();
    assert!(!are_in_time || order.is_sorted(), "{order:?}");
    are_in_time
}

#[gmp::test]
async fn a_dropped_sleep_removes_its_timer() {
    let before = gmp::runtime::metrics().timers.pending;
    for _ in 0..1000 {
        let timeout = gmp::timeout(Duration::from_secs(3600), gmp::yield_now());
        timeout.await.unwrap();
    }
    assert_eq!(gmp::runtime::metrics().timers.pending, before);
}

#[gmp::test]
async fn sleep_can_be_reset() {
    let start = Instant::now();
    let mut sleep = gmp::sleep(Duration::from_secs(3600));
    assert!(gmp::timeout(MS, &mut sleep).await.is_err());
    sleep.reset_at(start + 5 * MS);
    (&mut sleep).await;
    assert!(start.elapsed() >= 5 * MS && sleep.is_elapsed());
    sleep.reset_at(Instant::now() + Duration::from_secs(3600));
    assert!(!sleep.is_elapsed());
    sleep.reset_at(Instant::now() + 2 * MS);
    sleep.await;
}

#[gmp::test]
async fn stop_and_reset_return_whether_the_timer_was_pending() {
    let mut timer = gmp::Timer::new(HOUR);
    assert!(timer.stop());
    assert!(!timer.stop(), "stopped before");
    assert!(gmp::timeout(2 * MS, &mut timer).await.is_err(), "stopped: never");
    assert!(!timer.reset(MS), "was not pending");
    let due = (&mut timer).await;
    assert!(due <= Instant::now());
    assert!(!timer.is_pending() && !timer.stop());
    assert!(gmp::timeout(2 * MS, &mut timer).await.is_err(), "its moment was taken");
}

/// Go: a goroutine waits on `timer.C`, another one calls `timer.Reset`.
#[gmp::test]
async fn a_shared_timer_is_set_by_another_goroutine_than_waits_for_it() {
    let timer = Arc::new(gmp::Timer::new(HOUR));
    let shared = timer.clone();
    let mut waits = go!({ (&*shared).await });
    // The waiter waits for a timer that is set, and then for one that is stopped.
    for is_stopped in [false, true] {
        while !gmp::runtime::dump().contains("[sleep") {
            gmp::yield_now().await;
        }
        assert_eq!(timer.stop(), !is_stopped);
    }
    assert!(gmp::timeout(2 * MS, &mut waits).await.is_err(), "it is stopped");
    let earliest = Instant::now() + MS;
    assert!(!timer.reset(MS));
    assert!(waits.await.unwrap() >= earliest);
    assert!(!timer.is_pending());
}

#[gmp::test]
async fn a_shared_timer_that_is_moved_back_fires_at_the_new_moment() {
    let (timer, mut lead) = (gmp::Timer::new(HOUR), MS);
    // On a slow machine the timer may be due at the first poll.
    let wait = loop {
        let mut wait = (&timer).into_future();
        timer.reset(lead);
        if (&mut wait).now_or_never().is_none() {
            break wait;
        }
        lead *= 2;
    };
    let earliest = Instant::now() + 4 * lead;
    assert!(timer.reset(4 * lead), "its moment was not taken");
    assert!(wait.await >= earliest);
}

#[gmp::test]
async fn one_of_several_waiters_takes_the_moment_of_a_timer() {
    let timer = Arc::new(gmp::Timer::new(HOUR));
    let (taken, moments) = gmp::chan(0);
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let (timer, taken) = (timer.clone(), taken.clone());
            go!({
                let due = (&*timer).await;
                taken.send(due).await.unwrap();
            })
        })
        .collect();
    for left in [3, 2, 1] {
        assert_eq!(waiters.iter().filter(|waiter| !waiter.is_finished()).count(), left);
        assert_eq!(timer.reset(MS), left == 3, "the moment before was taken");
        moments.recv().await.unwrap();
        assert!(!timer.is_pending());
        while waiters.iter().filter(|waiter| !waiter.is_finished()).count() == left {
            gmp::yield_now().await;
        }
    }
}

#[gmp::test]
async fn a_dropped_wait_for_a_timer_leaves_the_moment_to_others() {
    let timer = gmp::Timer::new(HOUR);
    let before = gmp::runtime::metrics().timers.pending;
    let mut dropped = (&timer).into_future();
    let mut other = (&timer).into_future();
    assert!((&mut dropped).now_or_never().is_none());
    assert!((&mut other).now_or_never().is_none());
    assert_eq!(gmp::runtime::metrics().timers.pending, before + 2);
    drop(dropped);
    assert_eq!(gmp::runtime::metrics().timers.pending, before + 1);
    assert!(timer.reset(MS));
    other.await;
    assert_eq!(gmp::runtime::metrics().timers.pending, before);
}

#[gmp::test]
async fn timeouts_give_access_to_their_future() {
    let mut timeout = gmp::timeout(HOUR, gmp::after(HOUR));
    assert!(timeout.get_ref().is_pending());
    assert!(timeout.get_mut().stop());
    assert!(!timeout.into_inner().is_pending());
}

/// The next tick is the first one in the ticker's phase after the last was delivered.
#[gmp::test]
async fn ticker_skips_missed_ticks_and_keeps_its_phase() {
    const PERIOD: Duration = Duration::from_millis(10);
    let start = Instant::now();
    let mut ticker = gmp::Ticker::new(PERIOD);
    let first = ticker.tick().await;
    let first_delivered = Instant::now();
    // Several ticks come due. The first of them is delivered with its own time.
    std::thread::sleep(25 * MS);
    let second_wanted = Instant::now();
    let second = ticker.tick().await;
    let second_delivered = Instant::now();
    let third = ticker.tick().await;
    assert!(first < second && second <= first_delivered + PERIOD, "{:?}", second - first);
    assert!(second_wanted < third && third <= second_delivered + PERIOD, "{:?}", third - second);
    for later in [second, third] {
        assert!(
            (later - first).as_nanos().is_multiple_of(PERIOD.as_nanos()),
            "{:?}",
            later - first
        );
    }
    assert!(start.elapsed() >= 35 * MS);
    ticker.stop();
    assert!(gmp::timeout(15 * MS, ticker.tick()).await.is_err());
    ticker.reset(MS);
    assert!(ticker.next().await.is_some());
}

#[gmp::test]
#[should_panic(expected = "non-positive interval")]
async fn ticker_of_zero_panics() {
    let _ = gmp::Ticker::new(Duration::ZERO);
}

#[gmp::test]
async fn after_func_runs_once_in_its_own_goroutine() {
    let (count, me) = (Arc::new(AtomicUsize::new(0)), gmp::goid());
    let inside = count.clone();
    let timer = gmp::after_func(MS, move || {
        assert_ne!(gmp::goid(), me);
        inside.fetch_add(1, Ordering::Relaxed);
    });
    while count.load(Ordering::Relaxed) == 0 {
        gmp::sleep(MS).await;
    }
    assert!(!timer.stop(), "it has run");
    assert!(!timer.reset(Duration::ZERO), "it has run");
    assert!(!timer.stop(), "a reset after the call sets nothing");
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

/// The closure moves a value out, so it is no `Fn`.
#[gmp::test]
async fn after_func_takes_a_closure_that_moves_a_value_out() {
    let (text, (tx, rx)) = (String::from("moved"), gmp::chan(1));
    let timer = gmp::after_func(Duration::from_secs(3600), move || tx.send_blocking(text).unwrap());
    assert!(timer.stop() && !timer.stop());
    assert!(!timer.reset(Duration::from_secs(3600)), "it was stopped");
    assert!(timer.reset(MS), "it was pending");
    assert_eq!(rx.recv().await.unwrap(), "moved");
}

#[gmp::test]
async fn after_func_survives_its_handle() {
    let ran = Arc::new(AtomicBool::new(false));
    let inside = ran.clone();
    drop(gmp::after_func(MS, move || inside.store(true, Ordering::Relaxed)));
    while !ran.load(Ordering::Relaxed) {
        gmp::sleep(MS).await;
    }
}

/// `TestZeroTimer`: none of many zero and tiny timers is missed.
#[gmp::test]
async fn tiny_timers_are_never_missed() {
    let handles: Vec<_> = (0..8)
        .map(|n| {
            go!({
                for i in 0..2000u64 {
                    gmp::sleep(Duration::from_nanos((i * n) % 3000)).await;
                }
            })
        })
        .collect();
    for handle in handles {
        handle.await.unwrap();
    }
}

/// External threads set timers on a runtime that is otherwise idle.
#[test]
fn external_threads_set_timers_on_an_idle_runtime() {
    let runtime = Arc::new(runtime(2));
    let threads: Vec<_> = (1..=8u32)
        .map(|n| {
            let runtime = runtime.clone();
            std::thread::spawn(move || {
                for _ in 0..5 {
                    let start = Instant::now();
                    runtime.block_on(gmp::sleep(n * MS));
                    assert!(start.elapsed() >= n * MS);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// A timer fires although the goroutine that set it blocks its thread.
#[test]
fn timers_of_a_blocked_goroutine_fire() {
    let runtime = runtime(1);
    let slept = runtime.spawn(async {
        let start = Instant::now();
        gmp::block_on(gmp::sleep(5 * MS));
        start.elapsed()
    });
    assert!(gmp::block_on(slept).unwrap() >= 5 * MS);
}

/// `TestAdjustTimers`: moving timers earlier and later loses none.
#[gmp::test]
async fn random_resets_lose_no_timer() {
    let handles: Vec<_> = (0..50u32)
        .map(|n| {
            go!({
                let mut sleep = gmp::sleep(Duration::from_secs(3600));
                for i in 0..20u32 {
                    let poll =
                        gmp::timeout(Duration::from_micros(u64::from(i * 13 % 7)), &mut sleep);
                    assert!(poll.await.is_err());
                    sleep.reset_at(Instant::now() + (1 + (n * i) % 50) * Duration::from_secs(100));
                }
                sleep.reset_at(Instant::now() + (n % 10) * MS);
                sleep.await;
            })
        })
        .collect();
    for handle in handles {
        handle.await.unwrap();
    }
}

/// A sleep continues where it is awaited after the runtime on which it began has ended.
#[test]
fn a_sleep_outlives_its_runtime() {
    let (first, second) = (runtime(1), runtime(1));
    let (start, span) = (Instant::now(), 100 * MS);
    let mut sleep = gmp::sleep(span);
    first.block_on(poll_fn(|cx| {
        assert!(Pin::new(&mut sleep).poll(cx).is_pending());
        Poll::Ready(())
    }));
    drop(first);
    second.block_on(sleep);
    assert!(start.elapsed() >= span, "took {:?}", start.elapsed());
}
