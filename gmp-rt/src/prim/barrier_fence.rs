//! The pair of memory barriers of `barrier.rs` where the system has no `membarrier`, and in the
//! models: both are fences.

use super::Ordering::SeqCst;
use super::fence;

/// Does nothing: a fence needs no preparation.
pub(crate) fn prepare() {}

/// Runs the half of the pair that is frequent.
#[inline(always)]
pub(crate) fn light() {
    fence(SeqCst);
}

/// The result of [`try_heavy`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heavy {
    Done,
}

impl Heavy {
    /// Does nothing: a fence never fails.
    pub(crate) fn or_wait(self) {}
}

/// Runs the half of the pair that is rare.
pub(crate) fn try_heavy() -> Heavy {
    heavy();
    Heavy::Done
}

/// Runs the half of the pair that is rare.
pub(crate) fn heavy() {
    fence(SeqCst);
}
