//! `after_func`.
//!
//! The state of a call is behind a lock: its deadline, and the alarm that fires then. An alarm may
//! wake the call early, when its runtime ends. So a wake-up compares the clock with the deadline.
//! Stops and resets change the deadline, so a late wake-up of an old alarm has no effect.

use super::alarm::Alarm;
use crate::api::runtime::context;
use crate::g::origin::Origin;
use crate::prim::fixed::Mutex;
use crate::sched::{Sched, local};
use crate::util::clock;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::time::Duration;

/// Calls `f` in a goroutine of its own after `duration` (Go: `time.AfterFunc`).
///
/// Timer and goroutine belong to the current runtime. When that runtime shuts down, the call is
/// dropped as its goroutines are. Dropping the [`AfterFunc`] does not stop the call.
///
/// `f` is called at most once. Go's `Reset` can call a function again. For that use a
/// [`Ticker`](crate::Ticker), or a new call of `after_func`.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use std::time::Duration;
///
/// let timer = gmp::after_func(Duration::from_secs(60), || unreachable!());
/// assert!(timer.stop());
/// ```
#[track_caller]
pub fn after_func(duration: Duration, f: impl FnOnce() + Send + 'static) -> AfterFunc {
    AfterFunc::new(duration, Box::new(f), AtEnd::Drop, Location::caller())
}

/// Calls `f` later, as [`after_func`], for a primitive: the call is made also if the runtime shuts
/// down first. Its goroutine then runs on the default runtime.
#[doc(hidden)]
#[track_caller]
pub fn after_func_always(duration: Duration, f: impl FnOnce() + Send + 'static) -> AfterFunc {
    AfterFunc::new(duration, Box::new(f), AtEnd::Move, Location::caller())
}

/// The fate of a call whose runtime ends before the deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtEnd {
    /// It is dropped.
    Drop,
    /// It moves to the default runtime.
    Move,
}

/// The function that a timer calls, as a waker, because a timer wheel holds only wakers.
struct Call {
    sched: Weak<Sched>,
    at_end: AtEnd,
    site: &'static Location<'static>,
    state: Mutex<CallState>,
}

/// The function that is called.
type CallFn = Box<dyn FnOnce() + Send>;

/// The pending setting of a [`Call`].
struct CallState {
    /// `None` once the call has started, or is dropped because its runtime has ended.
    f: Option<CallFn>,
    /// The deadline; [`clock::FOREVER`] if none is pending.
    when: u64,
    /// `None` also for a short time after `when` was set.
    alarm: Option<Alarm>,
}

impl Call {
    /// Replaces the deadline and returns the previous one. Cancels its alarm. Changes nothing and
    /// returns `None` if the call has started.
    fn replace(&self, when: u64) -> Option<u64> {
        let mut state = self.state.lock();
        state.f.as_ref()?;
        let before = std::mem::replace(&mut state.when, when);
        let alarm = state.alarm.take();
        // The cancellation takes the lock of the timers.
        drop(state);
        drop(alarm);
        Some(before)
    }

    /// Sets an alarm for the deadline `when`, unless the deadline has changed since. If the runtime
    /// has ended, the call moves or is dropped.
    fn set_alarm(self: &Arc<Self>, when: u64) {
        let (now, waker) = (clock::now(), Waker::from(self.clone()));
        let own = self.sched.upgrade();
        let own = own.and_then(|sched| Alarm::set_on(&sched, now, when, &waker));
        let alarm = match self.at_end {
            AtEnd::Move => own.or_else(|| Some(Alarm::set_unending(now, when, &waker))),
            AtEnd::Drop => own,
        };
        let mut state = self.state.lock();
        let unused = match alarm {
            _ if state.when != when => (alarm, None),
            Some(alarm) => (state.alarm.replace(alarm), None),
            None => {
                state.when = clock::FOREVER;
                (None, state.f.take())
            }
        };
        drop(state);
        drop(unused);
    }

    /// Returns the runtime, unless it shuts down.
    fn open_sched(&self) -> Option<Arc<Sched>> {
        self.sched.upgrade().filter(|sched| !sched.is_closing())
    }

    /// Starts the goroutine that calls `f`.
    fn start(&self, f: CallFn) {
        let sched = match (self.open_sched(), self.at_end) {
            (Some(sched), _) => sched,
            (None, AtEnd::Move) => context::unending_sched(),
            (None, AtEnd::Drop) => return,
        };
        let origin = Origin::site_only(self.site);
        let once = CallOnce { f: Some(f), at_end: self.at_end };
        let call = async move { once.make() };
        let goroutine = local::with(|local| match local {
            Some(local) if Arc::ptr_eq(&local.sched, &sched) => local.spawn(call, origin),
            _ => sched.spawn_outside(call, origin),
        });
        goroutine.detach();
    }
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        let mut state = self.state.lock();
        let when = state.when;
        // A stopped call is never due.
        let is_due = when != clock::FOREVER && when <= clock::now();
        if is_due {
            state.when = clock::FOREVER;
        }
        let (fired, f) = if is_due { (state.alarm.take(), state.f.take()) } else { (None, None) };
        drop(state);
        drop(fired);
        if let Some(f) = f {
            self.start(f);
        } else if when != clock::FOREVER {
            // The runtime of the alarm has ended.
            self.set_alarm(when);
        }
    }
}

/// Makes a call once, in its goroutine. If the goroutine is cancelled before, because its runtime
/// shuts down, the drop makes the call if it must not be lost.
struct CallOnce {
    /// `None` once the call is made.
    f: Option<CallFn>,
    at_end: AtEnd,
}

impl CallOnce {
    fn make(mut self) {
        if let Some(f) = self.f.take() {
            f();
        }
    }
}

impl Drop for CallOnce {
    fn drop(&mut self) {
        match self.at_end {
            AtEnd::Move => {
                if let Some(f) = self.f.take() {
                    f();
                }
            }
            AtEnd::Drop => {}
        }
    }
}

/// A pending call of [`after_func`].
pub struct AfterFunc {
    call: Arc<Call>,
}

// The function is called in a goroutine of its own, and no user code runs under the lock.
impl UnwindSafe for AfterFunc {}
impl RefUnwindSafe for AfterFunc {}

impl AfterFunc {
    fn new(duration: Duration, f: CallFn, at_end: AtEnd, site: &'static Location<'static>) -> Self {
        let sched = Arc::downgrade(&context::sched());
        let state = Mutex::new(CallState { f: Some(f), when: clock::FOREVER, alarm: None });
        let timer = Self { call: Arc::new(Call { sched, at_end, site, state }) };
        timer.reset(duration);
        timer
    }

    /// Prevents the call. Returns `false` if its goroutine was started already, if it was stopped
    /// before, or if its runtime has ended.
    ///
    /// A call that was stopped can be set again by [`reset`](Self::reset).
    pub fn stop(&self) -> bool {
        self.call.replace(clock::FOREVER).is_some_and(|before| before != clock::FOREVER)
    }

    /// Makes the call `duration` from now. Returns whether it was pending: then it moves.
    ///
    /// It also sets a call that was stopped. Once the goroutine of the call was started it returns
    /// `false` and does nothing, because the function is called only once. If the runtime has
    /// ended, the call is not made.
    pub fn reset(&self, duration: Duration) -> bool {
        let when = clock::after(duration);
        let Some(before) = self.call.replace(when) else { return false };
        if when != clock::FOREVER {
            self.call.set_alarm(when);
        }
        before != clock::FOREVER
    }
}

impl fmt::Debug for AfterFunc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AfterFunc").field("site", &self.call.site).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "after_func_tests.rs"]
mod tests;
