//! The alarm in the models. Loom has no clock, so an alarm that is set may expire at any time.

use loom::sync::{Condvar, Mutex};
use std::sync::PoisonError;
use std::time::Duration;

/// An alarm that expires as soon as it is set and its thread waits.
#[derive(Debug, Default)]
pub(crate) struct TimerFd {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl TimerFd {
    /// Creates an alarm that is not set.
    pub(crate) fn new() -> Option<Self> {
        Some(Self::default())
    }

    /// Sets the alarm.
    pub(crate) fn set(&self, _time: Duration) {
        self.change(true);
    }

    /// Clears the alarm.
    pub(crate) fn clear(&self) {
        self.change(false);
    }

    fn change(&self, is_set: bool) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = is_set;
        self.changed.notify_one();
    }

    /// Sleeps until the alarm is set, then clears it.
    pub(crate) fn wait(&self) {
        let mut is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_set {
            is_set = self.changed.wait(is_set).unwrap_or_else(PoisonError::into_inner);
        }
        *is_set = false;
    }
}
