//! Goroutines that are only numbers, for tests, models and
//! micro-benchmarks: a run queue never dereferences them.

use crate::g::ptr::GPtr;
use crate::g::{G, GRef};

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
