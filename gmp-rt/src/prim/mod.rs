//! The primitives everything else is built from, and the one place that knows loom.
//!
//! Ordinary builds get std. Under `--cfg gmp_loom` the same names come from loom, which then
//! explores every interleaving and every weak-memory outcome of the models in the `loom.rs`
//! files. Numbers in `tuning.rs` differ between the two, and no function above this module has
//! a loom twin: the models run what ships. The twins here are in `imp_loom.rs`:
//!
//! | primitive | in the models | what covers the shipped one |
//! |-----------|---------------|------------------------------|
//! | locks | loom's | the models of `raw_lock` |
//! | `Injector` | a list behind a lock | crossbeam's own tests |
//! | park and unpark | a flag behind a lock | std's contract; the weakest form that it allows |
//! | [`now`] | a clock of the execution that moves when it is read | none needed: no order depends on it |
//! | Linux's futex (`futex.rs`) | a queue behind a lock (`futex_queue.rs`) | Linux's contract |
//! | Linux's `membarrier` (`barrier.rs`) | a fence in both threads (`futex_queue.rs`) | Linux's contract |
//! | `process_wide!` values | one per execution | `parking_lot`'s `Once` |
//! | sysmon's alarm (`sys/alarm_loom.rs`) | goes off at any moment after it is set | the tests of `sys/alarm.rs` |
//! | `sys::futex` (`sys/futex_loom.rs`) | a condition variable; a wake-up before the sleep is lost | the kernel's contract |
//!
//! [`fixed`] holds std's own types for process-wide statics, since loom's cannot be built in a
//! `const`, and for hints on which no other memory depends. Loom explores neither.
//!
//! Public but hidden: `gmp-sync` and `gmp-net` build on the same shim.
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
mod barrier;

#[cfg(all(target_os = "linux", not(gmp_loom)))]
mod futex;
#[cfg(any(not(target_os = "linux"), gmp_loom))]
#[path = "futex_queue.rs"]
mod futex;
/// Its tests also run where Linux's futex takes its place.
#[cfg(all(test, target_os = "linux", not(gmp_loom)))]
#[allow(dead_code, reason = "locks use the futex here")]
mod futex_queue;

pub use self::contain::{contain, drop_payload};
pub use self::held::debug_assert_no_lock_held;
#[cfg(all(target_os = "linux", not(gmp_loom)))]
pub(crate) use self::held::holds_lock;
pub use self::imp::*;
pub(crate) use self::raw_lock::take_contended;
pub use std::sync::atomic::Ordering;

#[cfg(not(gmp_loom))]
mod imp {
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub use std::thread::{Thread, current as current_thread, park as park_thread};

    pub use super::raw_lock::RawLock;

    /// A lock that may be held during a system call: its waiters sleep until it is released.
    pub use super::fixed::Mutex as SleepMutex;
    /// A queue of many producers and many consumers.
    pub(crate) use crossbeam_deque::Injector;

    /// Declares a value of the process, made at its first use.
    macro_rules! process_wide {
        ($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;) => {
            $(#[$meta])*
            static $name: $crate::prim::fixed::Lazy<$type> =
                $crate::prim::fixed::Lazy::new(|| $value);
        };
    }
    pub(crate) use process_wide;

    /// Declares a value of each thread, made at compile time.
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

    /// The moment that [`util::clock`](crate::util::clock) counts from, read once.
    pub(crate) use self::now as first_moment;

    /// Begins the use of zeroed memory as the `T` that `_value` makes, which is all zeros.
    ///
    /// # Safety
    ///
    /// `_place` is valid for writes, and zeroed.
    #[inline(always)]
    pub(crate) unsafe fn begin_zeroed<T>(_place: *mut T, _value: impl FnOnce() -> T) {}

    /// Data behind a [`RawLock`].
    pub type Mutex<T> = parking_lot::lock_api::Mutex<RawLock, T>;

    impl RawLock {
        /// An unlocked lock.
        pub const fn new() -> Self {
            Self::over(AtomicU16::new(0), AtomicU16::new(0))
        }
    }

    // SAFETY: at most one thread holds the lock, and it sees what the holder before it did. The
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
#[path = "imp_loom.rs"]
mod imp;

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
