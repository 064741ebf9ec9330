//! A value that is set once and then shared.
//!
//! Std's `OnceLock` and `LazyLock` publish their value by code inside std, which is not compiled
//! with ThreadSanitizer. So it reports every later access as a race. This type uses `parking_lot`'s
//! `Once`, which is compiled with gmp.
//!
//! # Invariants
//!
//! - I1: the value is written once, inside the `Once`, and read only after the `Once` is done.

use parking_lot::{Once, OnceState};
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;

/// A value that is set once. It has the contract of std's `OnceLock`.
pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: I1 — after the `Once` all threads share the value, which is `Sync`. One thread may set
// the value and another one use or drop it, because it is `Send`.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T> std::panic::RefUnwindSafe for OnceLock<T> where
    T: std::panic::RefUnwindSafe + std::panic::UnwindSafe
{
}

impl<T> OnceLock<T> {
    /// Creates a cell without a value.
    pub const fn new() -> Self {
        Self { once: Once::new(), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Returns the value, if it is set.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // `state` loads with Acquire, which pairs with the Release at the end of the `Once`.
        let is_set = self.once.state() == OnceState::Done;
        // SAFETY: I1 — the `Once` is done.
        is_set.then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// Returns the value. If it is not set, sets it to what `make` returns, or waits for the thread
    /// that is setting it.
    ///
    /// A panic in `make` leaves the value unset.
    #[inline]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        let mut make = Some(make);
        loop {
            // Reads again after `call_once_force`: a call that waits for another thread
            // synchronises by a fence, which ThreadSanitizer does not model.
            if let Some(value) = self.get() {
                return value;
            }
            self.init(&mut make);
        }
    }

    /// Sets the value.
    ///
    /// # Errors
    ///
    /// Returns `value` if one is set already.
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("called once"));
        value.map_or(Ok(()), Err)
    }

    #[cold]
    fn init(&self, make: &mut Option<impl FnOnce() -> T>) {
        self.once.call_once_force(|_| {
            let value = (make.take().expect("called once"))();
            // SAFETY: I1 — the `Once` runs this once to its end, and no thread reads before that.
            unsafe { (*self.value.get()).write(value) };
        });
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        if self.get().is_some() {
            // SAFETY: I1 — it is set, and `&mut self` excludes other users.
            unsafe { self.value.get_mut().assume_init_drop() };
        }
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnceLock").field(&self.get()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::OnceLock;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    #[test]
    fn set_returns_the_second_value() {
        let cell = OnceLock::new();
        assert_eq!((cell.get(), cell.set(1), cell.set(2)), (None, Ok(()), Err(2)));
        assert_eq!((cell.get(), cell.get_or_init(|| 3)), (Some(&1), &1));
    }

    #[test]
    fn one_of_several_threads_sets_the_value() {
        let cell = OnceLock::new();
        let made: Vec<u32> = std::thread::scope(|scope| {
            let cell = &cell;
            let threads: Vec<_> =
                (0..8).map(|n| scope.spawn(move || **cell.get_or_init(|| Box::new(n)))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(made.iter().all(|n| n == &made[0]), "{made:?}");
    }

    #[test]
    fn a_panic_leaves_the_value_unset() {
        let cell = OnceLock::new();
        let panics = || cell.get_or_init(|| panic!("no value")) == &0;
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!((cell.get(), cell.get_or_init(|| 1)), (None, &1));
    }

    #[test]
    fn drop_drops_the_value() {
        let value = Arc::new(());
        let cell = OnceLock::new();
        cell.set(value.clone()).unwrap();
        drop(cell);
        drop(OnceLock::<Arc<()>>::new());
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
