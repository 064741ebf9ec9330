//! The figures of one cell, by round. All times are in µs.

use super::names::{Load, Source};
use super::sample::{Percentiles, Reading, Sample};
use crate::entrant::Runtime;
use crate::row::median;
use serde::{Deserialize, Serialize};

/// The number of samples that gives a 99th percentile.
const ENOUGH: usize = 100;

/// One second in ns.
const FIRST_SECOND: u64 = 1_000_000_000;

/// One round of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Round {
    /// `None` if the cell had too few samples at its limit.
    pub(crate) figures: Option<Figures>,
    pub(crate) samples: usize,
    /// The worst lateness of the control thread.
    pub(crate) control: f64,
    /// The number of tries. The one with the least late control counts.
    pub(crate) tries: usize,
}

/// The figures of a round, or their medians over the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
    /// The 99th percentile of the events in the first second of the program.
    pub(crate) first_second: f64,
}

impl Round {
    /// The round of a process that printed this, with `wanted` samples asked for. `watcher` is the
    /// lateness of the thread that watched the process.
    pub(crate) fn new(reading: &Reading, wanted: usize, watcher: f64) -> Self {
        let control = reading.control.map_or(watcher, |nanos| nanos as f64 / 1e3);
        let samples = reading.samples.len();
        let is_enough = samples >= wanted.min(ENOUGH);
        let figures = if is_enough { figures(&reading.samples) } else { None };
        Self { figures, samples, control, tries: 1 }
    }

    /// The round of a process that was killed.
    pub(crate) fn killed(watcher: f64) -> Self {
        Self { figures: None, samples: 0, control: watcher, tries: 1 }
    }

    /// Chooses between two tries of one round: the one with the less late control.
    pub(crate) fn better(self, other: Self) -> Self {
        let tries = self.tries + other.tries;
        let best = if other.control < self.control { other } else { self };
        Self { tries, ..best }
    }
}

fn figures(samples: &[Sample]) -> Option<Figures> {
    let all = Percentiles::of(samples)?;
    let first = Percentiles::of(samples.iter().filter(|sample| sample.at < FIRST_SECOND));
    let Percentiles { p50, p99, max } = all;
    Some(Figures { p50, p99, max, first_second: first.map_or(0.0, |first| first.p99) })
}

/// A source beside a load in one runtime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) load: Load,
    pub(crate) source: Source,
    pub(crate) runtime: Runtime,
    pub(crate) rounds: Vec<Round>,
}

impl Cell {
    /// The medians over the rounds. A round that was not done counts as later than all others.
    /// Returns `None` if that is the median.
    pub(crate) fn figures(&self) -> Option<Figures> {
        let over_rounds = |pick: fn(&Figures) -> f64| {
            let values: Vec<f64> = self
                .rounds
                .iter()
                .map(|round| round.figures.as_ref().map_or(f64::INFINITY, pick))
                .collect();
            median(&values).filter(|value| value.is_finite())
        };
        Some(Figures {
            p50: over_rounds(|figures| figures.p50)?,
            p99: over_rounds(|figures| figures.p99)?,
            max: over_rounds(|figures| figures.max)?,
            first_second: over_rounds(|figures| figures.first_second)?,
        })
    }

    /// The worst lateness of the control thread over the rounds that count.
    pub(crate) fn control(&self) -> f64 {
        self.rounds.iter().map(|round| round.control).fold(0.0, f64::max)
    }

    /// The number of samples over all rounds.
    pub(crate) fn samples(&self) -> usize {
        self.rounds.iter().map(|round| round.samples).sum()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A round with these percentiles.
    pub(crate) fn round(p50: f64, p99: f64) -> Round {
        let figures = Some(Figures { p50, p99, max: p99 * 2.0, first_second: p99 });
        Round { figures, samples: 1_000, control: 100.0, tries: 1 }
    }

    /// A cell with one round.
    pub(crate) fn cell(load: Load, source: Source, runtime: Runtime, figures: [f64; 2]) -> Cell {
        Cell { load, source, runtime, rounds: vec![round(figures[0], figures[1])] }
    }

    fn reading(samples: &[(u64, u64)]) -> Reading {
        let samples = samples.iter().map(|&(at, late)| Sample { at, late }).collect();
        Reading { samples, ..Reading::default() }
    }

    #[test]
    fn the_first_second_is_counted_separately() {
        let text = reading(&[(1_000, 9_000), (FIRST_SECOND - 1, 5_000), (FIRST_SECOND, 70_000)]);
        let figures = Round::new(&text, 3, 0.0).figures.unwrap();
        assert_eq!((figures.p50, figures.p99, figures.first_second), (9.0, 70.0, 9.0));
    }

    #[test]
    fn fewer_than_a_hundred_samples_are_no_figure_unless_fewer_were_asked_for() {
        let few: Vec<(u64, u64)> = (0..99).map(|n| (n, 1)).collect();
        let round = Round::new(&reading(&few), 1_000, 0.0);
        assert_eq!((round.figures, round.samples), (None, 99));
        assert!(Round::new(&reading(&few), 99, 0.0).figures.is_some());
        let enough: Vec<(u64, u64)> = (0..100).map(|n| (n, 1)).collect();
        assert!(Round::new(&reading(&enough), 1_000, 0.0).figures.is_some());
        assert_eq!(Round::new(&reading(&[]), 0, 0.0).figures, None);
    }

    #[test]
    fn the_control_of_the_process_counts_before_that_of_the_watcher() {
        let own = Reading { control: Some(7_000), ..reading(&[(1, 1)]) };
        assert_eq!(Round::new(&own, 1, 300.0).control, 7.0);
        assert_eq!(Round::new(&reading(&[(1, 1)]), 1, 300.0).control, 300.0);
    }

    #[test]
    fn the_try_with_the_least_late_control_counts() {
        let late = Round { control: 2_000.0, ..round(1.0, 2.0) };
        let less = Round { control: 1_500.0, ..round(5.0, 6.0) };
        let best = late.better(less).better(Round { control: 1_800.0, ..round(7.0, 8.0) });
        assert_eq!((best.figures.unwrap().p50, best.control, best.tries), (5.0, 1_500.0, 3));
    }

    #[test]
    fn a_figure_is_the_median_over_the_rounds() {
        let mut cell = cell(Load::None, Source::Timer, Runtime::Gmp, [9.0, 30.0]);
        cell.rounds.push(round(5.0, 10.0));
        cell.rounds.push(round(7.0, 20.0));
        let figures = cell.figures().unwrap();
        assert_eq!((figures.p50, figures.p99), (7.0, 20.0));
    }

    #[test]
    fn a_cell_is_done_if_most_of_its_rounds_are() {
        let mut cell = cell(Load::None, Source::Timer, Runtime::Gmp, [9.0, 30.0]);
        cell.rounds.push(round(5.0, 10.0));
        cell.rounds.push(Round::killed(0.0));
        assert_eq!(cell.figures().unwrap().p50, 9.0);
        cell.rounds.push(Round::killed(0.0));
        cell.rounds.push(Round::killed(0.0));
        assert_eq!(cell.figures(), None);
    }
}
