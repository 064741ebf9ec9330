//! `TryCell`: a value that one thread at a time looks into, and at which nobody waits.
//!
//! Who finds it in use is turned away, and goes elsewhere. So it costs one read-modify-write to
//! go in and a plain store to leave; a lock needs two, since the one who leaves has to see
//! whether somebody waits.
//!
//! # Invariants
//!
//! - I1: `value` is touched only by the thread that turned `busy` from `false` to `true`, until
//!   it stores `false`.

use gmp_rt::prim::Ordering::{Acquire, Relaxed, Release};
use gmp_rt::prim::{AtomicBool, UnsafeCell};

pub(super) struct TryCell<T> {
    busy: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: I1 — one thread at a time, so the value need not be `Sync`; one that is not `Send` would
// be dropped or taken out by another thread than the one that put it in.
unsafe impl<T: Send> Sync for TryCell<T> {}

impl<T> TryCell<T> {
    pub(super) fn new(value: T) -> Self {
        Self { busy: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Runs `f` on the value; `None`, without having run it, if another is at it.
    #[inline]
    pub(super) fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        /// Leaves also when `f` panics.
        struct Leave<'a>(&'a AtomicBool);
        impl Drop for Leave<'_> {
            #[inline]
            fn drop(&mut self) {
                // Release: pairs with the Acquire of the next who comes in.
                self.0.store(false, Release);
            }
        }
        // Relaxed: a look first, which takes the cache line from nobody.
        if self.busy.load(Relaxed)
            || self.busy.compare_exchange(false, true, Acquire, Relaxed).is_err()
        {
            return None;
        }
        let _leave = Leave(&self.busy);
        // SAFETY: I1 — we have just made it busy.
        Some(self.value.with_mut(|value| f(unsafe { &mut *value })))
    }
}
