//! Stealing work from other Ps (Go: `stealWork`).

use super::local::Place;
use super::progress::Progress;
use super::worker::{Work, Worker};
use crate::g::GRef;
use crate::p::runq::StealNext;
use crate::p::{P, PStatus};
use crate::prim::spin_loop;
use crate::tuning::{
    LOOKS, RUNNEXT_BACKOFF, SPIN_PAUSES, SPIN_ROUNDS, SPIN_ROUNDS_LEAST, STEAL_PASSES,
};
use crate::util::clock;
use std::sync::Arc;

impl Worker<'_> {
    /// Steals from the other Ps in several rounds. Returns `None` at once if half as many Ms spin
    /// as Ps are busy.
    ///
    /// Heuristic: the number of rounds follows the success of this M, so that searches in vain take
    /// little CPU time. The table "Heuristics" of `benches/README.md` has what it gives.
    pub(crate) fn spin(&mut self) -> Option<Work> {
        let sched = &self.local.sched;
        if self.token.is_none() {
            self.token = sched.idle.word.try_spin(sched.procs());
            self.token.as_ref()?;
        }
        let affordable = (LOOKS as u32 * SPIN_ROUNDS) / sched.procs() as u32;
        let rounds = self.spin_rounds.min(affordable).max(1);
        for round in 1..=rounds {
            let last = round == rounds;
            let stolen = self.steal_work(last).map(Work::Goroutine);
            if let Some(work) = stolen.or_else(|| self.find_queued()) {
                self.spin_rounds = (2 * self.spin_rounds).min(SPIN_ROUNDS);
                return Some(work);
            }
            if !last {
                (0..SPIN_PAUSES).for_each(|_| spin_loop());
            }
        }
        self.spin_rounds = (self.spin_rounds / 2).max(SPIN_ROUNDS_LEAST);
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
            let next =
                if last { may_steal_runnext(victim) } else { is_next_stale(victim, progress) };
            let stolen = victim.runq.steal_into(&p.runq(), next)?;
            p.count_steal(stolen.len);
            Some(stolen.first)
        })
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
fn may_steal_runnext(victim: &P) -> StealNext {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::rand::Rand;

    /// Go's `TestStealOrder`: each P is visited exactly once, for every number of Ps.
    #[test]
    fn a_steal_order_visits_each_p_once() {
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
