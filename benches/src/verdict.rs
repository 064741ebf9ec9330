//! The rule that decides whether a row became worse "beyond noise".
//!
//! A row is suspected if, over at least [`ROUNDS`] interleaved rounds, the median of the new build
//! is worse by more than [`MARGIN`] and lies outside the baseline's spread. A suspected row is
//! rerun alone with [`CONFIRM_ROUNDS`] rounds. It is worse beyond noise if the rerun gives the same
//! answer. A row whose work runs on one thread is confirmed by instruction counts instead of a
//! rerun.

use crate::row::{median, spread};

/// The smallest number of rounds that gives a verdict.
pub(crate) const ROUNDS: usize = 9;

/// The number of rounds of the rerun.
pub(crate) const CONFIRM_ROUNDS: usize = 15;

/// The smallest change that counts, as a factor.
const MARGIN: f64 = 1.05;

/// The result of comparing a new build with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// One of the two has fewer than [`ROUNDS`] figures.
    TooFewRounds,
    /// The difference is small, or lies within the baseline's spread.
    Noise,
    /// The new build needs less.
    Better,
    /// The new build needs more; not confirmed yet.
    Suspected,
    /// The new build needs more, and a second measurement confirms it.
    Worse,
}

impl Verdict {
    /// The word in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TooFewRounds => "too few rounds",
            Self::Noise => "noise",
            Self::Better => "better",
            Self::Suspected => "worse?",
            Self::Worse => "WORSE",
        }
    }
}

/// Compares the rounds of the new build with the rounds of the baseline. Less is better.
pub(crate) fn judge(new: &[f64], base: &[f64]) -> Verdict {
    let (Some(now), Some(before)) = (median(new), median(base)) else {
        return Verdict::TooFewRounds;
    };
    let Some((least, greatest)) = spread(base) else { return Verdict::TooFewRounds };
    if new.len() < ROUNDS || base.len() < ROUNDS {
        Verdict::TooFewRounds
    } else if now > before * MARGIN && now > greatest {
        Verdict::Suspected
    } else if now * MARGIN < before && now < least {
        Verdict::Better
    } else {
        Verdict::Noise
    }
}

/// Compares two instruction counts. They have no spread, so the margin alone decides.
pub(crate) fn judge_instructions(new: f64, base: f64) -> Verdict {
    if new > base * MARGIN {
        Verdict::Worse
    } else if new * MARGIN < base {
        Verdict::Better
    } else {
        Verdict::Noise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(n: usize, value: f64) -> Vec<f64> {
        vec![value; n]
    }

    #[test]
    fn a_median_beyond_margin_and_spread_is_suspected() {
        assert_eq!(judge(&rounds(9, 106.0), &rounds(9, 100.0)), Verdict::Suspected);
        assert_eq!(judge(&rounds(9, 94.0), &rounds(9, 100.0)), Verdict::Better);
    }

    #[test]
    fn a_change_within_the_margin_is_noise() {
        assert_eq!(judge(&rounds(9, 105.0), &rounds(9, 100.0)), Verdict::Noise);
        assert_eq!(judge(&rounds(9, 96.0), &rounds(9, 100.0)), Verdict::Noise);
    }

    #[test]
    fn a_median_within_the_spread_of_the_baseline_is_noise() {
        let mut base = rounds(9, 100.0);
        (base[3], base[5]) = (50.0, 150.0);
        assert_eq!(judge(&rounds(9, 140.0), &base), Verdict::Noise);
        assert_eq!(judge(&rounds(9, 60.0), &base), Verdict::Noise);
        assert_eq!(judge(&rounds(9, 151.0), &base), Verdict::Suspected);
        assert_eq!(judge(&rounds(9, 49.0), &base), Verdict::Better);
    }

    #[test]
    fn the_spread_of_the_new_build_does_not_matter() {
        let mut new = rounds(9, 110.0);
        (new[0], new[1]) = (90.0, 500.0);
        assert_eq!(judge(&new, &rounds(9, 100.0)), Verdict::Suspected);
    }

    #[test]
    fn fewer_than_nine_rounds_of_either_give_no_verdict() {
        assert_eq!(judge(&rounds(8, 200.0), &rounds(9, 100.0)), Verdict::TooFewRounds);
        assert_eq!(judge(&rounds(9, 200.0), &rounds(8, 100.0)), Verdict::TooFewRounds);
        assert_eq!(judge(&[], &[]), Verdict::TooFewRounds);
    }

    #[test]
    fn instructions_are_judged_by_the_margin_alone() {
        assert_eq!(judge_instructions(106.0, 100.0), Verdict::Worse);
        assert_eq!(judge_instructions(104.0, 100.0), Verdict::Noise);
        assert_eq!(judge_instructions(90.0, 100.0), Verdict::Better);
    }
}
