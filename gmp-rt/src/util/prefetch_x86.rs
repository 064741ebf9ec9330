//! Prefetching of memory on x86-64.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Starts to load the cache line at `at`, which may be any address. A hint.
#[inline]
pub(crate) fn prefetch<T>(at: *const T) {
    // SAFETY: the instruction never faults, whatever the address, and changes nothing but caches.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}
