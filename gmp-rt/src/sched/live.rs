//! The number of goroutines. Each P counts its own, and a reader adds the counts.
//!
//! A counter shared by all Ps would be written at every spawn and every end. Threads without a P
//! share one pair of counters.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release add to "finished" (here and in [`Counter`](crate::util::tally::Counter)) | Acquire loads in [`Sched::live`](super::Sched::live), "finished" of all before "spawned" of any | for each goroutine seen finished, that it was spawned: the difference is never too small |

use crate::prim::AtomicU64;
use crate::prim::Ordering::{Acquire, Relaxed, Release};

/// Goroutines spawned and finished by threads without a P.
#[derive(Debug)]
pub(crate) struct Live {
    spawned: AtomicU64,
    finished: AtomicU64,
    /// The number of spawned goroutines before the last walk of a closing runtime.
    reaped: AtomicU64,
}

impl Live {
    /// Creates counters at zero.
    pub(crate) fn new() -> Self {
        let (spawned, finished, reaped) = Default::default();
        Self { spawned, finished, reaped }
    }

    /// Counts a spawned goroutine.
    pub(crate) fn add_spawned(&self) {
        self.spawned.fetch_add(1, Release);
    }

    /// Counts a finished goroutine.
    pub(crate) fn add_finished(&self) {
        self.finished.fetch_add(1, Release); // O1
    }

    /// Returns the number of spawned goroutines.
    pub(crate) fn spawned(&self) -> u64 {
        self.spawned.load(Acquire) // O1
    }

    /// Returns the number of finished goroutines.
    pub(crate) fn finished(&self) -> u64 {
        self.finished.load(Acquire) // O1
    }

    /// Makes the caller walk over the `spawned` goroutines that it can see. Returns `false` if
    /// another thread has seen as many, and walks over them or has done so.
    pub(super) fn claim_reap(&self, spawned: u64) -> bool {
        // Relaxed: the counts, which were read with Acquire, show the goroutines.
        self.reaped.fetch_max(spawned, Relaxed) < spawned
    }
}
