//! The scheduler as the [tracer](crate::tracer) sees it: facts for its hooks, and a walk over all
//! goroutines.

use super::local::{Local, Yield};
use super::registry;
use crate::g::status::{AfterPoll, Phase};
use crate::g::{G, heap};
use crate::p::{OwnedP, P, PStatus};
use crate::prim::barrier;
use crate::tracer::session::Scheduler;
use crate::tracer::{LeaveReason, Loss, PollExit, Rest, Right, TracedG, hook};

/// Shows the tracer all goroutines and Ps.
#[derive(Debug)]
pub(crate) struct Traced;

impl Scheduler for Traced {
    fn walk(&self, f: &mut dyn FnMut(&TracedG<'_>, Rest)) {
        heap::for_each(|g| match g.status.phase() {
            Phase::Waiting => f(&g.traced(), Rest::Waiting),
            Phase::Runnable | Phase::Running => f(&g.traced(), Rest::Runnable),
            Phase::Dead | Phase::Free => {}
        });
    }

    fn running(&self, f: &mut dyn FnMut(u64, Option<Right>, &TracedG<'_>)) {
        for sched in registry::all() {
            let owned: Vec<_> = sched.idle.with(|lists| lists.ps.owned().cloned().collect());
            for p in owned {
                // Hints: the thread itself corrects them with its next fact.
                if let Some(g) = p.goroutine(p.goid()) {
                    f(p.thread().into(), right_of(sched.id, &p), &g.traced());
                }
            }
        }
    }

    fn max_procs(&self) -> u64 {
        max_procs_of_all()
    }

    fn switch(&self, is_on: bool) {
        hook::switch(is_on);
        barrier::heavy();
    }
}

/// Returns the sum of the maximums of all runtimes.
pub(super) fn max_procs_of_all() -> u64 {
    registry::all().iter().map(|sched| sched.max_procs() as u64).sum()
}

/// Returns the right to run that goes with `p`. A handed-off P has none.
fn right_of(runtime: u16, p: &P) -> Option<Right> {
    let is_active = p.status() != PStatus::HandedOff;
    is_active.then(|| Right { runtime, number: p.number() })
}

impl Local {
    fn right(&self) -> Option<Right> {
        right_of(self.sched.id, &self.p())
    }

    /// Reports to the tracer that this M has spawned `g`.
    #[inline(always)]
    pub(super) fn trace_created(&self, g: &G) {
        hook::created(move || (g.traced(), self.right()));
    }

    /// Reports to the tracer that this M runs `g`.
    #[inline(always)]
    pub(super) fn trace_started(&self, g: &G) {
        hook::started(move || (g.traced(), self.right()));
    }

    /// Runs `leave`, which ends the poll of `g`, and reports it to the tracer.
    #[inline(always)]
    pub(super) fn trace_leaving(&self, g: &G, leave: impl FnOnce() -> AfterPoll) -> AfterPoll {
        hook::leaving(move || (g.traced(), self.right(), self.reason(g)), leave, exit_of)
    }

    /// Returns why the goroutine leaves.
    fn reason(&self, g: &G) -> LeaveReason {
        match self.yielding.get() {
            Yield::No => LeaveReason::Wait(g.next_wait()),
            Yield::Local => LeaveReason::Yield,
            Yield::Global | Yield::Behind => LeaveReason::Preempted,
        }
    }

    /// Reports to the tracer that this M has got `p`.
    #[inline(always)]
    pub(super) fn trace_got_p(&self, p: &OwnedP) {
        hook::got_p(move || right_of(self.sched.id, p));
    }

    /// Reports to the tracer that a marked call begins.
    #[inline(always)]
    pub(super) fn trace_call(&self) {
        hook::call_begun(move || self.right());
    }
}

fn exit_of(after: &AfterPoll) -> PollExit {
    match after {
        AfterPoll::Parked => PollExit::Parked,
        AfterPoll::Requeue | AfterPoll::Newcomer => PollExit::Queued,
        AfterPoll::Cancelled => PollExit::Stays,
    }
}

/// Reports to the tracer that `p` was handed off inside a poll. Only with the lock of the idle
/// lists.
#[inline(always)]
pub(super) fn handed_off(p: &P) {
    hook::handed_off(move || {
        let loss = match () {
            () if p.calls.get().in_progress() => Loss::Call,
            () if p.computes() => Loss::Computes,
            () => Loss::Blocked,
        };
        (p.thread(), loss)
    });
}
