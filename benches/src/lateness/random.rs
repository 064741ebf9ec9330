//! Random numbers for the gaps between events and for the lengths of computing polls.

use std::time::Duration;

/// A xorshift generator. Equal seeds give equal sequences.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator for this seed.
    pub(crate) fn new(seed: u64) -> Self {
        // The state must not be zero.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) % bound
    }

    /// Returns a duration between 0.9 and 1.1 times `mean`. Polls of one fixed length could keep
    /// step with the events.
    pub(crate) fn about(&mut self, mean: Duration) -> Duration {
        let nanos = mean.as_nanos() as u64;
        Duration::from_nanos(nanos * 9 / 10 + self.below(nanos / 5 + 1))
    }

    /// Returns the time to the next event: 0.5 to 3.5 ms.
    pub(crate) fn gap(&mut self) -> Duration {
        Duration::from_micros(500 + self.below(3_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_stay_within_a_tenth_of_the_mean_and_differ() {
        let mut random = Random::new(7);
        let mean = Duration::from_micros(50);
        let lengths: Vec<Duration> = (0..1_000).map(|_| random.about(mean)).collect();
        assert!(lengths.iter().all(|length| (45..=55).contains(&length.as_micros())));
        assert!(lengths.iter().any(|length| length.as_micros() < 47));
        assert!(lengths.iter().any(|length| length.as_micros() > 52));
    }

    #[test]
    fn gaps_stay_within_their_bounds() {
        let mut random = Random::new(0);
        assert!((0..1_000).all(|_| (500..3_500).contains(&random.gap().as_micros())));
    }
}
