//! An allocator that counts the live bytes of the program.
//!
//! RSS includes free memory that the allocator keeps. Live bytes do not, so their trend depends on
//! the program alone.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counters on their own cache lines. The stack address of a thread selects its counter.
#[repr(align(128))]
struct Shard(AtomicUsize);

static SHARDS: [Shard; 16] = [const { Shard(AtomicUsize::new(0)) }; 16];

/// The system allocator with a count. Counts are relaxed: they order no other memory.
#[cfg_attr(not(feature = "live-bytes"), expect(dead_code, reason = "not the allocator then"))]
#[derive(Debug)]
pub(crate) struct Counting;

fn count(bytes: usize) {
    let on_stack = 0u8;
    let shard = std::ptr::from_ref(&on_stack).addr() >> 16;
    // Wraps: a thread may free memory that another thread allocated. The sum is exact.
    SHARDS[shard % SHARDS.len()].0.fetch_add(bytes, Relaxed);
}

/// Returns the bytes that are allocated and not freed; 0 without the feature `live-bytes`.
pub(crate) fn live_bytes() -> usize {
    SHARDS.iter().fold(0, |sum, shard| sum.wrapping_add(shard.0.load(Relaxed)))
}

#[expect(unsafe_code, reason = "`GlobalAlloc` is an unsafe trait")]
// SAFETY: each call goes to `System` with the same arguments. The count does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(layout.size().wrapping_neg());
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.wrapping_sub(layout.size()));
        // SAFETY: guaranteed by the caller.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[cfg(all(test, feature = "live-bytes"))]
mod tests {
    use super::*;

    #[test]
    fn live_bytes_include_what_another_thread_frees() {
        const BYTES: usize = 64 << 20;
        let before = live_bytes();
        let memory = vec![1u8; BYTES];
        // Other tests allocate too, but not as much.
        assert!(live_bytes().wrapping_sub(before) > BYTES / 2);
        std::thread::spawn(move || drop(memory)).join().unwrap();
        assert!((live_bytes().wrapping_sub(before).cast_signed()) < (BYTES / 2) as isize);
    }
}
