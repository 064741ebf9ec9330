//! A row of the table: the figures of one workload, by entrant and round. Less is better.

use crate::entrant::{Allocator, Entrant, Runtime};
use crate::verdict::{Verdict, judge, judge_instructions};
use serde::{Deserialize, Serialize};

/// The figures of one entrant, one for each round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cell {
    #[serde(flatten)]
    pub(crate) entrant: Entrant,
    pub(crate) figures: Vec<f64>,
}

/// The second measurement of a suspected row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Confirmation {
    pub(crate) allocator: Allocator,
    pub(crate) by: Method,
    pub(crate) gmp: Vec<f64>,
    pub(crate) base: Vec<f64>,
}

/// The way a suspected row is measured again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Method {
    /// More rounds, with nothing but this row.
    Rounds,
    /// Instructions per operation.
    Instructions,
}

impl Confirmation {
    /// Whether the second measurement also finds the new build worse.
    fn is_worse(&self) -> bool {
        match self.by {
            Method::Rounds => judge(&self.gmp, &self.base) == Verdict::Suspected,
            Method::Instructions => match (median(&self.gmp), median(&self.base)) {
                (Some(gmp), Some(base)) => judge_instructions(gmp, base) == Verdict::Worse,
                _ => false,
            },
        }
    }
}

/// The smaller of the two ratios of a row, and the allocator that gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    pub(crate) allocator: Allocator,
}

/// One row. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) cells: Vec<Cell>,
    /// The reruns of a suspected row, else empty.
    #[serde(default)]
    pub(crate) confirmations: Vec<Confirmation>,
}

impl Row {
    /// A row without figures.
    pub(crate) fn new(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { name: name.into(), unit: unit.into(), cells: Vec::new(), confirmations: Vec::new() }
    }

    /// Adds the figure of one more round.
    pub(crate) fn push(&mut self, entrant: Entrant, figure: f64) {
        match self.cells.iter_mut().find(|cell| cell.entrant == entrant) {
            Some(cell) => cell.figures.push(figure),
            None => self.cells.push(Cell { entrant, figures: vec![figure] }),
        }
    }

    /// The figures of a runtime in the comparison with this allocator. Go counts in both.
    pub(crate) fn figures(&self, runtime: Runtime, allocator: Allocator) -> Option<&[f64]> {
        let belongs = |cell: &&Cell| {
            cell.entrant.runtime == runtime
                && cell.entrant.allocator.is_none_or(|other| other == allocator)
        };
        self.cells.iter().find(belongs).map(|cell| cell.figures.as_slice())
    }

    /// The median of a runtime in the comparison with this allocator.
    pub(crate) fn median(&self, runtime: Runtime, allocator: Allocator) -> Option<f64> {
        self.figures(runtime, allocator).and_then(median)
    }

    /// The least and the greatest figure of a runtime in the comparison with this allocator.
    pub(crate) fn spread(&self, runtime: Runtime, allocator: Allocator) -> Option<(f64, f64)> {
        self.figures(runtime, allocator).and_then(spread)
    }

    /// The best peer's median divided by gmp's, with this allocator. Above 1, gmp wins.
    pub(crate) fn ratio_with(&self, allocator: Allocator) -> Option<f64> {
        let gmp = self.median(Runtime::Gmp, allocator)?;
        let peers = Runtime::PEERS.iter().filter_map(|peer| self.median(*peer, allocator));
        Some(peers.min_by(f64::total_cmp)? / gmp).filter(|ratio| ratio.is_finite())
    }

    /// The smaller of the ratios with the two allocators.
    pub(crate) fn ratio(&self) -> Option<Ratio> {
        let with = |allocator| self.ratio_with(allocator).map(|value| Ratio { value, allocator });
        let ratios = Allocator::ALL.into_iter().filter_map(with);
        ratios.min_by(|a, b| a.value.total_cmp(&b.value))
    }

    /// The baseline's median divided by gmp's. Above 1, the new build needs less.
    pub(crate) fn ratio_to_base(&self, allocator: Allocator) -> Option<f64> {
        let base = self.median(Runtime::Base, allocator)?;
        Some(base / self.median(Runtime::Gmp, allocator)?).filter(|ratio| ratio.is_finite())
    }

    /// The verdict on the new build. Returns `None` if the baseline has no figure for the row.
    pub(crate) fn verdict(&self, allocator: Allocator) -> Option<Verdict> {
        let gmp = self.figures(Runtime::Gmp, allocator)?;
        let first = judge(gmp, self.figures(Runtime::Base, allocator)?);
        let confirmation = self.confirmations.iter().find(|again| again.allocator == allocator);
        Some(match (first, confirmation) {
            (Verdict::Suspected, Some(again)) if again.is_worse() => Verdict::Worse,
            (Verdict::Suspected, Some(_)) => Verdict::Noise,
            (verdict, _) => verdict,
        })
    }

    /// The allocators with which this row has figures of gmp.
    pub(crate) fn allocators(&self) -> impl Iterator<Item = Allocator> {
        Allocator::ALL.into_iter().filter(|one| self.figures(Runtime::Gmp, *one).is_some())
    }

    /// The number of rounds: the least over the entrants.
    pub(crate) fn rounds(&self) -> usize {
        self.cells.iter().map(|cell| cell.figures.len()).min().unwrap_or(0)
    }
}

