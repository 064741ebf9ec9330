//! A static that its first access makes.
//!
//! Std's `LazyLock` publishes its value by code inside std, which is not compiled with
//! ThreadSanitizer: every later access would be reported as a race. `parking_lot`'s `Once` is
//! compiled with gmp.
//!
//! # Invariants
//!
//! - I1: the value is written once, inside the `Once`, and read only after the `Once` is done.

use parking_lot::{Once, OnceState};
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::Deref;

/// A value that the first access makes. For statics: it is never dropped.
pub struct Lazy<T> {
    once: Once,
    value: UnsafeCell<MaybeUninit<T>>,
    make: fn() -> T,
}

// SAFETY: I1 — after the `Once` all threads share the value, which is `Sync`; the thread that makes
// it may be another one than those that use it, and it is `Send`.
unsafe impl<T: Send + Sync> Sync for Lazy<T> {}

impl<T> Lazy<T> {
    /// A value that `make` makes at the first access.
    pub const fn new(make: fn() -> T) -> Self {
        let value = UnsafeCell::new(MaybeUninit::uninit());
        Self { once: Once::new(), value, make }
    }

    /// Makes the value, unless another thread does: then this waits for it.
    ///
    /// # Panics
    ///
    /// If `make` panics, or has panicked.
    #[cold]
    fn make_once(&self) {
        self.once.call_once(|| {
            let value = (self.make)();
            // SAFETY: I1 — the `Once` runs this once, and nobody reads before it is done.
            unsafe { (*self.value.get()).write(value) };
        });
    }
}

impl<T> Deref for Lazy<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // `state` loads with Acquire: it pairs with the Release of the `Once` that is done. A
        // `call_once` that finds another thread at work synchronises by a fence, which
        // ThreadSanitizer does not model; so the state is loaded again after it.
        while self.once.state() != OnceState::Done {
            self.make_once();
        }
        // SAFETY: I1 — the `Once` is done.
        unsafe { (*self.value.get()).assume_init_ref() }
    }
}

impl<T> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").field("state", &self.once.state()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Lazy;
    use crate::prim::fixed::Mutex;

    #[test]
    fn the_first_access_makes_the_value_once() {
        static MADE: Mutex<u32> = Mutex::new(0);
        static VALUE: Lazy<u32> = Lazy::new(|| {
            *MADE.lock() += 1;
            7
        });
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(*VALUE, 7));
            }
        });
        assert_eq!(*MADE.lock(), 1);
    }
}
