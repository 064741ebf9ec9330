//! The end of a runtime.

use super::support::{Gate, runtime, until};
use gmp::go;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

struct CountDrop(Arc<AtomicUsize>);

impl Drop for CountDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn parked_queued_and_sleeping_goroutines_are_dropped() {
    let runtime = runtime(2);
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut handles = Vec::new();
    for n in 0..300 {
        let guard = CountDrop(dropped.clone());
        handles.push(runtime.spawn(async move {
            let _guard = guard;
            match n % 3 {
                0 => std::future::pending().await,
                1 => gmp::sleep(LONG).await,
                _ => loop {
                    gmp::yield_now().await;
                },
            }
        }));
    }
    runtime.shutdown(LONG).unwrap();
    assert_eq!(dropped.load(Ordering::Relaxed), 300);
    for handle in handles {
        assert!(gmp::block_on(handle).unwrap_err().is_cancelled());
    }
}

#[test]
fn the_drop_of_a_runtime_shuts_it_down() {
    /// The drop of a runtime waits at most for this time.
    const GRACE: Duration = Duration::from_secs(1);
    until(|| {
        let runtime = runtime(1);
        let dropped = Arc::new(AtomicUsize::new(0));
        let guard = CountDrop(dropped.clone());
        runtime.spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
        let start = Instant::now();
        drop(runtime);
        let in_time = start.elapsed() < GRACE;
        assert!(!in_time || dropped.load(Ordering::Relaxed) == 1);
        in_time
    });
}

#[test]
fn goroutines_that_spawn_do_not_delay_a_shutdown() {
    fn endless() {
        gmp::spawn(async {
            gmp::yield_now().await;
            endless();
            endless();
        });
    }
    let runtime = runtime(2);
    runtime.block_on(async { endless() });
    runtime.shutdown(LONG).unwrap();
}

#[test]
fn spawn_after_shutdown_is_cancelled_at_once() {
    let runtime = runtime(1);
    let handle = runtime.handle().clone();
    runtime.shutdown(LONG).unwrap();
    let dropped = Arc::new(AtomicUsize::new(0));
    let guard = CountDrop(dropped.clone());
    let late = handle.spawn(async move {
        drop(guard);
        1
    });
    assert_eq!(dropped.load(Ordering::Relaxed), 1, "the future was dropped, not run");
    assert!(gmp::block_on(late).unwrap_err().is_cancelled());
    assert_eq!(handle.num_goroutine(), 0);
}

#[test]
fn spawns_of_threads_during_a_shutdown_lose_nothing() {
    for _ in 0..30 {
        let runtime = runtime(2);
        let handle = runtime.handle().clone();
        let start = Arc::new(AtomicBool::new(false));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (handle, start) = (handle.clone(), start.clone());
                std::thread::spawn(move || {
                    while !start.load(Ordering::Acquire) {
                        std::hint::spin_loop();
                    }
                    let spawned: Vec<_> =
                        (0..50).map(|_| handle.spawn(std::future::pending::<()>())).collect();
                    // Each goroutine ends: none is left in a queue that is not read any more.
                    for goroutine in spawned {
                        assert!(gmp::block_on(goroutine).unwrap_err().is_cancelled());
                    }
                })
            })
            .collect();
        start.store(true, Ordering::Release);
        runtime.shutdown(LONG).unwrap();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(handle.num_goroutine(), 0);
    }
}

/// A goroutine that yields all the time must not run on after the runtime has closed.
#[test]
fn a_goroutine_that_yields_does_not_outlive_a_shutdown() {
    for round in 0..100 {
        let runtime = runtime(1 + round % 2);
        let handle = runtime.handle().clone();
        let start = Arc::new(AtomicBool::new(false));
        let may_start = start.clone();
        let spawns = std::thread::spawn(move || {
            until(|| may_start.load(Ordering::Acquire));
            for _ in 0..20 {
                handle.spawn(async {
                    loop {
                        gmp::yield_now().await;
                    }
                });
            }
        });
        start.store(true, Ordering::Release);
        (0..round * 20).for_each(|_| std::hint::spin_loop());
        runtime.shutdown(LONG).unwrap();
        spawns.join().unwrap();
    }
}

