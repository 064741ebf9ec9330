//! The primitives everything else is built from, and the one place that knows loom.
//!
//! Ordinary builds get std. Under `--cfg gmp_loom` the same names come from loom, which then
//! explores every interleaving and every weak-memory outcome of the models in the `loom.rs`
//! files. Only numbers in `tuning.rs` differ between the two; no function has a loom twin,
//! so what is proved is what ships.
//!
//! [`fixed`] holds std's own types for process-wide statics: loom's cannot be built in a
//! `const`, and no model touches those statics.
//!
//! Public but hidden: `gmp-sync` and `gmp-net` build on the same shim.

pub use self::imp::*;
pub use std::sync::atomic::Ordering;

/// Std's types, also under loom: for statics that no model touches.
pub mod fixed {
    pub use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    // Not std's: ours has no poisoning (no invariant here is left half-done across a panic), and
    // as it is compiled with us, ThreadSanitizer sees through it.
    pub use parking_lot::{Condvar, Mutex, RwLock};
}

#[cfg(not(gmp_loom))]
mod imp {
    pub use super::fixed::Mutex;
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub use std::thread::{Thread, current as current_thread, park as park_thread};

    /// Blocks the thread until unparked or `timeout` has passed.
    pub fn park_thread_timeout(timeout: std::time::Duration) {
        std::thread::park_timeout(timeout);
    }

    /// [`std::cell::UnsafeCell`] with loom's access-by-closure interface.
    #[derive(Debug, Default)]
    #[repr(transparent)]
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// Wraps `value`.
        pub const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        /// Runs `f` with a pointer for reading.
        #[inline(always)]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Runs `f` with a pointer for writing.
        #[inline(always)]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(gmp_loom)]
mod imp {
    pub use loom::cell::UnsafeCell;
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub use loom::thread::{Thread, current as current_thread, park as park_thread};

    /// Loom has no clock: a timed park is a chance for others to run, then a return.
    pub fn park_thread_timeout(_timeout: std::time::Duration) {
        loom::thread::yield_now();
    }

    /// [`loom::sync::Mutex`] without poisoning.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// Creates an unlocked mutex.
        pub fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        /// Locks, ignoring poison.
        pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }
}

/// Pads and aligns a value to two cache lines, so that neighbours never share one.
///
/// 128 and not 64: x86 prefetches lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

impl<T> std::ops::Deref for CachePadded<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
