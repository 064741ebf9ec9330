//! Many goroutines that block their thread: only closures of `spawn_blocking` are limited.

use crate::support::{is_child, passed_in_child, runtime, waiting};
use gmp::runtime::Event;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Condvar, Mutex, mpsc};
use std::time::Duration;

/// More than the default of `max_blocking_threads`.
const MANY: usize = 520;

/// Spawns `MANY` goroutines that run `block` on their thread, and waits until all of them do. Then
/// a further goroutine has to run. `unblock` ends the calls.
fn assert_others_run(
    runtime: &gmp::Runtime,
    block: impl Fn(&AtomicUsize) + Send + Sync + 'static,
    unblock: impl FnOnce(),
) {
    let (block, started) = (Arc::new(block), Arc::new(AtomicUsize::new(0)));
    let blocked: Vec<_> = (0..MANY)
        .map(|_| {
            let (block, started) = (block.clone(), started.clone());
            runtime.spawn(async move { block(&started) })
        })
        .collect();
    crate::support::until(|| started.load(Relaxed) == MANY);
    for n in 0..10 {
        assert_eq!(gmp::block_on(runtime.spawn(async move { n })).unwrap(), n);
    }
    unblock();
    for handle in blocked {
        gmp::block_on(handle).unwrap();
    }
}

#[test]
fn goroutines_run_beside_any_number_of_blocked_ones() {
    let name = "blocking_limit::goroutines_run_beside_any_number_of_blocked_ones";
    // A process of its own: thousands of tests share the limits of this one.
    if !is_child() {
        assert!(passed_in_child(name));
        return;
    }
    let runtime = runtime(2);

    let (tx, rx) = mpsc::channel::<()>();
    let rx = Mutex::new(rx);
    assert_others_run(
        &runtime,
        move |started| {
            started.fetch_add(1, Relaxed);
            let _closed = rx.lock().unwrap().recv();
        },
        || drop(tx),
    );

    let end = Arc::new(Barrier::new(MANY + 1));
    let ends = end.clone();
    assert_others_run(
        &runtime,
        move |started| {
            gmp::block_in_place(|| {
                started.fetch_add(1, Relaxed);
                ends.wait();
            });
        },
        || {
            end.wait();
        },
    );

    let (tx, rx) = gmp::chan::<()>(0);
    assert_others_run(
        &runtime,
        move |started| {
            gmp::block_on(async {
                started.fetch_add(1, Relaxed);
                assert!(rx.recv().await.is_err());
            });
        },
        || drop(tx),
    );

    let (tx, rx) = gmp::chan::<()>(0);
    assert_others_run(
        &runtime,
        move |started| {
            started.fetch_add(1, Relaxed);
            assert!(rx.iter_blocking().next().is_none());
        },
        || drop(tx),
    );
}

