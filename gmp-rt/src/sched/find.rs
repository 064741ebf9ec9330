//! What to run next: Go's `findRunnable`, a list of places in order.

use super::Sched;
use super::idle::{Recheck, Spinning};
use super::ready::Place;
use super::run::{Step, Worker};
use crate::g::GRef;
use crate::g::list::GList;
use crate::p::runq::{Got, StealNext};
use crate::p::{OwnedP, P, PStatus};
use crate::prim::spin_loop;
use crate::tuning::{
    RUNNEXT_BACKOFF, RUNQ_CAP, SPIN_LOOKS, SPIN_PAUSES, SPIN_ROUNDS, SPIN_ROUNDS_ALONE,
    SPIN_ROUNDS_LEAST, STEAL_PASSES, STEAL_ROUNDS_AHEAD, STILL_AFTER, STILL_LOOKS,
};
use crate::util::clock;

/// Whether a goroutine begins a new time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slice {
    /// It goes on with that of the goroutine that woke it.
    Inherit,
    /// It begins its own.
    Fresh,
}

/// A goroutine to run.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) gp: GRef,
    pub(super) slice: Slice,
}

impl Found {
    pub(super) fn fresh(gp: GRef) -> Self {
        Self { gp, slice: Slice::Fresh }
    }
}

