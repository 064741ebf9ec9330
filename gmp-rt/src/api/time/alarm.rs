//! `Alarm`: a waker that is woken at a given time. All timers of this module are made of it.
//!
//! # The runtime that keeps the time
//!
//! An alarm is set on the current runtime. If that runtime has ended, it is set on the default
//! runtime, which never ends. When a runtime ends, it wakes all its pending alarms early. So the
//! owner of an alarm checks the clock when it is woken, and sets another alarm if it is too early.
//! The second alarm is not set on the runtime that has ended. So no deadline is lost.

use crate::api::runtime::context;
use crate::p::PStatus;
use crate::sched::local::{self, Local};
use crate::sched::{Sched, registry};
use crate::timer::wheel::Key;
use crate::timer::{Earliest, Timers};
use crate::util::clock;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

/// A pending timer of some P. Dropping it cancels it.
///
/// The waker is woken early if the runtime of that P ends.
#[doc(hidden)]
#[derive(Debug)]
pub struct Alarm {
    /// `None` once there is nothing left to cancel.
    timers: Option<Arc<Timers>>,
    key: Key,
}

// The timers stay consistent when a thread that uses them unwinds: no user code runs under a lock.
impl UnwindSafe for Alarm {}
impl RefUnwindSafe for Alarm {}

impl Alarm {
    /// Wakes `waker` at `deadline`, or earlier if the runtime ends.
    #[must_use]
    pub fn at(deadline: Instant, waker: &Waker) -> Self {
        Self::set(clock::now(), time_of(deadline), waker)
    }

    /// Moves it to `deadline`, in place. Returns `false` if it has fired.
    #[must_use]
    pub fn reset_to(&self, deadline: Instant) -> bool {
        self.reset(time_of(deadline))
    }

    /// Whether it has not fired.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.timers.as_ref().is_some_and(|timers| timers.contains(self.key))
    }

    /// Wakes `waker` at `when`, or earlier if the runtime ends. `now` is a recent time.
    pub(super) fn set(now: u64, when: u64, waker: &Waker) -> Self {
        local::with(|local| Self::set_own(local?, now, when, waker))
            .or_else(|| Self::set_outside(&context::sched(), now, when, waker))
            .unwrap_or_else(|| Self::set_unending(now, when, waker))
    }

    /// Sets an alarm, as [`set`](Self::set), on `sched`. Returns `None` if that runtime has ended.
    pub(super) fn set_on(sched: &Arc<Sched>, now: u64, when: u64, waker: &Waker) -> Option<Self> {
        local::with(|local| match local {
            Some(local) if Arc::ptr_eq(&local.sched, sched) => {
                Self::set_own(local, now, when, waker)
            }
            _ => Self::set_outside(sched, now, when, waker),
        })
    }

    /// Sets an alarm, as [`set`](Self::set), on the default runtime.
    pub(super) fn set_unending(now: u64, when: u64, waker: &Waker) -> Self {
        match Self::set_outside(&context::unending_sched(), now, when, waker) {
            Some(alarm) => alarm,
            None => unreachable!("the default runtime does not end"),
        }
    }

    /// Sets an alarm on the P of this thread. Returns `None` if the runtime has ended.
    fn set_own(local: &Local, now: u64, when: u64, waker: &Waker) -> Option<Self> {
        let (alarm, earliest) = Self::insert(local.timers(), now, when, waker)?;
        // A running P checks its own timers. A handed-off one does not.
        if earliest == Earliest::Yes && local.p().status() == PStatus::HandedOff {
            let _ = local.sched.ensure_timer_sleeper(when);
        }
        Some(alarm)
    }

    /// Sets an alarm on `sched`. Returns `None` if that runtime has ended.
    fn set_outside(sched: &Arc<Sched>, now: u64, when: u64, waker: &Waker) -> Option<Self> {
        sched.assert_not_forked();
        // Any timers will do: each P that runs checks those of all.
        let (alarm, earliest) = Self::insert(sched.ps.timers(0), now, when, waker)?;
        if earliest == Earliest::Yes {
            let _ = sched.ensure_timer_sleeper(when);
        }
        Some(alarm)
    }

    fn insert(
        timers: &Arc<Timers>,
        now: u64,
        when: u64,
        waker: &Waker,
    ) -> Option<(Self, Earliest)> {
        let (key, earliest) = timers.insert(now, when, waker)?;
        Some((Self { timers: Some(timers.clone()), key }, earliest))
    }

    /// Wakes another waker instead. Returns `false` if it has fired.
    pub(super) fn set_waker(&self, waker: &Waker) -> bool {
        self.timers.as_ref().is_some_and(|timers| timers.set_waker(self.key, waker))
    }

    /// Moves it to `when`, in place. Returns `false` if it has fired.
    pub(super) fn reset(&self, when: u64) -> bool {
        let Some(timers) = &self.timers else {
            return false;
        };
        let Some(earliest) = timers.reset(self.key, when) else {
            return false;
        };
        let own = local::with(|local| {
            local.is_some_and(|local| {
                let is_running = local.p().status() == PStatus::Running;
                is_running && Arc::ptr_eq(local.timers(), timers)
            })
        });
        if earliest == Earliest::Yes && !own {
            // The runtime on which it was set, which may differ from that of the caller.
            match registry::get(timers.runtime) {
                Some(sched) => {
                    let _ = sched.ensure_timer_sleeper(when);
                }
                None => return false,
            }
        }
        true
    }

    /// Whether it is known to have fired, if it is set for `when`. `false` means unknown.
    pub(super) fn is_past(&self, when: u64) -> bool {
        self.timers.as_ref().is_some_and(|timers| timers.is_past(when))
    }

    /// Leaves it pending. Nothing can cancel it any more.
    pub(super) fn forget(mut self) {
        self.timers = None;
    }
}

/// Returns the time of `deadline`. A deadline beyond the range of the clock becomes the last time,
/// which is centuries away.
fn time_of(deadline: Instant) -> u64 {
    clock::of(deadline).min(clock::FOREVER - 1)
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if let Some(timers) = self.timers.take() {
            timers.remove(self.key);
        }
    }
}
