//! A fixed amount of computation, the same in Rust and in Go.

use std::hint::black_box;

/// Steps of [`work`] for one microsecond at 3 GHz. A step is six instructions, each of which needs
/// the result of the previous one.
const STEPS_PER_MICRO: u64 = 500;

/// Computes for about `micros` microseconds.
///
/// The amount of work is fixed. A loop that ends by the clock would also end while its thread has
/// no CPU, and more threads than CPUs would seem to compute at no cost.
pub(crate) fn work(micros: u64) {
    let mut state: u64 = black_box(1);
    for _ in 0..micros * STEPS_PER_MICRO {
        state = step(state);
    }
    assert_ne!(black_box(state), 0, "a step never gives 0");
}

/// One step of xorshift.
fn step(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_gives_the_known_sequence_of_xorshift() {
        // The generator xorshift64 of Marsaglia (13, 7, 17) with the seed 1.
        assert_eq!(step(1), 1_082_269_761);
        assert_eq!(step(step(1)), 1_152_992_998_833_853_505);
    }
}
