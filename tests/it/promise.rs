//! A goroutine that blocks or hogs its thread does not stop the others.
//!
//! Other tests run beside these, so limits are generous; `benches` has the exact figures.

use super::support::{child, is_child, runtime, until};
use gmp::go;
use gmp::runtime::StallKind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// Spins for `span` without an await.
fn compute(span: Duration) {
    let start = Instant::now();
    while start.elapsed() < span {
        std::hint::spin_loop();
    }
}

/// The worst lateness of a 1 ms ticker until all of `work` has ended.
fn worst_lateness(runtime: &gmp::Runtime, work: Vec<gmp::JoinHandle<()>>) -> Duration {
    let ticker = runtime.spawn(async move {
        let mut ticker = gmp::Ticker::new(MS);
        let mut worst = Duration::ZERO;
        while work.iter().any(|work| !work.is_finished()) {
            worst = worst.max(ticker.tick().await.elapsed());
        }
        worst
    });
    gmp::block_on(ticker).unwrap()
}

#[test]
fn unmarked_sleeps_do_not_stop_the_others() {
    let runtime = runtime(2);
    let work = (0..4).map(|_| runtime.spawn(async { std::thread::sleep(300 * MS) })).collect();
    let worst = worst_lateness(&runtime, work);
    assert!(worst < 100 * MS, "the ticker was {worst:?} late");
    assert!(runtime.handle().stats().stalls >= 2);
}

#[test]
fn hogs_do_not_stop_the_others() {
    let runtime = runtime(2);
    let work = (0..2).map(|_| runtime.spawn(async { compute(300 * MS) })).collect();
    let worst = worst_lateness(&runtime, work);
    assert!(worst < 200 * MS, "the ticker was {worst:?} late");
}

/// A timer does not wait for a whole slice of who computes; and who computes for less than one is no stall.
#[test]
fn who_waits_for_the_clock_waits_for_a_part_of_a_slice() {
    let runtime = runtime(1);
    let lateness = || {
        let before = runtime.handle().stats().stalls;
        let hog = runtime.spawn(async {
            let sleeper = go!(async {
                let due = Instant::now() + MS;
                gmp::sleep_until(due).await;
                due.elapsed()
            });
            gmp::yield_now().await;
            let start = Instant::now();
            compute(9 * MS);
            (sleeper, start.elapsed())
        });
        let (sleeper, took) = gmp::block_on(hog).unwrap();
        let stalls = runtime.handle().stats().stalls - before;
        assert!(stalls == 0 || took > 9 * MS + MS / 2, "{took:?} was told as a stall");
        gmp::block_on(sleeper).unwrap()
    };
    // With a slice of 10 ms it would be 8 each time.
    until(|| lateness() < 3 * MS);
}

/// Who loses its P long before its slice is over is told all the same when it is, also if all others rest by then.
#[test]
fn who_is_displaced_early_is_told_later() {
    let runtime = runtime(1);
    let told = Arc::new(Mutex::new(None));
    let hook = told.clone();
    runtime.block_on(async {
        gmp::runtime::on_stall(move |stall| *hook.lock().unwrap() = Some(stall.goid()));
    });
    // A machine that takes the hog's CPU away may let it compute too little for a stall.
    until(|| {
        let hog = runtime.spawn(async {
            let sleeper = go!(async { gmp::sleep(MS).await });
            gmp::yield_now().await;
            compute(100 * MS);
            drop(sleeper);
            gmp::goid()
        });
        let goid = gmp::block_on(hog).unwrap();
        told.lock().unwrap().take() == goid
    });
}