/// The middle figure.
pub(crate) fn median(figures: &[f64]) -> Option<f64> {
    percentile(figures, 0.5)
}

/// Returns the figure below which `part` of the figures are.
pub(crate) fn percentile(figures: &[f64], part: f64) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() as f64 * part) as usize).copied()
}

/// The least and the greatest figure.
pub(crate) fn spread(figures: &[f64]) -> Option<(f64, f64)> {
    let least = figures.iter().copied().min_by(f64::total_cmp)?;
    Some((least, figures.iter().copied().max_by(f64::total_cmp)?))
}

/// A figure with a number of digits that fits its size.
pub(crate) fn figure(value: f64) -> String {
    match value {
        v if v >= 1000.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entrant::Allocator::{Malloc, Mimalloc};

    /// gmp, Tokio, smol with malloc; the same with mimalloc; Go.
    fn row(malloc: [f64; 3], mimalloc: [f64; 3], go: f64) -> Row {
        let mut row = Row::new("yield", "ns");
        for (allocator, figures) in [(Malloc, malloc), (Mimalloc, mimalloc)] {
            for (runtime, figure) in
                [Runtime::Gmp, Runtime::Tokio, Runtime::Smol].into_iter().zip(figures)
            {
                row.push(Entrant::rust(runtime, allocator), figure);
            }
        }
        row.push(Entrant::GO, go);
        row
    }

    #[test]
    fn a_percentile_is_the_figure_above_its_part() {
        let figures: Vec<f64> = (0..100).rev().map(f64::from).collect();
        assert_eq!(percentile(&figures, 0.99), Some(99.0));
        assert_eq!(percentile(&figures, 0.5), Some(50.0));
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn the_ratio_is_the_smaller_of_the_two_allocators() {
        let tokio_gains = row([10.0, 50.0, 60.0], [10.0, 20.0, 60.0], 100.0);
        assert_eq!(tokio_gains.ratio_with(Malloc), Some(5.0));
        assert_eq!(tokio_gains.ratio(), Some(Ratio { value: 2.0, allocator: Mimalloc }));
        let gmp_gains = row([20.0, 50.0, 60.0], [10.0, 50.0, 60.0], 100.0);
        assert_eq!(gmp_gains.ratio(), Some(Ratio { value: 2.5, allocator: Malloc }));
    }

    #[test]
    fn the_best_peer_counts_and_go_counts_with_both_allocators() {
        let best_is_smol = row([10.0, 50.0, 30.0], [10.0, 50.0, 40.0], 100.0);
        assert_eq!(best_is_smol.ratio_with(Malloc), Some(3.0));
        assert_eq!(best_is_smol.ratio_with(Mimalloc), Some(4.0));
        let best_is_go = row([10.0, 50.0, 30.0], [5.0, 50.0, 40.0], 20.0);
        assert_eq!(best_is_go.ratio_with(Malloc), Some(2.0));
        assert_eq!(best_is_go.ratio_with(Mimalloc), Some(4.0));
    }

    #[test]
    fn the_baseline_is_no_peer() {
        let mut row = row([10.0, 50.0, 30.0], [10.0, 50.0, 30.0], 100.0);
        row.push(Entrant::rust(Runtime::Base, Malloc), 5.0);
        assert_eq!(row.ratio().map(|ratio| ratio.value), Some(3.0));
        assert_eq!(row.ratio_to_base(Malloc), Some(0.5));
        assert_eq!(row.ratio_to_base(Mimalloc), None);
    }

    #[test]
    fn a_row_without_peers_has_no_ratio() {
        let mut row = Row::new("yield", "ns");
        row.push(Entrant::rust(Runtime::Gmp, Malloc), 10.0);
        assert_eq!(row.ratio(), None);
        assert_eq!(row.verdict(Malloc), None);
    }

    /// Nine rounds in which gmp needs a tenth more than the baseline.
    fn suspected() -> Row {
        let mut row = Row::new("yield", "ns");
        for _ in 0..9 {
            row.push(Entrant::rust(Runtime::Gmp, Malloc), 110.0);
            row.push(Entrant::rust(Runtime::Base, Malloc), 100.0);
        }
        row
    }

    fn again(by: Method, gmp: f64) -> Confirmation {
        let rounds = if by == Method::Rounds { 15 } else { 1 };
        Confirmation { allocator: Malloc, by, gmp: vec![gmp; rounds], base: vec![100.0; rounds] }
    }

    #[test]
    fn a_suspected_row_is_worse_only_if_the_rerun_confirms_it() {
        for by in [Method::Rounds, Method::Instructions] {
            let mut row = suspected();
            assert_eq!(row.verdict(Malloc), Some(Verdict::Suspected));
            row.confirmations = vec![again(by, 103.0)];
            assert_eq!(row.verdict(Malloc), Some(Verdict::Noise));
            row.confirmations = vec![again(by, 108.0)];
            assert_eq!(row.verdict(Malloc), Some(Verdict::Worse));
        }
    }

    #[test]
    fn a_rerun_with_the_other_allocator_confirms_nothing() {
        let mut row = suspected();
        row.confirmations =
            vec![Confirmation { allocator: Mimalloc, ..again(Method::Rounds, 108.0) }];
        assert_eq!(row.verdict(Malloc), Some(Verdict::Suspected));
    }
}
