//! Adaptive procs: runs fewer Ps where contention outweighs parallelism.
//!
//! Some goroutines do little between two interactions, such as a channel operation, a lock or a
//! small spawn. They are faster on one P than on two. On two Ps each value crosses from cache to
//! cache, locks are contended, and thieves steal work that takes less time than the steal. The
//! runtime cannot see this in a goroutine, but it can try. If steals, moves of goroutines or
//! contended locks are frequent, sysmon runs half of the Ps for three milliseconds and compares the
//! throughput. If it was clearly higher, fewer Ps stay active for a time ([`ADAPT_REST`]). Then
//! sysmon tries more Ps again.
//!
//! The throughput of a program also changes by itself. So the worst measurement with fewer Ps must
//! beat the best of the measurements with more Ps before and after it.
//!
//! Throughput is the number of polls and of operations of gmp's own futures. A load that computes
//! in parallel gives no cause for a trial, and more Ps would win one.
//!
//! Heuristic: it is there for programs whose goroutines interact at every step. The table
//! "Heuristics" of `benches/README.md` has what it gives.
//!
//! All Ps become active again at once in two cases: a P is stuck in a poll or leaves work queued,
//! or the throughput drops to half while work waits. So blocked and CPU-bound goroutines do not
//! delay others here either. Other Ps are inactive as after
//! [`set_max_procs`](crate::set_max_procs); see [`crate::sched::procs`].

use crate::p::Counters;
use crate::tuning::{
    ADAPT_DONE, ADAPT_GAIN, ADAPT_MOVED, ADAPT_REST, ADAPT_REST_MAX, ADAPT_WASTE, ADAPT_WINDOWS,
    SYSMON_MAX_NAP,
};
use crate::util::clock;
use std::time::Duration;

/// Counters of a P, or their sums over the active Ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) polls: u64,
    /// Operations of gmp's own futures.
    pub(super) ops: u64,
    pub(super) steals: u64,
    /// Goroutines that came from another P, or from the global queue.
    pub(super) moved: u64,
    /// Locks that were contended.
    pub(super) contended: u64,
}

impl Counts {
    /// Returns the counters of one P.
    pub(super) fn of(p: &Counters) -> Self {
        Self {
            polls: p.polls.get(),
            ops: p.ops.get(),
            steals: p.steals.get(),
            moved: p.stolen.get() + p.taken.get(),
            contended: p.contended.get(),
        }
    }

    /// Adds other counts to these.
    pub(super) fn add(&mut self, other: &Self) {
        self.polls += other.polls;
        self.ops += other.ops;
        self.steals += other.steals;
        self.moved += other.moved;
        self.contended += other.contended;
    }

    /// Returns the work done: polls and operations.
    fn done(&self) -> u64 {
        self.polls + self.ops
    }

    /// Returns what was counted since `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            polls: self.polls.saturating_sub(before.polls),
            ops: self.ops.saturating_sub(before.ops),
            steals: self.steals.saturating_sub(before.steals),
            moved: self.moved.saturating_sub(before.moved),
            contended: self.contended.saturating_sub(before.contended),
        }
    }
}

/// The state of the runtime in a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) counts: Counts,
    /// The maximum for the number of active Ps.
    pub(super) limit: usize,
    /// The target for the number of active Ps.
    pub(super) active: usize,
    /// The number of running Ps.
    pub(super) running: usize,
    /// Whether a P makes no progress, though its thread computes or is blocked.
    pub(super) stuck: bool,
    /// Whether there is work that no P has begun.
    pub(super) waiting: bool,
}

/// What the adaptation does.
#[derive(Clone, Copy, Debug)]
enum TrialState {
    /// No trial. `rate` is the throughput of the winner of the last trial, or 0.
    Settled { rate: f64 },
    /// Compares two numbers of Ps in turn.
    Trial(Trial),
}

/// One of the two numbers of Ps in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arm {
    Fewer,
    More,
}

/// A comparison of fewer Ps with more Ps.
#[derive(Clone, Copy, Debug)]
struct Trial {
    fewer: usize,
    more: usize,
    /// The side before the trial, whose rate is known.
    from: Arm,
    /// The sides that are still to be measured, the present one first.
    steps: &'static [Arm],
    /// The lowest rate with fewer Ps, and the highest with more, per millisecond.
    fewer_rate: f64,
    more_rate: f64,
}

impl Trial {
    /// Starts a trial of half as many Ps, because there is contention.
    fn of_fewer(active: usize, rate: f64) -> Self {
        let (fewer, steps) = ((active / 2).max(1), &[Arm::Fewer, Arm::More]);
        let fewer_rate = f64::INFINITY;
        Self { fewer, more: active, from: Arm::More, steps, fewer_rate, more_rate: rate }
    }

