//! User code never runs under a lock of gmp. Wakers, values and closures check it.
//!
//! Builds without debug assertions do not count locks, so these tests check nothing there.

use super::cancel::Polled;
use gmp::context::Context;
use gmp::sync::{Lazy, Mutex, OnceCell, Pool, RwLock, Semaphore, SingleFlight};
use gmp::{chan, select};
use gmp_rt::prim::debug_assert_no_lock_held;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

/// The counts of the checked wakers.
#[derive(Default)]
pub(crate) struct Seen {
    wakes: AtomicUsize,
    under_lock: AtomicUsize,
}

impl Seen {
    /// Returns the number of wake-ups.
    pub(crate) fn wakes(&self) -> usize {
        self.wakes.load(Ordering::Relaxed)
    }

    /// Returns the number of wakes and drops of a waker under a lock. Each printed a message.
    pub(crate) fn under_lock(&self) -> usize {
        self.under_lock.load(Ordering::Relaxed)
    }

    /// Counts instead of unwinding, because the scheduler contains panics of wakers.
    fn check(&self, what: &str) {
        if std::panic::catch_unwind(|| debug_assert_no_lock_held(what)).is_err() {
            self.under_lock.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A foreign waker that checks the rule when it is woken and when its last clone is dropped.
struct Checked(Arc<Seen>);

impl Wake for Checked {
    fn wake(self: Arc<Self>) {
        self.0.check("wakes a foreign waker");
        self.0.wakes.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Checked {
    fn drop(&mut self) {
        self.0.check("drops a foreign waker");
    }
}

/// Returns a waker that checks the rule. It is not equal to any other waker.
pub(crate) fn checked_waker(seen: &Arc<Seen>) -> Waker {
    Waker::from(Arc::new(Checked(seen.clone())))
}

/// A value that checks the rule when it is dropped.
#[derive(Debug, PartialEq, Eq)]
struct Value(u32);

impl Value {
    /// Uses the whole value, so that a closure captures it and not its number.
    fn is_used(&self) {}
}

impl Drop for Value {
    fn drop(&mut self) {
        debug_assert_no_lock_held("drops a value");
    }
}

impl Clone for Value {
    fn clone(&self) -> Self {
        debug_assert_no_lock_held("clones a value");
        Self(self.0)
    }
}

/// Polls the future to its end and waits for a wake-up between the polls, like an executor.
fn ends_when_woken<T>(future: impl Future<Output = T>) -> T {
    let mut polled = Polled::new(future);
    loop {
        if let Some(output) = polled.poll() {
            return output;
        }
        while !polled.is_woken() {
            std::thread::yield_now();
        }
    }
}

fn called<T>(value: T) -> T {
    debug_assert_no_lock_held("calls a closure");
    value
}

#[test]
#[cfg(debug_assertions)]
fn a_value_dropped_under_a_lock_is_seen() {
    let lock = gmp_rt::prim::Mutex::new(Some(Value(1)));
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        *lock.lock() = None;
    }));
    assert!(dropped.is_err());
    let seen = Arc::<Seen>::default();
    let guard = lock.lock();
    checked_waker(&seen).wake();
    drop(guard);
    assert_eq!(seen.under_lock(), 2, "the wake and the drop");
}

#[test]
fn channels_drop_values_without_their_lock() {
    for cap in [0, 1, 4] {
        let (tx, rx) = chan(cap);
        for n in 0..cap {
            tx.try_send(Value(n as u32)).unwrap();
        }
        assert!(tx.try_send(Value(9)).is_err());
        let mut waiting = Polled::waiting(tx.send(Value(10)));
        let mut other = Polled::waiting(tx.send(Value(11)));
        waiting.cancel();
        if cap > 0 {
            drop(rx.try_recv().unwrap());
            assert!(other.poll().unwrap().is_ok());
        }
        drop(rx);
        assert!(tx.is_closed());
        assert!(tx.try_send(Value(12)).is_err());
    }
    let (tx, rx) = chan::unbounded();
    (0..100).for_each(|n| tx.try_send(Value(n)).unwrap());
    drop(rx);
    let (tx, rx) = chan::unbounded();
    (0..100).for_each(|n| tx.try_send(Value(n)).unwrap());
    drop(tx);
    assert!(rx.try_recv().is_ok());
}

#[test]
fn a_received_value_that_is_not_taken_is_dropped_without_a_lock() {
    let (tx, rx) = chan(0);
    let mut receives = Polled::waiting(rx.recv());
    tx.try_send(Value(1)).unwrap();
    receives.cancel();
    drop(receives);
    drop((tx, rx));
}

#[test]
fn select_drops_values_without_a_lock() {
    let ((tx, rx), (tx2, rx2)) = (chan::<Value>(0), chan::<Value>(0));
    let mut selects = Polled::waiting(async {
        select! {
            sent = tx.send(Value(1)) => drop(sent),
            got = rx2.recv() => drop(got),
        }
    });
    tx2.try_send(Value(2)).unwrap();
    assert!(selects.poll().is_some());
    let mut selects = Polled::waiting(async {
        select! {
            sent = tx.send(Value(3)) => drop(sent),
            got = rx2.recv() => drop(got),
        }
    });
    selects.cancel();
    drop(rx);
    assert!(tx.try_send(Value(4)).is_err());
}

#[test]
fn locks_drop_values_and_wakers_without_a_lock() {
    let mutex = Mutex::new(Value(0));
    let guard = mutex.try_lock().unwrap();
    let mut waits = Polled::waiting(mutex.lock());
    assert!(waits.poll().is_none(), "with another waker");
    drop(guard);
    drop(waits.poll());
    drop(waits);
    drop(mutex);
    let lock = RwLock::new(Value(0));
    let guard = lock.try_write().unwrap();
    let mut readers: Vec<_> = (0..3).map(|_| Polled::waiting(lock.read())).collect();
    let mut writer = Polled::waiting(lock.write());
    assert!(readers[0].poll().is_none() && writer.poll().is_none());
    drop(guard);
    readers.iter_mut().for_each(|reader| drop(reader.poll()));
    drop(readers);
    writer.cancel();
    let semaphore = Semaphore::new(1);
    let permit = semaphore.try_acquire(1).unwrap();
    let mut waits: Vec<_> = (0..3).map(|_| Polled::waiting(semaphore.acquire(1))).collect();
    waits.remove(1).cancel();
    drop(permit);
    drop(waits[0].poll());
}

#[test]
fn initialisers_are_called_without_a_lock() {
    let cell = OnceCell::new();
    gmp::block_on(cell.get_or_init(|| called(async { called(Value(1)) })));
    drop(cell.set(Value(2)));
    drop(cell);
    let lazy = Lazy::new(async { called(Value(3)) });
    gmp::block_on(lazy.force());
    let flight = SingleFlight::<&str, Value>::new();
    drop(gmp::block_on(flight.call("key", || called(async { called(Value(4)) }))));
}

#[test]
fn pools_make_and_drop_items_without_a_lock() {
    let pool = Pool::new(|| called(Value(1)));
    let items: Vec<Value> = (0..100).map(|_| pool.get()).collect();
    items.into_iter().for_each(|item| pool.put(item));
    pool.drop_idle();
    pool.drop_idle();
    pool.put(Value(2));
    drop(pool);
}

#[test]
fn contexts_call_and_wake_without_a_lock() {
    let (context, canceller) = Context::background().with_value(Value(1)).with_cancel();
    let (child, child_canceller) = context.with_cancel();
    let (tx, rx) = chan(2);
    let (tx2, value) = (tx.clone(), Value(2));
    let stopped = context.after_func(move || drop(value));
    assert!(stopped.stop());
    let _kept = child.after_func(move || tx2.send_blocking(called(Value(3))).unwrap());
    let mut done = Polled::waiting(child.done());
    assert!(done.poll().is_none());
    let mut dropped = Polled::waiting(context.done());
    dropped.cancel();
    canceller.cancel();
    assert!(done.poll().is_some());
    assert_eq!(rx.recv_blocking(), Ok(Value(3)));
    drop((done, child_canceller, tx));
}

#[test]
fn timers_wake_and_drop_without_a_lock() {
    let mut sleeps = Polled::waiting(gmp::sleep(Duration::from_secs(3600)));
    assert!(sleeps.poll().is_none());
    sleeps.cancel();
    ends_when_woken(gmp::sleep(Duration::from_millis(1)));
    let value = Value(1);
    let timer = gmp::after_func(Duration::from_secs(3600), move || value.is_used());
    assert!(timer.reset(Duration::from_secs(7200)));
    assert!(timer.stop());
}

#[test]
fn goroutines_drop_futures_and_outputs_without_a_lock() {
    let runtime = gmp::runtime::Builder::new().max_procs(2).build().unwrap();
    let (waits, value) = (runtime.spawn(std::future::pending::<()>()), Value(1));
    let holds = runtime.spawn(async move {
        std::future::pending::<()>().await;
        drop(value);
    });
    let ends = runtime.spawn(async { Value(2) });
    let panics = runtime.spawn(async { std::panic::resume_unwind(Box::new(Value(3))) });
    while !(ends.is_finished() && panics.is_finished()) {
        std::thread::yield_now();
    }
    drop(ends);
    let panics: gmp::JoinHandle<()> = panics;
    drop(gmp::block_on(panics));
    waits.abort();
    drop((waits, holds));
    runtime.shutdown(Duration::from_secs(60)).unwrap();
}

#[test]
fn sockets_wake_and_drop_without_a_lock() -> io::Result<()> {
    let runtime = gmp::runtime::Builder::new().max_procs(1).build().unwrap();
    let (listener, stream, peer) = runtime.block_on(async {
        let listener = gmp::net::TcpListener::bind("127.0.0.1:0").await?;
        let stream = gmp::net::TcpStream::connect(listener.local_addr()?).await?;
        let (peer, _) = listener.accept().await?;
        io::Result::Ok((listener, stream, peer))
    })?;
    let mut accepts: Vec<_> = (0..3).map(|_| Polled::waiting(listener.accept())).collect();
    assert!(accepts[0].poll().is_none());
    accepts.remove(1).cancel();
    let mut buffer = [0];
    runtime.block_on(peer.write_all(b"x"))?;
    assert_eq!(ends_when_woken(stream.read(&mut buffer))?, 1);
    stream.set_read_deadline(Some(Instant::now() + Duration::from_millis(1)));
    assert!(ends_when_woken(stream.read(&mut buffer)).is_err());
    // The end of the runtime wakes all remaining waiters.
    runtime.shutdown(Duration::from_secs(60)).unwrap();
    assert!(accepts.iter().all(Polled::is_woken));
    Ok(())
}
