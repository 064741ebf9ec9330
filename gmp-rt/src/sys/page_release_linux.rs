//! The return of single pages to Linux, by `MADV_DONTNEED`.
//!
//! # Invariants
//!
//! - I1: a page that is given back stays mapped. It holds zeros from then on, and takes memory
//!   again at its first write.

use rustix::mm::{Advice, madvise};
use std::ffi::c_void;
use std::ptr::NonNull;

/// Returns the size of a page.
pub(crate) fn page_bytes() -> usize {
    // Not by rustix, which reads the auxiliary vector: that fails under valgrind.
    // SAFETY: `sysconf` has no preconditions.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}

/// Gives back the memory of the pages in `start..start + bytes`. Returns `false` if the OS refuses:
/// it does so for locked memory (`mlockall`). Then the pages keep their content.
///
/// # Safety
///
/// The range consists of whole pages of one private anonymous mapping that belongs to the caller.
/// Nothing in it is needed any more, except that zeros are allowed.
pub(crate) unsafe fn give_back(start: NonNull<c_void>, bytes: usize) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe { madvise(start.as_ptr(), bytes, Advice::LinuxDontNeed) }.is_ok()
}
