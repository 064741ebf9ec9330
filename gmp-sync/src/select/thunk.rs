//! A function that is called at most once, without an allocation if it is small.
//!
//! A select over many cases usually ends after it has tried one or two of them. So a case is
//! created by its thunk when it is tried, and most thunks are dropped without a call.
//!
//! # Invariants
//!
//! - I1: `data` holds a value of the type that `call` and `drop` were made for, until one of them
//!   takes it.

use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit};

/// Room for a reference and a closure with two captures.
type Data = MaybeUninit<[usize; 3]>;

/// See the [module](self).
pub(super) struct Thunk<'a, R> {
    data: Data,
    call: unsafe fn(*mut Data) -> R,
    /// `None` if there is nothing to drop.
    drop: Option<unsafe fn(*mut Data)>,
    _value: PhantomData<&'a mut ()>,
}

// SAFETY: I1 — `new` takes only values that are `Send`.
unsafe impl<R> Send for Thunk<'_, R> {}

impl<R> fmt::Debug for Thunk<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Thunk")
    }
}

impl<'a, R> Thunk<'a, R> {
    /// Stores `function`, on the heap if it is large.
    #[inline]
    pub(super) fn new<F: FnOnce() -> R + Send + 'a>(function: F) -> Self {
        let fits = size_of::<F>() <= size_of::<Data>() && align_of::<F>() <= align_of::<Data>();
        match fits {
            // SAFETY: it fits.
            true => unsafe { Self::inline(function) },
            false => {
                let function = Box::new(function);
                // SAFETY: a box fits.
                unsafe { Self::inline(function) }
            }
        }
    }

    /// # Safety
    ///
    /// `F` fits into [`Data`].
    #[inline]
    unsafe fn inline<F: FnOnce() -> R + Send + 'a>(function: F) -> Self {
        /// # Safety
        ///
        /// `data` holds an `F`, which this function takes.
        unsafe fn call<R, F: FnOnce() -> R>(data: *mut Data) -> R {
            // SAFETY: guaranteed by the caller.
            let function = unsafe { data.cast::<F>().read() };
            function()
        }
        /// # Safety
        ///
        /// `data` holds an `F`, which this function takes.
        unsafe fn drop<F>(data: *mut Data) {
            // SAFETY: guaranteed by the caller.
            unsafe { data.cast::<F>().drop_in_place() };
        }
        let mut data = Data::uninit();
        // SAFETY: it fits, guaranteed by the caller.
        unsafe { data.as_mut_ptr().cast::<F>().write(function) };
        let drop = mem::needs_drop::<F>().then_some(drop::<F> as unsafe fn(*mut Data));
        Self { data, call: call::<R, F>, drop, _value: PhantomData }
    }

    /// Calls the function.
    pub(super) fn call(self) -> R {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: I1 — stored by `new`, and `this` does not drop it.
        unsafe { (this.call)(&raw mut this.data) }
    }
}

impl<R> Drop for Thunk<'_, R> {
    #[inline]
    fn drop(&mut self) {
        if let Some(drop) = self.drop {
            // SAFETY: I1 — stored by `new`; `call` does not run this drop.
            unsafe { drop(&raw mut self.data) };
        }
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Small and large functions, called and dropped: each owns what it captured.
    #[test]
    fn a_thunk_owns_its_captures() {
        let shared = Arc::new(5u64);
        let small = |shared: &Arc<u64>| {
            let shared = shared.clone();
            Thunk::new(move || *shared)
        };
        let large = |shared: &Arc<u64>| {
            let captures = [(); 10].map(|()| shared.clone());
            Thunk::new(move || captures.iter().map(|n| **n).sum())
        };
        assert_eq!((small(&shared).call(), large(&shared).call()), (5, 50));
        let thunks = (small(&shared), large(&shared));
        assert_eq!(Arc::strong_count(&shared), 12);
        drop(thunks);
        assert_eq!(Arc::strong_count(&shared), 1);
    }

    #[test]
    fn a_function_that_panics_is_not_dropped_again() {
        let shared = Arc::new(5);
        let thunk = {
            let shared = shared.clone();
            Thunk::<()>::new(move || panic!("{shared}"))
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| thunk.call())).is_err());
        assert_eq!(Arc::strong_count(&shared), 1);
    }

    /// A function without captures, and one with a large alignment.
    #[test]
    fn size_and_alignment_may_be_anything() {
        #[repr(align(64))]
        struct Aligned(u8);
        let aligned = Aligned(7);
        assert_eq!(Thunk::new(|| 3).call(), 3);
        assert_eq!(Thunk::new(move || { aligned }.0).call(), 7);
    }
}
