//! Goroutines that are only numbers, for tests and models: a run queue never dereferences them.

use crate::g::ptr::GPtr;
use crate::g::{G, GRef};
use crate::p::runq::{Owner, RunQ};

/// Makes goroutine number `n`, from 1 on.
pub(crate) fn fake(n: usize) -> GRef {
    let raw = std::ptr::without_provenance_mut::<G>(n * align_of::<G>());
    // SAFETY: never dereferenced; each number is in one queue at a time.
    unsafe { GRef::from_raw(GPtr::from_ptr(raw).unwrap()) }
}

/// Returns the number of a fake goroutine.
pub(crate) fn number(gp: GRef) -> usize {
    gp.into_raw().as_ptr().addr() / align_of::<G>()
}

/// Returns the owner's access to a queue.
pub(crate) fn owner(q: &RunQ) -> Owner<'_> {
    // SAFETY: tests and models use the owner of a queue on one thread only.
    unsafe { q.owner() }
}
