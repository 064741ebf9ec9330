//! Aligned memory from the global allocator, for systems without mmap.
//!
//! # Invariants
//!
//! - I1: a block returned by [`map_aligned`] has exactly that size and alignment, is zeroed, and
//!   is ours until [`unmap`].

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ptr::NonNull;

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, bytes).ok()
}

/// Allocates `bytes` (a power of two) aligned to `bytes`, zeroed; `None` if there is no memory.
pub(crate) fn map_aligned(bytes: usize) -> Option<NonNull<c_void>> {
    // SAFETY: the size is not zero.
    NonNull::new(unsafe { alloc_zeroed(layout(bytes)?) }.cast())
}

/// Gives a block back.
///
/// # Safety
///
/// `block` came from [`map_aligned`] with the same size, nobody uses it any more.
pub(crate) unsafe fn unmap(block: NonNull<c_void>, bytes: usize) {
    if let Some(layout) = layout(bytes) {
        // SAFETY: the caller's promise.
        unsafe { dealloc(block.as_ptr().cast(), layout) }
    }
}
