//! The words that stop a thread and wake the thread that stops others.
//!
//! Each M has a [`Gate`], one word:
//!
//! | word | meaning | set by |
//! |------|---------|--------|
//! | `FREE` | the M has a P, or parks; a signal has no effect | the M itself |
//! | `HOG` | its goroutine lost its P because it computes; the thread runs | sysmon; the pauser |
//! | `HELD` | the thread is paused as soon as the signal arrives | the pauser |
//!
//! Sysmon sets `HOG` under the lock of the idle lists, together with the hand-off of the P or while
//! the P is handed off. The M sets `FREE` after it has taken the same lock and seen the hand-off,
//! and before it takes another P or parks. So an M that has a P or parks is `FREE`. A signal that
//! arrives late finds `FREE`, and the handler returns at once.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release exchange in [`Gate::release`] | Acquire load in [`Gate::wait`] | nothing but the end of the wait: the word decides alone |
//! | O2 | Release addition in [`PauserCalls::call`] | Acquire load in [`PauserCalls::count`] | the gate that was marked before the call |

use crate::prim::AtomicU32;
use crate::prim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sys::futex;
use std::time::Duration;

const FREE: u32 = 0;
const HOG: u32 = 1;
const HELD: u32 = 2;

/// The word of an M. See the [module](self).
#[derive(Debug)]
pub(super) struct Gate(AtomicU32);

impl Gate {
    /// Makes a gate over a word that is 0. Loom's words cannot be made in a `const`.
    pub(super) const fn over(word: AtomicU32) -> Self {
        Self(word)
    }

    /// Marks the thread as a hog. Only with the lock of the idle lists, as the P is handed off or
    /// while it is handed off. Does nothing if the thread is marked already: it may be held.
    pub(super) fn mark(&self) {
        let _ = self.0.compare_exchange(FREE, HOG, AcqRel, Relaxed);
    }

    /// Ends the mark. Only the thread itself, which runs and so does not wait.
    pub(super) fn leave(&self) {
        // Relaxed: the lock of the lists makes the mark visible.
        if self.0.load(Relaxed) != FREE {
            self.0.swap(FREE, AcqRel);
        }
    }

    /// Whether the thread is a hog, running or not.
    pub(super) fn is_marked(&self) -> bool {
        self.0.load(Acquire) != FREE
    }

    /// Pauses a hog at its next signal. Returns `false` if it is no hog any more.
    pub(super) fn hold(&self) -> bool {
        self.0.compare_exchange(HOG, HELD, AcqRel, Relaxed).is_ok()
    }

    /// Ends the pause of the thread.
    pub(super) fn release(&self) {
        if self.0.compare_exchange(HELD, HOG, AcqRel, Relaxed).is_ok() {
            futex::wake(&self.0); // O1
        }
    }

    /// Waits while the word is `HELD`. Called in the signal handler of the thread itself.
    pub(super) fn wait(&self) {
        // O1
        while self.0.load(Acquire) == HELD {
            futex::wait(&self.0, HELD, None);
        }
    }

    /// Whether the thread is or will be paused.
    pub(super) fn is_held(&self) -> bool {
        self.0.load(Acquire) == HELD
    }
}

/// How often the pauser was called, which it waits on while it has nothing to do.
#[derive(Debug)]
pub(super) struct PauserCalls(AtomicU32);

impl PauserCalls {
    /// Makes a count over a word that is 0.
    pub(super) const fn over(word: AtomicU32) -> Self {
        Self(word)
    }

    /// Wakes the pauser to check all gates.
    pub(super) fn call(&self) {
        self.0.fetch_add(1, Release); // O2
        futex::wake(&self.0);
    }

    /// Returns the number of calls. The pauser reads it before it checks the gates.
    pub(super) fn count(&self) -> u32 {
        self.0.load(Acquire) // O2
    }

    /// Sleeps until there are more calls than `seen`, at most for `time`. May return early.
    pub(super) fn wait(&self, seen: u32, time: Option<Duration>) {
        futex::wait(&self.0, seen, time);
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "gate_loom.rs"]
mod loom_models;