#[test]
fn spawn_blocking_closures_beyond_the_limit_wait_in_order() {
    const LIMIT: usize = 3;
    let runtime =
        gmp::runtime::Builder::new().max_procs(2).max_blocking_threads(LIMIT).build().unwrap();
    let (release, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let begun = Arc::new(Mutex::new(Vec::new()));
    let (waits, begins) = (wait.clone(), begun.clone());
    let closures = runtime.spawn(async move {
        let mut handles = Vec::new();
        for n in 0..20 {
            let (wait, begun) = (waits.clone(), begins.clone());
            handles.push(gmp::spawn_blocking(move || {
                begun.lock().unwrap().push(n);
                wait.lock().unwrap().recv().unwrap();
                n
            }));
            // Until it runs or waits, so that the next one arrives after it.
            if n < LIMIT {
                while begins.lock().unwrap().len() <= n {
                    gmp::yield_now().await;
                }
            } else {
                waiting("blocking limit", n + 1 - LIMIT).await;
            }
        }
        handles
    });
    let handles = gmp::block_on(closures).unwrap();
    let metrics = runtime.handle().metrics();
    assert_eq!((metrics.blocking.running, metrics.blocking.waiting), (LIMIT, 20 - LIMIT));
    for ended in 1..=20 {
        release.send(()).unwrap();
        crate::support::until(|| begun.lock().unwrap().len() == (ended + LIMIT).min(20));
    }
    for (n, handle) in handles.into_iter().enumerate() {
        assert_eq!(gmp::block_on(handle).unwrap(), n);
    }
    // The first three are started one after the other, the others by the end of earlier ones.
    assert_eq!(*begun.lock().unwrap(), (0..20).collect::<Vec<_>>());
    assert_eq!(runtime.handle().metrics().blocking.running, 0);
}

#[test]
fn an_aborted_closure_leaves_the_queue_and_never_runs() {
    let runtime =
        gmp::runtime::Builder::new().max_procs(1).max_blocking_threads(1).build().unwrap();
    let (release, wait) = mpsc::channel::<()>();
    let test = runtime.spawn(async move {
        let (tx, rx) = gmp::chan::<()>(0);
        let first = gmp::spawn_blocking(move || {
            drop(tx);
            wait.recv().unwrap();
        });
        assert!(rx.recv().await.is_err(), "the first one runs");
        let aborted = gmp::spawn_blocking(|| unreachable!("it was aborted"));
        waiting("blocking limit", 1).await;
        aborted.abort();
        assert!(aborted.await.unwrap_err().is_cancelled());
        let last = gmp::spawn_blocking(|| 7);
        waiting("blocking limit", 1).await;
        release.send(()).unwrap();
        first.await.unwrap();
        last.await.unwrap()
    });
    assert_eq!(gmp::block_on(test).unwrap(), 7);
}

#[test]
fn a_closure_that_panics_gives_its_permit_back() {
    let runtime =
        gmp::runtime::Builder::new().max_procs(1).max_blocking_threads(1).build().unwrap();
    let test = runtime.spawn(async {
        for _ in 0..3 {
            let panics = gmp::spawn_blocking(|| panic!("expected by the test"));
            assert!(panics.await.unwrap_err().is_panic());
        }
        gmp::spawn_blocking(|| 7).await.unwrap()
    });
    assert_eq!(gmp::block_on(test).unwrap(), 7);
}

/// Closures that hold all permits wait for lookups, which need none.
#[test]
fn closures_that_hold_all_permits_resolve_names() {
    for permits in [1, 4] {
        let builder = gmp::runtime::Builder::new().max_procs(1).max_blocking_threads(permits);
        let runtime = builder.build().unwrap();
        let all_run = Arc::new(Barrier::new(permits));
        let test = runtime.spawn(async move {
            let closures: Vec<_> = (0..permits)
                .map(|_| {
                    let all_run = all_run.clone();
                    gmp::spawn_blocking(move || {
                        all_run.wait();
                        gmp::block_on(gmp::net::resolve("localhost:80")).unwrap()
                    })
                })
                .collect();
            for closure in closures {
                assert!(closure.await.unwrap().iter().all(|addr| addr.port() == 80));
            }
        });
        gmp::block_on(test).unwrap();
    }
}

/// Goroutines that block their threads until this is opened.
#[derive(Clone, Default)]
struct Dam(Arc<(Mutex<bool>, Condvar)>);

impl Dam {
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn block(&self) {
        let open = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(open, |open| !*open).unwrap());
    }

    /// Spawns `n` goroutines, each second one of which marks its call. Waits until all are blocked.
    fn hold(&self, runtime: &gmp::Runtime, n: usize) -> Vec<gmp::JoinHandle<()>> {
        let started = Arc::new(AtomicUsize::new(0));
        let block = |n: usize| {
            let (dam, started) = (self.clone(), started.clone());
            runtime.spawn(async move {
                started.fetch_add(1, Relaxed);
                match n % 2 {
                    0 => gmp::block_in_place(|| dam.block()),
                    _ => dam.block(),
                }
            })
        };
        let all = (0..n).map(block).collect();
        crate::support::until(|| started.load(Relaxed) == n);
        all
    }
}

/// The number of threads is reported once, other goroutines run, and CPU-bound threads are paused.
#[test]
fn two_thousand_blocked_threads_are_reported_once_and_change_nothing_else() {
    let name =
        "blocking_limit::two_thousand_blocked_threads_are_reported_once_and_change_nothing_else";
    if !is_child() {
        assert!(passed_in_child(name));
        return;
    }
    let (tx, events) = mpsc::channel();
    gmp::runtime::on_event(move |event| tx.send(event.clone()).unwrap()).unwrap();
    let runtime = runtime(2);
    let handle = runtime.handle().clone();

    let dam = Dam::default();
    let few = dam.hold(&runtime, 400);
    assert!(events.try_recv().is_err(), "512 threads are not many");
    let many = dam.hold(&runtime, 1600);
    let threads = handle.metrics().threads.total;
    let event = events.recv().unwrap();
    match event {
        Event::ThreadRefused { .. } => return println!("gmp: not tested: {event}"),
        Event::ManyThreads { threads, .. } => assert!(threads > 512, "{threads}"),
        other => panic!("{other}"),
    }
    assert!(threads >= 2000, "{threads}");
    for n in 0..10 {
        assert_eq!(gmp::block_on(runtime.spawn(async move { n })).unwrap(), n);
    }
    if cfg!(target_os = "linux") {
        let stop = Arc::new(AtomicBool::new(false));
        let compute = |stop: Arc<AtomicBool>| async move { while !stop.load(Relaxed) {} };
        let hogs: Vec<_> = (0..6).map(|_| runtime.spawn(compute(stop.clone()))).collect();
        // The last two may keep their Ps: no other goroutine waits for one.
        crate::support::until(|| handle.metrics().threads.paused >= 2);
        stop.store(true, Relaxed);
        hogs.into_iter().for_each(|hog| gmp::block_on(hog).unwrap());
    }
    dam.open();
    few.into_iter().chain(many).for_each(|handle| gmp::block_on(handle).unwrap());

    let dam = Dam::default();
    let again = dam.hold(&runtime, 600);
    dam.open();
    again.into_iter().for_each(|handle| gmp::block_on(handle).unwrap());
    runtime.shutdown(Duration::from_secs(3600)).unwrap();
    assert!(events.try_recv().is_err(), "reported once");
}
