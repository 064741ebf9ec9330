//! The alarm in the models: loom has no clock, so an alarm that is set may go off at any moment.

use loom::sync::{Condvar, Mutex};
use std::sync::PoisonError;
use std::time::Duration;

/// An alarm that goes off as soon as its thread waits for it.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Alarm {
    /// One that is not set.
    pub(crate) fn new() -> Option<Self> {
        Some(Self::default())
    }

    /// Goes off, now or later.
    pub(crate) fn set(&self, _time: Duration) {
        self.change(true);
    }

    /// Does not go off any more; nor did it, if nobody has noticed.
    pub(crate) fn clear(&self) {
        self.change(false);
    }

    fn change(&self, is_set: bool) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = is_set;
        self.changed.notify_one();
    }

    /// Sleeps until it goes off, or returns at once if it did since the last time.
    pub(crate) fn wait(&self) {
        let mut is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_set {
            is_set = self.changed.wait(is_set).unwrap_or_else(PoisonError::into_inner);
        }
        *is_set = false;
    }
}
