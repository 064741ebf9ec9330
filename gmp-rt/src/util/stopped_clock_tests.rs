//! A clock that a test can stop on its thread. The result of a test of the scheduler must not
//! depend on when the OS runs the thread.

use crate::prim;
use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static STOPPED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Reads the clock of this thread.
pub(super) fn read() -> Instant {
    STOPPED.get().unwrap_or_else(prim::now)
}

/// Stops the clock of this thread.
pub(crate) fn stop() {
    // The first call in the process sets the epoch. No time is before it.
    super::now();
    STOPPED.set(Some(prim::now()));
}

/// Advances the clock, which must be stopped.
pub(crate) fn advance(time: Duration) {
    STOPPED.set(Some(read() + time));
}

/// Restarts the clock of this thread.
pub(crate) fn go_on() {
    STOPPED.set(None);
}
