//! `Aging`: whether the timer that ages a pool is set.
//!
//! Go ages its pools at each garbage collection. Here a timer does it; a pool without items has
//! none. A thread that has put an item checks afterwards whether a timer is set. When the timer
//! fires, it first clears the mark, then ages each shard, and is set again if items are left. So an
//! item is either in its shard when the shard is aged, or it is put later. In the second case the
//! put goes through the same [`TryCell`](super::try_cell) after the ageing, so the thread sees that
//! the mark was cleared.

use gmp_rt::prim::Mutex;
use gmp_rt::prim::{AtomicBool, Ordering};

pub(super) struct Aging {
    /// Whether a timer is set. Written under the lock.
    set: AtomicBool,
    lock: Mutex<()>,
}

/// Whether the caller has to set a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a timer may have to be set"]
pub(super) enum Alarm {
    Wanted,
    No,
}

impl Aging {
    pub(super) fn new() -> Self {
        Self { set: AtomicBool::new(false), lock: Mutex::new(()) }
    }

    /// Makes sure that a timer is set, because there are items.
    #[inline]
    pub(super) fn want(&self) -> Alarm {
        // Relaxed: the header shows why the value is not stale.
        if self.set.load(Ordering::Relaxed) { Alarm::No } else { self.want_slow() }
    }

    #[cold]
    fn want_slow(&self) -> Alarm {
        let _lock = self.lock.lock();
        if self.set.load(Ordering::Relaxed) {
            return Alarm::No;
        }
        self.set.store(true, Ordering::Relaxed); // Relaxed: under the lock, or see `want`
        Alarm::Wanted
    }

    /// Marks the timer as not set.
    pub(super) fn over(&self) {
        let _lock = self.lock.lock();
        self.set.store(false, Ordering::Relaxed); // Relaxed: under the lock, or see `want`
    }
}
