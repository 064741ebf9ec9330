//! The number of threads of a runtime. Behind the lock of the idle lists.

use crate::m::{MId, SYSMON};

/// The number of threads with an M. See the [module](self).
#[derive(Debug)]
pub(crate) struct ThreadCount {
    /// Threads that exist or are being started.
    pub(crate) count: usize,
    /// Idle Ps that were given to a thread that was woken or started for it.
    pub(crate) wakes: u64,
    /// Threads that were started.
    pub(crate) started: u64,
    /// Threads that the OS refused.
    pub(crate) refused: u64,
    /// The number of the next M.
    pub(super) next: MId,
}

impl Default for ThreadCount {
    fn default() -> Self {
        Self { count: 0, wakes: 0, started: 0, refused: 0, next: SYSMON + 1 }
    }
}

impl ThreadCount {
    /// Counts a thread unless there are `max`. Returns its number.
    pub(super) fn reserve(&mut self, max: usize) -> Option<MId> {
        if self.count >= max {
            return None;
        }
        self.count += 1;
        let id = self.next;
        self.next += 1;
        Some(id)
    }
}
