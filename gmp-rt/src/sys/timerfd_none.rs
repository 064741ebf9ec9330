//! For systems without a timer that one thread sets and another waits for. No alarm can be created.

use std::time::Duration;

/// An alarm that does not exist.
#[derive(Debug)]
pub(crate) enum TimerFd {}

impl TimerFd {
    /// Returns `None`.
    pub(crate) fn new() -> Option<Self> {
        None
    }

    pub(crate) fn set(&self, _time: Duration) {
        match *self {}
    }

    pub(crate) fn clear(&self) {
        match *self {}
    }

    pub(crate) fn wait(&self) {
        match *self {}
    }
}
