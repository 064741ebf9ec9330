//! Fetching memory before it is needed.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Begins to fetch the cache line at `at`, which may be anything: a hint.
#[inline]
pub(crate) fn prefetch<T>(at: *const T) {
    // SAFETY: the instruction never faults, whatever the address, and changes nothing but caches.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}
