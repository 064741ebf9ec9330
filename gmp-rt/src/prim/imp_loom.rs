//! The primitives of [`super`] under loom.

use super::held::{self, Held};
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64 as Untracked, Ordering};
use std::time::{Duration, Instant};

pub use loom::cell::UnsafeCell;
pub use loom::hint::spin_loop;
pub use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, fence,
};

/// A lock without data and without a guard, made of loom's mutex.
pub struct RawLock {
    mutex: loom::sync::Mutex<()>,
    /// The guard of the thread that holds the lock.
    guard: std::cell::UnsafeCell<Option<loom::sync::MutexGuard<'static, ()>>>,
}

// SAFETY: only the thread that holds the lock accesses `guard`.
unsafe impl Send for RawLock {}
// SAFETY: as above.
unsafe impl Sync for RawLock {}

impl RawLock {
    /// Creates an unlocked lock.
    pub fn new() -> Self {
        Self { mutex: loom::sync::Mutex::new(()), guard: std::cell::UnsafeCell::new(None) }
    }

    /// Locks.
    pub fn lock(&self) {
        let guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the guard is in the same struct as its mutex, and `unlock` drops it. Models never
        // move or drop a locked lock.
        unsafe { *self.guard.get() = Some(std::mem::transmute(guard)) };
        held::enter();
    }

    /// Unlocks.
    ///
    /// # Safety
    ///
    /// This thread holds the lock.
    pub unsafe fn unlock(&self) {
        held::leave();
        // SAFETY: this thread holds the lock, guaranteed by the caller.
        drop(unsafe { (*self.guard.get()).take() });
    }
}

impl std::fmt::Debug for RawLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RawLock")
    }
}

/// Returns 0. Loom runs a model many times and expects the same behaviour each time.
pub fn chance(_random: u32) -> u32 {
    0
}

/// Parks. A timeout of `NEVER` or more does not end. A shorter one is a yield: the caller reads
/// the clock again, which advances with each read.
pub fn park_thread_timeout(timeout: Duration) {
    if timeout >= NEVER {
        park_thread();
    } else {
        loom::thread::yield_now();
    }
}

/// A timeout that no model waits for.
const NEVER: Duration = Duration::from_secs(1);

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
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

/// The same as [`Mutex`], because under loom all locks are loom's.
pub type SleepMutex<T> = Mutex<T>;

/// Declares a value of one execution of a model, which is made at its first use.
macro_rules! process_wide {
    ($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;) => {
        loom::lazy_static! {
            $(#[$meta])*
            static ref $name: $type = $value;
        }
    };
}
pub(crate) use process_wide;

/// Declares a value of each thread of a model. All of them run on one OS thread.
macro_rules! thread_wide {
    ($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;) => {
        loom::thread_local! {
            $(#[$meta])*
            static $name: $type = $value;
        }
    };
}
pub(crate) use thread_wide;

/// The clock of one execution, in nanoseconds. It uses std's atomics, because a read of the clock
/// orders nothing.
struct Clock {
    now: Untracked,
    /// How far the clock advances with each read.
    step: Untracked,
}

process_wide! {
    static CLOCK: Clock = Clock { now: Untracked::new(0), step: Untracked::new(1_000) };
}

/// Reads the clock of the model, which starts at the same instant in every execution.
///
/// Loom repeats an execution and expects the same behaviour, so the clock is not the real one. It
/// advances with every read, so code that waits for a deadline reaches it.
pub fn now() -> Instant {
    let nanos = CLOCK.now.fetch_add(CLOCK.step.load(Ordering::Relaxed), Ordering::Relaxed);
    first_moment() + Duration::from_nanos(nanos)
}

/// Advances the clock of the model.
pub fn advance_clock(time: Duration) {
    CLOCK.now.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}

/// Sets how far the clock of the model advances with each read.
pub fn set_clock_step(time: Duration) {
    CLOCK.step.store(time.as_nanos() as u64, Ordering::Relaxed);
}

/// Returns the instant at which the clock of each model starts.
pub(crate) fn first_moment() -> Instant {
    static FIRST: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *FIRST.get_or_init(Instant::now)
}

/// Begins the use of zeroed memory as a `T`. Writes the value, because loom's types are not all
/// zeros.
///
/// # Safety
///
/// `place` is valid for writes.
pub(crate) unsafe fn begin_zeroed<T>(place: *mut T, value: impl FnOnce() -> T) {
    // SAFETY: guaranteed by the caller.
    unsafe { place.write(value()) };
}

/// A thread to unpark.
///
/// It is not loom's, because an unpark of loom also ends a wait for a mutex, which loom then
/// reports as a bug.
#[derive(Clone, Debug, Default)]
pub struct Thread(std::sync::Arc<Token>);

#[derive(Debug, Default)]
struct Token {
    is_unparked: loom::sync::Mutex<bool>,
    changed: loom::sync::Condvar,
}

loom::thread_local! {
    static THIS_THREAD: Thread = Thread::default();
}

/// Returns the calling thread.
pub fn current_thread() -> Thread {
    THIS_THREAD.with(Thread::clone)
}

/// Blocks the calling thread until it is unparked.
pub fn park_thread() {
    let Thread(token) = current_thread();
    let mut is_unparked = token.is_unparked.lock().unwrap_or_else(PoisonError::into_inner);
    while !*is_unparked {
        is_unparked = token.changed.wait(is_unparked).unwrap_or_else(PoisonError::into_inner);
    }
    *is_unparked = false;
}

impl Thread {
    /// Ends the next or the current [`park_thread`] of this thread.
    pub fn unpark(&self) {
        *self.0.is_unparked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_one();
    }
}

/// A replacement for crossbeam's queue that loom can explore: a list behind a lock, and its length.
///
/// Loom does not track the accesses of crossbeam. This queue has the weakest guarantees that
/// crossbeam's allows: the length may be stale, and orders nothing but the values themselves.
#[derive(Debug)]
pub(crate) struct Injector<T> {
    len: AtomicUsize,
    list: Mutex<VecDeque<T>>,
}

impl<T> Injector<T> {
    pub(crate) fn new() -> Self {
        Self { len: AtomicUsize::new(0), list: Mutex::new(VecDeque::new()) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    pub(crate) fn push(&self, value: T) {
        let mut list = self.list.lock();
        list.push_back(value);
        self.len.store(list.len(), Ordering::Release);
    }

    /// Moves the first half of the values, but at most `limit`, to `batch`.
    pub(crate) fn steal_batch_with_limit(
        &self,
        batch: &BatchQueue<T>,
        limit: usize,
    ) -> crossbeam_deque::Steal<()> {
        let mut list = self.list.lock();
        if list.is_empty() {
            return crossbeam_deque::Steal::Empty;
        }
        let n = list.len().div_ceil(2).min(limit);
        batch.0.borrow_mut().extend(list.drain(..n));
        self.len.store(list.len(), Ordering::Release);
        crossbeam_deque::Steal::Success(())
    }
}

/// A replacement for the queue of one thread. Only its owner uses it here.
#[derive(Debug)]
pub(crate) struct BatchQueue<T>(std::cell::RefCell<VecDeque<T>>);

impl<T> BatchQueue<T> {
    pub(crate) fn new_fifo() -> Self {
        Self(std::cell::RefCell::new(VecDeque::new()))
    }

    pub(crate) fn pop(&self) -> Option<T> {
        self.0.borrow_mut().pop_front()
    }
}
