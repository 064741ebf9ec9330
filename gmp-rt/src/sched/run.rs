//! The main loop of an M: finds a goroutine, polls it once, and queues, parks or completes it.

use super::Sched;
use super::find::{Found, Slice};
use super::globq::ReturningM;
use super::idle::Spinning;
use super::local::{self, Local, Yield};
use super::pause::Seat;
use super::progress::Progress;
use super::ps::PsView;
use super::submit::Place;
use crate::g::status::{AfterPoll, ToRunning};
use crate::g::{GRef, cell, waker};
use crate::m::{Grant, M, MId};
use crate::netpoll::Ready;
use crate::p::{P, PStatus};
use crate::sys::overflow;
use crate::sys::own_threads::OwnThread;
use crate::throw::AbortOnUnwind;
use crate::tuning::SPIN_ROUNDS;
use std::sync::Arc;
use std::task::Context;

/// A running M: its thread-local state and, while it spins, its spinning token.
#[derive(Debug)]
pub(crate) struct Worker<'a> {
    pub(crate) local: &'a Local,
    pub(crate) unit: Option<Spinning>,
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
    pub(crate) patience: u32,
}

/// What an M does next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Run this goroutine.
    Run(Found),
    /// End the thread.
    Exit,
}

/// The main function of a thread (Go: `mstart`).
pub(super) fn m_main(sched: Arc<Sched>, id: MId, grant: Grant<Spinning>) {
    // No user code runs between polls. A panic here is a bug of gmp, and the P would be lost.
    let _bomb = AbortOnUnwind("scheduling");
    overflow::watch_this_thread(local::find_culprit);
    let _seat = Seat::for_m(sched.id);
    let _own = OwnThread::enter();
    let local = Local::new(sched, Arc::new(M::for_this_thread(id)));
    local.enter(|| {
        local.acquire_p(grant.p);
        let mut worker = Worker::new(&local, Some(grant.unit));
        while let Step::Run(found) = worker.schedule() {
            worker.local.execute(found);
        }
    });
    local.sched.thread_exits(id);
}

impl<'a> Worker<'a> {
    /// Makes the state of an M that has a P.
    pub(crate) fn new(local: &'a Local, unit: Option<Spinning>) -> Self {
        let (ready, ps, progress) = Default::default();
        Self { local, unit, returning: None, ready, ps, progress, patience: SPIN_ROUNDS }
    }

    /// Whether any queue has work for an M that has none. The `runnext` of a P does not count.
    pub(crate) fn any_work(&mut self) -> bool {
        self.any_work_but(None)
    }

    /// The same without the queue of `own`.
    pub(super) fn any_work_but(&mut self, own: Option<&P>) -> bool {
        let sched = &self.local.sched;
        if sched.has_queued() {
            return true;
        }
        self.ps.refresh(sched);
        let is_own = |p: &P| own.is_some_and(|own| std::ptr::eq(own, p));
        self.ps.iter().any(|p| !is_own(p) && p.runq.len() > 0)
    }

    /// Returns the next goroutine to run (Go: `schedule`). Waits until there is one.
    #[inline]
    fn schedule(&mut self) -> Step {
        let status = self.local.p().status();
        if status == PStatus::HandedOff
            && let Some(exit) = self.after_hand_off()
        {
            return exit;
        }
        let step = self.find_runnable();
        if let Some(unit) = self.unit.take() {
            self.stop_spinning(unit);
        }
        step
    }
}

impl Worker<'_> {
    /// Reactivates the handed-off P, or retires it and sleeps until this M has another. Returns
    /// [`Step::Exit`] if the thread ends.
    #[cold]
    fn after_hand_off(&mut self) -> Option<Step> {
        self.local.sched.exit_if_forked();
        if self.local.reactivate_p() {
            return None;
        }
        self.retire_p();
        self.sleep()
    }
}

impl Local {
    /// Polls a goroutine once, then queues, parks or completes it (Go: `execute`, and what its
    /// callees `goexit0`, `park_m` and `goyield_m` do).
    #[inline]
    pub(super) fn execute(&self, found: Found) {
        let Found { gp, slice } = found;
        {
            let p = self.p();
            if slice == Slice::Fresh {
                p.begin_slice();
            }
            p.counters.polls.add(1);
            p.set_running(&gp);
            // The poll may block, and thieves do not visit the queue of a handed-off P.
            self.requeue_if_handed_off(&p);
        }
        if gp.status.to_running() == ToRunning::Cancelled {
            return self.cancel(gp);
        }
        self.poll_begins(&gp);
        self.yielding.set(Yield::No);
        let waker = waker::borrowed(&gp);
        let polled = cell::poll(&gp, &mut Context::from_waker(&waker));
        self.poll_ends();
        self.p().set_goid(0);
        match polled {
            cell::Polled::Done(output) => self.complete(gp, output),
            cell::Polled::Pending => self.after_pending(gp),
        }
    }

    #[inline]
    fn after_pending(&self, gp: GRef) {
        let after = match self.yielding.get() {
            Yield::No => {
                gp.stamp_wait(self.p().own().stamp.get());
                gp.status.after_pending()
            }
            Yield::Local | Yield::Global => gp.status.after_yield(),
            Yield::Behind => {
                self.p().forget_yield();
                gp.status.after_yield()
            }
        };
        match after {
            AfterPoll::Requeue => self.requeue(gp),
            AfterPoll::Newcomer => self.requeue_newcomer(gp),
            AfterPoll::Cancelled => self.cancel(gp),
            // Its waker owns it now: this M must not even keep a pointer to it.
            AfterPoll::Parked => drop(gp.into_raw()),
        }
    }

    /// Queues a goroutine that yielded or was woken while it ran. It goes to the tail of the ring.
    /// If its slice is over, it goes to the global queue, and also if it is alone on this P while
    /// others are queued there or in the inbox. A goroutine that yielded to newcomers becomes
    /// `runnext`.
    #[inline]
    fn requeue(&self, gp: GRef) {
        let p = self.p();
        let yielding = self.yielding.get();
        if yielding == Yield::Behind {
            return self.put(gp, Place::RunNext);
        }
        let alone = p.runq.len() == 0 && !p.runq.has_next();
        if yielding == Yield::Global || (alone && self.sched.has_queued()) {
            self.sched.globq.put(gp);
            return self.wakep();
        }
        // This M looks for its next goroutine now, so a single goroutine is no work for two.
        self.put(gp, Place::Tail);
        if !alone {
            self.wakep();
        }
    }

    /// Queues a goroutine that an event has woken while it ran.
    fn requeue_newcomer(&self, gp: GRef) {
        let p = self.p();
        let alone = p.runq.len() == 0 && !p.runq.has_next();
        self.put(gp, Place::Newcomer);
        if !alone {
            self.wakep();
        }
    }

    fn cancel(&self, gp: GRef) {
        self.poll_begins(&gp);
        let output = cell::cancel(&gp);
        self.poll_ends();
        self.complete(gp, output);
    }

    #[inline]
    fn complete(&self, gp: GRef, output: crate::g::status::Output) {
        self.p().counters.finished.add(1);
        cell::complete(gp, output);
        self.sched.after_complete();
    }
}