    /// Starts a trial of twice as many Ps, because fewer were active for a time.
    fn of_more(active: usize, limit: usize, rate: f64) -> Self {
        let (more, steps) = ((active * 2).min(limit), &[Arm::More, Arm::Fewer, Arm::More]);
        Self { fewer: active, more, from: Arm::Fewer, steps, fewer_rate: rate, more_rate: 0.0 }
    }

    fn procs(&self, side: Arm) -> usize {
        match side {
            Arm::Fewer => self.fewer,
            Arm::More => self.more,
        }
    }

    /// Ends the present step, which had this rate. Returns the winner if the trial is decided.
    fn end_step(&mut self, rate: f64) -> Option<Arm> {
        let (step, left) = self.steps.split_first()?;
        match step {
            Arm::Fewer => self.fewer_rate = self.fewer_rate.min(rate),
            Arm::More => self.more_rate = self.more_rate.max(rate),
        }
        self.steps = left;
        if self.fewer_rate < self.more_rate * ADAPT_GAIN {
            return Some(Arm::More);
        }
        left.is_empty().then_some(Arm::Fewer)
    }
}

/// A period that is measured.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    since: u64,
    counts: Counts,
    /// The windows since the last change of the number of Ps, and the best rate of them. The first
    /// does not count, because the change takes effect in it.
    seen: u32,
    best: f64,
}

/// The counts of a window.
#[derive(Clone, Copy, Debug)]
struct WindowResult {
    counts: Counts,
    millis: f64,
}

impl WindowResult {
    fn per_ms(&self, count: u64) -> f64 {
        count as f64 / self.millis
    }

    /// Returns the work done per millisecond.
    fn rate(&self) -> f64 {
        self.per_ms(self.counts.done())
    }

    /// Whether steals, moves and contended locks are so frequent that a trial may pay off.
    /// `running` Ps caused them.
    fn is_wasteful(&self, running: usize) -> bool {
        let per_p = |count| self.per_ms(count) / running as f64;
        per_p(self.counts.done()) >= ADAPT_DONE
            && (per_p(self.counts.steals + self.counts.contended) >= ADAPT_WASTE
                || self.counts.moved * ADAPT_MOVED > self.counts.polls)
    }
}

/// The state of the adaptation. See the [module](self).
#[derive(Debug)]
pub(super) struct AdaptiveProcs {
    limit: usize,
    active: usize,
    state: TrialState,
    window: Window,
    /// Consecutive windows that gave cause for a trial, and the best rate of them.
    doubts: u32,
    doubtful_rate: f64,
    /// No trial of fewer Ps before this time, and the length of the next such ban.
    rest_until: u64,
    rest: Duration,
    /// No trial of more Ps before this time, and the length of the next such ban.
    hold_until: u64,
    hold: Duration,
}

