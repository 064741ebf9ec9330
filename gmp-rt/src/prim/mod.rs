//! The primitives everything else is built from, and the one place that knows loom.
//!
//! Ordinary builds get std. Under `--cfg gmp_loom` the same names come from loom, which then
//! explores every interleaving and every weak-memory outcome of the models in the `loom.rs`
//! files. Only numbers in `tuning.rs` differ between the two; no function has a loom twin,
//! so what is proved is what ships. But for locks: `raw_lock` has models of its own, and all others take loom's.
//!
//! [`fixed`] holds std's own types for process-wide statics: loom's cannot be built in a
//! `const`, and no model touches those statics.
//!
//! Public but hidden: `gmp-sync` and `gmp-net` build on the same shim.
//!
//! All locks count themselves in builds with debug assertions: see `held.rs`.

pub mod fixed;
mod lazy;

#[cfg(debug_assertions)]
mod held;
#[cfg(not(debug_assertions))]
#[path = "held_none.rs"]
mod held;
#[cfg_attr(
    gmp_loom,
    allow(unreachable_pub, dead_code, reason = "under loom it is seen by its own models only")
)]
mod raw_lock;

#[cfg(not(gmp_loom))]
mod contain;
#[cfg(gmp_loom)]
#[path = "contain_loom.rs"]
mod contain;

#[cfg(all(target_os = "linux", not(gmp_loom)))]
#[path = "nap_futex.rs"]
mod nap;
#[cfg(gmp_loom)]
#[path = "nap_loom.rs"]
mod nap;
#[cfg(not(any(target_os = "linux", gmp_loom)))]
#[path = "nap_sleep.rs"]
mod nap;

pub use self::contain::{contain, drop_payload};
pub use self::held::debug_assert_no_lock_held;
pub use self::imp::*;
pub(crate) use self::raw_lock::take_contended;
pub use std::sync::atomic::Ordering;

#[cfg(not(gmp_loom))]
mod imp {
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub use std::thread::{Thread, current as current_thread, park as park_thread};

    pub use super::raw_lock::RawLock;

    /// Data behind a [`RawLock`].
    pub type Mutex<T> = parking_lot::lock_api::Mutex<RawLock, T>;

    impl RawLock {
        /// An unlocked lock.
        pub const fn new() -> Self {
            Self::over(AtomicU32::new(super::raw_lock::FREE))
        }
    }

    // SAFETY: no two have it at a time, and who has it sees what was done before: the models of `raw_lock`.
    unsafe impl parking_lot::lock_api::RawMutex for RawLock {
        const INIT: Self = Self::new();
        type GuardMarker = parking_lot::lock_api::GuardNoSend;

        #[inline]
        fn lock(&self) {
            Self::lock(self);
        }

        #[inline]
        fn try_lock(&self) -> bool {
            Self::try_lock(self)
        }

        #[inline]
        unsafe fn unlock(&self) {
            // SAFETY: the caller's promise.
            unsafe { Self::unlock(self) };
        }
    }

    /// A random number, as it is.
    #[inline(always)]
    pub fn chance(random: u32) -> u32 {
        random
    }

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

    use super::held::{self, Held};

    /// A lock without data and without a guard, over loom's.
    pub struct RawLock {
        mutex: loom::sync::Mutex<()>,
        /// The guard of who has locked it.
        guard: std::cell::UnsafeCell<Option<loom::sync::MutexGuard<'static, ()>>>,
    }

    // SAFETY: `guard` is reached only by who has the lock.
    unsafe impl Send for RawLock {}
    // SAFETY: as above.
    unsafe impl Sync for RawLock {}

    impl RawLock {
        /// An unlocked lock.
        pub fn new() -> Self {
            Self { mutex: loom::sync::Mutex::new(()), guard: std::cell::UnsafeCell::new(None) }
        }

        /// Locks.
        pub fn lock(&self) {
            let guard = self.mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            // SAFETY: the guard lies beside its mutex and is dropped by `unlock`; models never
            // move or drop a locked one.
            unsafe { *self.guard.get() = Some(std::mem::transmute(guard)) };
            held::enter();
        }

        /// Unlocks.
        ///
        /// # Safety
        ///
        /// This thread has locked it.
        pub unsafe fn unlock(&self) {
            held::leave();
            // SAFETY: ours, by the caller's promise.
            drop(unsafe { (*self.guard.get()).take() });
        }
    }

    impl std::fmt::Debug for RawLock {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("RawLock")
        }
    }

    /// Loom runs a model many times and expects the same of it each time: no chance.
    pub fn chance(_random: u32) -> u32 {
        0
    }

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
        pub fn lock(&self) -> MutexGuard<'_, T> {
            let guard = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            MutexGuard { guard, _held: Held::new() }
        }
    }

    /// The guard of a [`Mutex`].
    #[derive(Debug)]
    pub struct MutexGuard<'a, T> {
        guard: loom::sync::MutexGuard<'a, T>,
        _held: Held,
    }

    impl<T> std::ops::Deref for MutexGuard<'_, T> {
        type Target = T;
        fn deref(&self) -> &T {
            &self.guard
        }
    }

    impl<T> std::ops::DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.guard
        }
    }
}

impl Default for RawLock {
    fn default() -> Self {
        Self::new()
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
