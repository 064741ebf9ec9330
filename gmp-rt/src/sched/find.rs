//! The search for a runnable goroutine (Go: `findRunnable`), in the order that the README lists.

use super::Sched;
use super::globq::{ReturningM, Taken};
use super::idle::{Recheck, Spinning};
use super::progress::Progress;
use super::run::{Step, Worker};
use super::submit::Place;
use crate::g::GRef;
use crate::p::runq::{Got, StealNext};
use crate::p::{OwnedP, P, PStatus};
use crate::prim::spin_loop;
use crate::tuning::{
    LOOKS, RUNNEXT_BACKOFF, RUNQ_CAP, SPIN_PAUSES, SPIN_ROUNDS, SPIN_ROUNDS_LEAST, STEAL_PASSES,
};
use crate::util::clock;
use std::sync::Arc;

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
pub(super) enum Work {
    Goroutine(GRef),
    /// The first in the global queue: it gets the P.
    ReturningM(ReturningM),
}

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
            return self.look();
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
            return self.sleep();
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
        self.park()
    }

    fn begin_work(&mut self, work: Work) -> Option<Step> {
        match work {
            Work::Goroutine(gp) => Some(self.run_first(gp)),
            Work::ReturningM(m) => self.hand_over(m),
        }
    }

    /// Runs the first goroutine that a P without own work has found. Other newcomers follow it.
    fn run_first(&self, gp: GRef) -> Step {
        self.local.begin_found_newcomers();
        Step::Run(Found::fresh(gp))
    }

    /// Takes a goroutine of this P's queue, the global queue or the inbox.
    fn find_queued(&self) -> Option<Work> {
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
        if p.is_overtime() && p.is_slice_over(clock::now()) {
            p.begin_slice();
            self.local.sched.globq.put(gp);
            self.local.wakep();
            return p.runq().get_ring().map(Found::fresh);
        }
        Some(Found { gp, slice: Slice::Inherit })
    }

    /// Takes this P's share of the global queue: one goroutine to run, the rest into the ring. Takes
    /// a returning M if it comes first.
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
        if self.unit.is_none() && p.runq.len() > 0 {
            self.local.wakep();
        }
    }

    /// Takes this P's share of the inbox: one goroutine to run, the rest as newcomers.
    fn take_inbox(&self, p: &OwnedP) -> Option<GRef> {
        let inbox = &self.local.sched.inbox;
        let first = inbox.get()?;
        for _ in 1..self.local.sched.share(inbox.len() + 1) {
            let Some(gp) = inbox.get() else { break };
            self.local.put_newcomer(p, gp);
        }
        self.wake_for_batch(p);
        Some(first)
    }

    /// Steals from the other Ps in several rounds. Returns `None` at once if half as many Ms spin
    /// as Ps are busy.
    fn spin(&mut self) -> Option<Work> {
        let sched = &self.local.sched;
        if self.unit.is_none() {
            self.unit = sched.idle.word.spin(sched.procs());
            self.unit.as_ref()?;
        }
        let affordable = (LOOKS as u32 * SPIN_ROUNDS) / sched.procs() as u32;
        let rounds = self.patience.min(affordable).max(1);
        for round in 1..=rounds {
            let last = round == rounds;
            let stolen = self.steal_work(last).map(Work::Goroutine);
            if let Some(work) = stolen.or_else(|| self.find_queued()) {
                self.patience = (2 * self.patience).min(SPIN_ROUNDS);
                return Some(work);
            }
            if !last {
                (0..SPIN_PAUSES).for_each(|_| spin_loop());
            }
        }
        self.patience = (self.patience / 2).max(SPIN_ROUNDS_LEAST);
        None
    }

    /// Makes passes over all Ps in random order (Go: `stealWork`). Only the last pass of the last
    /// round fires timers and waits for a `runnext`.
    fn steal_work(&mut self, last_round: bool) -> Option<GRef> {
        let passes = if last_round { STEAL_PASSES } else { 1 };
        for pass in 1..=passes {
            let last = last_round && pass == passes;
            if let Some(gp) = self.steal_pass(last) {
                return Some(gp);
            }
        }
        None
    }

    pub(crate) fn steal_pass(&mut self, last: bool) -> Option<GRef> {
        let local = self.local;
        let (p, sched) = (local.p(), &local.sched);
        self.ps.refresh(sched);
        if last && sched.next_timer() != clock::FOREVER {
            self.local.fire_all(clock::now(), Place::Newcomer);
            if let Some(gp) = p.runq().get_first() {
                return Some(gp);
            }
        }
        let Self { ps, progress, .. } = self;
        let mut order = StealOrder::new(ps.len(), p.own().rand.next_u32());
        order.find_map(|number| {
            let victim = ps.get(number).filter(|victim| !Arc::ptr_eq(victim, p.shared()))?;
            let next = if last { may_take_next(victim) } else { is_next_stale(victim, progress) };
            let stolen = victim.runq.steal_into(&p.runq(), next)?;
            p.count_steal(stolen.len);
            Some(stolen.first)
        })
    }

    /// Stops spinning, because work was found. The last spinning M wakes another one if there is
    /// more work, because submitters relied on it.
    pub(super) fn stop_spinning(&mut self, unit: Spinning) {
        let local = self.local;
        let p = local.p();
        if local.sched.idle.word.found(unit) == Recheck::AsLast
            && (p.runq.len() > 0 || self.any_work_but(Some(&p)))
        {
            local.wakep();
        }
    }
}

