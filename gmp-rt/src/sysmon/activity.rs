//! A thread that is in the same poll for long, and what it does there.
//!
//! Sysmon reads the CPU clock of the thread at each check. It reads the thread's state, which costs
//! ten times as much, only if the clock has not moved: a thread that has used CPU time was not
//! asleep. A thread that waits for a CPU usually still does while its clock does not move, since it
//! has to run before it can sleep. But in a virtual machine a short run may not count, if the host
//! took that time. So sysmon reads the state again every [`RECHECK`].

use crate::sys::thread_state::ThreadSleep;
use crate::tuning::SYSMON_MAX_NAP;
use crate::util::clock;
use std::time::Duration;

/// Time after which the state of a thread that waits for a CPU is read again.
const RECHECK: Duration = SYSMON_MAX_NAP;

/// What sysmon knows of such a thread. See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct ThreadActivity {
    /// CPU time at the first check.
    first_cpu: u64,
    /// CPU time at the last check.
    cpu: u64,
    /// When the clock was first seen at `cpu`.
    since: u64,
    does: LastState,
}

/// What the thread does while its clock does not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastState {
    /// Not known: the thread has run since the last check.
    Unknown,
    /// It waits for a CPU. Its state was read at the time `at`.
    Waits { at: u64 },
    /// It sleeps.
    Sleeps(ThreadSleep),
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// The thread runs or waits for a CPU, and has used this CPU time since the first check.
    Awake { cpu: u64 },
    /// The thread sleeps, and has not run for this time.
    Asleep { why: ThreadSleep, time: u64 },
}

impl ThreadActivity {
    /// Begins the checks of a thread that has used `cpu` at the time `now`. A call of `check`
    /// follows.
    pub(super) fn new(now: u64, cpu: u64) -> Self {
        Self { first_cpu: cpu, cpu, since: now, does: LastState::Unknown }
    }

    /// Checks the thread. `sleep` returns whether it sleeps; `None` if the OS does not say, as
    /// without free descriptors or without `/proc`. A clock that does not advance then counts
    /// as a sleep for a lock, which has to last longer than a sleep in a call.
    pub(super) fn check(
        &mut self,
        now: u64,
        cpu: u64,
        sleep: impl FnOnce() -> Option<ThreadSleep>,
    ) -> Activity {
        let awake = Activity::Awake { cpu: cpu.saturating_sub(self.first_cpu) };
        if self.cpu != cpu {
            (self.cpu, self.since, self.does) = (cpu, now, LastState::Unknown);
            return awake;
        }
        if let LastState::Waits { at } = self.does
            && now - at < clock::nanos(RECHECK)
        {
            return awake;
        }
        let why = sleep().unwrap_or(ThreadSleep::Lock);
        if why == ThreadSleep::No {
            self.does = LastState::Waits { at: now };
            return awake;
        }
        self.does = LastState::Sleeps(why);
        Activity::Asleep { why, time: now - self.since }
    }

    /// Whether the last check found the thread asleep in a system call.
    pub(super) fn is_in_call(&self) -> bool {
        self.does == LastState::Sleeps(ThreadSleep::Call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asleep(why: ThreadSleep, time: u64) -> Activity {
        Activity::Asleep { why, time }
    }

    fn unasked() -> Option<ThreadSleep> {
        panic!("a clock that moves, or a wait for a CPU, is decisive")
    }

    #[test]
    fn a_sleep_is_measured_from_the_check_before_it() {
        let mut thread = ThreadActivity::new(10, 5);
        assert_eq!(thread.check(10, 5, || Some(ThreadSleep::Call)), asleep(ThreadSleep::Call, 0));
        assert!(thread.is_in_call());
        assert_eq!(
            thread.check(110, 5, || Some(ThreadSleep::Call)),
            asleep(ThreadSleep::Call, 100)
        );
        // The thread has run: this is another sleep.
        assert_eq!(thread.check(210, 6, unasked), Activity::Awake { cpu: 1 });
        assert!(!thread.is_in_call());
        assert_eq!(
            thread.check(310, 6, || Some(ThreadSleep::Lock)),
            asleep(ThreadSleep::Lock, 100)
        );
    }

    #[test]
    fn a_thread_that_waits_for_a_cpu_is_checked_once() {
        let mut thread = ThreadActivity::new(10, 5);
        assert_eq!(thread.check(10, 5, || Some(ThreadSleep::No)), Activity::Awake { cpu: 0 });
        assert_eq!(thread.check(20, 5, unasked), Activity::Awake { cpu: 0 });
        assert_eq!(thread.check(30, 9, unasked), Activity::Awake { cpu: 4 });
        assert_eq!(thread.check(40, 9, || Some(ThreadSleep::Call)), asleep(ThreadSleep::Call, 10));
    }

    #[test]
    fn a_woken_thread_that_has_not_run_does_not_sleep() {
        let mut thread = ThreadActivity::new(10, 5);
        assert_eq!(thread.check(10, 5, || Some(ThreadSleep::Call)), asleep(ThreadSleep::Call, 0));
        assert_eq!(thread.check(500, 5, || Some(ThreadSleep::No)), Activity::Awake { cpu: 0 });
        assert_eq!(thread.check(600, 5, unasked), Activity::Awake { cpu: 0 });
    }

    #[test]
    fn a_sleep_is_noticed_although_the_clock_did_not_move_since_a_wait_for_a_cpu() {
        let mut thread = ThreadActivity::new(10, 5);
        assert_eq!(thread.check(10, 5, || Some(ThreadSleep::No)), Activity::Awake { cpu: 0 });
        let later = 10 + clock::nanos(RECHECK);
        assert_eq!(thread.check(later - 1, 5, unasked), Activity::Awake { cpu: 0 });
        let time = later - 10;
        assert_eq!(
            thread.check(later, 5, || Some(ThreadSleep::Call)),
            asleep(ThreadSleep::Call, time)
        );
    }

    #[test]
    fn a_state_that_the_os_does_not_say_counts_as_a_sleep_for_a_lock() {
        let mut thread = ThreadActivity::new(10, 5);
        assert_eq!(thread.check(10, 5, || None), asleep(ThreadSleep::Lock, 0));
        assert_eq!(thread.check(110, 5, || None), asleep(ThreadSleep::Lock, 100));
        assert_eq!(thread.check(210, 6, unasked), Activity::Awake { cpu: 1 });
    }
}
