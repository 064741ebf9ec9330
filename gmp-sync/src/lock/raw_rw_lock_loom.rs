//! Models of the read-write lock: locking, unlocking and cancelling by readers and writers.

use crate::RwLock;
use crate::RwLockWriteGuard;
use ::loom::cell::UnsafeCell;
use ::loom::future::block_on;
use ::loom::sync::Arc;
use ::loom::thread;
use std::pin::pin;
use std::task::{Context, Waker};

/// A number that loom checks: a write that is concurrent with any other access fails.
struct Number(UnsafeCell<usize>);

// SAFETY: a writer has exclusive access, which is what the models check.
unsafe impl Sync for Number {}

type Watched = RwLock<Number>;

fn watched() -> Arc<Watched> {
    Arc::new(RwLock::new(Number(UnsafeCell::new(0))))
}

fn look(number: &Number) -> usize {
    // SAFETY: the caller is a reader.
    number.0.with(|value| unsafe { *value })
}

fn bump(number: &Number) {
    // SAFETY: the caller is the writer.
    number.0.with_mut(|value| unsafe { *value += 1 });
}

fn model(bound: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(f);
}

/// Two readers and a writer: the writer is exclusive, and all of them get the lock.
#[test]
fn loom_write_vs_two_reads() {
    model(2, || {
        let lock = watched();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let lock = lock.clone();
                thread::spawn(move || look(&block_on(lock.read())))
            })
            .collect();
        bump(&block_on(lock.write()));
        threads.into_iter().for_each(|thread| assert!(thread.join().unwrap() <= 1));
        assert_eq!(look(&lock.try_read().unwrap()), 1);
    });
}

/// `try_read` and `try_write` see earlier writes, and leave the lock as they found it.
#[test]
fn loom_try_read_and_try_write_vs_writer() {
    model(3, || {
        let lock = watched();
        let other = lock.clone();
        let works = thread::spawn(move || {
            look(&block_on(other.read()));
            bump(&block_on(other.write()));
        });
        let wrote = lock.try_write().map(|guard| bump(&guard)).is_some();
        let _ = lock.try_read().map(|guard| look(&guard));
        works.join().unwrap();
        assert_eq!(look(&lock.try_read().unwrap()), 1 + usize::from(wrote));
        assert!(lock.try_write().is_some());
    });
}

/// A writer that cancels at any time, and a reader behind it.
#[test]
fn loom_dropped_write_vs_read() {
    model(2, || {
        let lock = watched();
        let (dropped, reader) = (lock.clone(), lock.clone());
        let inside = lock.try_read().unwrap();
        let drops = thread::spawn(move || {
            let write = pin!(dropped.write());
            let mut cx = Context::from_waker(Waker::noop());
            let _ = write.poll(&mut cx).map(|guard| bump(&guard));
        });
        let reads = thread::spawn(move || look(&block_on(reader.read())));
        look(&inside);
        drop(inside);
        drops.join().unwrap();
        assert!(reads.join().unwrap() <= 1);
        assert!(lock.try_write().is_some());
    });
}

/// A reader is given the lock and dropped without another poll: the next writer gets the lock.
#[test]
fn loom_dropped_read_vs_write() {
    model(3, || {
        let lock = watched();
        let writer = lock.try_write().unwrap();
        let mut read = Box::pin(lock.read());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(read.as_mut().poll(&mut cx).is_pending());
        let next = lock.clone();
        let writes = thread::spawn(move || bump(&block_on(next.write())));
        drop(writer);
        drop(read);
        writes.join().unwrap();
        assert!(lock.try_write().is_some());
    });
}

/// A writer becomes a reader: its write is seen, and the next writer waits for it.
#[test]
fn loom_downgrade_vs_write() {
    model(2, || {
        let lock = watched();
        let (reader, next) = (lock.clone(), lock.clone());
        let writer = lock.try_write().unwrap();
        let reads = thread::spawn(move || look(&block_on(reader.read())));
        let writes = thread::spawn(move || bump(&block_on(next.write())));
        bump(&writer);
        let inside = RwLockWriteGuard::downgrade(writer);
        assert_eq!(look(&inside), 1);
        drop(inside);
        assert!(reads.join().unwrap() >= 1);
        writes.join().unwrap();
    });
}
