//! A machine whose cores repeat lists of [`Step`]s and share cache lines.
//!
//! This is a discrete-event simulation: the core whose next step begins first takes it. Times are
//! whole nanoseconds, and the random generator has a fixed seed, so all runs are equal.

use super::line::{Costs, Line};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// A step of a core. A line is its index in the machine.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Private work of about this length. It varies by a tenth, so that cores do not stay in step.
    Work(u64),
    /// Changes a line and holds it for `hold` (a lock).
    Write { line: usize, hold: u64 },
    /// Reads a line.
    Read(usize),
    /// Reads many lines. `at_once` misses overlap.
    Scan { lines: Vec<usize>, at_once: u64 },
    /// Counts this number of operations as done.
    Done(u64),
}

/// The result of a run.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// Operations per second of all cores.
    pub(super) per_second: f64,
    /// For each line the part of the time during which it was fetched or held.
    pub(super) busy: Vec<f64>,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Machine {
    costs: Costs,
    lines: Vec<Line>,
    /// The steps that each core repeats.
    cores: Vec<Rc<[Step]>>,
    seed: u64,
}

impl Machine {
    /// Creates a machine with `lines` lines. Each core repeats its steps.
    pub(super) fn new(costs: Costs, lines: usize, cores: Vec<Vec<Step>>) -> Self {
        let lines = (0..lines).map(|n| Line::of(n % cores.len())).collect();
        let cores = cores.into_iter().map(Rc::from).collect();
        Self { costs, lines, cores, seed: 0x9E37_79B9_7F4A_7C15 }
    }

    /// Returns about `ns`, chosen by xorshift64.
    fn about(&mut self, ns: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        ns - ns / 10 + self.seed % (ns / 5 + 1)
    }

    /// Runs for `span` ns. The first half is the warm-up: only the second half counts.
    pub(super) fn run(mut self, span: u64) -> Outcome {
        let mut queue: BinaryHeap<_> = (0..self.cores.len()).map(|c| Reverse((0, c, 0))).collect();
        let (half, mut done, mut warm) = (span / 2, 0, None);
        while let Some(Reverse((now, core, at))) = queue.pop() {
            if now >= half && warm.is_none() {
                warm = Some(self.lines.iter().map(|line| line.busy).collect::<Vec<_>>());
            }
            if now >= span {
                break;
            }
            let steps = self.cores[core].clone();
            if let (Step::Done(n), true) = (&steps[at], now >= half) {
                done += n;
            }
            let next = self.take(&steps[at], now, core);
            queue.push(Reverse((next, core, (at + 1) % steps.len())));
        }
        let warm = warm.unwrap_or_default();
        let busy = self.lines.iter().zip(warm).map(|(line, before)| (line.busy - before) as f64);
        let busy = busy.map(|ns| (ns / half as f64).min(1.0)).collect();
        Outcome { per_second: done as f64 * 1e9 / half as f64, busy }
    }

    /// Executes `step` on `core` at `now`. Returns the time of completion.
    fn take(&mut self, step: &Step, now: u64, core: usize) -> u64 {
        let costs = self.costs;
        match step {
            Step::Work(ns) => now + self.about(*ns),
            Step::Write { line, hold } => self.lines[*line].write(now, core, *hold, &costs),
            Step::Read(line) => self.lines[*line].read(now, core, &costs),
            Step::Scan { lines, at_once } => {
                let looks = lines.iter().map(|n| self.lines[*n].read(now, core, &costs) - now);
                let price = |ns| if ns <= costs.look { ns } else { ns / at_once };
                now + looks.map(price).sum::<u64>()
            }
            Step::Done(_) => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Costs, Machine, Step};

    const SPAN: u64 = 2_000_000;

    fn per_second(cores: usize, steps: impl Fn(usize) -> Vec<Step>) -> f64 {
        let scripts = (0..cores).map(steps).collect();
        Machine::new(Costs::default(), 1, scripts).run(SPAN).per_second
    }

    #[test]
    fn the_rate_is_linear_without_sharing() {
        let alone = |_| vec![Step::Work(100), Step::Done(1)];
        let one = per_second(1, alone);
        assert!((one / 1e7 - 1.0).abs() < 0.02, "{one}");
        for cores in [2, 8, 64, 256] {
            let ratio = per_second(cores, alone) / one / cores as f64;
            assert!((ratio - 1.0).abs() < 0.02, "{cores} cores: {ratio}");
        }
    }

    #[test]
    fn a_shared_line_is_full_at_one_write_per_transfer() {
        let shared = |_| vec![Step::Work(100), Step::Write { line: 0, hold: 0 }, Step::Done(1)];
        for cores in [8, 64] {
            let rate = per_second(cores, shared) * Costs::default().near as f64 / 1e9;
            assert!((rate - 1.0).abs() < 0.02, "{cores} cores: {rate} of a write per transfer");
        }
        // Across sockets it is slower than within one, and faster than if each fetch crossed
        // sockets.
        let rate = per_second(256, shared);
        assert!((4.0e6..1.0e7).contains(&rate), "{rate}");
    }

    #[test]
    fn a_lock_that_is_held_longer_admits_fewer() {
        let locked = |_| vec![Step::Write { line: 0, hold: 900 }, Step::Done(1)];
        let rate = per_second(64, locked);
        assert!((rate / 1e6 - 1.0).abs() < 0.02, "{rate}");
    }

    #[test]
    fn a_scan_pays_for_lines_that_were_written_since() {
        // Core 0 reads a line that core 1 writes all the time, or never.
        let rate = |writes: bool| {
            let looker = vec![Step::Scan { lines: vec![0], at_once: 1 }, Step::Done(1)];
            let pause = vec![Step::Work(1)];
            let writer = if writes { vec![Step::Write { line: 0, hold: 0 }] } else { pause };
            Machine::new(Costs::default(), 1, vec![looker, writer]).run(SPAN).per_second
        };
        assert!(rate(false) > 5.0 * rate(true), "{} {}", rate(false), rate(true));
    }
}
