//! The replacement of `pause` for systems that cannot signal one thread, and for the models. It
//! pauses no thread.

use super::Sched;
use crate::p::{P, SeatId};

/// The slot of a thread: nothing here.
#[derive(Debug)]
pub(crate) struct Seat;

impl Seat {
    pub(crate) fn for_m(_runtime: u16) -> Self {
        Self
    }

    pub(crate) fn for_sysmon(_runtime: u16) -> Self {
        Self
    }
}

pub(crate) fn own() -> SeatId {
    SeatId::NONE
}

pub(crate) fn disown() {}

pub(crate) fn leave() {}

pub(crate) fn mark(p: &P) {
    p.note_computes();
}

/// Returns `false`: no thread is paused.
pub(crate) fn is_on(_sched: &Sched) -> bool {
    false
}

pub(crate) fn call(_sched: &Sched) {}

pub(crate) fn retry(_sched: &Sched) {}

impl Sched {
    pub(crate) fn limit_hogs(&self) {
        // The setting has no effect here.
        let _ = self.config.pause;
    }

    /// Returns zero for the CPU-bound and the paused threads.
    pub(crate) fn hogs(&self) -> (usize, usize) {
        (0, 0)
    }
}
