//! Sysmon's deep sleep and its wake-up timer.
//!
//! Sysmon is in deep sleep while no P runs. The thread that takes the first P must ensure that
//! sysmon wakes. It does so before its first poll, because that may block. Often all Ps are idle
//! again before a woken thread would run. So the thread sets a [`TimerFd`]. If all Ps are idle
//! again before it expires, and an M waits for the next timer, the last M cancels it
//! ([`SysmonState`]). If goroutines run only now and then, sysmon does not wake at all.
//!
//! The alarm is cancelled only if all Ps were idle for [`SYSMON_MAX_NAP`] before. If all Ps go idle
//! many times per millisecond, two system calls each time cost more than one wake-up of sysmon.
//!
//! While a P is idle, any runnable goroutine can run, so sysmon wakes [`WAKE_LATE`] after
//! the first P was taken. When the last idle P is taken, sysmon wakes after [`WAKE_SOON`]. A
//! later alarm is also cheaper: in a virtual machine it is expensive to program the next wake-up of
//! the CPU.
//!
//! Sysmon itself sets the alarm if it has something to do later, while goroutines still rest: to
//! search for a deadlock, or to print a trace. A P that runs meanwhile replaces that setting. If
//! all Ps are idle again at once, the setting returns.
//!
//! The alarm is set and cleared under the lists' lock, together with the change of the state. If a
//! thread set it after the release of the lock, it could lose its CPU in between: an M that sees
//! the state begins a poll that blocks, and no alarm is set. Or the late setting could replace a
//! more urgent one. The models have no time, so no deadlock shows that. Instead each release of the
//! lock asserts there that the alarm is set as the state says ([`DeepSleep::assert_set`]).
//!
//! If the system has no such alarm, sysmon sleeps on its note. Every wake-up then takes
//! [`WAKE_SOON`].

#[cfg(not(gmp_loom))]
mod setting;
#[cfg(gmp_loom)]
#[path = "deep_sleep/setting_loom.rs"]
mod setting;

use self::setting::Setting;
use crate::m::note::Note;
use crate::prim::AtomicBool;
use crate::prim::Ordering::Relaxed;
use crate::prim::fixed::{self, OnceLock};
use crate::sys::timerfd::TimerFd;
use crate::tuning::{SYSMON_MAX_NAP, SYSMON_NAP};
use crate::util::clock;
use std::time::Duration;

/// The delay of an urgent wake-up. Chosen: most Ps that run again are idle again by then.
const WAKE_SOON: Duration = SYSMON_NAP.saturating_mul(2);

/// The delay of a wake-up while a P is idle. Chosen.
const WAKE_LATE: Duration = SYSMON_MAX_NAP.saturating_mul(2);

/// The state of sysmon, as other threads need it. Changed under the lists' lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SysmonState {
    /// It makes its rounds.
    Running,
    /// It is in deep sleep until an M takes a P.
    DeepSleep,
    /// It sleeps. An M took a P after a long idle time: sysmon wakes after [`WAKE_LATE`],
    /// unless all Ps are idle again before.
    WakeCancellable,
    /// It sleeps. An M took a P: sysmon wakes after [`WAKE_LATE`].
    WakeScheduled,
    /// It sleeps. All Ps are taken, or there is work for sysmon: it wakes after
    /// [`WAKE_SOON`] at the latest.
    WakeSoon,
}

impl SysmonState {
    /// Whether sysmon is in deep sleep and its wake-up is not urgent.
    fn may_be_late(self) -> bool {
        matches!(self, Self::DeepSleep | Self::WakeCancellable | Self::WakeScheduled)
    }

    /// Returns the state after a P was taken.
    fn after_p_was_taken(self, idle: IdleTime) -> Self {
        match (self, idle) {
            (_, IdleTime::AllBusy) => Self::WakeSoon,
            (Self::DeepSleep, IdleTime::Idle { nanos }) => {
                match nanos >= clock::nanos(SYSMON_MAX_NAP) {
                    true => Self::WakeCancellable,
                    false => Self::WakeScheduled,
                }
            }
            (set, IdleTime::Idle { .. }) => set,
        }
    }
}

/// For how long a P has been idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleTime {
    /// No P is idle.
    AllBusy,
    /// A P is idle. The number of nanoseconds since the last one went idle.
    Idle { nanos: u64 },
}

/// The deep sleep of sysmon. See the [module](self).
///
/// Each method with a state is called under the lock of the state. A thread that sees the new state
/// may begin a poll that blocks, and this thread may lose its CPU: so the alarm is set before.
#[derive(Debug)]
pub(crate) struct DeepSleep {
    alarm: Option<TimerFd>,
    /// Sysmon's note, if there is no alarm. Set before sysmon sleeps.
    note: OnceLock<Note>,
    /// [`SysmonState::may_be_late`] of the state. Written under its lock.
    is_late: AtomicBool,
    /// When the deep sleep ends if no P runs before. Written and read under the state's lock.
    until: fixed::AtomicU64,
    setting: Setting,
}

