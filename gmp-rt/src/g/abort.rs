//! A handle that can abort a goroutine, and nothing else.

use super::waker::CountedG;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Aborts a goroutine. Does not give access to its output.
///
/// From [`JoinHandle::abort_handle`](crate::JoinHandle::abort_handle). Clones abort the same
/// goroutine. Dropping it does nothing. A handle keeps the memory of an ended goroutine, but not
/// its output.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let handle = gmp::spawn(std::future::pending::<()>());
/// let abort = handle.abort_handle();
/// assert!(!abort.is_finished());
/// abort.abort();
/// assert_eq!(gmp::block_on(handle).unwrap_err().goid(), abort.goid());
/// assert!(abort.is_finished());
/// ```
#[derive(Clone)]
pub struct AbortHandle {
    /// `None` if the output was returned before the handle was made.
    g: Option<CountedG>,
    goid: u64,
}

// Only changes atomics.
impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    /// Makes a handle from a reference on the goroutine.
    pub(super) fn new(g: Option<CountedG>, goid: u64) -> Self {
        Self { g, goid }
    }

    /// Ends the goroutine at its next await.
    ///
    /// As [`JoinHandle::abort`](crate::JoinHandle::abort). Does nothing if the goroutine has ended.
    pub fn abort(&self) {
        if let Some(g) = &self.g {
            g.abort();
        }
    }

    /// Whether the goroutine has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.g.as_ref().is_none_or(|g| g.status.is_dead())
    }

    /// Returns the goroutine's id.
    #[must_use]
    pub fn goid(&self) -> u64 {
        self.goid
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle")
            .field("goid", &self.goid)
            .field("is_finished", &self.is_finished())
            .finish()
    }
}