/// Goroutines that compute do not get a thread each because others wait for the clock.
#[cfg(target_os = "linux")]
#[test]
fn a_ticker_does_not_give_each_hog_a_thread() {
    use rustix::time::{ClockId, clock_gettime};
    /// Uses 30 ms of CPU, however long that takes.
    fn compute() {
        let used = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            time.tv_sec * 1_000_000_000 + time.tv_nsec
        };
        let start = used();
        while used() - start < 30_000_000 {}
    }
    let runtime = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let ticker = runtime.spawn(async move {
        let (mut ticker, mut most) = (gmp::Ticker::new(MS), 0);
        while !stopped.load(Ordering::Relaxed) {
            ticker.tick().await;
            most = most.max(gmp::runtime::stats().threads);
        }
        most
    });
    let hogs: Vec<_> = (0..40).map(|_| runtime.spawn(async { compute() })).collect();
    hogs.into_iter().for_each(|hog| gmp::block_on(hog).unwrap());
    stop.store(true, Ordering::Relaxed);
    let most = gmp::block_on(ticker).unwrap();
    // Of 30 ms each computes 5 at least with a P, but for the first two: seven at a time or so.
    assert!((3..=14).contains(&most), "{most} threads for 40 hogs");
}

#[test]
fn a_hundred_blocked_goroutines_on_two_procs() {
    let runtime = runtime(2);
    let start = Instant::now();
    let work: Vec<_> = (0..100)
        .map(|_| runtime.spawn(async { gmp::blocking(|| std::thread::sleep(100 * MS)) }))
        .collect();
    for work in work {
        gmp::block_on(work).unwrap();
    }
    // One after the other on two Ps would be five seconds.
    assert!(start.elapsed() < 2000 * MS, "took {:?}", start.elapsed());
    assert!(runtime.handle().stats().threads > 10);
}

#[test]
fn spawn_blocking_runs_beside_one_proc() {
    let runtime = runtime(1);
    let done = Arc::new(AtomicBool::new(false));
    runtime.block_on(async {
        let inside = done.clone();
        let waits = gmp::spawn_blocking(move || until(|| inside.load(Ordering::Acquire)));
        go!({ done.store(true, Ordering::Release) }).await.unwrap();
        waits.await.unwrap();
        let panics = gmp::spawn_blocking(|| panic!("expected by the test"));
        assert!(panics.await.unwrap_err().is_panic());
    });
}

#[test]
fn checkpoints_give_way() {
    let runtime = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    let (hog_stop, rounds) = (stop.clone(), Arc::new(AtomicU64::new(0)));
    let counted = rounds.clone();
    let hog = runtime.spawn(async move {
        while !hog_stop.load(Ordering::Relaxed) {
            counted.fetch_add(1, Ordering::Relaxed);
            gmp::checkpoint().await;
        }
    });
    until(|| rounds.load(Ordering::Relaxed) > 0);
    // On one P: runs only if the hog gives way.
    gmp::block_on(runtime.spawn(async move { stop.store(true, Ordering::Relaxed) })).unwrap();
    gmp::block_on(hog).unwrap();
    assert!(rounds.load(Ordering::Relaxed) > 100, "a checkpoint alone does not yield");
    assert_eq!(runtime.handle().stats().stalls, 0);
}

#[test]
fn futures_of_gmp_that_are_always_ready_give_way() {
    let runtime = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    let hog_stop = stop.clone();
    let hog = runtime.spawn(async move {
        while !hog_stop.load(Ordering::Relaxed) {
            gmp::sleep(Duration::ZERO).await;
        }
    });
    let start = Instant::now();
    gmp::block_on(runtime.spawn(async move { stop.store(true, Ordering::Relaxed) })).unwrap();
    gmp::block_on(hog).unwrap();
    // A slice or two.
    assert!(start.elapsed() < Duration::from_secs(5), "gave way after {:?}", start.elapsed());
}

#[test]
fn a_stale_runnext_is_rescued() {
    // The spawned goroutine is a lone `runnext`, for which nobody is woken; its M does not come to it.
    let runtime = runtime(2);
    let done = runtime.spawn(async {
        let flag = Arc::new(AtomicBool::new(false));
        let inside = flag.clone();
        go!({ inside.store(true, Ordering::Release) });
        until(|| flag.load(Ordering::Acquire));
    });
    gmp::block_on(done).unwrap();
}

