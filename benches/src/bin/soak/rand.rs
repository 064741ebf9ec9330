//! Pseudo-random numbers (SplitMix64): the seed determines the operations that each worker draws.

use std::time::Duration;

/// A generator; each worker and each operation has its own.
#[derive(Clone, Debug)]
pub(crate) struct Rand(u64);

impl Rand {
    /// Creates a generator.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Creates the generator of number `stream` of `seed`: independent of its neighbours.
    pub(crate) fn stream(seed: u64, stream: u64) -> Self {
        let mut rand = Self(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        Self(rand.next())
    }

    /// Returns the next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// [`below`](Self::below) for sizes.
    pub(crate) fn size(&mut self, bound: usize) -> usize {
        self.below(bound as u64) as usize
    }

    /// Returns true once in `n` times.
    pub(crate) fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Returns a duration below `bound` microseconds.
    pub(crate) fn micros(&mut self, bound: u64) -> Duration {
        Duration::from_micros(self.below(bound))
    }

    /// Chooses one of `choices`.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.size(choices.len())]
    }

    /// Returns a generator for another goroutine.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }
}