/// A goroutine that stays in its poll until it is released.
struct Stuck {
    release: mpsc::Sender<()>,
    goroutine: gmp::JoinHandle<()>,
}

impl Stuck {
    fn new(runtime: &gmp::Runtime) -> Self {
        let (release, waits) = mpsc::channel();
        let (started, starts) = mpsc::channel();
        let goroutine =
            gmp::task::Builder::new().name("stuck").on(runtime.handle()).spawn(async move {
                started.send(()).unwrap();
                waits.recv().unwrap();
            });
        starts.recv().unwrap();
        Self { release, goroutine }
    }

    /// Lets it end, and waits for the end of its runtime.
    fn end(self, handle: &gmp::runtime::Handle) {
        self.release.send(()).unwrap();
        gmp::block_on(self.goroutine).unwrap();
        until(|| handle.metrics().threads.total == 0);
    }
}

/// The runtime is closed, but has not ended.
#[test]
fn a_spawn_after_the_shutdown_began_is_never_polled() {
    let runtime = runtime(1);
    let handle = runtime.handle().clone();
    let stuck = Stuck::new(&runtime);
    runtime.shutdown(Duration::ZERO).unwrap_err();
    let polls = Arc::new(AtomicUsize::new(0));
    let counts = polls.clone();
    let late = handle.spawn(async move {
        loop {
            counts.fetch_add(1, Ordering::Relaxed);
            gmp::yield_now().await;
        }
    });
    assert!(gmp::block_on(late).unwrap_err().is_cancelled());
    assert_eq!(polls.load(Ordering::Relaxed), 0);
    stuck.end(&handle);
}

#[test]
fn the_error_lists_stuck_goroutines_and_counts_queued_ones() {
    let runtime = runtime(1);
    let handle = runtime.handle().clone();
    for _ in 0..10 {
        runtime.spawn(std::future::pending::<()>());
    }
    let stuck = Stuck::new(&runtime);
    let error = runtime.shutdown(Duration::ZERO).unwrap_err();
    assert_eq!((error.stuck().len(), error.threads().len()), (1, 0));
    // Another thread may have dropped some of them already.
    assert!(error.queued() <= 10, "{}", error.queued());
    let text = error.to_string();
    assert!(text.contains("1 inside a poll: goroutine ") && text.contains("\"stuck\""), "{text}");
    assert_eq!(text.contains(" not dropped yet"), error.queued() > 0, "{text}");
    stuck.end(&handle);
}

#[test]
fn a_shutdown_in_a_goroutine_waits_for_the_others() {
    for procs in [1, 2] {
        let runtime = runtime(procs);
        let handle = runtime.handle().clone();
        let dropped = Arc::new(AtomicUsize::new(0));
        for _ in 0..50 {
            let guard = CountDrop(dropped.clone());
            runtime.spawn(async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            });
        }
        let own = CountDrop(dropped.clone());
        let (ended, ends) = mpsc::channel();
        let caller = handle.spawn(async move {
            let _own = own;
            runtime.shutdown(LONG).unwrap();
            ended.send(dropped.load(Ordering::Relaxed)).unwrap();
            std::future::pending::<()>().await;
        });
        assert_eq!(ends.recv().unwrap(), 50);
        assert!(gmp::block_on(caller).unwrap_err().is_cancelled(), "at its next await");
        until(|| handle.metrics().threads.total == 0);
    }
}

/// The wait is a blocking call of the goroutine that makes it, here one of another runtime.
#[test]
fn a_goroutine_may_shut_another_runtime_down() {
    let (runtime, other) = (runtime(1), runtime(1));
    let handle = other.handle().clone();
    let stuck = Stuck::new(&other);
    let release = stuck.release.clone();
    let releases = runtime.handle().clone();
    let shuts = runtime.spawn(async move {
        // Runs while this goroutine waits.
        releases.spawn(async move { release.send(()).unwrap() });
        other.shutdown(LONG).unwrap();
    });
    gmp::block_on(shuts).unwrap();
    gmp::block_on(stuck.goroutine).unwrap();
    assert_eq!(handle.metrics().threads.total, 0);
}

