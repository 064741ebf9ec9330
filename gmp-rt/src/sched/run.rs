//! The main loop of an M: finds a goroutine, polls it once, and queues, parks or completes it.

use super::Sched;
use super::handoff;
use super::local::Place;
use super::local::{self, Local, Yield};
use super::pause::Seat;
use super::worker::{Found, Slice, Step, Worker};
use crate::g::status::{AfterPoll, ToRunning};
use crate::g::{G, GRef, cell, waker};
use crate::m::{Grant, M, MId};
use crate::p::PStatus;
use crate::p::counters::POLL_SAMPLE;
use crate::sys::overflow;
use crate::sys::own_threads::OwnThread;
use crate::throw::AbortOnUnwind;
use crate::tracer::hook;
use crate::util::clock;
use std::sync::Arc;
use std::task::Context;

/// Runs a worker thread until it exits (Go: `mstart`).
pub(super) fn m_main(sched: Arc<Sched>, id: MId, grant: Grant) {
    // No user code runs between polls. A panic here is a bug of gmp, and the P would be lost.
    let _bomb = AbortOnUnwind("scheduling");
    overflow::watch_this_thread(local::find_culprit);
    let _seat = Seat::for_m(sched.id);
    let _own = OwnThread::enter();
    let local = Local::new(sched, Arc::new(M::for_this_thread(id)));
    local.enter(|| {
        local.acquire_p(grant.p);
        let mut worker = Worker::new(&local, Some(grant.token));
        worker.call_start_hook();
        while let Step::Run(found) = worker.schedule() {
            worker.local.execute(found);
        }
    });
    local.sched.config.hooks.call_stop();
    local.sched.thread_exits(id);
}

impl<'a> Worker<'a> {
    /// Calls the start hook of the program, in a marked blocking call.
    fn call_start_hook(&mut self) {
        let hooks = &self.local.sched.config.hooks;
        if hooks.start.is_none() {
            return;
        }
        if let Some(token) = self.token.take() {
            self.stop_spinning(token);
        }
        handoff::syscall(|| hooks.call_start());
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
        if let Some(token) = self.token.take() {
            self.stop_spinning(token);
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
        self.sleep_in_pool()
    }
}

/// The start of a poll that is not timed.
const NOT_TIMED: u64 = 0;

impl Local {
    /// Polls a goroutine once, then queues, parks or completes it (Go: `execute`, and what its
    /// callees `goexit0`, `park_m` and `goyield_m` do).
    #[inline]
    pub(super) fn execute(&self, found: Found) {
        let Found { gp, slice } = found;
        let timed_from = {
            let p = self.p();
            if slice == Slice::Fresh {
                p.begin_slice();
            }
            let polls = p.counters.polls.add(1);
            p.set_running(&gp);
            // The poll may block, and thieves do not visit the queue of a handed-off P.
            self.requeue_if_handed_off(&p);
            if polls.is_multiple_of(POLL_SAMPLE) { clock::now() } else { NOT_TIMED }
        };
        self.trace_started(&gp);
        match gp.status.to_running() {
            ToRunning::Run => {}
            ToRunning::Timed => self.record_ready(&gp),
            ToRunning::Cancelled => return self.cancel(gp),
        }
        self.poll_begins(&gp);
        self.yielding.set(Yield::No);
        let waker = waker::borrowed(&gp);
        let polled = cell::poll(&gp, &mut Context::from_waker(&waker));
        self.poll_ends();
        self.p().set_goid(0);
        if timed_from != NOT_TIMED {
            self.record_poll(timed_from);
        }
        match polled {
            cell::Polled::Done(output) => self.complete(gp, output),
            cell::Polled::Pending => self.after_pending(gp),
        }
    }

    /// Records how long `g`, which runs now, was runnable.
    #[cold]
    fn record_ready(&self, g: &G) {
        let nanos = clock::now().saturating_sub(g.ready_since());
        self.p().counters.ready.record(nanos);
    }

    /// Records the duration of a poll that began at the time `from`.
    #[cold]
    fn record_poll(&self, from: u64) {
        let nanos = clock::now().saturating_sub(from);
        self.p().counters.poll_times.record(nanos);
    }

    #[inline]
    fn after_pending(&self, gp: GRef) {
        let g: &G = &gp;
        let after = self.trace_leaving(g, move || match self.yielding.get() {
            Yield::No => {
                g.stamp_wait(self.p().own().stamp.get());
                g.status.after_pending()
            }
            Yield::Local | Yield::Global => g.status.after_yield(),
            Yield::Behind => {
                self.p().clear_preempt();
                g.status.after_yield()
            }
        });
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
        if yielding.is_refusal() {
            p.counters.preempted.add(1);
        }
        if yielding == Yield::Behind {
            return self.runqput(gp, Place::RunNext);
        }
        let alone = p.runq.len() == 0 && !p.runq.has_next();
        if yielding == Yield::Global || (alone && self.sched.has_queued()) {
            self.sched.globq.put(gp);
            return self.sched.wakep();
        }
        // This M looks for its next goroutine now, so a single goroutine is no work for two.
        self.runqput(gp, Place::Tail);
        if !alone {
            self.sched.wakep();
        }
    }

    /// Queues a goroutine that an event has woken while it ran.
    fn requeue_newcomer(&self, gp: GRef) {
        let p = self.p();
        let alone = p.runq.len() == 0 && !p.runq.has_next();
        self.runqput(gp, Place::Newcomer);
        if !alone {
            self.sched.wakep();
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
        let g: &G = &gp;
        let goid = g.goid();
        hook::ending(move || (goid, g.joiner().is_some()));
        cell::complete(gp, output);
        hook::ended(goid);
        self.sched.after_complete();
    }
}