impl Worker<'_> {
    /// Looks everywhere in order, sleeps if there is nothing, and looks again.
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

    /// The places that are this P's own, and the newcomers if a service is due.
    #[inline]
    pub(super) fn find_local(&mut self) -> Option<Found> {
        if self.local.p().count_search() {
            return self.look();
        }
        self.take_own()
    }

    /// The places shared with others; at last, sleep. `None`: look at the own places again.
    #[cold]
    fn find_elsewhere(&mut self) -> Option<Step> {
        if self.local.sched.must_retire(&self.local.p()) {
            self.give_up_p();
            return self.sleep();
        }
        let now = self.local.out_of_work();
        if let Some(gp) = self.find_queued().or_else(|| self.take_from_still()) {
            return Some(Step::Run(Found::fresh(gp)));
        }
        self.local.ask_network(now, Place::Tail, &mut self.ready);
        if let Some(got) = self.local.p().runq().get() {
            return Some(Step::Run(Found::fresh(got.into_g())));
        }
        if let Some(gp) = self.spin() {
            self.local.p().own().service.forget_time();
            self.local.begin_pace();
            return Some(Step::Run(Found::fresh(gp)));
        }
        self.park()
    }

    /// What waits on this P after all, or for everybody.
    fn find_queued(&self) -> Option<GRef> {
        let p = self.local.p();
        let own = p.runq().get_newcomer().or_else(|| p.runq().get().map(Got::into_g));
        if own.is_some() {
            return own;
        }
        // In turn, so that neither can starve the other.
        if p.own().inbox_first() {
            self.take_inbox(&p).or_else(|| self.take_global(&p))
        } else {
            self.take_global(&p).or_else(|| self.take_inbox(&p))
        }
    }

    /// A newcomer if it is their turn; else `runnext`, or the head of the ring.
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

    /// A `runnext` goroutine inherits the slice. When that is over, it goes to the back of the
    /// global queue, and the first goroutine on the ring runs.
    #[inline]
    fn next_in_chain(&self, p: &OwnedP, gp: GRef) -> Option<Found> {
        if !p.is_overtime() {
            return Some(Found { gp, slice: Slice::Inherit });
        }
        p.begin_slice();
        self.local.sched.globq.put(gp);
        self.local.wakep(p);
        p.runq().get_ring().map(Found::fresh)
    }

    /// Ends the slice of a `runnext` chain.
    pub(super) fn end_chain(&self, p: &OwnedP) {
        p.begin_slice();
        if let Some(gp) = p.runq().take_next() {
            self.local.sched.globq.put(gp);
            self.local.wakep(p);
        }
    }

    /// This P's share of the global queue: one to run, the rest into the ring.
    fn take_global(&self, p: &OwnedP) -> Option<GRef> {
        let sched = &self.local.sched;
        let mut batch = sched.globq.get_batch(|len| sched.share(len));
        p.counters.taken.add(batch.len() as u64);
        let first = batch.pop_front();
        p.runq().put_batch(&mut batch);
        // The ring was empty, so all fit; if a waker has filled it since, they go back.
        sched.globq.put_batch(batch);
        self.wake_for_batch(p);
        first
    }

    /// While a batch is in hand nobody sees it: an M may have fallen asleep. One that spins looks
    /// again anyway when it stops.
    fn wake_for_batch(&self, p: &OwnedP) {
        if self.unit.is_none() && p.runq.len() > 0 {
            self.local.wakep(p);
        }
    }

    /// This P's share of the inbox.
    fn take_inbox(&self, p: &OwnedP) -> Option<GRef> {
        let sched = &self.local.sched;
        let first = sched.inbox.get()?;
        let mut batch = GList::new();
        for _ in 1..sched.share(sched.inbox.len() + 1) {
            let Some(gp) = sched.inbox.get() else { break };
            batch.push_back(gp);
        }
        p.runq().put_batch(&mut batch);
        sched.globq.put_batch(batch);
        self.wake_for_batch(p);
        Some(first)
    }

    /// Half of what lies on the ring of a P that [stands still](super::still): only if the network is in use, else
    /// all rings are next anyway.
    fn take_from_still(&mut self) -> Option<GRef> {
        let (local, still) = (self.local, &mut self.still);
        local.sched.net.in_use()?;
        let p = local.p();
        let order = StealOrder::new(local.sched.ps.len(), p.own().rand.next_u32());
        let gp = order.take(STILL_LOOKS).find_map(|id| {
            let victim = local.sched.ps.get(id).filter(|victim| victim.id != p.id)?;
            let polls = victim.counters.polls.get();
            let is_left = victim.has_loot() && still.is_still(id, polls, clock::now(), STILL_AFTER);
            is_left.then(|| victim.runq.steal_into(&p.runq(), StealNext::No))?
        })?;
        p.count_steal();
        // While it was in hand nobody saw it, as in `wake_for_batch`.
        if self.unit.is_none() && p.own().pace.is_worth_waking(p.runq.len()) {
            local.wakep(&p);
        }
        Some(gp)
    }

    /// Looks at the other Ps, for a while, if not too many do already.
    fn spin(&mut self) -> Option<GRef> {
        let sched = &self.local.sched;
        if self.unit.is_none() {
            self.unit = sched.idle.word.spin(sched.procs());
            self.unit.as_ref()?;
        }
        // With nobody else at work there is nobody who could make some, but for threads outside.
        let alone = sched.idle.word.counts().0 + 1 >= sched.procs();
        let patience = if alone { SPIN_ROUNDS_ALONE } else { SPIN_ROUNDS };
        let rounds = patience.min(self.patience).min(SPIN_LOOKS / sched.ps.len() as u32).max(1);
        for round in 1..=rounds {
            let last = round == rounds;
            if let Some(gp) = self.steal_work(last).or_else(|| self.find_queued()) {
                self.patience = (2 * self.patience).min(SPIN_ROUNDS);
                return Some(gp);
            }
            if !last {
                (0..SPIN_PAUSES).for_each(|_| spin_loop());
            }
        }
        self.patience = (self.patience / 2).max(SPIN_ROUNDS_LEAST);
        None
    }

    /// Passes over all Ps in random order (Go: `stealWork`). Timers and `runnext` are for the
    /// last pass of the last round.
    fn steal_work(&mut self, last_round: bool) -> Option<GRef> {
        let passes = if last_round { STEAL_PASSES } else { 1 };
        for pass in 1..=passes {
            let last = last_round && pass == passes;
            if let Some(gp) = self.steal_pass(last) {
                self.local.p().count_steal();
                return Some(gp);
            }
        }
        None
    }

    pub(super) fn steal_pass(&mut self, last: bool) -> Option<GRef> {
        let local = self.local;
        let (p, sched) = (local.p(), &local.sched);
        if last && sched.next_timer() != clock::FOREVER {
            self.local.fire_all(clock::now(), Place::Tail);
            if let Some(got) = p.runq().get() {
                return Some(got.into_g());
            }
        }
        let n = sched.ps.len();
        let mut order = StealOrder::new(n, p.own().rand.next_u32());
        order.find_map(|id| {
            let victim = sched.ps.get(id).filter(|victim| victim.id != p.id)?;
            let next = if last { may_take_next(victim) } else { self.is_next_stale(victim) };
            if !last && next == StealNext::No && self.will_come_to_all(victim) {
                return None;
            }
            victim.runq.steal_into(&p.runq(), next)
        })
    }

    /// Whether `victim` has a `runnext` and has made no poll for a while, as far as this thief has
    /// seen in its rounds.
    fn is_next_stale(&mut self, victim: &P) -> StealNext {
        if !victim.runq.has_next() {
            return StealNext::No;
        }
        let polls = victim.counters.polls.get();
        match self.stuck.is_still(victim.id, polls, clock::now(), RUNNEXT_BACKOFF) {
            true => StealNext::Yes,
            false => StealNext::No,
        }
    }

    /// Whether `victim` is so fast that it will have run all on its ring in a few µs. To take some of
    /// that would cost more than it gives: goroutines that wake each other every 50 ns would do so from
    /// one CPU to another, at several cache misses each. (A pipeline of ten stages: about 70 ns per value and
    /// stage on one P, 190 ns on two.) Known from how far it came since the last look, a round ago;
    /// if that was long ago, this is the look for the next round.
    fn will_come_to_all(&mut self, victim: &P) -> bool {
        let left = victim.runq.len() as u64;
        if left == 0 {
            return true;
        }
        if self.polls_seen.len() <= victim.id {
            self.polls_seen.resize(victim.id + 1, 0);
        }
        let polls = victim.counters.polls.get();
        let done = polls - std::mem::replace(&mut self.polls_seen[victim.id], polls);
        victim.status() == PStatus::Running && left <= done.saturating_mul(STEAL_ROUNDS_AHEAD)
    }

    /// Stops looking for work: it is found. The last to stop wakes another if there is more,
    /// because submitters relied on it.
    pub(super) fn stop_spinning(&self, unit: Spinning) {
        let sched = &self.local.sched;
        let p = self.local.p();
        if sched.idle.word.found(unit) == Recheck::AsLast
            && (sched.any_work_but(&p) || p.own().pace.is_worth_waking(p.runq.len()))
        {
            self.local.wakep(&p);
        }
    }
}

impl Sched {
    /// How many of `len` queued goroutines one P takes (Go: `globrunqget`).
    pub(super) fn share(&self, len: usize) -> usize {
        (len / self.procs() + 1).min(RUNQ_CAP / 2)
    }
}

/// Whether the `runnext` of `victim` may be taken: not if its M will run it in a moment.
///
/// Go waits 3 µs and takes what is there then. We also look whether the M came to another
/// goroutine meanwhile: if so it is alive and will come to this one.
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

/// The numbers below `n` in a random order, each once: a random start and a random step that has
/// no common divisor with `n` (Go: `randomOrder`).
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