impl AdaptiveProcs {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            active: limit,
            state: TrialState::Settled { rate: 0.0 },
            window: Window::default(),
            doubts: 0,
            doubtful_rate: 0.0,
            rest_until: 0,
            rest: ADAPT_REST,
            hold_until: 0,
            hold: ADAPT_REST,
        }
    }

    /// Makes a round at the time `now`. Returns the new target for the number of active Ps, if it
    /// changes.
    pub(super) fn round(&mut self, now: u64, sample: &Sample) -> Option<usize> {
        if (sample.limit, sample.active) != (self.limit, self.active) {
            // The number was set elsewhere.
            *self = Self::new(sample.limit);
        }
        let before = sample.active;
        if sample.stuck && self.active < self.limit {
            self.give_up(now);
        } else if now.saturating_sub(self.window.since) >= clock::nanos(SYSMON_MAX_NAP) {
            self.end_window(now, sample);
        }
        (self.active != before).then_some(self.active)
    }

    /// Discards all measurements, because no P runs. Returns the maximum if fewer Ps were active.
    pub(super) fn reset(&mut self) -> Option<usize> {
        let is_reduced = self.active < self.limit;
        *self = Self { rest_until: self.rest_until, rest: self.rest, ..Self::new(self.limit) };
        is_reduced.then_some(self.limit)
    }

    fn end_window(&mut self, now: u64, sample: &Sample) {
        let counts = sample.counts.since(&self.window.counts);
        let past = WindowResult { counts, millis: (now - self.window.since) as f64 / 1e6 };
        let first = self.window.seen == 0;
        self.window.since = now;
        self.window.counts = sample.counts;
        self.window.seen += 1;
        if first {
            return;
        }
        match self.state {
            TrialState::Settled { rate } => self.consider_trial(now, sample, &past, rate),
            TrialState::Trial(trial) => {
                self.window.best = self.window.best.max(past.rate());
                if self.window.seen > ADAPT_WINDOWS {
                    self.end_step(now, trial);
                }
            }
        }
    }

    /// Starts a trial if there is cause, or makes all Ps active if the rate is less than half of
    /// `settled`, the rate of the last trial.
    fn consider_trial(&mut self, now: u64, sample: &Sample, past: &WindowResult, settled: f64) {
        let is_reduced = self.active < self.limit;
        if is_reduced && sample.waiting && past.rate() * 2.0 < settled {
            return self.give_up(now);
        }
        let (from, rate) = (self.active, past.rate());
        if sample.running > 1 && past.is_wasteful(sample.running) {
            self.doubts += 1;
            self.doubtful_rate = self.doubtful_rate.max(rate);
        } else {
            (self.doubts, self.doubtful_rate) = (0, 0.0);
        }
        if self.doubts >= ADAPT_WINDOWS && now >= self.rest_until && self.active > 1 {
            self.run_step(Trial::of_fewer(from, self.doubtful_rate));
        } else if is_reduced && now >= self.hold_until {
            self.run_step(Trial::of_more(from, self.limit, rate));
        }
    }

    /// Continues with the number of Ps of the next step.
    fn run_step(&mut self, trial: Trial) {
        if let Some(step) = trial.steps.first() {
            self.run_with(trial.procs(*step), TrialState::Trial(trial));
        }
    }

    fn run_with(&mut self, active: usize, state: TrialState) {
        self.active = active;
        self.state = state;
        (self.doubts, self.doubtful_rate) = (0, 0.0);
        self.window.seen = 0;
        self.window.best = 0.0;
    }

    /// Ends a step of a trial.
    fn end_step(&mut self, now: u64, mut trial: Trial) {
        let Some(winner) = trial.end_step(self.window.best) else { return self.run_step(trial) };
        match (winner, trial.from) {
            (Arm::Fewer, Arm::More) => (self.rest, self.hold) = (ADAPT_REST, ADAPT_REST),
            (Arm::Fewer, Arm::Fewer) => self.hold = (2 * self.hold).min(ADAPT_REST_MAX),
            (Arm::More, Arm::More) => self.rest = (2 * self.rest).min(ADAPT_REST_MAX),
            (Arm::More, Arm::Fewer) => self.hold = ADAPT_REST,
        }
        self.hold_until = now + clock::nanos(self.hold);
        let rate = match winner {
            // No ban: still fewer Ps may be better.
            Arm::Fewer => trial.fewer_rate,
            Arm::More => {
                self.rest_until = now + clock::nanos(self.rest);
                trial.more_rate
            }
        };
        self.settle(trial.procs(winner), rate);
    }

    fn settle(&mut self, active: usize, rate: f64) {
        self.run_with(active, TrialState::Settled { rate });
    }

    /// Makes all Ps active at once.
    fn give_up(&mut self, now: u64) {
        self.rest_until = now + clock::nanos(self.rest);
        self.settle(self.limit, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A runtime whose throughput for each number of Ps is known.
    struct Fake {
        adaptive: AdaptiveProcs,
        now: u64,
        sample: Sample,
        wasteful: bool,
    }

    impl Fake {
        fn new(limit: usize) -> Self {
            let counts = Counts::default();
            let sample = Sample {
                counts,
                limit,
                active: limit,
                running: limit,
                stuck: false,
                waiting: true,
            };
            Self { adaptive: AdaptiveProcs::new(limit), now: 1000 * MS, sample, wasteful: true }
        }

        /// Makes a round a millisecond later, with this amount of work done.
        fn round(&mut self, done: u64) {
            self.now += MS;
            self.sample.counts.polls += done;
            if self.wasteful && self.sample.active > 1 {
                self.sample.counts.contended += 200;
            }
            if let Some(active) = self.adaptive.round(self.now, &self.sample) {
                (self.sample.active, self.sample.running) = (active, active);
            }
        }

        /// Makes `rounds` rounds. Returns how many of them there were with each number of Ps.
        fn run(&mut self, rounds: usize, done: impl Fn(usize) -> u64) -> Vec<usize> {
            let mut with = vec![0; self.sample.limit + 1];
            for _ in 0..rounds {
                with[self.sample.active] += 1;
                self.round(done(self.sample.active));
            }
            with
        }
    }

    /// Fewer Ps have a higher throughput: they are active nearly always.
    #[test]
    fn fewer_ps_run_if_they_do_more() {
        let mut fake = Fake::new(4);
        let with = fake.run(2000, |active| 40_000 / active as u64);
        assert!(with[1] > 1900 && with[4] < 20, "{with:?}");
    }

    /// More Ps have a higher throughput despite many steals: they are active nearly always.
    #[test]
    fn all_ps_run_if_they_do_more() {
        let mut fake = Fake::new(2);
        let with = fake.run(5000, |active| 1000 * active as u64);
        assert!(with[2] > 4950, "{with:?}");
        assert!(with[1] > 0, "it was tried: {with:?}");
        // The trials become rare.
        let with = fake.run(5000, |active| 1000 * active as u64);
        assert!(with[1] <= 12, "{with:?}");
    }

    /// Changes of the load that do not depend on the number of Ps are no reason for fewer.
    #[test]
    fn a_load_that_changes_by_itself_keeps_all_ps() {
        for period in [2, 3, 4, 5, 7, 9, 12] {
            let (mut fake, mut reduced) = (Fake::new(2), 0);
            for round in 0..5000 {
                reduced += usize::from(fake.sample.active == 1);
                let times = if round / period % 2 == 0 { 1 } else { 3 };
                fake.round(1000 * fake.sample.active as u64 * times);
            }
            assert!(reduced < 500, "{reduced} of 5000 with a change every {period} ms");
        }
    }

    /// Wasted steps that are many for two Ps are few for 64 Ps.
    #[test]
    fn the_cause_for_a_trial_grows_with_the_number_of_running_ps() {
        let mut fake = Fake::new(64);
        assert_eq!(fake.run(2000, |active| 40_000 / active as u64)[64], 2000);
    }

    /// The throughput is the same: no reason for a change.
    #[test]
    fn equal_throughput_changes_no_number_of_ps() {
        let with = Fake::new(2).run(2000, |_| 10_000);
        assert!(with[2] > 1950, "{with:?}");
    }

    #[test]
    fn without_cause_there_is_no_trial() {
        let mut fake = Fake::new(2);
        fake.wasteful = false;
        assert_eq!(fake.run(2000, |active| 40_000 / active as u64)[1], 0);
        // Many operations and no steals: goroutines that compute, with checkpoints.
        fake.wasteful = false;
        for _ in 0..2000 {
            fake.sample.counts.ops += 100_000;
            fake.round(0);
            assert_eq!(fake.sample.active, 2);
        }
        // Low throughput: long polls.
        fake.wasteful = true;
        assert_eq!(fake.run(2000, |_| 100)[1], 0);
    }

    #[test]
    fn a_stuck_p_activates_all_ps_at_once() {
        let mut fake = Fake::new(4);
        fake.run(100, |active| 40_000 / active as u64);
        assert_eq!(fake.sample.active, 1);
        fake.sample.stuck = true;
        fake.round(0);
        assert_eq!(fake.sample.active, 4);
        // No trial follows before the ban ends.
        fake.sample.stuck = false;
        assert_eq!(fake.run(40, |active| 40_000 / active as u64)[4], 40);
    }

    /// The goroutines become CPU-bound.
    #[test]
    fn half_the_throughput_activates_all_ps() {
        let mut fake = Fake::new(2);
        fake.run(100, |active| 40_000 / active as u64);
        assert_eq!(fake.sample.active, 1);
        fake.wasteful = false;
        fake.run(3, |active| 10_000 * active as u64);
        assert_eq!(fake.sample.active, 2);
    }

    /// Fewer Ps were better and are not any more. The next trial of more Ps shows it.
    #[test]
    fn a_trial_of_more_ps_activates_them_if_they_do_more() {
        let mut fake = Fake::new(2);
        fake.run(100, |active| 40_000 / active as u64);
        assert_eq!(fake.sample.active, 1);
        fake.wasteful = false;
        fake.run(400, |active| 40_000 * active as u64);
        assert_eq!(fake.sample.active, 2);
    }

    #[test]
    fn a_change_of_max_procs_restarts_the_adaptation() {
        let mut fake = Fake::new(2);
        fake.run(100, |active| 40_000 / active as u64);
        assert_eq!(fake.sample.active, 1);
        (fake.sample.limit, fake.sample.active) = (8, 8);
        fake.round(1000);
        assert_eq!((fake.sample.active, fake.adaptive.limit), (8, 8));
        assert_eq!(fake.adaptive.reset(), None);
    }

    #[test]
    fn an_idle_runtime_activates_all_ps() {
        let mut fake = Fake::new(2);
        fake.run(100, |active| 40_000 / active as u64);
        assert_eq!(fake.adaptive.reset(), Some(2));
    }
}
