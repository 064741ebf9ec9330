//! The number of active Ps: `max_procs`, and how it changes while goroutines run.
//!
//! There is no stop of the world. Growing makes spare Ps idle. Shrinking makes idle Ps spare at
//! once. If those are not enough, it requests a service of the running Ps. At its next search an M
//! then moves its queue to the global queue, retires its P and sleeps. Timers stay with the number
//! of their P, and all other Ps serve them.

use super::Sched;
use super::idle::IdleLists;
use super::ps::Surplus;
use super::traced;
use crate::limits::MAX_PROCS;
use crate::p::{P, PStatus};
use crate::prim::fixed::Lazy;
use crate::sys::cpu_limit::Machine;
use crate::tracer::hook;
use std::fmt;
use std::sync::Arc;

/// An invalid number of Ps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcsError {
    /// A runtime without a P would run nothing.
    Zero,
    /// More than the limit, which is in the field.
    TooMany {
        /// The maximum for a runtime.
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

/// Returns the default number of Ps on a machine.
pub(crate) fn default_procs(machine: &Machine) -> usize {
    machine.cpus().clamp(1, MAX_PROCS)
}

/// Returns the number of CPUs in the affinity mask, as it was at the first call.
pub(crate) fn num_cpu() -> usize {
    static NUM_CPU: Lazy<usize> = Lazy::new(|| Machine::default().num_cpu());
    *NUM_CPU
}

/// Checks that a runtime can have `procs` Ps.
pub(crate) fn check(procs: usize) -> Result<(), ProcsError> {
    match procs {
        0 => Err(ProcsError::Zero),
        1..=MAX_PROCS => Ok(()),
        _ => Err(ProcsError::TooMany { limit: MAX_PROCS }),
    }
}

impl Sched {
    /// Returns the maximum for the number of active Ps.
    pub(crate) fn max_procs(&self) -> usize {
        self.counts.max()
    }

    /// Returns the target for the number of active Ps: the maximum, or fewer by adaptive procs.
    #[inline]
    pub(crate) fn procs(&self) -> usize {
        self.counts.target()
    }

    /// Adapts the maximum to the machine, unless a caller has set it.
    pub(crate) fn update_procs(self: &Arc<Self>) {
        if !self.follows_machine() {
            return;
        }
        let procs = default_procs(&self.config.machine);
        if procs != self.max_procs() {
            self.change_procs(procs, |lists| lists.quota.follows_machine);
        }
    }

    /// Sets the maximum for the number of active Ps. Returns the previous value.
    pub(crate) fn set_procs(self: &Arc<Self>, procs: usize) -> Result<usize, ProcsError> {
        check(procs)?;
        Ok(self.change_procs(procs, |lists| {
            lists.quota.follows_machine = false;
            true
        }))
    }

    /// Sets the maximum for the number of active Ps to that of the machine, and lets it follow the
    /// machine again. Returns the previous value.
    pub(crate) fn set_default_procs(self: &Arc<Self>) -> usize {
        self.change_procs(default_procs(&self.config.machine), |lists| {
            lists.quota.follows_machine = true;
            true
        })
    }

    /// Whether the maximum follows the machine.
    pub(crate) fn follows_machine(&self) -> bool {
        self.idle.with(|lists| lists.quota.follows_machine)
    }

    /// Sets the target for the number of active Ps, at most to the maximum.
    pub(crate) fn set_active_procs(self: &Arc<Self>, procs: usize) {
        let _surplus = self.idle.with(|lists| {
            lists.quota.target = procs.clamp(1, lists.quota.max);
            self.procresize(lists)
        });
        self.wakep_if_any_work();
    }

    fn change_procs(
        self: &Arc<Self>,
        procs: usize,
        may: impl FnOnce(&mut IdleLists) -> bool,
    ) -> usize {
        let (before, sleeping, _surplus) = self.idle.with(|lists| {
            let before = lists.quota.max;
            let surplus = may(lists).then(|| {
                (lists.quota.max, lists.quota.target) = (procs, procs);
                self.procresize(lists)
            });
            let shrinks = lists.quota.max < before;
            let sleeping: Vec<_> = lists.pool.iter().filter(|_| shrinks).cloned().collect();
            (before, sleeping, surplus)
        });
        // Ms beyond the new maximum sleep again, now for the keep-alive time.
        sleeping.iter().for_each(|m| m.note.wake());
        hook::procs_changed(traced::max_procs_of_all);
        self.limit_hogs();
        self.wakep_if_any_work();
        before
    }

    /// Activates or deactivates Ps until the target is met, as far as there are idle Ps. Requests a
    /// service of the running Ps if there are still too many.
    pub(super) fn procresize(&self, lists: &mut IdleLists) -> Surplus {
        while lists.quota.active < lists.quota.target {
            self.activate_spare(lists, lists.quota.active);
            lists.quota.active += 1;
        }
        while lists.quota.is_exceeded() {
            let Some(p) = self.idle.take_p(lists) else {
                break;
            };
            let _ = self.deactivate(lists, &p);
            lists.ps.retire(p, &lists.key);
        }
        self.counts.publish(&lists.quota);
        if lists.quota.is_exceeded() {
            let running = lists.ps.active().filter(|p| p.status() == PStatus::Running);
            running.for_each(|p| p.request_service());
        }
        lists.trim_spare()
    }

    /// Gives `number` to a spare P and makes it idle.
    fn activate_spare(&self, lists: &mut IdleLists, number: usize) {
        let spare = lists.ps.take_spare(number);
        lists.ps.install(&self.ps, number, &spare, &lists.key);
        self.idle.put_p(lists, spare, None, None);
    }

    /// Takes the number of `p` away, so that one P less is active.
    fn deactivate(&self, lists: &mut IdleLists, p: &P) -> Arc<P> {
        let shared = lists.ps.vacate(&self.ps, p);
        lists.ps.close_gap(&self.ps, p.number(), &lists.key);
        lists.quota.active -= 1;
        self.counts.publish(&lists.quota);
        shared
    }

    /// Whether more Ps are active than the target.
    pub(super) fn is_surplus(&self) -> bool {
        self.counts.is_exceeded()
    }

    /// Whether the M that owns `p` must retire it. If so, `p` is handed off, and no other P becomes
    /// active.
    pub(crate) fn must_retire(&self, p: &P) -> bool {
        if !self.is_surplus() {
            return false;
        }
        self.idle.with(|lists| {
            let must = lists.quota.is_exceeded() && p.hand_off(&lists.key);
            if must {
                hook::lost_p();
                self.replace_p(lists, p);
            }
            must
        })
    }

    /// Activates a spare P in place of `p`, which was handed off. If there are more active Ps than
    /// the target, there is one less instead.
    pub(super) fn replace_p(&self, lists: &mut IdleLists, p: &P) {
        let shared = if lists.quota.is_exceeded() {
            self.deactivate(lists, p)
        } else {
            let shared = lists.ps.vacate(&self.ps, p);
            self.activate_spare(lists, p.number());
            shared
        };
        lists.ps.add_handed_off(shared);
    }
}
