//! Threads that compute without a P are paused and take turns.
#![cfg(target_os = "linux")]

use super::support::{passed_in_child, runtime, until};
use gmp::runtime::Handle;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Goroutines that compute and count without an await until `end`.
struct Hogs {
    stop: Arc<AtomicBool>,
    counts: Arc<Vec<AtomicU64>>,
    handles: Vec<gmp::JoinHandle<()>>,
}

impl Hogs {
    fn new(runtime: &gmp::Runtime, n: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let counts: Arc<Vec<_>> = Arc::new((0..n).map(|_| AtomicU64::new(0)).collect());
        let hog = |at: usize| {
            let (stop, counts) = (stop.clone(), counts.clone());
            runtime.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    counts[at].fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let handles = (0..n).map(hog).collect();
        Self { stop, counts, handles }
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }

    /// Waits until every hog has computed since the call.
    fn all_go_on(&self) {
        let before = self.counts();
        until(|| self.counts().iter().zip(&before).all(|(now, before)| now > before));
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.handles.into_iter().for_each(|handle| gmp::block_on(handle).unwrap());
    }
}

/// Waits until `hogs` threads compute without a P, and all but `running` are paused.
fn wait_paused(handle: &Handle, hogs: usize, running: usize) {
    until(|| {
        let metrics = handle.metrics();
        metrics.threads.cpu_bound >= hogs && metrics.threads.paused + running >= hogs
    });
}

#[test]
fn all_but_max_procs_cpu_bound_threads_are_paused_and_take_turns() {
    for procs in [1, 2] {
        let runtime = runtime(procs);
        // The last hogs may keep their Ps: no other goroutine waits for one.
        let hogs = Hogs::new(&runtime, 3 * procs + 2);
        for _ in 0..3 {
            wait_paused(runtime.handle(), 2 * procs + 2, procs);
            hogs.all_go_on();
        }
        hogs.end();
        until(|| runtime.handle().metrics().threads.cpu_bound == 0);
        assert_eq!(runtime.handle().metrics().threads.paused, 0);
    }
}

#[test]
fn each_runtime_has_turns_of_its_own() {
    let (first, second) = (runtime(1), runtime(1));
    let hogs = [Hogs::new(&first, 6), Hogs::new(&second, 3)];
    wait_paused(first.handle(), 5, 1);
    wait_paused(second.handle(), 2, 1);
    hogs.iter().for_each(Hogs::all_go_on);
    let [of_first, of_second] = hogs;
    of_first.end();
    // Ends with the first runtime: its slots are free.
    drop(first);
    wait_paused(second.handle(), 2, 1);
    of_second.all_go_on();
    of_second.end();
}

#[test]
fn the_limit_follows_set_max_procs() {
    let runtime = runtime(1);
    let hogs = Hogs::new(&runtime, 8);
    wait_paused(runtime.handle(), 7, 1);
    runtime.handle().set_max_procs(4).unwrap();
    until(|| {
        let metrics = runtime.handle().metrics();
        metrics.threads.paused + 4 <= metrics.threads.cpu_bound
    });
    runtime.handle().set_max_procs(1).unwrap();
    wait_paused(runtime.handle(), 4, 1);
    hogs.end();
}

#[test]
fn shutdown_releases_paused_threads() {
    let runtime = runtime(1);
    let handle = runtime.handle().clone();
    let hogs = Hogs::new(&runtime, 6);
    // Each hog is in its poll from its first count on. One that still waits for the P would be
    // dropped by the shutdown.
    hogs.all_go_on();
    wait_paused(&handle, 5, 1);
    let error = runtime.shutdown(Duration::ZERO).unwrap_err();
    assert_eq!(error.stuck().len(), 6);
    until(|| handle.metrics().threads.paused == 0);
    hogs.stop.store(true, Ordering::Relaxed);
    until(|| handle.metrics().threads.total == 0);
}

#[test]
fn without_the_switch_no_thread_is_paused() {
    let runtime = gmp::runtime::Builder::new().max_procs(1).pause_cpu_bound(false).build().unwrap();
    let hogs = Hogs::new(&runtime, 5);
    until(|| runtime.handle().metrics().threads.cpu_bound >= 4);
    for _ in 0..10 {
        hogs.all_go_on();
        assert_eq!(runtime.handle().metrics().threads.paused, 0);
    }
    hogs.end();
}

/// A process is started by a goroutine that has a P, by a hog, and by an external thread.
#[test]
fn processes_can_be_started_while_threads_are_paused() {
    let run = || assert!(Command::new("true").status().expect("start a process").success());
    let runtime = runtime(1);
    let hogs = Hogs::new(&runtime, 5);
    wait_paused(runtime.handle(), 4, 1);
    let starter = runtime.spawn(async move {
        (0..20).for_each(|_| run());
    });
    (0..20).for_each(|_| run());
    gmp::block_on(starter).unwrap();
    assert!(runtime.handle().metrics().threads.cpu_bound >= 4);
    hogs.end();
}

/// Goroutines take a lock in each round that the hogs take too. No bound on the time: if a paused
/// thread kept the lock for ever, the test would hang.
#[test]
fn a_paused_hog_does_not_keep_a_lock_for_ever() {
    let runtime = runtime(2);
    let (stop, lock) = (Arc::new(AtomicBool::new(false)), Arc::new(std::sync::Mutex::new(0_u64)));
    let (tx, rx) = gmp::chan::<u64>(16);
    let handles: Vec<_> = (0..8)
        .map(|_| {
            let (stop, lock, tx) = (stop.clone(), lock.clone(), tx.clone());
            runtime.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    *lock.lock().unwrap() += 1;
                    let _ = tx.try_send(vec![1_u64; 100].iter().sum());
                }
            })
        })
        .collect();
    // Keeps sysmon awake. Some hogs lose their P while they sleep for the lock, and sysmon notices
    // later that they compute.
    let (stopped, mut ticker) = (stop.clone(), gmp::Ticker::new(Duration::from_millis(1)));
    let ticks = runtime.spawn(async move {
        while !stopped.load(Ordering::Relaxed) {
            ticker.tick().await;
        }
    });
    // The lock keeps most of the others asleep or relieved.
    wait_paused(runtime.handle(), 6, 5);
    let waiter = runtime.spawn(async move {
        for _ in 0..100 {
            *lock.lock().unwrap() += 1;
            assert_eq!(rx.recv().await, Ok(100));
            gmp::sleep(Duration::from_micros(100)).await;
        }
    });
    gmp::block_on(waiter).unwrap();
    stop.store(true, Ordering::Relaxed);
    handles.into_iter().for_each(|handle| gmp::block_on(handle).unwrap());
    gmp::block_on(ticks).unwrap();
}

