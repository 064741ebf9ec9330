//! The search for a runnable goroutine (Go: `findRunnable`), in the order that the README lists.

use super::Sched;
use super::globq::Taken;
use super::local::Place;
use super::worker::{Found, Slice, Step, Work, Worker};
use crate::g::GRef;
use crate::m::idle_word::{Recheck, Spinning};
use crate::p::OwnedP;
use crate::p::runq::Got;
use crate::tuning::RUNQ_CAP;
use crate::util::clock;

impl Worker<'_> {
    /// Checks all sources in order. Sleeps if there is no work, then checks again.
    #[inline]
    pub(super) fn find_runnable(&mut self) -> Step {
        loop {
            if let Some(found) = self.find_local() {
                return Step::Run(found);
            }
            if let Some(step) = self.find_elsewhere() {
                return step;
            }
        }
    }

    /// Takes a goroutine of this P. Makes a service first if one is due.
    #[inline]
    pub(super) fn find_local(&mut self) -> Option<Found> {
        if self.local.p().count_search() {
            return self.serve_then_take();
        }
        self.take_own()
    }

    /// Checks the shared sources, steals, then sleeps. Returns `None` when the caller must check
    /// its own queue again.
    #[cold]
    fn find_elsewhere(&mut self) -> Option<Step> {
        if let Some(m) = self.returning.take() {
            return self.hand_over(m);
        }
        if self.local.sched.must_retire(&self.local.p()) {
            self.retire_p();
            return self.sleep_in_pool();
        }
        self.local.out_of_work(&mut self.ready);
        if let Some(work) = self.find_queued() {
            return self.begin_work(work);
        }
        self.local.ask_network(Place::Newcomer, &mut self.ready);
        if let Some(gp) = self.local.p().runq().get_first() {
            return Some(self.run_first(gp));
        }
        if let Some(work) = self.spin() {
            self.local.p().own().service.forget_time();
            return self.begin_work(work);
        }
        self.stopm()
    }

    fn begin_work(&mut self, work: Work) -> Option<Step> {
        match work {
            Work::Goroutine(gp) => Some(self.run_first(gp)),
            Work::ReturningM(m) => self.hand_over(m),
        }
    }

    /// Runs the first goroutine that a P without own work has found, in a new slice. Other
    /// newcomers follow it within the slice.
    fn run_first(&self, gp: GRef) -> Step {
        let _ = self.local.begin_found_newcomers();
        Step::Run(Found::fresh(gp))
    }

    /// Takes a goroutine of this P's queue, the global queue or the inbox.
    pub(crate) fn find_queued(&self) -> Option<Work> {
        let p = self.local.p();
        if let Some(gp) = p.runq().get_first() {
            return Some(Work::Goroutine(gp));
        }
        let inbox = || self.take_inbox(&p).map(Work::Goroutine);
        // In alternating order, so that neither queue starves the other.
        if p.own().inbox_first() {
            inbox().or_else(|| self.take_global(&p))
        } else {
            self.take_global(&p).or_else(inbox)
        }
    }

    /// Takes a newcomer if it is their turn, else `runnext`, else the head of the ring.
    #[inline]
    pub(super) fn take_own(&self) -> Option<Found> {
        let p = self.local.p();
        if p.own().service.is_newcomers_turn()
            && let Some(found) = self.take_newcomer(&p)
        {
            return Some(found);
        }
        match p.runq().get()? {
            Got::Ring(gp) => Some(Found::fresh(gp)),
            Got::Next(gp) => self.next_in_chain(&p, gp),
        }
    }

    /// Lets a `runnext` goroutine inherit the slice. If the slice is over, the goroutine goes to
    /// the tail of the global queue, and the first goroutine of the ring runs.
    #[inline]
    fn next_in_chain(&self, p: &OwnedP, gp: GRef) -> Option<Found> {
        if p.preempt_requested() && p.is_slice_over(clock::now()) {
            p.begin_slice();
            self.local.sched.globq.put(gp);
            self.local.sched.wakep();
            return p.runq().get_ring().map(Found::fresh);
        }
        Some(Found { gp, slice: Slice::Inherit })
    }

    /// Takes this P's share of the global queue: one goroutine to run, the rest into the ring.
    /// Takes a returning M if it comes first.
    pub(super) fn take_global(&self, p: &OwnedP) -> Option<Work> {
        let sched = &self.local.sched;
        let mut batch = match sched.globq.take(|len| sched.share(len))? {
            Taken::Goroutines(batch) => batch,
            Taken::ReturningM(m) => return Some(Work::ReturningM(m)),
        };
        p.counters.taken.add(batch.len() as u64);
        let first = batch.pop_front();
        p.runq().put_batch(&mut batch);
        // `find_queued` found the ring empty, so the batch fits. A rest would go back.
        sched.globq.put_batch(batch);
        self.wake_for_batch(p);
        first.map(Work::Goroutine)
    }

    /// Wakes an M for a batch that is now on the ring. No other thread saw the batch while it was
    /// in hand, so an M may have gone to sleep. A spinning M needs no wake-up here: it checks again
    /// when it stops.
    fn wake_for_batch(&self, p: &OwnedP) {
        if self.token.is_none() && p.runq.len() > 0 {
            self.local.sched.wakep();
        }
    }

    /// Takes this P's share of the inbox: one goroutine to run, the rest as newcomers.
    fn take_inbox(&self, p: &OwnedP) -> Option<GRef> {
        let inbox = &self.local.sched.inbox;
        if inbox.is_empty() {
            return None;
        }
        let mut first = None;
        let share = self.local.sched.share(inbox.len());
        inbox.take(share, &p.own().inbox_batch, |gp| match first {
            None => first = Some(gp),
            Some(_) => self.local.put_newcomer(p, gp),
        });
        self.wake_for_batch(p);
        first
    }

    /// Stops spinning, because work was found. The last spinning M wakes another one if there is
    /// more work, because submitters relied on it.
    pub(super) fn stop_spinning(&mut self, token: Spinning) {
        let local = self.local;
        let p = local.p();
        if local.sched.idle.word.stop_spinning(token) == Recheck::AsLast
            && (p.runq.len() > 0 || self.any_work_except(Some(&p)))
        {
            local.sched.wakep();
        }
    }
}

impl Sched {
    /// Returns how many of `len` queued goroutines one P takes (Go: `globrunqget`).
    pub(super) fn share(&self, len: usize) -> usize {
        (len / self.procs() + 1).min(RUNQ_CAP / 2)
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "rules_tests.rs"]
mod rules;
