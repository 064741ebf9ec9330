//! The replacement of `pause` for systems that cannot signal one thread, and for the models. It
//! pauses no thread.

use super::Sched;
use crate::p::P;

/// The slot of a thread: nothing here.
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

pub(super) fn own() {}

pub(super) fn disown() {}

pub(super) fn leave() {}

pub(super) fn mark(p: &P) {
    p.note_computes();
}

/// Returns `false`: no thread is paused.
pub(super) fn is_on(_sched: &Sched) -> bool {
    false
}

pub(super) fn call(_sched: &Sched) {}

impl Sched {
    pub(super) fn limit_hogs(&self) {
        // The setting has no effect here.
        let _ = self.config.pause;
    }

    /// Returns zero for the CPU-bound and the paused threads.
    pub(super) fn hogs(&self) -> (usize, usize) {
        (0, 0)
    }
}
