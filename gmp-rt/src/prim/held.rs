//! How many locks this thread holds, in builds with debug assertions.
//!
//! The rule: nothing is woken, dropped or called under a lock that may run code of the user. Such
//! code may take the same lock again, and a thread that waits for the lock waits for that code.
//! Locks count themselves here, and the places where code of the user may run check the count
//! ([`debug_assert_no_lock_held`]). So every test that reaches such a place checks the rule.
//!
//! What a check covers: waking a goroutine, a thread in `block_on` or a foreign waker; dropping a
//! waker, a future, an output or a panic payload; polling; calling a hook.
//!
//! In other builds (`held_none.rs`) all of this is empty.

#[cfg(gmp_loom)]
use loom::thread_local;
use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    /// Locks that this thread holds.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's macro takes no const block")]
    static HELD: Cell<usize> = Cell::new(0);
}

/// This thread has locked a lock.
#[inline]
pub(super) fn enter() {
    HELD.with(|held| held.set(held.get() + 1));
}

/// This thread unlocks a lock.
#[inline]
pub(super) fn leave() {
    HELD.with(|held| held.set(held.get() - 1));
}

/// A lock that this thread holds, as part of a guard.
#[derive(Debug)]
pub(super) struct Held(PhantomData<*mut ()>);

impl Held {
    /// Counts a lock that this thread has locked.
    #[inline]
    pub(super) fn new() -> Self {
        enter();
        Self(PhantomData)
    }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        leave();
    }
}

/// Panics if this thread holds a lock of gmp. `what` says what it is about to do.
///
/// Does nothing without debug assertions, and nothing while the thread unwinds: a second panic
/// would end the process and hide the first.
///
/// # Panics
///
/// If a lock is held: a bug of gmp.
#[track_caller]
pub fn debug_assert_no_lock_held(what: &str) {
    let held = HELD.with(Cell::get);
    assert!(
        held == 0 || std::thread::panicking(),
        "this thread {what} while it holds {held} lock(s) of gmp; it must unlock first"
    );
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "held_tests.rs"]
mod tests;
