//! How many Ps are active, and how many may be.

use crate::prim::Ordering::Relaxed;
use crate::prim::fixed::AtomicUsize;

/// How many Ps are active, and how many may be. Behind the lock of the idle lists.
#[derive(Debug)]
pub(crate) struct Quota {
    /// The number of active Ps: idle and running ones.
    pub(crate) active: usize,
    /// The target for the number of active Ps.
    pub(crate) target: usize,
    /// The maximum for the number of active Ps: `max_procs`.
    pub(crate) max: usize,
    /// Whether the maximum follows the machine, because no caller has set it.
    pub(crate) follows_machine: bool,
}

impl Quota {
    /// Creates a quota of `procs` Ps, none of which exists.
    pub(super) fn new(procs: usize, follows_machine: bool) -> Self {
        Self { active: 0, target: procs, max: procs, follows_machine }
    }

    /// Whether more Ps are active than the target.
    pub(super) fn is_exceeded(&self) -> bool {
        self.active > self.target
    }
}

/// The counts of [`Quota`], for threads that do not hold its lock.
#[derive(Debug)]
pub(crate) struct ProcCounts {
    max: AtomicUsize,
    target: AtomicUsize,
    active: AtomicUsize,
}

impl ProcCounts {
    pub(super) fn new(procs: usize) -> Self {
        let (max, active) = (AtomicUsize::new(procs), AtomicUsize::new(0));
        Self { max, target: AtomicUsize::new(procs), active }
    }

    pub(super) fn publish(&self, quota: &Quota) {
        // Relaxed: hints. A thread that acts on them takes the lock.
        self.max.store(quota.max, Relaxed);
        self.target.store(quota.target, Relaxed);
        self.active.store(quota.active, Relaxed);
    }

    /// Returns the maximum for the number of active Ps.
    pub(super) fn max(&self) -> usize {
        self.max.load(Relaxed) // Relaxed: a hint
    }

    /// Returns the target for the number of active Ps.
    #[inline]
    pub(super) fn target(&self) -> usize {
        self.target.load(Relaxed) // Relaxed: a hint
    }

    /// Whether more Ps are active than the target.
    pub(super) fn is_exceeded(&self) -> bool {
        // Relaxed: a hint. The next request for a service corrects a stale one.
        self.active.load(Relaxed) > self.target.load(Relaxed)
    }
}