#[test]
fn a_shutdown_in_a_goroutine_names_the_others() {
    let runtime = runtime(2);
    let handle = runtime.handle().clone();
    let stuck = Stuck::new(&runtime);
    let caller = handle.spawn(async move {
        let error = runtime.shutdown(Duration::from_millis(20)).unwrap_err();
        assert_eq!((error.stuck().len(), error.queued()), (1, 0));
        assert!(error.stuck()[0].contains("\"stuck\""), "{error}");
    });
    gmp::block_on(caller).unwrap();
    stuck.end(&handle);
}

#[test]
fn a_stall_hook_that_blocks_does_not_delay_a_shutdown() {
    let runtime = gmp::runtime::Builder::new().max_procs(1).build().unwrap();
    let handle = runtime.handle().clone();
    let (called, calls) = mpsc::channel();
    let (release, waits) = mpsc::channel::<()>();
    let waits = std::sync::Mutex::new(waits);
    runtime.block_on(async {
        gmp::runtime::on_stall(move |_| {
            called.send(()).unwrap();
            let _ = waits.lock().unwrap().recv();
        });
    });
    // Blocks its thread while another goroutine waits: a stall.
    let stuck = Stuck::new(&runtime);
    let other = runtime.spawn(async {});
    calls.recv().unwrap();
    stuck.release.send(()).unwrap();
    gmp::block_on(stuck.goroutine).unwrap();
    gmp::block_on(other).unwrap();
    runtime.shutdown(LONG).unwrap();
    assert_eq!(handle.num_goroutine(), 0);
    drop(release);
}

/// Waits for a message when it is dropped.
struct WaitOnDrop(mpsc::Receiver<()>);

impl Drop for WaitOnDrop {
    fn drop(&mut self) {
        let _ = self.0.recv();
    }
}

thread_local! {
    static LOCAL: RefCell<Option<WaitOnDrop>> = const { RefCell::new(None) };
}

#[test]
fn the_limit_covers_destructors_of_thread_locals() {
    let runtime = gmp::runtime::Builder::new().max_procs(1).name("limited").build().unwrap();
    let (release, waits) = mpsc::channel();
    let sets = runtime.spawn(async move { LOCAL.set(Some(WaitOnDrop(waits))) });
    gmp::block_on(sets).unwrap();
    let error = runtime.shutdown(Duration::from_millis(500)).unwrap_err();
    let worker = |name: &String| name.starts_with("limited-m");
    assert!(error.stuck().is_empty() && error.threads().iter().any(worker), "{error}");
    drop(release);
}

#[test]
fn a_stuck_goroutine_is_named_and_left_behind() {
    let runtime = runtime(1);
    let (running, release) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (is_running, may_end) = (running.clone(), release.clone());
    let handle = runtime.handle().clone();
    let stuck = gmp::task::Builder::new().name("stubborn").on(&handle).spawn(async move {
        is_running.store(true, Ordering::Release);
        while !may_end.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    });
    until(|| running.load(Ordering::Acquire));
    let start = Instant::now();
    let error = runtime.shutdown(Duration::from_millis(20)).unwrap_err();
    assert!(start.elapsed() < LONG);
    assert_eq!(error.stuck().len(), 1);
    let text = error.to_string();
    assert!(text.contains("\"stubborn\"") && text.contains("shutdown.rs"), "{text}");
    // The poll returns, and the runtime ends without further calls. The goroutine has an output,
    // because this poll was its last.
    release.store(true, Ordering::Release);
    gmp::block_on(stuck).unwrap();
    until(|| handle.metrics().threads.total == 0);
}

#[test]
fn a_goroutine_may_drop_its_own_runtime() {
    let runtime = runtime(1);
    let handle = runtime.handle().clone();
    let gate = Arc::new(Gate::default());
    let done = gate.clone();
    handle.spawn(async move {
        drop(runtime);
        done.open();
    });
    gmp::block_on(gate.wait());
    until(|| handle.metrics().threads.total == 0);
}

#[test]
fn many_runtimes_leave_no_threads() {
    for _ in 0..100 {
        let runtime = runtime(2);
        let sum: u32 = runtime.block_on(async {
            let handles: Vec<_> = (0..10).map(|n| go!({ n })).collect();
            let mut sum = 0;
            for handle in handles {
                sum += handle.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 45);
        let handle = runtime.handle().clone();
        runtime.shutdown(LONG).unwrap();
        assert_eq!(handle.metrics().threads.total, 0);
    }
}
