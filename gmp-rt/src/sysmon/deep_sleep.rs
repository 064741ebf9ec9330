//! Sysmon's deep sleep and its wake-up timer.
//!
//! Sysmon is in deep sleep while no P runs. The thread that takes the first P must ensure that
//! sysmon wakes. It does so before its first poll, because that may block. Often all Ps are idle
//! again before a woken thread would run. So the thread sets an [`Alarm`]. If all Ps are idle again
//! before it expires, and an M waits for the next timer, the last M cancels it ([`Watch`]). If
//! goroutines run only now and then, sysmon does not wake at all.
//!
//! The alarm is cancelled only if all Ps were idle for [`SYSMON_MAX_NAP`] before. If all Ps go idle
//! many times per millisecond, two system calls each time cost more than one wake-up of sysmon.
//!
//! While a P is idle, any runnable goroutine can run, so sysmon wakes [`WHILE`] after the first P
//! was taken. When the last idle P is taken, sysmon wakes after [`MOMENT`]. A later alarm is also
//! cheaper: in a virtual machine it is expensive to program the next wake-up of the CPU.
//!
//! Sysmon itself sets the alarm if it has something to do later, while goroutines still rest: to
//! search for a deadlock. A P that runs meanwhile replaces that setting, and if all Ps are idle
//! again at once, cancels it: then a timer is pending, which is no deadlock.
//!
//! The alarm is set and cleared under the lists' lock, together with the change of the state. If a
//! thread set it after the release of the lock, it could lose its CPU in between: an M that sees
//! the state begins a poll that blocks, and no alarm is set. Or the late setting could replace a
//! more urgent one. The models have no time, so no deadlock shows that. Instead each release of the
//! lock asserts there that the alarm is set as the state says ([`Lull::assert_set`]).
//!
//! If the system has no such alarm, sysmon sleeps on its note. Every wake-up then takes [`MOMENT`].

#[cfg(not(gmp_loom))]
mod setting;
#[cfg(gmp_loom)]
#[path = "deep_sleep/setting_loom.rs"]
mod setting;

use self::setting::Setting;
use crate::m::note::Note;
use crate::prim::fixed::OnceLock;
use crate::sys::timerfd::Alarm;
use crate::tuning::{SYSMON_MAX_NAP, SYSMON_NAP};
use crate::util::clock;
use std::time::Duration;

/// Delay of an urgent wake-up. Chosen: most Ps that run again are idle again by then.
const MOMENT: Duration = SYSMON_NAP.saturating_mul(2);

/// Delay of a wake-up while a P is idle. Chosen.
const WHILE: Duration = SYSMON_MAX_NAP.saturating_mul(2);

/// The state of sysmon, as other threads need it. Changed under the lists' lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// It makes its rounds.
    Awake,
    /// It is in deep sleep until an M takes a P.
    Asleep,
    /// It sleeps. An M took a P after a long idle time: sysmon wakes after [`WHILE`], unless all Ps
    /// are idle again before.
    Hushable,
    /// It sleeps. An M took a P: sysmon wakes after [`WHILE`].
    Alarmed,
    /// It sleeps. All Ps are taken, or there is work for sysmon: it wakes after [`MOMENT`] at the
    /// latest.
    Called,
}

impl Watch {
    /// Whether sysmon is in deep sleep and its wake-up is not urgent.
    pub(crate) fn may_be_late(self) -> bool {
        matches!(self, Self::Asleep | Self::Hushable | Self::Alarmed)
    }
}

/// The deep sleep of sysmon. See the [module](self).
#[derive(Debug)]
pub(crate) struct Lull {
    alarm: Option<Alarm>,
    /// Sysmon's note, if there is no alarm. Set before sysmon sleeps.
    note: OnceLock<Note>,
    setting: Setting,
}

impl Lull {
    pub(crate) fn new() -> Self {
        Self { alarm: Alarm::new(), note: OnceLock::new(), setting: Setting::default() }
    }

    /// Prepares the deep sleep. Called by sysmon.
    pub(crate) fn lie_down(&self) {
        if self.alarm.is_none() {
            self.note.get_or_init(Note::for_this_thread);
        }
    }

    /// Sleeps until woken, or until the time `until` for which the alarm was set. May return
    /// without cause.
    pub(crate) fn sleep(&self, until: u64) {
        match (&self.alarm, self.note.get()) {
            (Some(alarm), _) => alarm.wait(),
            (None, Some(note)) => {
                if until == clock::FOREVER {
                    note.sleep();
                } else {
                    let _ = note.sleep_until(until);
                }
                std::thread::sleep(MOMENT);
            }
            (None, None) => {}
        }
    }

    /// Wakes sysmon at the time `until`. Called by sysmon itself before it sleeps. Without an alarm
    /// the sleep ends then by itself.
    pub(crate) fn wake_at(&self, until: u64) {
        if let Some(alarm) = &self.alarm {
            alarm.set(Duration::from_nanos(until.saturating_sub(clock::now())));
        }
    }

    /// Wakes sysmon after [`WHILE`]: if all Ps are idle again by then, there is nothing to monitor.
    pub(crate) fn wake_later(&self) {
        self.wake_after(WHILE);
    }

    /// Wakes sysmon after [`MOMENT`].
    pub(crate) fn wake_soon(&self) {
        self.wake_after(MOMENT);
    }

    /// Wakes sysmon without delay; after [`MOMENT`] if there is no alarm.
    pub(crate) fn wake_now(&self) {
        self.wake_after(Duration::ZERO);
    }

    fn wake_after(&self, time: Duration) {
        self.setting.set(Some(time));
        match (&self.alarm, self.note.get()) {
            (Some(alarm), _) => alarm.set(time),
            (None, Some(note)) => note.wake(),
            (None, None) => {}
        }
    }

    /// Cancels the wake-up. Under the lists' lock: otherwise it could cancel the wake-up that the
    /// next M schedules.
    pub(crate) fn put_off(&self) {
        self.setting.set(None);
        if let Some(alarm) = &self.alarm {
            alarm.clear();
        }
    }

    /// Asserts in the models that sysmon wakes as early as `watch` says. Called at each release of
    /// the lists' lock.
    #[inline]
    pub(crate) fn assert_set(&self, watch: Watch) {
        match watch {
            Watch::Awake => self.setting.set(None),
            Watch::Asleep => {}
            Watch::Hushable | Watch::Alarmed => self.setting.assert_within(WHILE),
            Watch::Called => self.setting.assert_within(MOMENT),
        }
    }
}
