//! How many Ps may run: `max_procs`, and changing it while everything runs.
//!
//! No stop of the world. Growing makes spare Ps idle. Shrinking takes idle Ps at once; for the
//! rest, running Ms are asked for attention, and as each comes to the scheduler it passes on its
//! queue and sleeps. Timers stay with their P: timers of Ps that nobody runs are served by all.

use super::Sched;
use super::idle::Lists;
use crate::p::{OwnedP, P, PStatus};
use crate::prim::Ordering::Relaxed;
use crate::prim::fixed::AtomicUsize;
use crate::sys::cpu_limit::Machine;
use crate::tuning::MAX_PROCS;
use std::fmt;
use std::sync::Arc;

/// The counts of [`Lists`] for those who do not hold its lock.
#[derive(Debug)]
pub(crate) struct ProcCounts {
    limit: AtomicUsize,
    procs: AtomicUsize,
    rights: AtomicUsize,
}

impl ProcCounts {
    pub(super) fn new(procs: usize) -> Self {
        let (limit, rights) = (AtomicUsize::new(procs), AtomicUsize::new(0));
        Self { limit, procs: AtomicUsize::new(procs), rights }
    }

    fn publish(&self, lists: &Lists) {
        // Relaxed: hints; who acts on them takes the lock.
        self.limit.store(lists.limit, Relaxed);
        self.procs.store(lists.procs, Relaxed);
        self.rights.store(lists.rights, Relaxed);
    }
}

/// A number of Ps that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcsError {
    /// A runtime without a P would run nothing.
    Zero,
    /// More than the limit, which is in the field.
    TooMany {
        /// Most Ps a runtime may have.
        limit: usize,
    },
}

impl fmt::Display for ProcsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("max procs must be at least 1; max_procs() reads it"),
            Self::TooMany { limit } => write!(f, "max procs must be at most {limit}"),
        }
    }
}

impl std::error::Error for ProcsError {}

/// How many Ps there should be on a machine if nobody says.
pub(crate) fn default_procs(machine: &Machine) -> usize {
    machine.cpus().clamp(1, MAX_PROCS)
}

/// Whether there can be `procs` Ps.
pub(crate) fn check(procs: usize) -> Result<(), ProcsError> {
    match procs {
        0 => Err(ProcsError::Zero),
        1..=MAX_PROCS => Ok(()),
        _ => Err(ProcsError::TooMany { limit: MAX_PROCS }),
    }
}

impl Sched {
    /// How many Ps there may be.
    pub(crate) fn max_procs(&self) -> usize {
        self.counts.limit.load(Relaxed) // Relaxed: a hint
    }

    /// How many Ps there should be: as many as there may, but where fewer get more done.
    #[inline]
    pub(crate) fn procs(&self) -> usize {
        self.counts.procs.load(Relaxed) // Relaxed: a hint
    }

    /// Follows the machine, if nobody has set the number.
    pub(crate) fn update_procs(self: &Arc<Self>) {
        if !self.idle.with(|lists| lists.auto_procs) {
            return;
        }
        let procs = default_procs(&self.config.machine);
        if procs != self.max_procs() {
            self.change_procs(procs, |lists| lists.auto_procs);
        }
    }

    /// Changes how many Ps there should be, for good; returns how many there were.
    pub(crate) fn set_procs(self: &Arc<Self>, procs: usize) -> Result<usize, ProcsError> {
        check(procs)?;
        Ok(self.change_procs(procs, |lists| {
            lists.auto_procs = false;
            true
        }))
    }

    /// Changes how many of them should run, for now; not to more than there may.
    pub(super) fn set_width(self: &Arc<Self>, width: usize) {
        self.idle.with(|lists| {
            lists.procs = width.clamp(1, lists.limit);
            self.settle_procs(lists);
        });
        self.idle.word.parked();
        if self.any_work() {
            self.wakep();
        }
    }

    fn change_procs(self: &Arc<Self>, procs: usize, may: impl FnOnce(&mut Lists) -> bool) -> usize {
        let (before, surplus) = self.idle.with(|lists| {
            let before = lists.limit;
            if may(lists) {
                (lists.limit, lists.procs) = (procs, procs);
                self.settle_procs(lists);
            }
            (before, if lists.limit < before { lists.pool.clone() } else { Vec::new() })
        });
        // Some are too many now, and lie down anew for a limited time.
        surplus.iter().for_each(|m| m.note.wake());
        self.limit_hogs();
        self.idle.word.parked();
        if self.any_work() {
            self.wakep();
        }
        before
    }

    /// Makes or takes rights to run until there are as many as there should be, as far as idle
    /// Ps allow; asks the running ones for the rest.
    pub(super) fn settle_procs(&self, lists: &mut Lists) {
        while lists.rights < lists.procs {
            let Some(p) = self.spare_p(lists) else { break };
            self.idle.put_p(lists, p, None);
            lists.rights += 1;
        }
        while lists.rights > lists.procs {
            let Some(p) = self.idle.take_p(lists) else {
                break;
            };
            p.set_status(PStatus::Spare, &lists.key);
            lists.spare.push(p);
            lists.rights -= 1;
        }
        self.counts.publish(lists);
        if lists.rights > lists.procs {
            let running = self.ps.iter().filter(|p| p.status() == PStatus::Running);
            running.for_each(|p| p.ask_attention());
        }
    }

    /// Whether there are more rights to run than there should be.
    pub(super) fn is_surplus(&self) -> bool {
        // Relaxed: a hint; a stale one is put right by the next request for attention.
        self.counts.rights.load(Relaxed) > self.counts.procs.load(Relaxed)
    }

    /// Whether the M that owns `p` has to give its right to run away; then it is gone, and `p`
    /// displaced.
    pub(super) fn must_retire(&self, p: &P) -> bool {
        if !self.is_surplus() {
            return false;
        }
        self.idle.with(|lists| {
            let must = lists.rights > lists.procs && p.displace(&lists.key);
            if must {
                lists.rights -= 1;
                self.counts.publish(lists);
            }
            must
        })
    }

    /// Passes a right to run that was just taken from an M to a spare P; or to nobody, if there
    /// are too many.
    pub(super) fn pass_right(&self, lists: &mut Lists) {
        let spare = if lists.rights > lists.procs { None } else { self.spare_p(lists) };
        match spare {
            Some(spare) => self.idle.put_p(lists, spare, None),
            None => {
                lists.rights -= 1;
                self.counts.publish(lists);
            }
        }
    }

    fn spare_p(&self, lists: &mut Lists) -> Option<OwnedP> {
        lists.spare.pop().or_else(|| self.ps.grow())
    }
}
