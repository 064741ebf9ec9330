//! Counters with one writer at a time, which any thread may read.

use crate::prim::Ordering::{Acquire, Relaxed, Release};
use crate::prim::{AtomicU64, fixed};

/// A counter with one writer at a time, for example the owner of its P.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`. Only for the writer.
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        // No read-modify-write: there is one writer. Release: see `Live` in `sched/live.rs`.
        self.0.store(self.0.load(Relaxed) + n, Release);
    }

    /// Returns the count.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Acquire)
    }
}

/// A [`Counter`] that is only a statistic or a hint: no other memory depends on it.
///
/// It is std's type also in the models, which would otherwise explore each stale value of each
/// tally.
#[derive(Debug, Default)]
pub(crate) struct Tally(fixed::AtomicU64);

impl Tally {
    /// Adds `n`. Returns the new count. Only for the writer.
    #[inline]
    pub(crate) fn add(&self, n: u64) -> u64 {
        let count = self.0.load(Relaxed) + n;
        // No read-modify-write: there is one writer. Release: `metrics` never shows an effect
        // without its cause.
        self.0.store(count, Release);
        count
    }

    /// Returns the count.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Acquire)
    }
}
