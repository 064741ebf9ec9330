//! A cheap random number generator: xorshift64* (Go: `cheaprand`). Not for secrets.

use std::cell::Cell;

/// One stream of pseudo-random numbers, for one thread or one P.
#[derive(Debug)]
pub(crate) struct Rand(Cell<u64>);

impl Rand {
    /// Makes a stream from any `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        // A zero state would stay zero.
        Self(Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
    }

    /// Returns the next number.
    #[inline]
    pub(crate) fn next_u32(&self) -> u32 {
        let mut x = self.0.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.0.set(x);
        (x.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
    }
}
