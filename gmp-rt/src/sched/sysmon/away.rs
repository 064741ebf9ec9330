//! A poll that was displaced because it blocked, and that may compute later.
//!
//! Its thread then computes without a P, and has to be paused like a thread that was displaced
//! because it computed ([`super::pause`]). Sysmon detects this by the CPU clock of the thread.

use crate::tuning::{COMPUTING_AFTER, SLICE};
use crate::util::clock;
use std::time::Duration;

/// What sysmon knows of such a poll. See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Away {
    /// The CPU time of the thread at the last check.
    cpu: u64,
    /// When it is checked again, and the time between the last two checks.
    pub(super) check_at: u64,
    pace: u64,
}

impl Away {
    /// The time between two checks: at first, and at most. Chosen: a slice; and so that thousands
    /// of blocked threads cost sysmon less than a percent of its time.
    const PACE: Duration = SLICE;
    const PACE_MAX: Duration = Duration::from_secs(1);

    pub(super) fn new(cpu: u64, now: u64) -> Self {
        let pace = clock::nanos(Self::PACE);
        Self { cpu, check_at: now + pace, pace }
    }

    /// Checks the CPU time of the thread. Returns whether the thread computes. A thread that still
    /// sleeps is checked ever less often.
    pub(super) fn check(&mut self, cpu: u64, now: u64) -> bool {
        let used = cpu.saturating_sub(std::mem::replace(&mut self.cpu, cpu));
        self.pace = match used {
            0 => (2 * self.pace).min(clock::nanos(Self::PACE_MAX)),
            _ => clock::nanos(Self::PACE),
        };
        self.check_at = now + self.pace;
        used >= clock::nanos(COMPUTING_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: u64 = Away::PACE.as_nanos() as u64;

    #[test]
    fn a_sleeping_thread_is_checked_ever_less_often() {
        let mut away = Away::new(5, 0);
        assert_eq!(away.check_at, PACE);
        assert!(!away.check(5, PACE));
        assert_eq!(away.check_at, 3 * PACE);
        (0..20).for_each(|_| assert!(!away.check(5, 3 * PACE)));
        assert_eq!(away.check_at, 3 * PACE + Away::PACE_MAX.as_nanos() as u64);
    }

    #[test]
    fn a_thread_that_uses_its_cpu_computes() {
        let mut away = Away::new(5, 0);
        assert!(!away.check(6, PACE), "it ran for a moment");
        assert_eq!(away.check_at, 2 * PACE);
        assert!(away.check(6 + clock::nanos(COMPUTING_AFTER), 2 * PACE));
    }
}
