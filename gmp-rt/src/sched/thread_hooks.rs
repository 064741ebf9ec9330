//! The hooks of the program at the start and at the end of each worker thread.
//!
//! The start hook may block. So the M calls it in a marked blocking call and without a spinning
//! token: sysmon hands off its P, and no submitter relies on this M.
//!
//! The stop hook runs when the M has left the scheduler. It delays no goroutine. The M is not
//! joined before its hook has returned.

use crate::prim::contain;
use std::fmt;
use std::sync::Arc;

pub(crate) type Hook = Arc<dyn Fn() + Send + Sync>;

/// The hooks of a runtime.
#[derive(Clone, Default)]
pub(crate) struct ThreadHooks {
    pub(crate) start: Option<Hook>,
    pub(crate) stop: Option<Hook>,
}

impl fmt::Debug for ThreadHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, stop) = (self.start.is_some(), self.stop.is_some());
        f.debug_struct("ThreadHooks").field("start", &start).field("stop", &stop).finish()
    }
}

impl ThreadHooks {
    /// Calls the start hook. Catches its panic.
    pub(super) fn call_start(&self) {
        if let Some(hook) = &self.start {
            contain(|| hook());
        }
    }

    /// Calls the stop hook. Catches its panic.
    pub(super) fn call_stop(&self) {
        if let Some(hook) = &self.stop {
            contain(|| hook());
        }
    }
}
