//! An M that looks for work, and what it finds.

use super::globq::ReturningM;
use super::local::Local;
use super::progress::Progress;
use super::ps::PsView;
use crate::g::GRef;
use crate::m::idle_word::Spinning;
use crate::netpoll::Ready;
use crate::p::P;
use crate::tuning::SPIN_ROUNDS;

/// Whether a goroutine begins a new time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slice {
    /// It continues the slice of the goroutine that woke it.
    Inherit,
    /// It begins its own.
    Fresh,
}

/// A goroutine to run.
#[derive(Debug)]
pub(crate) struct Found {
    pub(super) gp: GRef,
    pub(super) slice: Slice,
}

impl Found {
    pub(super) fn fresh(gp: GRef) -> Self {
        Self { gp, slice: Slice::Fresh }
    }
}

/// What a search for work has found.
#[derive(Debug)]
pub(crate) enum Work {
    Goroutine(GRef),
    /// The first in the global queue: it gets the P.
    ReturningM(ReturningM),
}

/// A running M: its thread-local state and, while it spins, its spinning token.
#[derive(Debug)]
pub(crate) struct Worker<'a> {
    pub(crate) local: &'a Local,
    pub(crate) token: Option<Spinning>,
    /// An M from the front of the global queue, which gets the P of this one at its next search.
    pub(crate) returning: Option<ReturningM>,
    /// Wakers that the netpoller returned and that are not woken yet.
    pub(crate) ready: Ready,
    /// The active Ps, for its searches as a thief and before it sleeps.
    pub(crate) ps: PsView,
    /// The progress of Ps with a `runnext`, as this M has seen it as a thief.
    pub(crate) progress: Progress,
    /// The maximum of rounds it spins before it sleeps. It doubles after a success and halves after
    /// a failure.
    pub(crate) spin_rounds: u32,
}

/// What an M does next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Run this goroutine.
    Run(Found),
    /// End the thread.
    Exit,
}

impl<'a> Worker<'a> {
    /// Makes the state of an M that has a P.
    pub(crate) fn new(local: &'a Local, token: Option<Spinning>) -> Self {
        let (ready, ps, progress) = Default::default();
        Self { local, token, returning: None, ready, ps, progress, spin_rounds: SPIN_ROUNDS }
    }

    /// Whether any queue has work for an M that has none. The `runnext` of a P does not count.
    pub(crate) fn any_work(&mut self) -> bool {
        self.any_work_except(None)
    }

    /// Whether a queue other than that of `own` has work.
    pub(super) fn any_work_except(&mut self, own: Option<&P>) -> bool {
        let sched = &self.local.sched;
        if sched.has_queued() {
            return true;
        }
        self.ps.refresh(sched);
        let is_own = |p: &P| own.is_some_and(|own| std::ptr::eq(own, p));
        self.ps.iter().any(|p| !is_own(p) && p.runq.len() > 0)
    }
}
