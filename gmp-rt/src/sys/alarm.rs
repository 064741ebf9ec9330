//! A clock that wakes one thread after a while, which others set and clear without waking it. Linux: a timer with a
//! file descriptor.
//!
//! Setting it is one system call and no switch of threads: a tenth of what waking the thread would take. A thread
//! cannot be given such a time from outside in any other way, once it sleeps.

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Alarm(OwnedFd);

impl Alarm {
    /// One that is not set; `None` if the system has none to give, as without descriptors.
    pub(crate) fn new() -> Option<Self> {
        timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).ok().map(Self)
    }

    /// Goes off after `time`, whatever was set before.
    pub(crate) fn set(&self, time: Duration) {
        // None at all would clear it.
        self.change(time.max(Duration::from_nanos(1)));
    }

    /// Does not go off any more; nor did it, if nobody has noticed.
    pub(crate) fn clear(&self) {
        self.change(Duration::ZERO);
    }

    fn change(&self, time: Duration) {
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec::try_from(time).unwrap_or(once);
        let spec = Itimerspec { it_interval: once, it_value: value };
        let changed = timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &spec);
        debug_assert!(changed.is_ok(), "a timer of ours: {changed:?}");
    }

    /// Sleeps until it goes off, or returns at once if it did since the last time.
    pub(crate) fn wait(&self) {
        while rustix::io::read(&self.0, &mut [0; 8]) == Err(Errno::INTR) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn alarm() -> Alarm {
        Alarm::new().unwrap()
    }

    #[test]
    fn goes_off_after_its_time() {
        let (alarm, start) = (alarm(), Instant::now());
        alarm.set(Duration::from_millis(5));
        alarm.wait();
        assert!(start.elapsed() >= Duration::from_millis(5));
    }

    #[test]
    fn none_at_all_is_now() {
        let alarm = alarm();
        alarm.set(Duration::ZERO);
        alarm.wait();
    }

    #[test]
    fn cleared_it_does_not_go_off_even_if_it_just_did() {
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
