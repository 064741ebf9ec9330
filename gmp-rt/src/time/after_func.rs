//! `after_func`.

use super::alarm::Alarm;
use crate::g::origin::Origin;
use crate::prim::fixed::Mutex;
use crate::runtime::context;
use crate::sched::{Sched, current};
use crate::util::clock;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::time::Duration;

/// Calls `f` in a goroutine of its own after `duration` (Go: `time.AfterFunc`).
///
/// Dropping the [`AfterFunc`] does not stop it.
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
pub fn after_func(duration: Duration, f: impl Fn() + Send + Sync + 'static) -> AfterFunc {
    let sched = context::sched();
    let call = Call { f: Box::new(f), sched: Arc::downgrade(&sched), site: Location::caller() };
    let timer = AfterFunc { call: Arc::new(call), alarm: Mutex::new(None) };
    timer.reset(duration);
    timer
}

/// What a timer calls; as a waker, so that a wheel holds nothing but wakers.
struct Call {
    f: Box<dyn Fn() + Send + Sync>,
    sched: Weak<Sched>,
    site: &'static Location<'static>,
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        // A runtime that has ended calls nothing.
        let Some(sched) = self.sched.upgrade() else {
            return;
        };
        let origin = Origin::site_only(self.site);
        let call = async move { (self.f)() };
        let goroutine = current::with(|local| match local {
            Some(local) if Arc::ptr_eq(&local.sched, &sched) => local.spawn(call, origin),
            _ => sched.spawn_outside(call, origin),
        });
        goroutine.detach();
    }
}

/// A pending call of [`after_func`].
pub struct AfterFunc {
    call: Arc<Call>,
    alarm: Mutex<Option<Alarm>>,
}

impl AfterFunc {
    /// Keeps the call from being made. `false` if its goroutine was started already, or it was
    /// stopped before.
    pub fn stop(&self) -> bool {
        self.take_alarm().is_some_and(Alarm::cancel)
    }

    /// Makes the call `duration` from now, also if it was made or stopped before. `true` if it
    /// was pending: then it is made once, not twice.
    pub fn reset(&self, duration: Duration) -> bool {
        let pending = self.stop();
        let when = clock::after(duration);
        if when != clock::FOREVER {
            let alarm = Alarm::set(clock::now(), when, &Waker::from(self.call.clone()));
            // A concurrent `reset` may have set one: it is dropped after the lock is released.
            let replaced = self.alarm.lock().replace(alarm);
            drop(replaced);
        }
        pending
    }

    fn take_alarm(&self) -> Option<Alarm> {
        self.alarm.lock().take()
    }
}

impl Drop for AfterFunc {
    fn drop(&mut self) {
        if let Some(alarm) = self.take_alarm() {
            alarm.forget();
        }
    }
}

impl fmt::Debug for AfterFunc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AfterFunc").field("site", &self.call.site).finish_non_exhaustive()
    }
}
