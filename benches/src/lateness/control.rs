//! The control thread: a plain thread that sleeps and measures its own lateness.
//!
//! The machine delays it as it delays the contestant. A round in which it was late says little
//! about the contestant.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The sleep of a control thread.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// Sleeps `tick` at a time until `look` breaks. Returns the worst lateness and the value of `look`.
pub(crate) fn run<T>(tick: Duration, mut look: impl FnMut() -> ControlFlow<T>) -> (Duration, T) {
    let mut worst = Duration::ZERO;
    loop {
        if let ControlFlow::Break(value) = look() {
            return (worst, value);
        }
        let start = Instant::now();
        std::thread::sleep(tick);
        worst = worst.max(start.elapsed().saturating_sub(tick));
    }
}
