//! For systems without a clock that wakes a thread and is set by another: there is never one to be had.

use std::time::Duration;

/// There is none.
#[derive(Debug)]
pub(crate) enum Alarm {}

impl Alarm {
    /// None.
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
