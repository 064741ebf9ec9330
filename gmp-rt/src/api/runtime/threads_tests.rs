//! The hooks of the worker threads, and the contexts of a guest.

use super::block_on::block_on_for;
use super::guest::{Entered, Guest};
use super::{Builder, Runtime, block_on};
use crate::prim::fixed::{AtomicUsize, Mutex, Ordering::SeqCst};
use crate::{spawn, spawn_blocking};
use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Barrier};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// More than any step takes.
const LONG: Duration = Duration::from_secs(60);

thread_local! {
    static STARTS: Cell<u32> = const { Cell::new(0) };
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Counts the calls of both hooks by thread.
#[derive(Debug, Default)]
struct Calls {
    starts: Mutex<HashMap<ThreadId, u32>>,
    stops: Mutex<HashMap<ThreadId, u32>>,
}

impl Calls {
    fn count(threads: &Mutex<HashMap<ThreadId, u32>>) {
        *threads.lock().entry(thread::current().id()).or_default() += 1;
    }

    fn counted(builder: Builder) -> (Builder, Arc<Self>) {
        let calls = Arc::new(Self::default());
        let (start, stop) = (calls.clone(), calls.clone());
        let builder = builder.on_thread_start(move || {
            STARTS.set(STARTS.get() + 1);
            Self::count(&start.starts);
        });
        (builder.on_thread_stop(move || Self::count(&stop.stops)), calls)
    }
}

/// Sends whether its thread called the start hook, when it is dropped.
struct OnDrop(Sender<u32>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(STARTS.get());
    }
}

fn waits_for_ever(tx: &Sender<u32>) -> impl Future<Output = ()> + Send + 'static {
    let on_drop = OnDrop(tx.clone());
    async move {
        let _on_drop = on_drop;
        std::future::pending().await
    }
}

#[test]
fn each_worker_thread_calls_each_hook_once() {
    let (builder, calls) = Calls::counted(Builder::new().max_procs(2));
    let runtime = builder.build().unwrap();
    let (tx, dropped) = mpsc::channel();
    runtime.spawn(waits_for_ever(&tx));
    let inside = runtime.block_on(async {
        // Five threads at a time.
        let all = Arc::new(Barrier::new(5));
        let blocking = (0..5).map(|_| {
            let all = all.clone();
            spawn_blocking(move || {
                all.wait();
                STARTS.get()
            })
        });
        let mut inside = Vec::new();
        for call in blocking.collect::<Vec<_>>() {
            inside.push(call.await.unwrap());
        }
        inside.push(spawn(async { STARTS.get() }).await.unwrap());
        inside
    });
    assert_eq!(inside, [1; 6]);
    assert_eq!(STARTS.get(), 0, "this is no worker thread");
    runtime.shutdown(LONG).unwrap();
    assert_eq!(dropped.recv(), Ok(1), "where the goroutine was dropped");
    let (starts, stops) = (calls.starts.lock(), calls.stops.lock());
    assert!(starts.len() >= 5 && starts.values().all(|&count| count == 1), "{starts:?}");
    assert_eq!(*starts, *stops);
}

#[test]
fn a_surplus_thread_calls_the_stop_hook_while_the_runtime_runs_on() {
    let keep_alive = Duration::from_millis(1);
    let (builder, calls) =
        Calls::counted(Builder::new().max_procs(1).thread_keep_alive(keep_alive));
    let runtime = builder.build().unwrap();
    runtime.block_on(async {
        let both = Arc::new(Barrier::new(2));
        let calls = [both.clone(), both].map(|both| spawn_blocking(move || _ = both.wait()));
        for call in calls {
            call.await.unwrap();
        }
    });
    wait_until("no thread has ended", || !calls.stops.lock().is_empty());
    runtime.block_on(async { spawn(async {}).await }).unwrap();
}

#[test]
fn panics_of_hooks_end_no_thread_and_no_runtime() {
    let stops = Arc::new(AtomicUsize::new(0));
    let count = stops.clone();
    let builder = Builder::new().on_thread_start(|| panic!("the start hook"));
    let builder = builder.on_thread_stop(move || {
        count.fetch_add(1, SeqCst);
        panic!("the stop hook")
    });
    let runtime = builder.build().unwrap();
    let sum = runtime.block_on(async {
        let parts = (0..100u32).map(|n| spawn(async move { n })).collect::<Vec<_>>();
        let mut sum = 0;
        for part in parts {
            sum += part.await.unwrap();
        }
        sum
    });
    assert_eq!(sum, 4950);
    runtime.shutdown(LONG).unwrap();
    assert!(stops.load(SeqCst) >= 1);
}

