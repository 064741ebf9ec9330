//! A waker set for a moment: what all of this module is made of.

use crate::p::{P, PStatus};
use crate::runtime::context;
use crate::sched::{Sched, current, registry};
use crate::timer::wheel::Key;
use crate::timer::{Earliest, Timers};
use crate::util::clock;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

/// A pending timer on some P; dropped, it is cancelled.
#[derive(Debug)]
pub struct Alarm {
    /// `None` once there is nothing left to cancel.
    timers: Option<Arc<Timers>>,
    key: Key,
}

impl Alarm {
    /// Wakes `waker` at `deadline`.
    #[must_use]
    pub fn at(deadline: Instant, waker: &Waker) -> Self {
        Self::set(clock::now(), moment(deadline), waker)
    }

    /// Moves it to `deadline`, in place; `false` if it has gone off.
    #[must_use]
    pub fn reset_to(&self, deadline: Instant) -> bool {
        self.reset(moment(deadline))
    }

    /// Wakes `waker` at `when`. `now` is a recent moment.
    pub(super) fn set(now: u64, when: u64, waker: &Waker) -> Self {
        current::with(|local| match local {
            Some(local) => {
                let p = local.p();
                let (alarm, earliest) = Self::insert(&p.timers, now, when, waker);
                // A running P looks at its own timers. A displaced one does not.
                if earliest == Earliest::Yes && p.status() == PStatus::Displaced {
                    let _ = local.sched.tend(when);
                }
                alarm
            }
            None => Self::set_outside(&context::sched(), now, when, waker),
        })
    }

    fn set_outside(sched: &Arc<Sched>, now: u64, when: u64, waker: &Waker) -> Self {
        // Preferably on a P that somebody runs: then nobody has to wake for it.
        let running = |p: &&Arc<P>| p.status() == PStatus::Running;
        let p = sched.ps.iter().find(running).or_else(|| sched.ps.get(0));
        let p = p.expect("a runtime has at least one P");
        let (alarm, earliest) = Self::insert(&p.timers, now, when, waker);
        if earliest == Earliest::Yes {
            let _ = sched.tend(when);
        }
        alarm
    }

    fn insert(timers: &Arc<Timers>, now: u64, when: u64, waker: &Waker) -> (Self, Earliest) {
        let (key, earliest) = timers.insert(now, when, waker);
        (Self { timers: Some(timers.clone()), key }, earliest)
    }

    /// Wakes another waker instead; `false` if it has gone off.
    pub(super) fn set_waker(&self, waker: &Waker) -> bool {
        self.timers.as_ref().is_some_and(|timers| timers.set_waker(self.key, waker))
    }

    /// Moves it to `when`, in place; `false` if it has gone off.
    pub(super) fn reset(&self, when: u64) -> bool {
        let Some(timers) = &self.timers else {
            return false;
        };
        let Some(earliest) = timers.reset(self.key, when) else {
            return false;
        };
        let own = current::with(|local| {
            local.is_some_and(|local| {
                let p = local.p();
                Arc::ptr_eq(&p.timers, timers) && p.status() == PStatus::Running
            })
        });
        if earliest == Earliest::Yes && !own {
            // Of the runtime it was set on, which need not be that of the caller.
            match registry::get(timers.runtime) {
                Some(sched) => {
                    let _ = sched.tend(when);
                }
                None => return false,
            }
        }
        true
    }

    /// Whether it is known to have gone off, if it is set for `when`. `false` says nothing.
    pub(super) fn is_past(&self, when: u64) -> bool {
        self.timers.as_ref().is_some_and(|timers| timers.is_past(when))
    }

    /// Cancels it; `false` if it has gone off.
    pub(super) fn cancel(mut self) -> bool {
        self.timers.take().is_some_and(|timers| timers.remove(self.key))
    }

    /// Leaves it pending, with nobody to cancel it.
    pub(super) fn forget(mut self) {
        self.timers = None;
    }
}

/// The moment of `deadline`; one that cannot be told is centuries away, and still a moment.
fn moment(deadline: Instant) -> u64 {
    clock::of(deadline).min(clock::FOREVER - 1)
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if let Some(timers) = self.timers.take() {
            timers.remove(self.key);
        }
    }
}
