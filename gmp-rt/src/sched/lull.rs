//! Where sysmon sleeps while nobody runs, and how those wake it who do again.
//!
//! Who takes the first P has to see to it that sysmon will look after it, before its first poll, which may block. To
//! wake a thread takes longer than most such moments last, and then it would find all asleep again. So sysmon sleeps by an
//! [`Alarm`]: who takes the first P sets it, and if all rest again before it goes off, with a timer to wake for, the last puts
//! it off ([`Watch`]). Where goroutines wake now and then, sysmon does not wake at all.
//!
//! It is put off only where the rest before was long: where all rest many times a millisecond, two system calls each time
//! would cost more than one wake-up of sysmon in a while.
//!
//! While a P is idle nobody is held up that others could run, so the alarm may be late; not when the last is taken. In a virtual machine
//! the price of setting it depends on that: 12 µs for a time that is the next for which the CPU has to wake, 1 µs for one beyond the next
//! tick; to wake a thread by a futex takes 6, and what that thread then does.
//!
//! Where the system has no such alarm, it is woken by its note, and waits for that time itself.

use crate::m::note::Note;
use crate::prim::fixed::OnceLock;
use crate::sys::alarm::Alarm;
use crate::tuning::{IDLE_AFTER, SYSMON_MAX_NAP};
use std::time::Duration;

/// Most who run again after a rest sleep again by then.
const MOMENT: Duration = IDLE_AFTER.saturating_mul(2);

/// How late sysmon may come as long as there is an idle P.
const WHILE: Duration = SYSMON_MAX_NAP.saturating_mul(2);

/// What sysmon does, as far as others have to know. Changed under the lists' lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// It makes its rounds.
    Awake,
    /// It sleeps until somebody takes a P.
    Asleep,
    /// It sleeps. Somebody took a P after a long rest: it wakes in a while, unless all rest again.
    Hushable,
    /// It sleeps. Somebody took a P: it wakes in a while.
    Alarmed,
    /// It sleeps. All Ps are taken, or there is something to do: it wakes in a moment.
    Called,
}

impl Watch {
    /// Whether it sleeps, and for long.
    pub(super) fn may_be_late(self) -> bool {
        matches!(self, Self::Asleep | Self::Hushable | Self::Alarmed)
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Lull {
    alarm: Option<Alarm>,
    /// Sysmon's, if there is no alarm; set before it sleeps.
    note: OnceLock<Note>,
}

impl Lull {
    pub(super) fn new() -> Self {
        Self { alarm: Alarm::new(), note: OnceLock::new() }
    }

    /// Sysmon is about to sleep.
    pub(super) fn lie_down(&self) {
        if self.alarm.is_none() {
            self.note.get_or_init(Note::for_this_thread);
        }
    }

    /// Sleeps until it is woken. May end without cause.
    pub(super) fn sleep(&self) {
        match (&self.alarm, self.note.get()) {
            (Some(alarm), _) => alarm.wait(),
            (None, Some(note)) => {
                note.sleep();
                std::thread::sleep(MOMENT);
            }
            (None, None) => {}
        }
    }

    /// Wakes sysmon in a [`WHILE`]: whoever sleeps again by then needs no looking after.
    pub(super) fn wake_later(&self) {
        self.wake_after(WHILE);
    }

    /// Wakes sysmon in a [`MOMENT`].
    pub(super) fn wake_soon(&self) {
        self.wake_after(MOMENT);
    }

    /// Wakes sysmon at once.
    pub(super) fn wake_now(&self) {
        self.wake_after(Duration::ZERO);
    }

    fn wake_after(&self, time: Duration) {
        match (&self.alarm, self.note.get()) {
            (Some(alarm), _) => alarm.set(time),
            (None, Some(note)) => note.wake(),
            (None, None) => {}
        }
    }

    /// Sysmon sleeps on. Under the lists' lock: else it might take back the next who sets it.
    pub(super) fn put_off(&self) {
        if let Some(alarm) = &self.alarm {
            alarm.clear();
        }
    }
}
