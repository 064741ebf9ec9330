//! The count of held locks in builds without debug assertions: empty. See `held.rs`.

/// This thread has locked a lock.
#[inline(always)]
pub(super) fn enter() {}

/// This thread unlocks a lock.
#[inline(always)]
pub(super) fn leave() {}

/// A lock that this thread holds, as part of a guard.
#[derive(Debug)]
pub(super) struct Held;

impl Held {
    /// Counts nothing.
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self
    }
}

/// Does nothing: checks locks in builds with debug assertions.
#[inline(always)]
pub fn debug_assert_no_lock_held(_what: &str) {}
