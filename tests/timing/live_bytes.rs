//! The bytes that this process has allocated and not freed.
//!
//! Memory tests assert on this figure and on the bytes of the goroutine heap, not on the resident
//! set. The resident set also holds code pages and memory that the allocator keeps for later.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The system allocator with a count.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[expect(unsafe_code, reason = "passes every call to the system's allocator")]
// SAFETY: every method passes its arguments to `System` and returns its result unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// Returns the allocated bytes that are not freed yet. The goroutine heap maps its own memory and
/// is not included.
pub(crate) fn allocated() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// [`allocated`] and the goroutine heap of the process.
pub(crate) fn live(handle: &gmp::runtime::Handle) -> usize {
    allocated() + handle.metrics().heap_bytes
}
