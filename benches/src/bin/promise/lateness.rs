//! Samples of lateness, and their percentiles.

use std::fmt;
use std::time::Duration;

/// Times from an event to the goroutine that it concerns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lateness(Vec<Duration>);

impl Lateness {
    pub(crate) fn push(&mut self, late: Duration) {
        self.0.push(late);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the value that `percent` of the samples do not exceed; zero without samples.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100);
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    pub(crate) fn worst(&self) -> Duration {
        self.percentile(100)
    }
}

impl fmt::Display for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (half, most, worst) = (self.percentile(50), self.percentile(99), self.worst());
        write!(f, "p50 {half:.2?}, p99 {most:.2?}, max {worst:.2?} ({} samples)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.percentile(99), Duration::ZERO);
        (1..=200).rev().for_each(|ms| lateness.push(Duration::from_millis(ms)));
        assert_eq!(lateness.percentile(50), Duration::from_millis(100));
        assert_eq!(lateness.percentile(99), Duration::from_millis(198));
        assert_eq!(lateness.worst(), Duration::from_millis(200));
    }
}
