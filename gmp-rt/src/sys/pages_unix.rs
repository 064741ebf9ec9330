//! Aligned memory from the OS.
//!
//! It does not use malloc. When a large block is freed, glibc raises its mmap threshold and keeps
//! later blocks on its heap. So the memory of a burst of goroutines would not return to the OS.
//!
//! # Invariants
//!
//! - I1: a block returned by [`map_aligned`] is a private anonymous mapping of exactly that size,
//!   aligned to it, zeroed, and belongs to the caller until [`unmap`].

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// Maps `bytes` (a power of two) aligned to `bytes`, zeroed. Returns `None` if the OS refuses.
pub(crate) fn map_aligned(bytes: usize) -> Option<NonNull<c_void>> {
    // The kernel places mappings side by side, so a mapping that follows an aligned one is usually
    // aligned. Then one call is enough.
    let first = map(bytes)?;
    if first.addr().get() % bytes == 0 {
        return Some(first);
    }
    // SAFETY: mapped above and not used.
    unsafe { unmap(first, bytes) };
    let wide = map(2 * bytes)?;
    let start = wide.addr().get().next_multiple_of(bytes);
    let before = start - wide.addr().get();
    // SAFETY: `before < bytes`, so this stays in the mapping of twice the size.
    let block = unsafe { wide.byte_add(before) };
    // SAFETY: as above. The end of the block is at most the end of the mapping.
    let end = unsafe { block.byte_add(bytes) };
    // SAFETY: the part of the mapping before the block, which is not used.
    unsafe { unmap(wide, before) };
    // SAFETY: the part of the mapping after the block, which is not used.
    unsafe { unmap(end, bytes - before) };
    Some(block)
}

fn map(bytes: usize) -> Option<NonNull<c_void>> {
    // SAFETY: a new private mapping at an address that the kernel chooses changes no other memory.
    let block = unsafe {
        mmap_anonymous(
            ptr::null_mut(),
            bytes,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
    };
    block.ok().and_then(NonNull::new)
}

/// Releases a block.
///
/// # Safety
///
/// `block` is a block from [`map_aligned`] or a page-aligned part of one, and is not used any more.
pub(crate) unsafe fn unmap(block: NonNull<c_void>, bytes: usize) {
    if bytes == 0 {
        return;
    }
    // SAFETY: guaranteed by the caller. A failure only leaks the block.
    let _ = unsafe { munmap(block.as_ptr(), bytes) };
}
