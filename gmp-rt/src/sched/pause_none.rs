//! For systems without a signal to one thread, and for the models: no thread is paused.

use super::Sched;
use crate::p::P;

/// Nothing.
#[derive(Debug)]
pub(super) struct Seat;

impl Seat {
    pub(super) fn for_m(_runtime: u16) -> Self {
        Self
    }

    pub(super) fn for_sysmon(_runtime: u16) -> Self {
        Self
    }
}

pub(super) fn own(_p: Option<&P>) {}

pub(super) fn leave() {}

pub(super) fn mark(_sched: &Sched, _p: &P) {}

/// Never.
pub(super) fn is_on(_sched: &Sched) -> bool {
    false
}

pub(super) fn call(_sched: &Sched) {}

impl Sched {
    pub(super) fn limit_hogs(&self) {
        // The switch has no effect here.
        let _ = self.config.pause;
    }

    /// None.
    pub(super) fn hogs(&self) -> (usize, usize) {
        (0, 0)
    }
}
