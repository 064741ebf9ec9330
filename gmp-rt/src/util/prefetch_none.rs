//! Fetching memory before it is needed, where Rust has no way to ask for it.

/// Does nothing.
#[inline]
pub(crate) fn prefetch<T>(_: *const T) {}
