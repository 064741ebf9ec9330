//! A goroutine that blocks or hogs its thread does not stop the others.
//!
//! A blocked goroutine here blocks until others have made progress. If the guarantee is broken the
//! test hangs. `benches` measures how long the others wait.

use super::support::{Mutex, block_thread_until, child, is_child, passed_in_child, runtime, until};
use gmp::go;
use gmp::runtime::{Stall, StallKind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// Spins for `span` without an await.
fn compute(span: Duration) {
    let start = Instant::now();
    while start.elapsed() < span {
        std::hint::spin_loop();
    }
}

/// Starts `n` goroutines that occupy their threads by `occupy(done)`, and then a 1 ms ticker.
///
/// `done` becomes true after twenty ticks that come when all `n` occupy their threads.
fn tick_beside(procs: usize, n: usize, occupy: fn(Arc<AtomicBool>)) -> gmp::Runtime {
    let runtime = runtime(procs);
    let (done, occupied) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let work: Vec<_> = (0..n)
        .map(|_| {
            let (done, occupied) = (done.clone(), occupied.clone());
            runtime.spawn(async move {
                occupied.fetch_add(1, Ordering::Relaxed);
                occupy(done);
            })
        })
        .collect();
    let ticker = runtime.spawn(async move {
        let mut ticker = gmp::Ticker::new(MS);
        let mut ticks = 0;
        while ticks < 20 {
            ticker.tick().await;
            ticks += usize::from(occupied.load(Ordering::Relaxed) == n);
        }
        done.store(true, Ordering::Relaxed);
    });
    gmp::block_on(ticker).unwrap();
    work.into_iter().for_each(|work| gmp::block_on(work).unwrap());
    runtime
}

#[test]
fn unmarked_blocking_calls_do_not_stop_the_others() {
    let block = |done: Arc<AtomicBool>| block_thread_until(move || done.load(Ordering::Relaxed));
    let runtime = tick_beside(2, 4, block);
    assert!(runtime.handle().metrics().stalls.total() >= 2);
}

#[test]
fn hogs_do_not_stop_the_others() {
    tick_beside(2, 2, |done| while !done.load(Ordering::Relaxed) {});
}

/// The first goroutines after a deep sleep of sysmon block. The goroutine that ends this is queued
/// behind them.
#[test]
fn goroutines_that_block_first_after_a_deep_sleep_are_noticed() {
    for procs in [1, 2] {
        let runtime = runtime(procs);
        for _ in 0..10 {
            runtime.block_on(gmp::sleep(5 * MS));
            let (tx, rx) = std::sync::mpsc::channel();
            let first = runtime.spawn(async move {
                let blockers: Vec<_> = (0..procs)
                    .map(|_| {
                        let (tx, rx) = std::sync::mpsc::channel();
                        (tx, gmp::spawn(async move { rx.recv().unwrap() }))
                    })
                    .collect();
                gmp::spawn(async move { tx.send(()).unwrap() });
                let (ends, handles): (Vec<_>, Vec<_>) = blockers.into_iter().unzip();
                rx.recv().unwrap();
                ends.iter().for_each(|end| end.send(()).unwrap());
                for handle in handles {
                    handle.await.unwrap();
                }
            });
            gmp::block_on(first).unwrap();
        }
    }
}

/// All hundred closures are inside a barrier at once.
#[test]
fn a_hundred_goroutines_block_at_once_on_two_procs() {
    let runtime = runtime(2);
    let barrier = Arc::new(Barrier::new(100));
    let work: Vec<_> = (0..100)
        .map(|_| {
            let barrier = barrier.clone();
            runtime.spawn(async move { gmp::block_in_place(|| barrier.wait().is_leader()) })
        })
        .collect();
    let leaders = work.into_iter().map(|work| gmp::block_on(work).unwrap());
    assert_eq!(leaders.filter(|leads| *leads).count(), 1);
    assert!(runtime.handle().metrics().threads.total >= 100);
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

/// Sysmon reports a poll that continues for half a millisecond after a request to yield. That
/// happens to this hog only if the OS stops its thread between two checkpoints.
#[test]
fn checkpoints_yield() {
    let runtime = runtime(1);
    let handle = runtime.handle().clone();
    let stop = Arc::new(AtomicBool::new(false));
    let (hog_stop, rounds) = (stop.clone(), Arc::new(AtomicU64::new(0)));
    let counted = rounds.clone();
    let hog = runtime.spawn(async move {
        let (mut last, mut gaps) = (Instant::now(), 0);
        while !hog_stop.load(Ordering::Relaxed) {
            counted.fetch_add(1, Ordering::Relaxed);
            gmp::checkpoint().await;
            let now = Instant::now();
            gaps += u64::from(now - last >= MS / 2);
            last = now;
        }
        gaps
    });
    until(|| rounds.load(Ordering::Relaxed) > 1000);
    // On one P this runs only if the hog yields.
    gmp::block_on(runtime.spawn(async move { stop.store(true, Ordering::Relaxed) })).unwrap();
    let gaps = gmp::block_on(hog).unwrap();
    // Joins sysmon: no report follows.
    runtime.shutdown(Duration::from_secs(60)).unwrap();
    let (rounds, polls) = (rounds.load(Ordering::Relaxed), handle.metrics().total().polls);
    assert!(10 * polls < rounds, "{polls} polls, {rounds} rounds: a checkpoint alone yields");
    let stalls = handle.metrics().stalls.total();
    assert!(stalls <= gaps, "{stalls} stalls, {gaps} gaps");
}

#[test]
fn futures_of_gmp_that_are_always_ready_yield() {
    let runtime = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    let hog_stop = stop.clone();
    let hog = runtime.spawn(async move {
        while !hog_stop.load(Ordering::Relaxed) {
            gmp::sleep(Duration::ZERO).await;
        }
    });
    // On one P this runs only if the hog yields.
    gmp::block_on(runtime.spawn(async move { stop.store(true, Ordering::Relaxed) })).unwrap();
    gmp::block_on(hog).unwrap();
}

#[test]
fn a_stale_runnext_is_rescued() {
    // The spawned goroutine is alone in `runnext`, so no thread is woken for it. Its M stays in the
    // poll.
    let runtime = runtime(2);
    let done = runtime.spawn(async {
        let flag = Arc::new(AtomicBool::new(false));
        let inside = flag.clone();
        go!({ inside.store(true, Ordering::Release) });
        until(|| flag.load(Ordering::Acquire));
    });
    gmp::block_on(done).unwrap();
}

/// A goroutine loses its P because it blocks, and then waits for its own timer in a loop of
/// checkpoints. The loop has to yield, although no other goroutine waits for a P.
#[test]
fn checkpoints_of_a_goroutine_without_a_p_yield() {
    let runtime = runtime(1);
    let goroutine = runtime.spawn(async {
        let (lost_p, done) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
        let other = lost_p.clone();
        // With one P the other goroutine runs only when this one has lost it.
        go!({ other.store(true, Ordering::Relaxed) });
        let compute = async {
            block_thread_until(move || lost_p.load(Ordering::Relaxed));
            while !done.load(Ordering::Relaxed) {
                gmp::checkpoint().await;
            }
        };
        // Longer than a hand-off takes: for a timer that is due, sysmon asks for a yield before it.
        let timer = async {
            gmp::sleep(100 * MS).await;
            done.store(true, Ordering::Relaxed);
        };
        futures::future::join(timer, compute).await;
    });
    gmp::block_on(goroutine).unwrap();
}

/// The stalls that a hook has recorded.
type Stalls = Arc<Mutex<Vec<Stall>>>;

/// Records the stalls of the runtime from now on.
fn record_stalls(runtime: &gmp::Runtime) -> Stalls {
    let stalls = Stalls::default();
    let hook = stalls.clone();
    runtime.block_on(async {
        gmp::runtime::on_stall(move |stall| hook.lock().unwrap().push(stall.clone()));
    });
    stalls
}

/// Blocks the thread until the stall of this goroutine is recorded.
///
/// Sysmon calls the hook after it has counted the stall. So the counter is not enough to wait for.
fn block_until_recorded(stalls: &Stalls) {
    let (stalls, goid) = (stalls.clone(), gmp::goid());
    let is_own = move |stall: &Stall| Some(stall.goid()) == goid;
    block_thread_until(move || stalls.lock().unwrap().iter().any(&is_own));
}

#[test]
fn a_goroutine_without_a_p_behaves_as_any_other() {
    let runtime = runtime(1);
    let stalls = record_stalls(&runtime);
    let handed_off = |then: fn()| {
        let stalls = stalls.clone();
        let goroutine = runtime.spawn(async move {
            // Queued work, so that the P is wanted.
            let other = go!({});
            block_until_recorded(&stalls);
            then();
            go!({ 1 }).await.unwrap();
            other.await.unwrap();
            gmp::sleep(MS).await;
        });
        gmp::block_on(goroutine)
    };
    handed_off(|| {}).unwrap();
    handed_off(|| compute(20 * MS)).unwrap();
    assert!(handed_off(|| panic!("expected by the test")).unwrap_err().is_panic());
    let without_p = Arc::new(AtomicBool::new(false));
    let aborted = Arc::new(AtomicBool::new(false));
    let (is_without_p, is_aborted) = (without_p.clone(), aborted.clone());
    let goroutine = runtime.spawn(async move {
        go!({});
        block_until_recorded(&stalls);
        is_without_p.store(true, Ordering::Release);
        until(|| is_aborted.load(Ordering::Acquire));
        gmp::yield_now().await;
        unreachable!("aborted at the await");
    });
    until(|| without_p.load(Ordering::Acquire));
    goroutine.abort();
    aborted.store(true, Ordering::Release);
    assert!(gmp::block_on(goroutine).unwrap_err().is_cancelled());
    until(|| runtime.handle().num_goroutine() == 0);
}

#[test]
fn the_stall_hook_gets_goroutine_site_and_kind() {
    let runtime = runtime(1);
    let stalls = record_stalls(&runtime);
    let recorded = stalls.clone();
    let goid = runtime.block_on(async {
        go!(name = "sleeper", async move {
            go!({});
            block_until_recorded(&recorded);
            gmp::goid()
        })
        .await
        .unwrap()
    });
    let stalls = stalls.lock().unwrap();
    let of_sleeper: Vec<_> = stalls.iter().filter(|stall| Some(stall.goid()) == goid).collect();
    let [stall] = of_sleeper[..] else { panic!("reported once: {stalls:?}") };
    assert_eq!((stall.name(), stall.kind()), (Some("sleeper"), StallKind::Blocked));
    assert!(stall.spawned_at().unwrap().file().ends_with("promise.rs"));
    assert!(stall.to_string().contains("blocked its thread"));
}

/// A thread that sleeps while nothing else has to run delays no goroutine.
#[test]
fn a_goroutine_that_blocks_while_no_other_waits_is_no_stall() {
    let runtime = runtime(1);
    let stalls = record_stalls(&runtime);
    let handle = runtime.handle().clone();
    let blocks = runtime.spawn(async move {
        block_thread_until(move || handle.metrics().handoffs.total() > 0);
    });
    gmp::block_on(blocks).unwrap();
    let handle = runtime.handle().clone();
    // Joins sysmon, and waits for the hook.
    runtime.shutdown(Duration::from_secs(60)).unwrap();
    assert_eq!((handle.metrics().stalls.total(), stalls.lock().unwrap().len()), (0, 0));
}

#[test]
fn stalls_are_printed_once_per_site() {
    if !is_child() {
        let output = child("promise::stalls_are_printed_once_per_site", &[("GMPDEBUG", "stall=1")]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        let of_sleeper =
            |line: &&str| line.starts_with("gmp: stall: goroutine") && line.contains("\"sleeper\"");
        let reports: Vec<_> = text.lines().filter(of_sleeper).collect();
        assert_eq!(reports.len(), 1, "{text}");
        let [report] = reports[..] else { unreachable!("one report") };
        assert!(report.contains("blocked its thread") && report.contains("promise.rs"), "{text}");
        return;
    }
    let runtime = runtime(1);
    // The hook is called after the report is printed.
    let stalls = record_stalls(&runtime);
    for _ in 0..3 {
        let stalls = stalls.clone();
        let goroutine =
            gmp::task::Builder::new().name("sleeper").on(runtime.handle()).spawn(async move {
                go!({});
                block_until_recorded(&stalls);
            });
        gmp::block_on(goroutine).unwrap();
    }
    assert!(runtime.handle().metrics().stalls.total() >= 3);
}

#[test]
fn threads_of_a_burst_are_reused() {
    let runtime = runtime(2);
    for _ in 0..3 {
        let work: Vec<_> = (0..20)
            .map(|_| runtime.spawn(async { gmp::block_in_place(|| std::thread::sleep(20 * MS)) }))
            .collect();
        for work in work {
            gmp::block_on(work).unwrap();
        }
        // A thread can be used again after it has entered the pool.
        until(|| {
            let metrics = runtime.handle().metrics();
            metrics.threads.sleeping() == metrics.threads.total
        });
    }
    let metrics = runtime.handle().metrics();
    assert!(metrics.threads.total <= 40, "{} threads: none was reused", metrics.threads.total);
}

#[test]
fn threads_of_a_burst_end_after_the_keep_alive_time() {
    let builder = gmp::runtime::Builder::new().max_procs(2).thread_keep_alive(50 * MS);
    let runtime = builder.build().unwrap();
    // One thread waits for this timer.
    let sleeper = runtime.spawn(gmp::sleep(Duration::from_secs(3600)));
    until(|| runtime.handle().metrics().timers.pending == 1);
    for _ in 0..2 {
        let barrier = Arc::new(Barrier::new(60));
        let work: Vec<_> = (0..60)
            .map(|n| {
                let barrier = barrier.clone();
                runtime.spawn(async move {
                    if n % 2 == 0 {
                        barrier.wait();
                    } else {
                        gmp::block_in_place(|| barrier.wait());
                    }
                })
            })
            .collect();
        work.into_iter().for_each(|work| gmp::block_on(work).unwrap());
        until(|| runtime.handle().metrics().threads.total <= 2);
    }
    assert_eq!(runtime.handle().metrics().timers.pending, 1);
    sleeper.abort();
}

/// Runs `occupy` on the only P with goroutines on its queue, beside a goroutine that yields until
/// they have run: so the P that takes over always has work and never steals.
///
/// `occupy` gets a function that puts a goroutine on the queue, and the flag that becomes true when
/// all `n` have run.
fn queue_behind(n: usize, occupy: fn(&dyn Fn(), Arc<AtomicBool>)) {
    let runtime = runtime(1);
    let done = Arc::new(AtomicBool::new(false));
    let (seen, shown) = (done.clone(), done.clone());
    let looper = runtime.spawn(async move {
        while !seen.load(Ordering::Relaxed) {
            gmp::yield_now().await;
        }
    });
    let blocker = runtime.spawn(async move {
        let ran = Arc::new(AtomicUsize::new(0));
        let queue = || {
            let (ran, done) = (ran.clone(), shown.clone());
            go!(async move {
                let all = ran.fetch_add(1, Ordering::Relaxed) + 1 == n;
                done.fetch_or(all, Ordering::Relaxed);
            });
        };
        occupy(&queue, shown.clone());
    });
    gmp::block_on(blocker).unwrap();
    gmp::block_on(looper).unwrap();
}

#[test]
fn goroutines_behind_a_blocked_one_run_beside_one_that_yields_for_ever() {
    queue_behind(100, |queue, done| {
        (0..100).for_each(|_| queue());
        block_thread_until(move || done.load(Ordering::Relaxed));
    });
    queue_behind(100, |queue, done| {
        (0..100).for_each(|_| queue());
        gmp::block_in_place(|| block_thread_until(move || done.load(Ordering::Relaxed)));
    });
}

#[test]
fn goroutines_woken_by_a_thread_without_a_p_run_beside_one_that_yields_for_ever() {
    queue_behind(1, |queue, done| {
        // By then the P is handed off, because the goroutine that yields waits for it.
        compute(50 * MS);
        queue();
        block_thread_until(move || done.load(Ordering::Relaxed));
    });
}

/// Without a free descriptor the runtime cannot read the states of threads.
#[cfg(target_os = "linux")]
#[test]
fn a_blocked_thread_is_noticed_without_free_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let name = "promise::a_blocked_thread_is_noticed_without_free_descriptors";
    if !is_child() {
        assert!(passed_in_child(name));
        return;
    }
    let runtime = runtime(1);
    gmp::block_on(runtime.spawn(async {})).unwrap();
    // All descriptors in use stay open, and none can be opened.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..limit }).unwrap();
    assert!(std::fs::File::open("/proc/self/stat").is_err());
    let (tx, rx) = mpsc::channel();
    let test = runtime.spawn(async move {
        // Behind this goroutine, which blocks the only P until it runs.
        let sends = gmp::spawn(async move { tx.send(7).unwrap() });
        let received = rx.recv().unwrap();
        sends.await.unwrap();
        received
    });
    assert_eq!(gmp::block_on(test).unwrap(), 7);
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// The kernel takes about 10 ms to register a process for `membarrier` while other threads exist.
/// The first hand-off would wait for that.
#[cfg(target_os = "linux")]
#[test]
fn a_runtime_registers_for_membarrier_before_its_first_hand_off() {
    use rustix::io::Errno;
    use rustix::thread::{MembarrierCommand, membarrier};
    if passed_in_child("promise::a_runtime_registers_for_membarrier_before_its_first_hand_off") {
        return;
    }
    let is_registered = || membarrier(MembarrierCommand::PrivateExpedited);
    match is_registered() {
        Err(Errno::NOSYS | Errno::INVAL) => println!("gmp: not tested: no membarrier here"),
        before => {
            assert_eq!(before, Err(Errno::PERM), "the process is new");
            let _runtime = runtime(1);
            assert_eq!(is_registered(), Ok(()));
        }
    }
}
