//! `TryCell`: a value with exclusive access and without waiting.
//!
//! A thread that finds the cell in use does not wait. So entering costs one read-modify-write and
//! leaving costs a plain store. A lock needs two read-modify-writes, because leaving has to check
//! for waiters.
//!
//! # Invariants
//!
//! - I1: only the thread that changed `busy` from `false` to `true` accesses `value`, until it
//!   stores `false`.

use gmp_rt::prim::Ordering::{Acquire, Relaxed, Release};
use gmp_rt::prim::{AtomicBool, UnsafeCell};

pub(super) struct TryCell<T> {
    busy: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: I1 — one thread at a time has access, so the value need not be `Sync`. It must be `Send`,
// because another thread may drop it or take it out.
unsafe impl<T: Send> Sync for TryCell<T> {}

impl<T> TryCell<T> {
    pub(super) fn new(value: T) -> Self {
        Self { busy: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Runs `f` on the value. Returns `None` without running it if another thread uses the cell.
    #[inline]
    pub(super) fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        /// Leaves the cell, also when `f` panics.
        struct LeaveCell<'a>(&'a AtomicBool);
        impl Drop for LeaveCell<'_> {
            #[inline]
            fn drop(&mut self) {
                // Release: pairs with the Acquire of the next thread that enters.
                self.0.store(false, Release);
            }
        }
        // Relaxed: a load first, which leaves the cache line shared.
        if self.busy.load(Relaxed)
            || self.busy.compare_exchange(false, true, Acquire, Relaxed).is_err()
        {
            return None;
        }
        let _leave = LeaveCell(&self.busy);
        // SAFETY: I1 — this thread has just set `busy`.
        Some(self.value.with_mut(|value| f(unsafe { &mut *value })))
    }
}
