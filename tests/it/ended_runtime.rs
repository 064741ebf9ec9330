//! Deadlines that outlive the runtime on which they were set. A deadline that is lost hangs its
//! test.

use super::cancel::Polled;
use super::support::{runtime, until};
use futures::FutureExt;
use gmp::context::{Context, ContextError};
use std::future::pending;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(3600);

/// Returns the handle of a runtime that has ended.
fn ended() -> gmp::runtime::Handle {
    let runtime = runtime(1);
    let handle = runtime.handle().clone();
    runtime.shutdown(LONG).unwrap();
    handle
}

#[test]
fn timers_fire_in_block_on_of_an_ended_runtime() {
    let (handle, start) = (ended(), Instant::now());
    handle.block_on(gmp::sleep(SHORT));
    assert!(start.elapsed() >= SHORT);
    handle.block_on(gmp::timeout(SHORT, pending::<()>())).unwrap_err();
    let (_tx, rx) = gmp::chan::<()>(0);
    handle.block_on(rx.recv_timeout(SHORT)).unwrap_err();
    handle.block_on(gmp::Timer::new(SHORT));
    handle.block_on(gmp::Ticker::new(SHORT).tick());
    assert!(start.elapsed() >= 5 * SHORT);
}

/// The thread is inside `block_on` when the runtime ends.
#[test]
fn a_sleep_in_block_on_outlives_the_end_of_the_runtime() {
    let runtime = runtime(1);
    let (handle, start) = (runtime.handle().clone(), Instant::now());
    let timers = handle.clone();
    let sleeps = std::thread::spawn(move || handle.block_on(gmp::sleep(20 * SHORT)));
    until(|| timers.metrics().timers.pending == 1 || sleeps.is_finished());
    runtime.shutdown(LONG).unwrap();
    sleeps.join().unwrap();
    assert!(start.elapsed() >= 20 * SHORT);
}

/// The goroutine of one runtime waits in `block_on` of another.
#[test]
fn a_goroutine_in_block_on_outlives_the_end_of_that_runtime() {
    let (first, second) = (runtime(1), runtime(1));
    let handle = second.handle().clone();
    let sleeps = first.spawn(async move { handle.block_on(gmp::sleep(SHORT)) });
    second.shutdown(LONG).unwrap();
    gmp::block_on(sleeps).unwrap();
}

#[test]
fn a_sleep_in_a_foreign_executor_outlives_its_runtime() {
    let (start, runtime) = (Instant::now(), runtime(1));
    let mut sleep = gmp::sleep(SHORT);
    runtime.block_on(async { assert!((&mut sleep).now_or_never().is_none()) });
    drop(runtime);
    futures::executor::block_on(sleep);
    assert!(start.elapsed() >= SHORT);
}

/// The end wakes a task early. The task polls again, and waits for the rest of the time.
#[test]
fn a_task_that_waits_elsewhere_is_woken_by_the_end() {
    let (start, runtime) = (Instant::now(), runtime(1));
    let mut sleep = Polled::new(gmp::sleep(SHORT));
    runtime.block_on(async { assert!(sleep.poll().is_none()) });
    runtime.shutdown(LONG).unwrap();
    loop {
        until(|| sleep.is_woken());
        if sleep.poll().is_some() {
            break;
        }
    }
    assert!(start.elapsed() >= SHORT);
}

/// Calls `set` in a goroutine and in `block_on` of a runtime that ends after that.
fn in_short_runtimes<T: Send + 'static>(set: impl Fn() -> T + Clone + Send + 'static) -> [T; 2] {
    let (first, second) = (runtime(1), runtime(1));
    let (in_goroutine, in_block_on) = (set.clone(), set);
    let in_goroutine = gmp::block_on(first.spawn(async move { in_goroutine() })).unwrap();
    let in_block_on = second.block_on(async move { in_block_on() });
    first.shutdown(LONG).unwrap();
    second.shutdown(LONG).unwrap();
    [in_goroutine, in_block_on]
}

#[test]
fn a_context_ends_after_its_runtime() {
    let start = Instant::now();
    for (context, _canceller) in in_short_runtimes(|| Context::background().with_timeout(SHORT)) {
        assert_eq!(context.done_blocking(), ContextError::DeadlineExceeded);
        assert!(start.elapsed() >= SHORT);
    }
}

