//! The number of locks of gmp that this thread holds.
//!
//! Two rules depend on the count:
//!
//! - A thread that holds a lock of gmp is not paused ([`holds_lock`]), because other threads may
//!   wait for the lock. A signal handler of the thread itself reads the count. So the count goes up
//!   before the lock is taken, and down after it is released.
//! - No user code runs under a lock. Such code may take the same lock again, and every thread that
//!   waits for the lock would wait for that code. Wake-ups, drops and calls that may run user code
//!   check the count in builds with debug assertions ([`debug_assert_no_lock_held`]). So every test
//!   that reaches such a place checks the rule.
//!
//! The checks cover these operations:
//!
//! - the wake-up of a goroutine, of a thread in `block_on`, and of a foreign waker
//! - the drop of a waker, a future, an output and a panic payload
//! - a poll
//! - the call of a hook

use super::fixed::AtomicUsize;
use super::thread_wide;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::compiler_fence;

thread_wide! {
    /// Locks that this thread holds, or is about to take. Only this thread and its signal handlers
    /// use it, so Relaxed is enough, and no addition has to be atomic.
    static HELD: AtomicUsize = AtomicUsize::new(0);
}

/// Counts a lock that this thread is about to take.
#[inline]
pub(super) fn enter() {
    HELD.with(|held| held.store(held.load(Relaxed) + 1, Relaxed));
    compiler_fence(SeqCst); // before the lock is taken, as a signal handler sees it
}

/// Subtracts a lock that this thread has released.
#[inline]
pub(super) fn leave() {
    compiler_fence(SeqCst); // after the lock is released, as a signal handler sees it
    HELD.with(|held| held.store(held.load(Relaxed) - 1, Relaxed));
}

/// Whether this thread holds a lock of gmp. A signal handler may call it.
pub(crate) fn holds_lock() -> bool {
    held() > 0
}

/// Returns how many locks of gmp this thread holds.
fn held() -> usize {
    HELD.with(|held| held.load(Relaxed))
}

/// A lock that this thread holds, as part of a guard.
#[derive(Debug)]
pub(super) struct Held(PhantomData<*mut ()>);

impl Held {
    /// Counts a lock that this thread is about to take.
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

/// Panics if this thread holds a lock of gmp. `what` is what the thread is about to do.
///
/// Does nothing without debug assertions. Does nothing while the thread unwinds, because a second
/// panic would end the process and hide the first.
///
/// # Panics
///
/// If the thread holds a lock, which is a bug of gmp.
#[inline(always)]
#[track_caller]
pub fn debug_assert_no_lock_held(what: &str) {
    debug_assert!(
        held() == 0 || std::thread::panicking(),
        "this thread {what} while it holds {} lock(s) of gmp; it must unlock first",
        held()
    );
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "held_tests.rs"]
mod tests;
