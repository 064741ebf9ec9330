//! A timer that wakes one thread. Other threads set and clear it without waking that thread. Linux:
//! a timerfd.
//!
//! Setting it is one system call without a thread switch, which is cheaper than a wake-up of the
//! thread. Nothing else changes the deadline of a thread that already sleeps.

use crate::throw::lost_descriptor;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// A timer of one thread. See the [module](self).
#[derive(Debug)]
pub(crate) struct TimerFd(OwnedFd);

impl TimerFd {
    /// Creates a timer that is not set. Returns `None` if the OS refuses, as without descriptors.
    pub(crate) fn new() -> Option<Self> {
        timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).ok().map(Self)
    }

    /// Sets the timer to expire after `time`. Replaces an earlier setting.
    pub(crate) fn set(&self, time: Duration) {
        // Zero would clear the timer.
        self.change(time.max(Duration::from_nanos(1)));
    }

    /// Clears the timer, and an expiry for which [`wait`](Self::wait) has not returned yet.
    pub(crate) fn clear(&self) {
        self.change(Duration::ZERO);
    }

    fn change(&self, time: Duration) {
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec::try_from(time).unwrap_or(once);
        let spec = Itimerspec { it_interval: once, it_value: value };
        if let Err(error) = timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &spec) {
            // The call has no other error for a timer and a valid time.
            lost_descriptor("timerfd_settime", &error.into());
        }
    }

    /// Sleeps until the timer expires. Returns at once if it expired since the last call.
    pub(crate) fn wait(&self) {
        loop {
            match rustix::io::read(&self.0, &mut [0; 8]) {
                Err(Errno::INTR) => {}
                Err(error) => lost_descriptor("read of a timerfd", &error.into()),
                Ok(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn alarm() -> TimerFd {
        TimerFd::new().unwrap()
    }

    #[test]
    fn an_alarm_expires_after_its_time() {
        let (alarm, start) = (alarm(), Instant::now());
        alarm.set(Duration::from_millis(5));
        alarm.wait();
        assert!(start.elapsed() >= Duration::from_millis(5));
    }

    #[test]
    fn an_alarm_of_zero_expires_at_once() {
        let alarm = alarm();
        alarm.set(Duration::ZERO);
        alarm.wait();
    }

    #[test]
    fn a_cleared_alarm_does_not_expire_even_if_it_just_did() {
        let alarm = alarm();
        alarm.set(Duration::ZERO);
        std::thread::sleep(Duration::from_millis(1));
        alarm.clear();
        let start = Instant::now();
        alarm.set(Duration::from_millis(5));
        alarm.wait();
        assert!(start.elapsed() >= Duration::from_millis(5));
    }
}