#[test]
fn a_start_hook_that_blocks_delays_no_goroutine() {
    let (release, released) = mpsc::channel();
    let first = Mutex::new(Some(released));
    let hook = move || {
        let first = first.lock().take();
        if let Some(released) = first {
            let _: Result<(), _> = released.recv();
        }
    };
    let runtime = Builder::new().max_procs(1).on_thread_start(hook).build().unwrap();
    // The hook of the only thread waits for a goroutine.
    let goroutine = runtime.spawn(async move { release.send(()).unwrap() });
    block_on_for(LONG, goroutine).expect("no thread runs the goroutine").unwrap();
    runtime.shutdown(LONG).unwrap();
}

#[test]
fn a_start_hook_spawns_on_its_runtime() {
    let (tx, rx) = mpsc::channel();
    let hook = move || {
        let tx = tx.clone();
        drop(spawn(async move { tx.send(thread_name().await) }));
    };
    let runtime = Builder::new().name("hooked").on_thread_start(hook).build().unwrap();
    assert!(rx.recv_timeout(LONG).unwrap().starts_with("hooked-m"));
    runtime.shutdown(LONG).unwrap();
}

#[test]
fn a_shutdown_waits_for_stop_hooks_within_its_limit() {
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let (dropped, drops) = mpsc::channel();
    let drops = Mutex::new(drops);
    let (tx, order) = mpsc::channel();
    let hook = move || {
        tx.send(drops.lock().try_recv()).unwrap();
        let _ = released.lock().recv();
    };
    let runtime = Builder::new().max_procs(1).on_thread_stop(hook).build().unwrap();
    runtime.spawn(waits_for_ever(&dropped));
    let left = runtime.shutdown(Duration::from_millis(300)).unwrap_err();
    assert_eq!((left.stuck().len(), left.queued()), (0, 0), "{left}");
    assert!(left.threads().iter().any(|name| name.starts_with("gmp-m")), "{left}");
    assert_eq!(order.recv(), Ok(Ok(0)), "the goroutine is dropped before the hook runs");
    drop(release);
}

/// A guest that logs what happens to it.
#[derive(Debug, Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn add(&self, entry: &str) {
        self.0.lock().push(entry.to_owned());
    }

    fn count(&self, entry: &str) -> usize {
        self.0.lock().iter().filter(|one| *one == entry).count()
    }
}

#[derive(Debug)]
struct Visitor(Arc<Log>);

struct Context(Arc<Log>);

impl Drop for Context {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
        self.0.add("leave");
    }
}

impl Guest for Visitor {
    fn enter(&self) -> Box<dyn Entered + '_> {
        INSIDE.set(INSIDE.get() + 1);
        self.0.add("enter");
        Box::new(Context(self.0.clone()))
    }

    fn is_entered(&self) -> bool {
        INSIDE.get() > 0
    }

    fn shutdown(&self, _limit: Duration) {
        self.0.add("shutdown");
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        self.0.add("drop");
    }
}

/// Sends in how many contexts its thread is, when it is dropped.
struct InsideOnDrop(Sender<u32>);

impl Drop for InsideOnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(INSIDE.get());
    }
}

fn visited() -> (Runtime, Arc<Log>) {
    let log = Arc::<Log>::default();
    let for_guest = log.clone();
    let builder = Builder::new().max_procs(1).guest(move |host| {
        assert_eq!(host.name(), "gmp");
        Ok(Arc::new(Visitor(for_guest.clone())))
    });
    (builder.build().unwrap(), log)
}

fn drop_probe() -> (InsideOnDrop, Receiver<u32>) {
    let (tx, rx) = mpsc::channel();
    (InsideOnDrop(tx), rx)
}

#[test]
fn goroutines_run_and_end_in_the_context_of_the_guest() {
    let (runtime, log) = visited();
    let (probe, dropped) = drop_probe();
    let aborted = runtime.spawn(async move {
        let _probe = probe;
        std::future::pending::<()>().await
    });
    assert_eq!(runtime.block_on(async { spawn(async { INSIDE.get() }).await.unwrap() }), 1);
    aborted.abort();
    assert_eq!(dropped.recv_timeout(LONG), Ok(1));
    let (probe, dropped) = drop_probe();
    runtime.spawn(async move {
        let _probe = probe;
        std::future::pending::<()>().await
    });
    runtime.shutdown(LONG).unwrap();
    assert_eq!(dropped.try_recv(), Ok(1), "by the shutdown");
    assert_eq!(log.count("enter"), log.count("leave"));
    let log = log.0.lock();
    assert_eq!(log[log.len() - 2..], ["shutdown", "drop"], "after all threads have left");
}

