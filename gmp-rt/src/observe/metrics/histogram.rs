//! `Histogram`: the distribution of a duration.

use crate::util::duration_tally::{BUCKETS, Durations, upper_bound};
use std::time::Duration;

/// The distribution of a duration, in buckets whose bounds double: below 1.024 µs, 2.048 µs and so
/// on up to 4.3 s.
///
/// All counts begin with the runtime. The difference of two snapshots shows the time between them.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use std::time::Duration;
///
/// gmp::block_on(gmp::sleep(Duration::from_millis(2)));
/// let lateness = gmp::runtime::metrics().timers.lateness;
/// println!("p99 of timers: {:?} of {}", lateness.quantile(0.99), lateness.count());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(Durations);

impl Histogram {
    /// Iterates over the buckets: each exclusive upper bound, and the number of durations between
    /// the bound before and this one. The last bound is [`Duration::MAX`].
    pub fn buckets(&self) -> impl ExactSizeIterator<Item = (Duration, u64)> + '_ {
        (0..BUCKETS).map(|n| (bound(n), self.0.counts[n]))
    }

    /// Returns the number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.counts.iter().sum()
    }

    /// Returns the sum of the durations.
    #[must_use]
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.0.sum)
    }

    /// Returns a duration that a fraction `q` of the durations does not exceed: the upper bound of
    /// the bucket of the quantile `q`. Returns zero if nothing was counted.
    ///
    /// A fraction below 0 or above 1 counts as 0 or 1. In the last bucket the result is
    /// [`Duration::MAX`].
    #[must_use]
    pub fn quantile(&self, q: f64) -> Duration {
        let rank = (q.clamp(0.0, 1.0) * self.count() as f64).ceil().max(1.0) as u64;
        let mut counted = 0;
        let reaches_rank = |count: &u64| {
            counted += count;
            counted >= rank
        };
        self.0.counts.iter().position(reaches_rank).map_or(Duration::ZERO, bound)
    }

    /// Adds the counts of another histogram.
    pub(super) fn merge(&mut self, other: &Self) {
        self.0 += other.0;
    }
}

impl From<Durations> for Histogram {
    fn from(durations: Durations) -> Self {
        Self(durations)
    }
}

fn bound(n: usize) -> Duration {
    upper_bound(n).map_or(Duration::MAX, Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(nanos: &[u64]) -> Histogram {
        let histogram = crate::util::duration_tally::DurationTally::default();
        nanos.iter().for_each(|nanos| histogram.record(*nanos));
        histogram.get().into()
    }

    #[test]
    fn a_quantile_is_the_bound_of_its_bucket() {
        let histogram = of(&[500, 1_500, 1_600, 1_000_000]);
        let bound = |nanos| Duration::from_nanos(nanos);
        assert_eq!(histogram.quantile(0.0), bound(1_024));
        assert_eq!(histogram.quantile(0.25), bound(1_024));
        assert_eq!(histogram.quantile(0.5), bound(2_048));
        assert_eq!(histogram.quantile(0.75), bound(2_048));
        assert_eq!(histogram.quantile(0.76), bound(1 << 20));
        assert_eq!(histogram.quantile(7.0), bound(1 << 20));
        assert_eq!(of(&[u64::MAX]).quantile(1.0), Duration::MAX);
        assert_eq!(of(&[]).quantile(0.5), Duration::ZERO);
        assert_eq!(of(&[]).quantile(f64::NAN), Duration::ZERO);
    }

    #[test]
    fn buckets_contain_all_durations() {
        let histogram = of(&[1, 2_000, 3_000]);
        assert_eq!((histogram.count(), histogram.sum()), (3, Duration::from_nanos(5_001)));
        assert_eq!(histogram.buckets().map(|(_, count)| count).sum::<u64>(), 3);
        let bounds: Vec<Duration> = histogram.buckets().map(|(bound, _)| bound).collect();
        assert!(bounds.is_sorted());
        assert_eq!(bounds.last(), Some(&Duration::MAX));
    }
}