#[test]
fn a_displaced_goroutine_behaves_as_any_other() {
    let runtime = runtime(1);
    let displaced = |then: fn()| {
        let handle = runtime.spawn(async move {
            // Something for others to do, so that the P is taken.
            let other = go!({});
            std::thread::sleep(30 * MS);
            then();
            go!({ 1 }).await.unwrap();
            other.await.unwrap();
            gmp::sleep(MS).await;
        });
        gmp::block_on(handle)
    };
    displaced(|| {}).unwrap();
    displaced(|| compute(20 * MS)).unwrap();
    assert!(displaced(|| panic!("expected by the test")).unwrap_err().is_panic());
    assert!(runtime.handle().stats().stalls >= 2);
    let handle = runtime.spawn(async {
        go!({});
        std::thread::sleep(30 * MS);
        gmp::yield_now().await;
        unreachable!("aborted at the await");
    });
    until(|| runtime.handle().stats().stalls >= 4 || handle.is_finished());
    handle.abort();
    assert!(gmp::block_on(handle).is_err());
    until(|| runtime.handle().num_goroutine() == 0);
}

#[test]
fn stalls_are_told() {
    let runtime = runtime(1);
    let told = Arc::new(Mutex::new(Vec::new()));
    let hook = told.clone();
    runtime.block_on(async {
        gmp::runtime::on_stall(move |stall| hook.lock().unwrap().push(stall.clone()));
        go!(name = "sleeper", async {
            go!({});
            std::thread::sleep(30 * MS);
        })
        .await
        .unwrap();
    });
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].name(), told[0].kind()), (Some("sleeper"), StallKind::Blocked));
    assert!(told[0].spawned_at().unwrap().file().ends_with("promise.rs"));
    assert!(told[0].duration() < 30 * MS && told[0].to_string().contains("blocked its thread"));
}

#[test]
fn stalls_are_printed_once_per_site() {
    if !is_child() {
        let output = child("promise::stalls_are_printed_once_per_site", &[("GMPDEBUG", "stall=1")]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        assert_eq!(text.matches("gmp: stall: goroutine").count(), 1, "{text}");
        assert!(text.contains("blocked its thread") && text.contains("promise.rs"), "{text}");
        return;
    }
    let runtime = runtime(1);
    for _ in 0..3 {
        let handle = runtime.spawn(async {
            go!({});
            std::thread::sleep(30 * MS);
        });
        gmp::block_on(handle).unwrap();
    }
    assert!(runtime.handle().stats().stalls >= 3);
}

#[test]
fn threads_of_a_burst_are_reused() {
    let runtime = runtime(2);
    for _ in 0..3 {
        let work: Vec<_> = (0..20)
            .map(|_| runtime.spawn(async { gmp::blocking(|| std::thread::sleep(20 * MS)) }))
            .collect();
        for work in work {
            gmp::block_on(work).unwrap();
        }
    }
    let stats = runtime.handle().stats();
    assert!(stats.threads <= 40, "{} threads: none was reused", stats.threads);
}

#[test]
fn threads_of_a_burst_go_away() {
    let builder = gmp::Builder::new().max_procs(2).thread_keep_alive(50 * MS);
    let runtime = builder.build().unwrap();
    // A timer keeps one of the threads busy waiting for it.
    let sleeper = runtime.spawn(gmp::sleep(Duration::from_secs(3600)));
    for _ in 0..2 {
        let work: Vec<_> =
            (0..30).map(|_| runtime.spawn(async { std::thread::sleep(30 * MS) })).collect();
        let marked: Vec<_> = (0..30)
            .map(|_| runtime.spawn(async { gmp::blocking(|| std::thread::sleep(30 * MS)) }))
            .collect();
        let mut most = 0;
        for work in work.into_iter().chain(marked) {
            gmp::block_on(work).unwrap();
            most = most.max(runtime.handle().stats().threads);
        }
        assert!(most > 4, "there was no burst: {most} threads");
        until(|| runtime.handle().stats().threads <= 2);
    }
    assert_eq!(runtime.handle().stats().timers, 1);
    sleeper.abort();
}
