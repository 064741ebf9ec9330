//! The end of each goroutine: exactly once, and as its handle reports.

use crate::violation::violation;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

/// Goroutines of one runtime, by their ends.
#[derive(Debug, Default)]
pub(crate) struct Census {
    spawned: AtomicU64,
    finished: AtomicU64,
    cancelled: AtomicU64,
    panicked: AtomicU64,
}

/// Numbers of a [`Census`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) spawned: u64,
    pub(crate) finished: u64,
    pub(crate) cancelled: u64,
    pub(crate) panicked: u64,
}

impl Count {
    /// Whether each goroutine that was spawned has ended once.
    pub(crate) fn is_balanced(self) -> bool {
        self.spawned == self.finished + self.cancelled + self.panicked
    }

    /// Returns the sum of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            spawned: self.spawned + other.spawned,
            finished: self.finished + other.finished,
            cancelled: self.cancelled + other.cancelled,
            panicked: self.panicked + other.panicked,
        }
    }
}

impl Census {
    /// Returns the numbers.
    pub(crate) fn count(&self) -> Count {
        Count {
            spawned: self.spawned.load(Relaxed),
            finished: self.finished.load(Relaxed),
            cancelled: self.cancelled.load(Relaxed),
            panicked: self.panicked.load(Relaxed),
        }
    }
}

const ALIVE: u8 = 0;
const FINISHED: u8 = 1;
const CANCELLED: u8 = 2;
const PANICKED: u8 = 3;

/// The state of one goroutine.
#[derive(Debug, Default)]
struct Fate {
    state: AtomicU8,
    polling: AtomicBool,
}

/// Ends a goroutine's entry when it is dropped.
#[derive(Debug)]
struct Life {
    fate: Arc<Fate>,
    census: Arc<Census>,
}

impl Life {
    fn end(&self, state: u8) {
        let before = self.fate.state.swap(state, Relaxed);
        if before != ALIVE {
            violation(format!("a goroutine ended twice: as {before}, then as {state}"));
        }
        let count = match state {
            FINISHED => &self.census.finished,
            CANCELLED => &self.census.cancelled,
            _ => &self.census.panicked,
        };
        count.fetch_add(1, Relaxed);
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if self.fate.state.load(Relaxed) == ALIVE {
            self.end(CANCELLED);
        }
    }
}

/// A future with an entry in the census of its runtime.
#[derive(Debug)]
pub(crate) struct Tracked<F> {
    // Dropped before the entry ends.
    future: Pin<Box<F>>,
    life: Life,
}

impl<F: Future> Tracked<F> {
    /// Tracks `future` as a goroutine of the runtime of `census`.
    pub(crate) fn new(future: F, census: &Arc<Census>) -> (Self, Watch) {
        census.spawned.fetch_add(1, Relaxed);
        let fate = Arc::new(Fate::default());
        let life = Life { fate: fate.clone(), census: census.clone() };
        (Self { future: Box::pin(future), life }, Watch(fate))
    }
}

impl<F: Future> Future for Tracked<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        /// Records a panic of the poll: only unwinding drops it.
        struct Unwinds<'a>(&'a Life);
        impl Drop for Unwinds<'_> {
            fn drop(&mut self) {
                self.0.end(PANICKED);
            }
        }
        let this = &mut *self;
        if this.life.fate.polling.swap(true, Relaxed) {
            violation("a goroutine is polled by two threads at once, or after a panic");
        }
        let unwinds = Unwinds(&this.life);
        let poll = this.future.as_mut().poll(cx);
        std::mem::forget(unwinds);
        if poll.is_ready() {
            this.life.end(FINISHED);
        }
        this.life.fate.polling.store(false, Relaxed);
        poll
    }
}

/// The recorded end with which a join of a tracked goroutine is compared.
#[derive(Debug)]
pub(crate) struct Watch(Arc<Fate>);

impl Watch {
    /// Checks that the result of a join matches the end of the goroutine.
    pub(crate) fn check<T>(&self, joined: &Result<T, gmp::JoinError>) {
        let state = self.0.state.load(Relaxed);
        let fits = match joined {
            Ok(_) => state == FINISHED,
            // A panic in the drop of an aborted future is reported as a panic as well.
            Err(error) if error.is_panic() => state == PANICKED || state == CANCELLED,
            Err(_) => state == CANCELLED,
        };
        if !fits {
            let joined = joined.as_ref().map(|_| "output");
            violation(format!("a join returned {joined:?}, but the goroutine's end is {state}"));
        }
    }
}
