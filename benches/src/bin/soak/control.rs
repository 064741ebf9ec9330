//! A thread that only sleeps. By how much it is late is what the machine does to every thread.

use crate::world::now_micros;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A sleep, and the most by which it may be late.
const TICK: Duration = Duration::from_millis(1);

/// The time that it remembers: more than any bound.
const MEMORY: Duration = Duration::from_secs(20);

/// The control thread. Times are microseconds of the run.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// When it was late: from when it should have run until it ran.
    late: Mutex<VecDeque<(u64, u64)>>,
    /// When the present sleep began.
    asleep: AtomicU64,
}

impl Control {
    /// Runs the thread until the process ends.
    pub(crate) fn run(&self) -> ! {
        loop {
            let before = now_micros();
            self.asleep.store(before, Relaxed);
            std::thread::sleep(TICK);
            self.woke(before, now_micros());
        }
    }

    /// Records that a sleep from the time `before` has ended.
    fn woke(&self, before: u64, now: u64) {
        let mut late = self.late.lock();
        late.extend(lateness(before, now));
        let oldest = now.saturating_sub(MEMORY.as_micros() as u64);
        while late.front().is_some_and(|(_, until)| *until < oldest) {
            late.pop_front();
        }
    }

    /// Returns by how much it was late in the last `span`.
    pub(crate) fn lost_in(&self, span: Duration) -> Duration {
        self.lost_between(now_micros().saturating_sub(span.as_micros() as u64), now_micros())
    }

    fn lost_between(&self, from: u64, now: u64) -> Duration {
        let overlap = |(start, until): (u64, u64)| until.saturating_sub(start.max(from));
        let past: u64 = self.late.lock().iter().map(|late| overlap(*late)).sum();
        let present = lateness(self.asleep.load(Relaxed), now).map_or(0, overlap);
        Duration::from_micros(past + present)
    }
}

/// Returns when a sleep that began at the time `before` was late, if it was.
fn lateness(before: u64, now: u64) -> Option<(u64, u64)> {
    let tick = TICK.as_micros() as u64;
    (now > before + 2 * tick).then_some((before + tick, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lateness_within_the_span_counts() {
        let control = Control::default();
        control.asleep.store(50_000, Relaxed);
        control.woke(1_000, 3_000);
        assert_eq!(control.lost_between(0, 50_000), Duration::ZERO, "a tick late");
        control.woke(10_000, 21_000);
        control.woke(30_000, 36_000);
        let lost = |from, now| control.lost_between(from, now).as_micros();
        assert_eq!(lost(0, 50_000), 10_000 + 5_000);
        assert_eq!(lost(16_000, 50_000), 5_000 + 5_000);
        assert_eq!(lost(40_000, 50_000), 0);
        assert_eq!(lost(40_000, 60_000), 9_000, "it still sleeps");
    }

    #[test]
    fn what_is_long_ago_is_forgotten() {
        let control = Control::default();
        control.woke(0, 50_000);
        control.woke(0, 50_000 + MEMORY.as_micros() as u64 + 1);
        assert_eq!(control.late.lock().len(), 1);
    }
}
