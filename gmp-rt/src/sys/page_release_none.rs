//! Without mmap no single page returns to the OS.

use std::ffi::c_void;
use std::ptr::NonNull;

/// Returns a usual size of a page.
pub(crate) fn page_bytes() -> usize {
    4096
}

/// Refuses.
///
/// # Safety
///
/// None: nothing changes. The function is unsafe as its versions for other systems are.
pub(crate) unsafe fn give_back(_start: NonNull<c_void>, _bytes: usize) -> bool {
    false
}
