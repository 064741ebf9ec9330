//! Models of the one-time initialisation: turns that are done or dropped, and waiters.

use super::{Init, InitPhase};
use ::loom::cell::UnsafeCell;
use ::loom::future::block_on;
use ::loom::sync::Arc;
use ::loom::thread;
use std::task::{Context, Waker};

/// A number that loom checks: written by the thread with the turn, read when it is done.
struct Watched {
    init: Init,
    value: UnsafeCell<usize>,
}

// SAFETY: turns are exclusive, and the value does not change once done: what the models check.
unsafe impl Sync for Watched {}

impl Watched {
    fn new() -> Arc<Self> {
        Arc::new(Self { init: Init::new(), value: UnsafeCell::new(0) })
    }

    /// Initialises the number unless it is done, and returns it.
    fn get(&self) -> usize {
        if let Some(turn) = block_on(self.init.enter()) {
            self.bump();
            turn.done();
        }
        self.look()
    }

    /// Takes the turn and drops it.
    fn fail(&self) {
        if let Some(turn) = block_on(self.init.enter()) {
            // SAFETY: this thread has the turn.
            self.value.with_mut(|value| unsafe { assert_eq!(*value, 0) });
            drop(turn);
        }
    }

    fn bump(&self) {
        // SAFETY: the caller has the turn.
        self.value.with_mut(|value| unsafe { *value += 1 });
    }

    /// Asserts that the phase is `Done`.
    fn assert_done(&self) {
        assert!(matches!(self.init.try_enter(), Err(InitPhase::Done)));
    }

    fn look(&self) -> usize {
        // SAFETY: the initialisation is done.
        self.value.with(|value| unsafe { *value })
    }
}

fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(f);
}

/// Two threads initialise and one reads: it is done once, and all see it.
#[test]
fn loom_initialise_vs_initialise_vs_read() {
    model(|| {
        let watched = Watched::new();
        let (other, looker) = (watched.clone(), watched.clone());
        let gets = thread::spawn(move || other.get());
        let looks = thread::spawn(move || !looker.init.is_done() || looker.look() == 1);
        assert_eq!(watched.get(), 1);
        assert_eq!(gets.join().unwrap(), 1);
        assert!(looks.join().unwrap());
        watched.assert_done();
    });
}

/// One thread drops its turn: the next one gets it, and a thread that only waits sees the end.
#[test]
fn loom_dropped_turn_vs_waiters() {
    model(|| {
        let watched = Watched::new();
        let (fails, waits) = (watched.clone(), watched.clone());
        let fails = thread::spawn(move || fails.fail());
        let waits = thread::spawn(move || {
            assert!(block_on(waits.init.finished()).is_none());
            assert_eq!(waits.look(), 1);
        });
        assert_eq!(watched.get(), 1);
        fails.join().unwrap();
        waits.join().unwrap();
        watched.assert_done();
    });
}

/// A waiter is given the turn and dropped without another poll: the turn goes to the next one.
#[test]
fn loom_given_turn_dropped_vs_next_waiter() {
    model(|| {
        let watched = Watched::new();
        let turn = watched.init.try_enter().unwrap();
        let mut dropped = Box::pin(watched.init.enter());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(dropped.as_mut().poll(&mut cx).is_pending());
        let other = watched.clone();
        let gets = thread::spawn(move || other.get());
        drop(turn);
        drop(dropped);
        assert_eq!(gets.join().unwrap(), 1);
        watched.assert_done();
    });
}
