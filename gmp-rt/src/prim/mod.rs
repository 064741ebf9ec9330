//! The primitives of all other modules, in a form for ordinary builds and a form for loom.
//!
//! Ordinary builds use the atomics and threads of std, locks of gmp and of `parking_lot`, and the
//! queue of crossbeam. Under `--cfg gmp_loom` the same names come from loom. It explores every
//! interleaving and every weak-memory outcome of the models in the `loom.rs` files. So the models
//! run the shipped code. Outside of this module and `sys`, mainly the numbers in `tuning.rs`
//! differ. `imp_loom.rs` contains the loom versions, unless the table names another file:
//!
//! | primitive | in the models | the shipped one is covered by |
//! |-----------|---------------|------------------------------|
//! | locks | loom's | the models of `raw_lock` |
//! | `Injector` | a list behind a lock | crossbeam's own tests |
//! | park and unpark | a flag behind a lock | std's contract, in the weakest form |
//! | [`now`] | a clock of the execution, advanced by each read | not needed: it orders nothing |
//! | [`chance`] | 0 | not needed |
//! | futex (`futex.rs`) | a queue behind a lock (`futex_queue.rs`) | Linux's contract |
//! | `membarrier` (`barrier.rs`) | a fence in both threads (`barrier_fence.rs`) | Linux's contract |
//! | `process_wide!` values | one per execution | `parking_lot`'s `Once` |
//! | `sys::timerfd` | expires at any time once set (`timerfd_loom.rs`) | the tests of `timerfd.rs` |
//! | `sys::futex` | a condition variable (`futex_loom.rs`) | Linux's contract |
//!
//! [`fixed`] contains types that are the same under loom. They are for process-wide statics,
//! because loom's types cannot be built in a `const`, and for hints on which no other memory
//! depends. Loom explores neither.
//!
//! The module is public but hidden, because `gmp-sync` and `gmp-net` use it too.
//!
//! All locks count themselves: see `held.rs`.

pub mod fixed;
mod lazy;
mod once_lock;

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
pub(crate) mod barrier;
#[cfg(any(not(target_os = "linux"), gmp_loom))]
#[path = "barrier_fence.rs"]
pub(crate) mod barrier;

#[cfg(all(target_os = "linux", not(gmp_loom)))]
mod futex;
#[cfg(any(not(target_os = "linux"), gmp_loom))]
#[path = "futex_queue.rs"]
mod futex;
/// Built for its tests. The locks use Linux's futex here.
#[cfg(all(test, target_os = "linux", not(gmp_loom)))]
#[allow(dead_code, reason = "locks use the futex here")]
mod futex_queue;

pub use self::contain::{contain, drop_payload};
pub use self::held::debug_assert_no_lock_held;
pub(crate) use self::held::holds_lock;
pub use self::imp::*;
pub(crate) use self::raw_lock::take_contended;
use crate::tuning;
pub use std::sync::atomic::Ordering;

#[cfg(not(gmp_loom))]
mod imp {
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub use std::thread::{Thread, current as current_thread, park as park_thread};

    pub use super::raw_lock::RawLock;

    /// A lock that may be held during a system call. Its waiters sleep until it is released.
    pub use super::fixed::Mutex as SleepMutex;
    /// A queue with many producers and many consumers.
    pub(crate) use crossbeam_deque::Injector;
    /// A queue that one thread fills in batches and empties.
    pub(crate) use crossbeam_deque::Worker as BatchQueue;

    /// Declares a value of the process, which is made at its first use.
    macro_rules! process_wide {
        ($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;) => {
            $(#[$meta])*
            static $name: $crate::prim::fixed::Lazy<$type> =
                $crate::prim::fixed::Lazy::new(|| $value);
        };
    }
    pub(crate) use process_wide;

    /// Declares a value of each thread, whose initial value is a constant.
    macro_rules! thread_wide {
        ($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;) => {
            std::thread_local! {
                $(#[$meta])*
                static $name: $type = const { $value };
            }
        };
    }
    pub(crate) use thread_wide;

    /// Reads the clock.
    #[inline(always)]
    pub fn now() -> std::time::Instant {
        std::time::Instant::now()
    }

    /// Returns the instant from which [`util::clock`](crate::util::clock) counts. Called once.
    pub(crate) use self::now as first_moment;

    /// Begins the use of zeroed memory as the `T` that `_value` returns, which is all zeros.
    ///
    /// # Safety
    ///
    /// `_place` is valid for writes and zeroed.
    #[inline(always)]
    pub(crate) unsafe fn begin_zeroed<T>(_place: *mut T, _value: impl FnOnce() -> T) {}

    /// Data behind a [`RawLock`].
    pub type Mutex<T> = parking_lot::lock_api::Mutex<RawLock, T>;

    impl RawLock {
        /// Creates an unlocked lock.
        pub const fn new() -> Self {
            Self::over(AtomicU16::new(0), AtomicU16::new(0))
        }
    }

    // SAFETY: at most one thread holds the lock, and it sees the writes of the previous holder. The
    // models of `raw_lock` show both.
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
            // SAFETY: guaranteed by the caller.
            unsafe { Self::unlock(self) };
        }
    }

    /// Returns `random`. Under loom it returns 0.
    #[inline(always)]
    pub fn chance(random: u32) -> u32 {
        random
    }

    /// Blocks the calling thread until it is unparked or `timeout` has passed.
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
#[path = "imp_loom.rs"]
mod imp;

impl Default for RawLock {
    fn default() -> Self {
        Self::new()
    }
}

/// Attempts to take a lock before a waiter sleeps or parks.
pub const LOCK_TRIES: u32 = tuning::LOCK_TRIES;

/// Waits between two such attempts.
#[inline]
pub fn lock_pause() {
    (0..tuning::LOCK_PAUSES).for_each(|_| spin_loop());
}

/// Pads and aligns a value to two cache lines, so that two values never share one.
///
/// 128 bytes and not 64, because x86 prefetches cache lines in pairs.
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
