//! The limits of a cell, and whether gmp stays within them. All times are in µs.
//!
//! A load with short polls: p50 at most [`SHORT_P50`] and p99 at most [`SHORT_P99`], or
//! [`FACTOR_P50`] and [`FACTOR_P99`] times the best peer if that is more. A load with long polls:
//! these multiples of the best peer and one poll. No p99 above [`MOST`], also in the first second.

use super::figures::Figures;
use super::names::{Load, Polls};

const SHORT_P50: f64 = 60.0;
const SHORT_P99: f64 = 250.0;
const FACTOR_P50: f64 = 1.1;
const FACTOR_P99: f64 = 1.25;
const MOST: f64 = 15_000.0;

/// The best peer of a cell. Each figure is the least of all peers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Best {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Best {
    /// The least figures. Returns `None` without a peer that was done.
    pub(crate) fn of(peers: impl Iterator<Item = Figures>) -> Option<Self> {
        peers.fold(None, |best: Option<Self>, peer| {
            let best = best.unwrap_or(Self { p50: peer.p50, p99: peer.p99 });
            Some(Self { p50: best.p50.min(peer.p50), p99: best.p99.min(peer.p99) })
        })
    }
}

/// The limits of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) first_second: f64,
}

impl Limits {
    /// The limits beside this load, whose longest poll takes `longest`.
    pub(crate) fn new(load: Load, longest: Option<f64>, best: Option<Best>) -> Self {
        let times = |factor: f64, pick: fn(&Best) -> f64| best.as_ref().map(|b| factor * pick(b));
        let peer = (times(FACTOR_P50, |best| best.p50), times(FACTOR_P99, |best| best.p99));
        let (p50, p99) = match load.polls() {
            Polls::Short => {
                (peer.0.unwrap_or(0.0).max(SHORT_P50), peer.1.unwrap_or(0.0).max(SHORT_P99))
            }
            Polls::Long => {
                let poll = load.allowed_poll(longest);
                // Without a peer only the greatest limit applies.
                (peer.0.unwrap_or(MOST) + poll, peer.1.unwrap_or(MOST) + poll)
            }
        };
        Self { p50, p99: p99.min(MOST), first_second: MOST }
    }

    /// Judges a cell. `None` is a cell that was not done.
    pub(crate) fn judge(self, figures: Option<Figures>) -> Verdict {
        let Some(figures) = figures else { return Verdict::NotDone };
        let checks = [
            ("p50", figures.p50, self.p50),
            ("p99", figures.p99, self.p99),
            ("p99 in the first second", figures.first_second, self.first_second),
        ];
        let over = checks.into_iter().filter(|(_, value, limit)| value > limit);
        let over: Vec<Excess> =
            over.map(|(figure, value, limit)| Excess { figure, value, limit }).collect();
        if over.is_empty() { Verdict::Holds } else { Verdict::Exceeds(over) }
    }

    /// The greatest ratio of a figure to its limit. Above 1, a limit is exceeded.
    pub(crate) fn heat(self, figures: Figures) -> f64 {
        let ratios = [
            figures.p50 / self.p50,
            figures.p99 / self.p99,
            figures.first_second / self.first_second,
        ];
        ratios.into_iter().fold(0.0, f64::max)
    }
}

/// A figure above its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Excess {
    pub(crate) figure: &'static str,
    pub(crate) value: f64,
    pub(crate) limit: f64,
}

/// Whether a cell stays within its limits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Holds,
    Exceeds(Vec<Excess>),
    NotDone,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(p50: f64, p99: f64) -> Figures {
        Figures { p50, p99, max: p99, first_second: p99 }
    }

    fn best(p50: f64, p99: f64) -> Option<Best> {
        Some(Best { p50, p99 })
    }

    fn names(verdict: &Verdict) -> Vec<&'static str> {
        match verdict {
            Verdict::Exceeds(over) => over.iter().map(|excess| excess.figure).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_best_peer_is_the_least_of_each_figure() {
        let peers = [figures(5.0, 90.0), figures(9.0, 40.0)];
        assert_eq!(Best::of(peers.into_iter()), best(5.0, 40.0));
        assert_eq!(Best::of([].into_iter()), None);
    }

    #[test]
    fn short_polls_have_fixed_limits_unless_the_best_peer_is_later() {
        let limits = Limits::new(Load::PairsFew, None, best(1.0, 10.0));
        assert_eq!((limits.p50, limits.p99), (60.0, 250.0));
        assert_eq!(Limits::new(Load::PairsFew, None, None), limits);
        let limits = Limits::new(Load::PairsFew, None, best(100.0, 400.0));
        assert_eq!((limits.p50.round(), limits.p99), (110.0, 500.0));
        // Each figure has its own rule.
        let limits = Limits::new(Load::PairsFew, None, best(10.0, 400.0));
        assert_eq!((limits.p50, limits.p99), (60.0, 500.0));
    }

    #[test]
    fn long_polls_add_one_poll_to_the_best_peer() {
        let limits = Limits::new(Load::Blockers, Some(5_000.0), best(100.0, 400.0));
        assert_eq!((limits.p50.round(), limits.p99), (5_110.0, 5_500.0));
        let limits = Limits::new(Load::Checkpoint, Some(50.0), best(100.0, 400.0));
        assert_eq!((limits.p50.round(), limits.p99), (10_110.0, 10_500.0));
    }

    #[test]
    fn no_p99_above_fifteen_milliseconds_is_allowed() {
        let limits = Limits::new(Load::Checkpoint, None, best(100.0, 90_000.0));
        assert_eq!(limits.p99, 15_000.0);
        let limits = Limits::new(Load::PairsMany, None, best(100.0, 90_000.0));
        assert_eq!(limits.p99, 15_000.0);
        assert_eq!(Limits::new(Load::Hogs, Some(5_000.0), None).p99, 15_000.0);
    }

    #[test]
    fn a_verdict_names_every_figure_above_its_limit() {
        let limits = Limits::new(Load::None, None, None);
        assert_eq!(limits.judge(Some(figures(60.0, 250.0))), Verdict::Holds);
        assert_eq!(names(&limits.judge(Some(figures(61.0, 250.0)))), ["p50"]);
        assert_eq!(names(&limits.judge(Some(figures(61.0, 251.0)))), ["p50", "p99"]);
        let slow_start = Figures { first_second: 16_000.0, ..figures(1.0, 2.0) };
        assert_eq!(names(&limits.judge(Some(slow_start))), ["p99 in the first second"]);
        assert_eq!(limits.judge(None), Verdict::NotDone);
    }

    #[test]
    fn the_heat_is_the_greatest_ratio_to_a_limit() {
        let limits = Limits::new(Load::None, None, None);
        assert_eq!(limits.heat(figures(30.0, 500.0)), 2.0);
        assert_eq!(limits.heat(figures(120.0, 250.0)), 2.0);
        assert_eq!(limits.heat(Figures { first_second: 60_000.0, ..figures(1.0, 1.0) }), 4.0);
    }
}
