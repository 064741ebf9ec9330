//! The sleep of who waits for a [lock](super::raw_lock), where there are no futexes.

use super::AtomicU32;
use std::time::Duration;

/// Sleeps for `time`.
pub(super) fn while_taken(_word: &AtomicU32, time: Duration) {
    std::thread::sleep(time);
}
