//! Goroutines that exist only as numbers, for tests and models: a run queue never looks behind a
//! pointer.

use super::runq::{Owner, RunQ};
use crate::g::ptr::GPtr;
use crate::g::{G, GRef};

/// Goroutine number `n`, from 1 on.
pub(super) fn fake(n: usize) -> GRef {
    let raw = std::ptr::without_provenance_mut::<G>(n * align_of::<G>());
    // SAFETY: never dereferenced; each number is in one queue at a time.
    unsafe { GRef::from_raw(GPtr::from_ptr(raw).unwrap()) }
}

/// The number of a fake goroutine.
pub(super) fn number(gp: GRef) -> usize {
    gp.into_raw().as_ptr().addr() / align_of::<G>()
}

/// The owner of a queue.
pub(super) fn owner(q: &RunQ) -> Owner<'_> {
    // SAFETY: tests and models use the owner of a queue on one thread only.
    unsafe { q.owner() }
}
