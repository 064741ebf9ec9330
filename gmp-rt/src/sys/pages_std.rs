//! Aligned memory from the global allocator, for systems without mmap.
//!
//! # Invariants
//!
//! - I1: a block returned by [`map_aligned`] has exactly that size and alignment, is zeroed, and
//!   belongs to the caller until [`unmap`].

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ptr::NonNull;

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, bytes).ok()
}

/// Allocates `bytes` (a power of two) aligned to `bytes`, zeroed. Returns `None` without memory.
pub(crate) fn map_aligned(bytes: usize) -> Option<NonNull<c_void>> {
    // SAFETY: the size is not zero.
    NonNull::new(unsafe { alloc_zeroed(layout(bytes)?) }.cast())
}

/// Releases a block.
///
/// # Safety
///
/// `block` came from [`map_aligned`] with the same size and is not used any more.
pub(crate) unsafe fn unmap(block: NonNull<c_void>, bytes: usize) {
    if let Some(layout) = layout(bytes) {
        // SAFETY: guaranteed by the caller.
        unsafe { dealloc(block.as_ptr().cast(), layout) }
    }
}
