//! How a thread sleeps until it is told: Go's `note`.
//!
//! One thread sleeps on a note, its owner; anybody may wake it. A wake-up that comes first is
//! kept, several count as one. Built on thread parking, which is one futex word on Linux; the
//! note's own word is needed because a goroutine may park and unpark the same thread for reasons
//! of its own, and such a stray unpark must not count.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | AcqRel swap in [`Note::wake`] | Acquire swap in [`Note::take`] | what the waker did before |

use crate::prim::Ordering::{AcqRel, Acquire, Relaxed};
use crate::prim::{AtomicBool, Thread, current_thread, park_thread, park_thread_timeout};
use crate::util::clock;
use std::time::Duration;

/// A sleeping place for one thread.
#[derive(Debug)]
pub(crate) struct Note {
    woken: AtomicBool,
    owner: Thread,
}

/// Why a sleep ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slept {
    /// Somebody called [`Note::wake`].
    Woken,
    /// The moment came first.
    TimedOut,
}

impl Note {
    /// A note for the calling thread to sleep on.
    pub(crate) fn for_this_thread() -> Self {
        Self { woken: AtomicBool::new(false), owner: current_thread() }
    }

    /// Wakes the owner, now or when it next sleeps.
    pub(crate) fn wake(&self) {
        if !self.woken.swap(true, AcqRel) {
            // O1. Only the first of several pays for the unpark.
            self.owner.unpark();
        }
    }

    /// Consumes a wake-up, if there is one.
    fn take(&self) -> bool {
        // Relaxed: only avoids the write.
        self.woken.load(Relaxed) && self.woken.swap(false, Acquire) // O1
    }

    /// Sleeps until woken. Only the owner.
    pub(crate) fn sleep(&self) {
        while !self.take() {
            park_thread();
        }
    }

    /// Sleeps until woken or until the moment `until`. Only the owner.
    pub(crate) fn sleep_until(&self, until: u64) -> Slept {
        loop {
            if self.take() {
                return Slept::Woken;
            }
            let left = until.saturating_sub(clock::now());
            if left == 0 {
                return Slept::TimedOut;
            }
            park_thread_timeout(Duration::from_nanos(left));
        }
    }
}