#[test]
fn a_context_is_entered_once_per_thread_and_not_per_poll() {
    let (runtime, log) = visited();
    runtime.block_on(async {
        spawn(async {
            for _ in 0..100 {
                crate::yield_now().await;
            }
        })
        .await
        .unwrap();
    });
    let threads = runtime.handle().metrics().threads.total;
    assert!(log.count("enter") <= threads + 1, "one more for block_on");
}

#[test]
fn block_on_polls_and_drops_its_future_in_the_context() {
    let (runtime, _log) = visited();
    let (other, _other_log) = visited();
    let (probe, dropped) = drop_probe();
    let inside = runtime.block_on(async move {
        let _probe = probe;
        let inner = other.block_on(async { INSIDE.get() });
        let goroutine = spawn(async {
            let nested = super::Handle::current().block_on(async { INSIDE.get() });
            (INSIDE.get(), nested)
        });
        let free = block_on(async { INSIDE.get() });
        (INSIDE.get(), inner, goroutine.await.unwrap(), free)
    });
    assert_eq!(inside, (1, 2, (1, 2), 1));
    assert_eq!(dropped.try_recv(), Ok(1));
    assert_eq!(INSIDE.get(), 0);
}

#[test]
fn a_block_on_that_panics_leaves_the_context() {
    let (runtime, _log) = visited();
    let call = || runtime.block_on(async { panic!("in the future") });
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    assert!(panicked.is_err());
    assert_eq!(INSIDE.get(), 0);
}

#[test]
fn the_last_worker_thread_ends_the_guest_if_no_thread_waits() {
    let (runtime, log) = visited();
    let handle = runtime.handle().clone();
    // The runtime is dropped by its own goroutine.
    handle.spawn(async move { drop(runtime) });
    wait_until("the guest has not ended", || log.count("drop") == 1);
    assert_eq!(log.count("shutdown"), 0);
    let log = log.0.lock();
    assert_eq!(log.last().map(String::as_str), Some("drop"), "{log:?}");
    assert_eq!(handle.num_goroutine(), 0);
}

#[test]
fn a_guest_outlives_a_shutdown_that_gives_up() {
    let (runtime, log) = visited();
    let (release, released) = mpsc::channel::<()>();
    let (running, runs) = mpsc::channel();
    runtime.spawn(async move {
        running.send(()).unwrap();
        let _ = released.recv();
    });
    runs.recv_timeout(LONG).unwrap();
    // It keeps the scheduler alive, which would end the guest too.
    let _handle = runtime.handle().clone();
    let left = runtime.shutdown(Duration::from_millis(1)).unwrap_err();
    assert_eq!(left.stuck().len(), 1, "{left}");
    assert_eq!((log.count("shutdown"), log.count("drop")), (0, 0));
    drop(release);
    wait_until("the guest has not ended", || log.count("drop") == 1);
}

#[test]
fn a_guest_that_cannot_start_is_an_error_of_build() {
    let refuse = |_| Err(io::Error::new(io::ErrorKind::OutOfMemory, "no guest room"));
    let error = Builder::new().guest(refuse).build().unwrap_err();
    assert_eq!(error.to_string(), "no guest room");
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::OutOfMemory);
}

async fn thread_name() -> String {
    thread::current().name().unwrap().to_owned()
}

#[test]
fn a_thread_of_the_guest_spawns_on_the_host() {
    let (tx, rx) = mpsc::channel();
    let builder = Builder::new().name("host").guest(move |host| {
        let tx = tx.clone();
        thread::spawn(move || {
            host.enter_thread();
            let inside = block_on(spawn(thread_name())).unwrap();
            host.leave_thread();
            let outside = block_on(spawn(thread_name())).unwrap();
            tx.send((inside, outside)).unwrap();
        });
        Ok(Arc::new(Visitor(Arc::default())))
    });
    let runtime = builder.build().unwrap();
    let (inside, outside) = rx.recv_timeout(LONG).unwrap();
    assert!(inside.starts_with("host-m") && outside.starts_with("gmp-m"), "{inside}, {outside}");
    drop(runtime);
}
