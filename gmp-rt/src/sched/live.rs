//! How many goroutines there are: counted where they are, summed when asked.
//!
//! A counter shared by all Ps would be written on every spawn and every end. Each P counts its
//! own, and threads outside share one pair.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release add to "finished" (here and in [`Counter`](crate::p::Counter)) | Acquire loads in [`Sched::live`](super::Sched::live), "finished" of all before "spawned" of any | for each goroutine seen finished, that it was spawned: the difference is never too small |

use crate::prim::AtomicU64;
use crate::prim::Ordering::{Acquire, Release};

/// Goroutines spawned and finished by threads without a P.
#[derive(Debug)]
pub(crate) struct Live {
    spawned: AtomicU64,
    finished: AtomicU64,
}

impl Live {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self { spawned: AtomicU64::new(0), finished: AtomicU64::new(0) }
    }

    /// One was spawned.
    pub(crate) fn add_spawned(&self) {
        self.spawned.fetch_add(1, Release);
    }

    /// One has finished.
    pub(crate) fn add_finished(&self) {
        self.finished.fetch_add(1, Release); // O1
    }

    /// How many were spawned.
    pub(crate) fn spawned(&self) -> u64 {
        self.spawned.load(Acquire) // O1
    }

    /// How many have finished.
    pub(crate) fn finished(&self) -> u64 {
        self.finished.load(Acquire) // O1
    }
}
