//! `DurationTally`: counts of durations by length.
//!
//! The buckets are powers of two of about a microsecond. So a duration is counted by two additions
//! with plain loads and stores, and a histogram is 25 words. One thread at a time writes it.

use super::tally::Tally;
use std::ops::{AddAssign, Sub};

/// The number of buckets of a [`DurationTally`].
pub(crate) const BUCKETS: usize = 24;

/// Returns the bucket of a duration of `nanos`. Bucket 0 is below 1.024 µs. The upper bound of each
/// bucket is twice that of the bucket before. The last bucket has no upper bound.
fn bucket(nanos: u64) -> usize {
    ((u64::BITS - (nanos >> 10).leading_zeros()) as usize).min(BUCKETS - 1)
}

/// Returns the upper bound of bucket `n` in nanoseconds; `None` for the last one.
pub(crate) fn upper_bound(n: usize) -> Option<u64> {
    (n < BUCKETS - 1).then(|| 1 << (10 + n))
}

/// Counts durations by length.
#[derive(Debug, Default)]
pub(crate) struct DurationTally {
    counts: [Tally; BUCKETS],
    sum: Tally,
}

impl DurationTally {
    /// Counts a duration of `nanos`. Only for the writer.
    pub(crate) fn record(&self, nanos: u64) {
        self.counts[bucket(nanos)].add(1);
        self.sum.add(nanos);
    }

    /// Returns the counts.
    pub(crate) fn get(&self) -> Durations {
        Durations { counts: self.counts.each_ref().map(Tally::get), sum: self.sum.get() }
    }
}

/// The counts of a [`DurationTally`], or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Durations {
    pub(crate) counts: [u64; BUCKETS],
    /// The sum of all durations in nanoseconds.
    pub(crate) sum: u64,
}

impl AddAssign for Durations {
    fn add_assign(&mut self, other: Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, other)| *count += other);
        self.sum += other.sum;
    }
}

impl Sub for Durations {
    type Output = Self;

    fn sub(mut self, other: Self) -> Self {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, other)| *count -= other);
        self.sum -= other.sum;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_where_the_next_one_begins() {
        for n in 0..BUCKETS - 1 {
            let bound = upper_bound(n).unwrap();
            assert_eq!((bucket(bound - 1), bucket(bound)), (n, n + 1));
        }
        assert_eq!((bucket(0), upper_bound(0)), (0, Some(1024)));
        assert_eq!((bucket(u64::MAX), upper_bound(BUCKETS - 1)), (BUCKETS - 1, None));
    }
}
