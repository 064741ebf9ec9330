//! The figures of one workload.

use std::collections::BTreeMap;

/// Who takes part, gmp first.
pub(crate) const CONTESTANTS: [&str; 4] = ["gmp", "tokio", "smol", "go"];

/// One workload's figures, one per round, by contestant. Less is better.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) cells: BTreeMap<&'static str, Vec<f64>>,
}

/// The middle one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Row {
    /// The median of a contestant, if it takes part.
    pub(crate) fn median(&self, who: &str) -> Option<f64> {
        self.cells.get(who).map(|figures| median(figures.clone()))
    }

    /// The least and the greatest figure of a contestant.
    pub(crate) fn spread(&self, who: &str) -> Option<(f64, f64)> {
        let figures = self.cells.get(who)?;
        let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some((least, greatest))
    }

    /// How many times less than the best peer gmp needs.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let peers = CONTESTANTS[1..].iter().filter_map(|peer| self.median(peer));
        let best = peers.min_by(f64::total_cmp)?;
        Some(best / self.median("gmp")?)
    }
}

/// The geometric mean of the ratios of all rows.
pub(crate) fn mean_ratio(rows: &[Row]) -> f64 {
    let logs: Vec<f64> = rows.iter().filter_map(Row::ratio).map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

/// A figure with as many digits as it deserves.
pub(crate) fn figure(value: f64) -> String {
    match value {
        v if v >= 1000.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}