/// The context has calls to make, which keep it.
#[test]
fn the_calls_of_a_context_are_made_after_its_runtime() {
    let (made, calls) = mpsc::channel();
    let contexts = in_short_runtimes(|| Context::background().with_timeout(10 * SHORT));
    for (context, canceller) in contexts {
        let made = made.clone();
        gmp::block_on(async { context.after_func(move || made.send(()).unwrap()) });
        drop((context, canceller));
    }
    calls.recv().unwrap();
    calls.recv().unwrap();
}

#[test]
fn a_context_that_ended_runtimes_forget_is_freed() {
    let cause = Arc::new(std::io::Error::other("a cause"));
    let held = Arc::downgrade(&cause);
    let kept = in_short_runtimes(move || {
        Context::background().with_timeout_cause(LONG, ArcError(cause.clone()))
    });
    drop(kept);
    until(|| held.strong_count() == 0);
}

#[derive(Debug)]
struct ArcError(#[allow(dead_code)] Arc<std::io::Error>);

impl std::fmt::Display for ArcError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("too late")
    }
}

impl std::error::Error for ArcError {}

#[test]
fn a_socket_deadline_fires_after_the_runtime_that_set_it() {
    use gmp::net::UnixStream;
    let pair = || gmp::block_on(async { UnixStream::pair().unwrap() });
    let sockets: [_; 2] = std::array::from_fn(|_| pair());
    for (n, (socket, _peer)) in sockets.into_iter().enumerate() {
        let (socket, start) = (Arc::new(socket), Instant::now());
        let (setter, setting) = (socket.clone(), runtime(1));
        let set = move || setter.set_read_deadline(Some(start + SHORT));
        match n {
            0 => gmp::block_on(setting.spawn(async move { set() })).unwrap(),
            _ => setting.block_on(async move { set() }),
        }
        setting.shutdown(LONG).unwrap();
        let error = gmp::block_on(socket.read(&mut [0])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(start.elapsed() >= SHORT);
        // The deadline can be moved after that.
        socket.set_read_deadline(Some(Instant::now() + SHORT));
        assert!(gmp::block_on(socket.read(&mut [0])).is_err());
    }
}

/// Calls a function when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn destructors_may_wait_for_deadlines_during_shutdown() {
    let waits: [fn(); 3] = [
        || gmp::block_on(gmp::sleep(SHORT)),
        || assert!(Context::background().with_timeout(SHORT).0.done_blocking().is_timeout()),
        || assert!(gmp::block_on(gmp::timeout(SHORT, pending::<()>())).is_err()),
    ];
    for wait in waits {
        let (runtime, (ended, ends)) = (runtime(1), mpsc::channel());
        let (started, starts) = mpsc::channel();
        let guard = OnDrop(move || {
            wait();
            ended.send(()).unwrap();
        });
        runtime.spawn(async move {
            let _guard = guard;
            started.send(()).unwrap();
            pending::<()>().await;
        });
        starts.recv().unwrap();
        runtime.shutdown(LONG).unwrap();
        ends.recv().unwrap();
    }
}

/// A pending call is dropped with its runtime, and with all that it captured.
#[test]
fn a_shutdown_drops_the_calls_of_after_func() {
    let (runtime, (never, dropped)) = (runtime(1), mpsc::channel::<()>());
    let call = move || {
        never.send(()).unwrap();
        unreachable!("the runtime has ended");
    };
    runtime.block_on(async { drop(gmp::after_func(LONG, call)) });
    runtime.shutdown(LONG).unwrap();
    dropped.recv().unwrap_err();
}

#[test]
fn after_func_on_an_ended_runtime_makes_no_call() {
    let handle = ended();
    let timer = handle.block_on(async { gmp::after_func(LONG, || unreachable!("it has ended")) });
    assert!(!timer.reset(Duration::ZERO), "the runtime had ended");
    assert!(!timer.stop(), "the runtime has ended");
    let short = runtime(1);
    let timer = short.block_on(async { gmp::after_func(LONG, || unreachable!("it has ended")) });
    short.shutdown(LONG).unwrap();
    assert!(!timer.stop(), "the shutdown has dropped the call");
}
