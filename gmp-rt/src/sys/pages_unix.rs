//! Aligned memory straight from the OS.
//!
//! Not malloc: glibc raises its mmap threshold when a large block is freed and then keeps later
//! ones on its heap, so a burst of goroutines would not give its memory back.
//!
//! # Invariants
//!
//! - I1: a block returned by [`map_aligned`] is a private anonymous mapping of exactly that size,
//!   aligned to it, zeroed, and ours until [`unmap`].

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// Maps `bytes` (a power of two) aligned to `bytes`, zeroed; `None` if the OS refuses.
pub(crate) fn map_aligned(bytes: usize) -> Option<NonNull<c_void>> {
    // The kernel places mappings side by side, so after the first aligned one the next usually
    // is: one call instead of three.
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
    // SAFETY: as above: the end of the block is at most the end of the mapping.
    let end = unsafe { block.byte_add(bytes) };
    // SAFETY: the part of the mapping before the block; nobody has it.
    unsafe { unmap(wide, before) };
    // SAFETY: the part behind the block.
    unsafe { unmap(end, bytes - before) };
    Some(block)
}

fn map(bytes: usize) -> Option<NonNull<c_void>> {
    // SAFETY: a new private mapping at an address of the kernel's choice touches nothing of ours.
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

/// Gives a block back.
///
/// # Safety
///
/// `block` is (a page-aligned part of) a block from [`map_aligned`], nobody uses it any more.
pub(crate) unsafe fn unmap(block: NonNull<c_void>, bytes: usize) {
    if bytes == 0 {
        return;
    }
    // SAFETY: the caller's promise. Failure would only leak the block.
    let _ = unsafe { munmap(block.as_ptr(), bytes) };
}
