//! A poll whose P was handed off because it blocked, and that may compute later.
//!
//! Its thread then computes without a P, and has to be paused like a thread whose P was handed
//! off because it computed ([`super::pause`]). Sysmon detects this by the CPU clock of the thread.

use crate::tuning::{COMPUTING_AFTER, SLICE, SLOW_CHECK};
use crate::util::clock;
use std::time::Duration;

/// What sysmon knows of such a poll. See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Away {
    /// The CPU time of the thread at the last check.
    cpu: u64,
    /// The CPU time of the thread when it was last seen asleep, as far as that is known.
    asleep_cpu: u64,
    /// When it is checked again, and the time between the last two checks.
    pub(super) check_at: u64,
    pace: u64,
}

impl Away {
    /// The time between two checks: at first, and at most. Chosen: a slice; and so that thousands
    /// of blocked threads cost sysmon less than a percent of its time.
    const PACE: Duration = SLICE;
    const PACE_MAX: Duration = SLOW_CHECK;

    pub(super) fn new(cpu: u64, now: u64) -> Self {
        let pace = clock::nanos(Self::PACE);
        Self { cpu, asleep_cpu: cpu, check_at: now + pace, pace }
    }

    /// Checks the CPU time of the thread. Returns whether the thread computes. A thread that still
    /// sleeps is checked ever less often.
    ///
    /// The CPU time adds up over several checks, because many threads may share the CPUs. Some
    /// threads sleep most of the time and run often. So `is_awake` is called when the sum is large
    /// enough.
    pub(super) fn check(&mut self, cpu: u64, now: u64, is_awake: impl FnOnce() -> bool) -> bool {
        let used = cpu.saturating_sub(std::mem::replace(&mut self.cpu, cpu));
        self.pace = match used {
            0 => (2 * self.pace).min(clock::nanos(Self::PACE_MAX)),
            _ => clock::nanos(Self::PACE),
        };
        self.check_at = now + self.pace;
        if cpu.saturating_sub(self.asleep_cpu) < clock::nanos(COMPUTING_AFTER) {
            return false;
        }
        let is_awake = is_awake();
        if !is_awake {
            self.asleep_cpu = cpu;
        }
        is_awake
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: u64 = Away::PACE.as_nanos() as u64;

    fn unasked() -> bool {
        panic!("the thread has used too little CPU time")
    }

    #[test]
    fn a_sleeping_thread_is_checked_ever_less_often() {
        let mut away = Away::new(5, 0);
        assert_eq!(away.check_at, PACE);
        assert!(!away.check(5, PACE, unasked));
        assert_eq!(away.check_at, 3 * PACE);
        (0..20).for_each(|_| assert!(!away.check(5, 3 * PACE, unasked)));
        assert_eq!(away.check_at, 3 * PACE + Away::PACE_MAX.as_nanos() as u64);
    }

    #[test]
    fn a_thread_that_uses_its_cpu_computes() {
        let mut away = Away::new(5, 0);
        assert!(!away.check(6, PACE, unasked), "it ran for a moment");
        assert_eq!(away.check_at, 2 * PACE);
        assert!(away.check(5 + clock::nanos(COMPUTING_AFTER), 2 * PACE, || true));
    }

    /// A thread that gets a tenth of a CPU is noticed after five checks.
    #[test]
    fn the_cpu_time_of_a_slow_thread_adds_up() {
        let mut away = Away::new(0, 0);
        let step = clock::nanos(COMPUTING_AFTER) / 5;
        (1..5).for_each(|n| assert!(!away.check(n * step, n * PACE, unasked)));
        assert!(away.check(5 * step, 5 * PACE, || true));
    }

    #[test]
    fn a_thread_that_often_runs_and_sleeps_does_not_compute() {
        let mut away = Away::new(0, 0);
        let limit = clock::nanos(COMPUTING_AFTER);
        assert!(!away.check(limit, PACE, || false));
        assert!(!away.check(2 * limit - 1, 2 * PACE, unasked), "the sum begins again");
        assert!(away.check(2 * limit, 3 * PACE, || true));
    }
}