impl DeepSleep {
    pub(crate) fn new() -> Self {
        Self {
            alarm: TimerFd::new(),
            note: OnceLock::new(),
            is_late: AtomicBool::new(false),
            until: fixed::AtomicU64::new(clock::FOREVER),
            setting: Setting::default(),
        }
    }

    /// Prepares the deep sleep. Called by sysmon.
    pub(crate) fn prepare(&self) {
        if self.alarm.is_none() {
            self.note.get_or_init(Note::for_this_thread);
        }
    }

    /// Begins the deep sleep, until the time `until` at the latest unless a P runs before. Called
    /// by sysmon. Without an alarm [`wait`](Self::wait) ends then by itself.
    pub(crate) fn begin(&self, state: &mut SysmonState, until: u64) {
        self.until.store(until, Relaxed); // Relaxed: under the lock
        if until != clock::FOREVER {
            self.set_end(until);
        }
        self.set(state, SysmonState::DeepSleep);
    }

    /// Sets the alarm for the end of a deep sleep in which no P runs.
    fn set_end(&self, until: u64) {
        match &self.alarm {
            Some(alarm) if until == clock::FOREVER => alarm.clear(),
            Some(alarm) => alarm.set(Duration::from_nanos(until.saturating_sub(clock::now()))),
            None => {}
        }
    }

    /// Sleeps until woken, or until the time `until` for which the alarm was set. May return
    /// without cause.
    pub(crate) fn wait(&self, until: u64) {
        match (&self.alarm, self.note.get()) {
            (Some(alarm), _) => alarm.wait(),
            (None, Some(note)) => {
                if until == clock::FOREVER {
                    note.sleep();
                } else {
                    let _ = note.sleep_until(until);
                }
                std::thread::sleep(WAKE_SOON);
            }
            (None, None) => {}
        }
    }

    /// Whether the deep sleep is over. If so, marks sysmon as running.
    pub(crate) fn has_ended(&self, state: &mut SysmonState, until: u64) -> bool {
        let woken = *state != SysmonState::DeepSleep || clock::now() >= until;
        if woken {
            self.set(state, SysmonState::Running);
        }
        woken
    }

    /// Whether a thread that took a P must call [`schedule_wake`](Self::schedule_wake).
    #[inline]
    pub(crate) fn needs_wake(&self) -> bool {
        // Relaxed: see `set`.
        self.is_late.load(Relaxed)
    }

    /// Schedules a wake-up if sysmon is in deep sleep, because a P was taken.
    pub(crate) fn schedule_wake(&self, state: &mut SysmonState, idle: IdleTime) {
        let before = *state;
        if !before.may_be_late() {
            return;
        }
        let after = before.after_p_was_taken(idle);
        match after {
            SysmonState::WakeSoon => self.wake_after(WAKE_SOON),
            SysmonState::WakeCancellable | SysmonState::WakeScheduled
                if before == SysmonState::DeepSleep =>
            {
                self.wake_after(WAKE_LATE);
            }
            _ => {}
        }
        self.set(state, after);
    }

    /// Wakes sysmon without delay; after [`WAKE_SOON`] if there is no alarm.
    pub(crate) fn wake_now(&self, state: &mut SysmonState) {
        if *state != SysmonState::Running {
            self.wake_after(Duration::ZERO);
            self.set(state, SysmonState::WakeSoon);
        }
    }

    /// Cancels the scheduled wake-up if that is possible: all Ps are idle again. Under the lock,
    /// since otherwise it could cancel the wake-up that the next M schedules.
    pub(crate) fn cancel_wake(&self, state: &mut SysmonState) {
        if *state == SysmonState::WakeCancellable {
            self.set(state, SysmonState::DeepSleep);
            self.setting.set(None);
            self.set_end(self.until.load(Relaxed)); // Relaxed: under the lock
        }
    }

    fn set(&self, state: &mut SysmonState, new: SysmonState) {
        *state = new;
        // Relaxed: a thread that takes a P later takes the lock after this store.
        self.is_late.store(new.may_be_late(), Relaxed);
    }

    fn wake_after(&self, time: Duration) {
        self.setting.set(Some(time));
        match (&self.alarm, self.note.get()) {
            (Some(alarm), _) => alarm.set(time),
            (None, Some(note)) => note.wake(),
            (None, None) => {}
        }
    }

    /// Asserts in the models that sysmon wakes as early as `state` says. Called at each release of
    /// the lists' lock.
    #[inline]
    pub(crate) fn assert_set(&self, state: SysmonState) {
        match state {
            SysmonState::Running => self.setting.set(None),
            SysmonState::DeepSleep => {}
            SysmonState::WakeCancellable | SysmonState::WakeScheduled => {
                self.setting.assert_within(WAKE_LATE);
            }
            SysmonState::WakeSoon => self.setting.assert_within(WAKE_SOON),
        }
    }
}
