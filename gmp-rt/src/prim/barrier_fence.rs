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

/// Runs the half of the pair that is rare.
pub(crate) fn heavy() {
    fence(SeqCst);
}