/// A handler of SIGURG that the program installed earlier still runs, and threads are paused.
/// Each thread gets a small share of the CPUs, so sysmon has to add up its CPU time.
#[test]
fn many_goroutines_that_compute_after_a_blocking_call_are_paused() {
    const HOGS: usize = 20;
    let runtime = runtime(1);
    let ticker = runtime.spawn(async {
        let mut ticker = gmp::Ticker::new(Duration::from_millis(1));
        loop {
            ticker.tick().await;
        }
    });
    let stop = Arc::new(AtomicBool::new(false));
    let blocked = Arc::new(AtomicU64::new(0));
    let hog = |_| {
        let (stop, blocked) = (stop.clone(), blocked.clone());
        runtime.spawn(async move {
            blocked.fetch_add(1, Ordering::Relaxed);
            // All of them block first, so each loses its P because it blocks.
            while blocked.load(Ordering::Relaxed) < HOGS as u64 {
                std::thread::sleep(Duration::from_millis(5));
            }
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        })
    };
    let hogs: Vec<_> = (0..HOGS).map(hog).collect();
    wait_paused(runtime.handle(), HOGS - 1, 1);
    stop.store(true, Ordering::Relaxed);
    hogs.into_iter().for_each(|hog| gmp::block_on(hog).unwrap());
    ticker.abort();
}

#[test]
fn an_earlier_handler_of_sigurg_is_called() {
    if passed_in_child("pause::an_earlier_handler_of_sigurg_is_called") {
        return;
    }
    let came = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGURG, came.clone()).unwrap();
    let runtime = runtime(1);
    let hogs = Hogs::new(&runtime, 5);
    wait_paused(runtime.handle(), 4, 1);
    hogs.all_go_on();
    assert!(!came.load(Ordering::Relaxed), "a signal of gmp reached the handler of the program");
    signal_hook::low_level::raise(signal_hook::consts::SIGURG).unwrap();
    assert!(came.load(Ordering::Relaxed));
    hogs.end();
}

/// If the program installs a handler of SIGURG later that calls no other one, gmp stops pausing and
/// all hogs run.
#[test]
#[expect(unsafe_code, reason = "a handler of a signal")]
fn a_later_handler_of_sigurg_ends_pausing() {
    if passed_in_child("pause::a_later_handler_of_sigurg_ends_pausing") {
        return;
    }
    let runtime = runtime(1);
    let hogs = Hogs::new(&runtime, 5);
    wait_paused(runtime.handle(), 4, 1);
    extern "C" fn ignores(_: libc::c_int) {}
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(libc::SIGURG, ignores as *const () as libc::sighandler_t) };
    until(|| runtime.handle().metrics().threads.paused == 0);
    for _ in 0..3 {
        hogs.all_go_on();
        assert_eq!(runtime.handle().metrics().threads.paused, 0);
    }
    hogs.end();
}

/// A listener of gmp calls the handler that pauses.
#[test]
fn a_listener_for_sigurg_does_not_end_pausing() {
    if passed_in_child("pause::a_listener_for_sigurg_does_not_end_pausing") {
        return;
    }
    let runtime = runtime(1);
    let hogs = Hogs::new(&runtime, 5);
    wait_paused(runtime.handle(), 4, 1);
    let urgent = gmp::signal::SignalKind::from_raw(signal_hook::consts::SIGURG);
    let listener = gmp::signal::signal(urgent).unwrap();
    for _ in 0..3 {
        hogs.all_go_on();
        wait_paused(runtime.handle(), 4, 1);
    }
    drop(listener);
    hogs.all_go_on();
    wait_paused(runtime.handle(), 4, 1);
    hogs.end();
}