impl Sched {
    /// Returns how many of `len` queued goroutines one P takes (Go: `globrunqget`).
    pub(super) fn share(&self, len: usize) -> usize {
        (len / self.procs() + 1).min(RUNQ_CAP / 2)
    }
}

/// Whether a thief may take the `runnext` of `victim`. It may if `victim` made no poll for
/// [`RUNNEXT_BACKOFF`], as far as the thief has seen in its rounds.
fn is_next_stale(victim: &P, progress: &mut Progress) -> StealNext {
    if !victim.runq.has_next() {
        return StealNext::No;
    }
    let polls = victim.counters.polls.get();
    match progress.has_stopped(victim.number(), polls, clock::now(), RUNNEXT_BACKOFF) {
        true => StealNext::Yes,
        false => StealNext::No,
    }
}

/// Whether a thief may take the `runnext` of `victim`. It may not if the victim's M is about to run
/// it.
///
/// Go waits 3 µs and takes what is there then. Here the thief also checks whether the M began
/// another poll meanwhile. If so, the M makes progress and runs its `runnext` itself.
fn may_take_next(victim: &P) -> StealNext {
    if !victim.runq.has_next() {
        return StealNext::No;
    }
    if victim.status() != PStatus::Running {
        return StealNext::Yes;
    }
    let polls = victim.counters.polls.get();
    let until = clock::after(RUNNEXT_BACKOFF);
    while clock::now() < until {
        spin_loop();
        if victim.counters.polls.get() != polls {
            return StealNext::No;
        }
    }
    StealNext::Yes
}

/// Yields the numbers below `n` in a random order, each once. It uses a random start and a random
/// step that has no common divisor with `n` (Go: `randomOrder`).
#[derive(Debug)]
pub(super) struct StealOrder {
    at: usize,
    step: usize,
    n: usize,
    left: usize,
}

impl StealOrder {
    pub(super) fn new(n: usize, random: u32) -> Self {
        let random = random as usize;
        if n == 0 {
            return Self { at: 0, step: 0, n: 1, left: 0 };
        }
        let mut step = 1 + (random >> 16) % n;
        while gcd(step, n) != 1 {
            step = 1 + step % n;
        }
        Self { at: random % n, step, n, left: n }
    }
}

impl Iterator for StealOrder {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let at = self.at;
        self.at = (at + self.step) % self.n;
        Some(at)
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "rules_tests.rs"]
mod rules;

#[cfg(test)]
mod tests {
    use super::StealOrder;
    use crate::util::rand::Rand;

    /// Go's `TestStealOrder`: each P is visited exactly once, for every number of Ps.
    #[test]
    fn steal_order_visits_each_once() {
        let rand = Rand::new(7);
        for n in 0..100 {
            for _ in 0..20 {
                let mut seen: Vec<usize> = StealOrder::new(n, rand.next_u32()).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..n).collect::<Vec<_>>());
            }
        }
    }
}
