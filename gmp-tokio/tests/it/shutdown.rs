//! Where goroutines are dropped, and the end of both runtimes.

use crate::{LONG, SpawnsOnDrop, runtime, tokio_id, wait_until, waits_for_ever};
use gmp_rt::block_on;
use gmp_rt::runtime::Builder;
use gmp_tokio::BuilderExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(1);

#[test]
fn an_aborted_goroutine_is_dropped_in_the_context() {
    let runtime = runtime();
    let (tx, dropped) = mpsc::channel();
    let goroutine = runtime.spawn(waits_for_ever(SpawnsOnDrop(tx)));
    goroutine.abort();
    assert!(block_on(goroutine).unwrap_err().is_cancelled());
    assert_eq!(dropped.recv(), Ok(true));
}

#[test]
fn a_future_that_a_timeout_ends_is_dropped_in_the_context() {
    let runtime = runtime();
    let (tx, dropped) = mpsc::channel();
    let waits = waits_for_ever(SpawnsOnDrop(tx));
    block_on(runtime.spawn(gmp_rt::timeout(SHORT, waits))).unwrap().unwrap_err();
    assert_eq!(dropped.recv(), Ok(true));
}

#[test]
fn a_shutdown_drops_goroutines_and_calls_stop_hooks_while_tokio_runs() {
    let (tx, dropped) = mpsc::channel();
    let (stop, stopped) = mpsc::channel();
    let hook = move || {
        let task = tokio::runtime::Handle::current().spawn(async {});
        stop.send(tokio::runtime::Handle::current().block_on(task).is_ok()).unwrap();
    };
    let runtime = Builder::new().on_thread_stop(hook).tokio().build().unwrap();
    for _ in 0..100 {
        runtime.spawn(waits_for_ever(SpawnsOnDrop(tx.clone())));
    }
    drop(tx);
    runtime.shutdown(LONG).unwrap();
    assert_eq!(dropped.iter().collect::<Vec<_>>(), [true; 100]);
    let stopped: Vec<_> = stopped.iter().collect();
    assert!(!stopped.is_empty() && stopped.iter().all(|works| *works), "{stopped:?}");
}

/// Reports its drop.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn a_shutdown_waits_until_tokio_has_dropped_its_tasks() {
    let runtime = runtime();
    let dropped = Arc::new(AtomicBool::new(false));
    let value = Dropped(dropped.clone());
    runtime.block_on(async { drop(tokio::spawn(waits_for_ever(value))) });
    assert!(!dropped.load(SeqCst));
    runtime.shutdown(LONG).unwrap();
    assert!(dropped.load(SeqCst));
}

#[test]
fn a_drop_does_not_wait_for_ever_for_a_blocking_closure() {
    let runtime = runtime();
    let (release, released) = mpsc::channel::<()>();
    let (ended, end) = mpsc::channel();
    runtime.block_on(async {
        let (running, runs) = tokio::sync::oneshot::channel();
        tokio::task::spawn_blocking(move || {
            running.send(()).unwrap();
            let _ = released.recv();
            ended.send(gmp_rt::spawn(async {}))
        });
        runs.await.unwrap();
    });
    drop(runtime); // would hang
    drop(release);
    let late = end.recv_timeout(LONG).unwrap();
    assert!(block_on(late).unwrap_err().is_cancelled(), "the host has ended");
}

#[test]
fn a_runtime_can_be_dropped_by_its_own_goroutine_and_its_own_task() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let is_dropped = |count| {
        let dropped = dropped.clone();
        wait_until("Tokio has not ended", move || dropped.load(SeqCst) == count);
    };
    let counts = || {
        struct Counts(Arc<AtomicUsize>);
        impl Drop for Counts {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        Counts(dropped.clone())
    };
    let first = runtime();
    first.block_on(async { drop(tokio::spawn(waits_for_ever(counts()))) });
    let handle = first.handle().clone();
    drop(handle.spawn(async move { drop(first) }));
    is_dropped(1);

    let second = runtime();
    second.block_on(async { drop(tokio::spawn(waits_for_ever(counts()))) });
    let handle = second.handle().clone();
    // It would wait for itself.
    let (tx, ended) = mpsc::channel();
    let ends = async move { tx.send(second.shutdown(60 * LONG)) };
    handle.block_on(async move { drop(tokio::spawn(ends)) });
    ended.recv_timeout(LONG).expect("it has not waited").unwrap();
    is_dropped(2);
}

#[test]
fn a_runtime_can_be_dropped_by_a_task_of_another_tokio_runtime() {
    let tokio = tokio::runtime::Runtime::new().unwrap();
    let dropped = Arc::new(AtomicBool::new(false));
    let value = Dropped(dropped.clone());
    let ended = tokio.spawn(async move {
        let runtime = runtime();
        runtime.block_on(async { drop(tokio::spawn(waits_for_ever(value))) });
        runtime.shutdown(LONG)
    });
    tokio.block_on(ended).unwrap().unwrap();
    assert!(dropped.load(SeqCst));
}

#[test]
fn shutdown_accepts_any_limit() {
    let (first, second) = (runtime(), runtime());
    let ended = Arc::new(AtomicBool::new(false));
    first.block_on(async {
        let ended = ended.clone();
        let (running, runs) = tokio::sync::oneshot::channel();
        tokio::task::spawn_blocking(move || {
            running.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(200));
            ended.store(true, SeqCst);
        });
        runs.await.unwrap();
    });
    first.shutdown(Duration::MAX).unwrap();
    assert!(ended.load(SeqCst));
    let _ = second.shutdown(Duration::ZERO);
}

#[test]
fn build_returns_an_error_if_tokio_gets_no_thread() {
    let error = Builder::new().thread_stack_size(1 << 60).tokio().build().unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("cannot start the Tokio runtime: "), "{text}");
    assert!(text.ends_with("check the stack size and `ulimit -u`"), "{text}");
}

#[test]
fn many_runtimes_leave_no_threads_and_no_descriptors() {
    fn open() -> usize {
        std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
    }
    // The descriptors of other tests come and go: a leak grows with the rounds.
    let before = open();
    for _ in 0..100 {
        let runtime = runtime();
        assert!(block_on(runtime.spawn(async { tokio_id() })).unwrap().is_some());
        runtime.shutdown(LONG).unwrap();
    }
    wait_until("descriptors leak", || open() < before + 100);
}
