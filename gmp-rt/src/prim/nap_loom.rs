//! The sleep of who waits for a [lock](super::raw_lock). Loom has no clock: others may run.

use super::AtomicU32;
use std::time::Duration;

/// Lets others run.
pub(super) fn while_taken(_word: &AtomicU32, _time: Duration) {
    loom::thread::yield_now();
}
