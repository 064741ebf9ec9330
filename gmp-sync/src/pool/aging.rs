//! `Aging`: whether a timer is set that will age a pool.
//!
//! Go ages its pools at each garbage collection. Here a timer does, one for a pool that has items and
//! none for one that has not. The one who puts an item looks, after it, whether a timer is set; the
//! timer says first that it is not, then visits each shard, and is set again if it leaves items.
//! An item is either there when its shard is visited, or comes later, through the same
//! [`TryCell`](super::try_cell): then the one who puts it sees what was said before the visit.

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

    /// There are items: makes sure that a timer is set.
    #[inline]
    pub(super) fn want(&self) -> Alarm {
        // Relaxed: that it is not stale is shown in the header.
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

    /// The timer is over.
    pub(super) fn over(&self) {
        let _lock = self.lock.lock();
        self.set.store(false, Ordering::Relaxed); // Relaxed: under the lock, or see `want`
    }
}
