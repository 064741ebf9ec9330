//! Goroutines that return from marked blocking calls compute on at most `max_procs` threads.
//!
//! The tests count goroutines inside a computing section, so the load of the machine changes no
//! result. A section takes far less CPU time than sysmon grants a poll before it hands off the P.

use super::support::{block_thread_until, runtime, until};
use gmp::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// How many goroutines return at the same time.
const CROWD: usize = 8;

/// Long enough for other threads to come in, if nothing prevents it.
const SECTION: Duration = Duration::from_micros(200);

/// The goroutines in a computing section.
#[derive(Default)]
struct Section {
    inside: AtomicUsize,
    peak: AtomicUsize,
}

impl Section {
    /// Computes for a short time.
    fn compute(&self) {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(inside, Ordering::SeqCst);
        let start = Instant::now();
        while start.elapsed() < SECTION {
            std::hint::spin_loop();
        }
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A way into a blocking call and back.
type Call = fn(&Meeting);

/// Lets goroutines return from `call` together and compute, several times. Returns the maximum
/// number that computed at the same time.
fn peak(procs: usize, call: Call) -> usize {
    let runtime = runtime(procs);
    let section = Arc::new(Section::default());
    let meeting = Arc::new(Meeting::new());
    let goroutines: Vec<_> = (0..CROWD)
        .map(|_| {
            let (section, meeting) = (section.clone(), meeting.clone());
            runtime.spawn(async move {
                for _ in 0..20 {
                    call(&meeting);
                    section.compute();
                    gmp::yield_now().await;
                }
            })
        })
        .collect();
    goroutines.into_iter().for_each(|goroutine| gmp::block_on(goroutine).unwrap());
    section.peak.load(Ordering::SeqCst)
}

/// Where the goroutines wait for each other, by a blocked thread or by a future.
struct Meeting {
    threads: std::sync::Barrier,
    goroutines: Barrier,
}

impl Meeting {
    fn new() -> Self {
        Self { threads: std::sync::Barrier::new(CROWD), goroutines: Barrier::new(CROWD) }
    }
}

#[test]
fn goroutines_that_leave_marked_calls_compute_on_max_procs_threads() {
    let calls: [(&str, Call); 5] = [
        ("block_in_place", |meeting| {
            gmp::block_in_place(|| meeting.threads.wait());
        }),
        ("block_on", |meeting| {
            gmp::block_on(meeting.goroutines.wait());
        }),
        ("wait_blocking", |meeting| {
            meeting.goroutines.wait_blocking();
        }),
        ("block_on in block_in_place", |meeting| {
            gmp::block_in_place(|| gmp::block_on(meeting.goroutines.wait()));
        }),
        ("block_in_place in block_on", |meeting| {
            gmp::block_on(async { gmp::block_in_place(|| meeting.threads.wait()) });
        }),
    ];
    for (name, call) in calls {
        for procs in [1, 2, 4] {
            let peak = peak(procs, call);
            assert!((1..=procs).contains(&peak), "{name}: {peak} with {procs} procs");
        }
    }
}

/// The P of the poll was handed off before, because the goroutine blocked without a mark.
#[test]
fn a_marked_call_ends_a_poll_without_a_p() {
    for procs in [1, 2] {
        let blocks_first = |meeting: &Meeting| {
            let (tx, rx) = mpsc::channel();
            // Queued work, so that the P is wanted.
            let other = gmp::spawn(async move { tx.send(()).unwrap() });
            rx.recv().unwrap();
            gmp::block_in_place(|| meeting.threads.wait());
            drop(other);
        };
        let peak = peak(procs, blocks_first);
        assert!((1..=procs).contains(&peak), "{peak} with {procs} procs");
    }
}

/// Goroutines on all Ps block their threads, without a mark, for a lock that a goroutine holds
/// whose call has returned.
#[test]
fn a_goroutine_that_holds_a_std_lock_over_its_call_gets_a_p() {
    for procs in [1, 2, 4] {
        let runtime = runtime(procs);
        for _ in 0..5 {
            let lock = Arc::new(std::sync::Mutex::new(0));
            let (waiting, locked) =
                (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
            let (waits, locks, shared) = (waiting.clone(), locked.clone(), lock.clone());
            let holder = runtime.spawn(async move {
                let mut count = shared.lock().unwrap();
                locks.store(true, Ordering::SeqCst);
                gmp::block_in_place(|| until(|| waits.load(Ordering::SeqCst) == procs + 1));
                *count += 1;
            });
            until(|| locked.load(Ordering::SeqCst));
            let others: Vec<_> = (0..=procs)
                .map(|_| {
                    let (waiting, lock) = (waiting.clone(), lock.clone());
                    runtime.spawn(async move {
                        waiting.fetch_add(1, Ordering::SeqCst);
                        *lock.lock().unwrap() += 1;
                    })
                })
                .collect();
            gmp::block_on(holder).unwrap();
            others.into_iter().for_each(|other| gmp::block_on(other).unwrap());
            assert_eq!(*lock.lock().unwrap(), procs + 2);
        }
    }
}

/// The goroutine that has the only P computes until the one that waits for a P has run.
#[test]
fn a_goroutine_that_never_yields_gives_its_p_to_one_that_returns() {
    let runtime = runtime(1);
    let (returns, ran) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (released, done) = (returns.clone(), ran.clone());
    let first = runtime.spawn(async move {
        gmp::block_in_place(|| block_thread_until(move || released.load(Ordering::SeqCst)));
        done.store(true, Ordering::SeqCst);
    });
    let hog = runtime.spawn(async move {
        returns.store(true, Ordering::SeqCst);
        while !ran.load(Ordering::SeqCst) {}
    });
    gmp::block_on(hog).unwrap();
    gmp::block_on(first).unwrap();
}

/// Goroutines that always have work, from outside and from inside, and one that returns from calls.
#[test]
fn a_goroutine_that_returns_and_busy_ones_all_make_progress() {
    let runtime = runtime(1);
    let done = Arc::new(AtomicBool::new(false));
    let yields: Vec<_> = (0..3)
        .map(|_| {
            let done = done.clone();
            runtime.spawn(async move {
                let mut yields = 0;
                while !done.load(Ordering::SeqCst) {
                    gmp::yield_now().await;
                    yields += 1;
                }
                yields
            })
        })
        .collect();
    let handle = runtime.handle().clone();
    let ended = done.clone();
    let newcomers = std::thread::spawn(move || {
        let mut ran = 0;
        while !ended.load(Ordering::SeqCst) {
            gmp::block_on(handle.spawn(async {})).unwrap();
            ran += 1;
        }
        ran
    });
    let returning: Vec<_> = (0..3)
        .map(|_| {
            runtime.spawn(async {
                for _ in 0..20 {
                    gmp::block_in_place(|| std::thread::sleep(Duration::from_millis(1)));
                }
            })
        })
        .collect();
    returning.into_iter().for_each(|goroutine| gmp::block_on(goroutine).unwrap());
    done.store(true, Ordering::SeqCst);
    assert!(newcomers.join().unwrap() > 0);
    assert!(yields.into_iter().all(|yields| gmp::block_on(yields).unwrap() > 0));
}

#[test]
fn the_number_of_procs_changes_while_threads_wait_for_a_p() {
    let runtime = runtime(1);
    let meeting = Arc::new(Meeting::new());
    let done = Arc::new(AtomicUsize::new(0));
    let goroutines: Vec<_> = (0..CROWD)
        .map(|_| {
            let (meeting, done) = (meeting.clone(), done.clone());
            runtime.spawn(async move {
                let section = Section::default();
                for _ in 0..50 {
                    gmp::block_in_place(|| meeting.threads.wait());
                    section.compute();
                }
                done.fetch_add(1, Ordering::SeqCst);
            })
        })
        .collect();
    let mut procs = [4, 1, 3, 2, 1].into_iter().cycle();
    until(|| {
        runtime.handle().set_max_procs(procs.next().unwrap()).unwrap();
        done.load(Ordering::SeqCst) == CROWD
    });
    goroutines.into_iter().for_each(|goroutine| gmp::block_on(goroutine).unwrap());
}

/// Aborts goroutines at any time of the wait for a P. Those that were waiting run to their next
/// await.
#[test]
fn an_abort_takes_effect_at_the_await_after_the_call() {
    let runtime = runtime(1);
    for _ in 0..20 {
        let meeting = Arc::new(Meeting::new());
        let after_call = Arc::new(AtomicUsize::new(0));
        let goroutines: Vec<_> = (0..CROWD)
            .map(|_| {
                let (meeting, after_call) = (meeting.clone(), after_call.clone());
                runtime.spawn(async move {
                    gmp::block_in_place(|| meeting.threads.wait());
                    after_call.fetch_add(1, Ordering::SeqCst);
                    std::future::pending::<()>().await;
                })
            })
            .collect();
        until(|| after_call.load(Ordering::SeqCst) > 0);
        goroutines.iter().for_each(|goroutine| goroutine.abort());
        for goroutine in goroutines {
            assert!(gmp::block_on(goroutine).unwrap_err().is_cancelled());
        }
        assert_eq!(after_call.load(Ordering::SeqCst), CROWD);
    }
}

/// The dump and the count of queued goroutines show a goroutine whose thread waits for a P.
#[test]
fn a_goroutine_that_waits_for_a_p_is_runnable() {
    let runtime = runtime(1);
    let done = Arc::new(AtomicBool::new(false));
    let (ended, (began, has_begun)) = (done.clone(), mpsc::channel());
    // It never yields, so it is in the global queue only on its way back from a call.
    let returning = runtime.spawn(async move {
        began.send(()).unwrap();
        while !ended.load(Ordering::SeqCst) {
            gmp::block_in_place(|| std::thread::sleep(Duration::from_millis(1)));
        }
        gmp::goid().unwrap()
    });
    has_begun.recv().unwrap();
    let id = returning.goid();
    let ended = done.clone();
    let busy = runtime.spawn(async move {
        let section = Section::default();
        while !ended.load(Ordering::SeqCst) {
            section.compute();
            gmp::yield_now().await;
        }
    });
    let heading = format!("goroutine {id} [runnable]");
    until(|| runtime.block_on(async { gmp::runtime::dump() }).contains(&heading));
    done.store(true, Ordering::SeqCst);
    assert_eq!(gmp::block_on(returning).unwrap(), id);
    gmp::block_on(busy).unwrap();
}

#[test]
fn runtimes_close_while_threads_wait_for_a_p() {
    for _ in 0..30 {
        let runtime = runtime(1);
        let meeting = Arc::new(Meeting::new());
        let after_call = Arc::new(AtomicUsize::new(0));
        for _ in 0..CROWD {
            let (meeting, after_call) = (meeting.clone(), after_call.clone());
            runtime.spawn(async move {
                gmp::block_in_place(|| meeting.threads.wait());
                after_call.fetch_add(1, Ordering::SeqCst);
                Section::default().compute();
                std::future::pending::<()>().await;
            });
        }
        until(|| after_call.load(Ordering::SeqCst) > 0);
        runtime.shutdown(Duration::from_secs(60)).unwrap();
        assert_eq!(after_call.load(Ordering::SeqCst), CROWD);
    }
}
