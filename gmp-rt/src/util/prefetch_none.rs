//! Prefetching of memory, on CPUs for which stable Rust has no instruction: does nothing.

/// Does nothing.
#[inline]
pub(crate) fn prefetch<T>(_: *const T) {}
