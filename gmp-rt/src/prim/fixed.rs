//! Types for process-wide statics and for values that no model uses: those of std and
//! `parking_lot`. They are the same under loom, whose types cannot be built in a `const`.
//!
//! The locks are not std's. They have no poisoning, because a panic leaves no invariant of gmp
//! broken. They are compiled with gmp, so ThreadSanitizer sees their accesses. They count
//! themselves for [`debug_assert_no_lock_held`](super::debug_assert_no_lock_held).

use super::held::Held;
pub use super::lazy::Lazy;
pub use super::once_lock::OnceLock;
pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::WaitTimeoutResult;
use std::ops::{Deref, DerefMut};
use std::time::Instant;

/// A [`parking_lot::Mutex`] that is counted while it is locked.
#[derive(Debug, Default)]
pub struct Mutex<T>(parking_lot::Mutex<T>);

/// The guard of a [`Mutex`]. Its first field is dropped first, so the lock is released before the
/// count goes down.
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    guard: parking_lot::MutexGuard<'a, T>,
    _held: Held,
}

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    /// Locks.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let held = Held::new();
        MutexGuard { guard: self.0.lock(), _held: held }
    }

    /// Locks. Returns `None` at once if a thread holds the lock.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let held = Held::new();
        Some(MutexGuard { guard: self.0.try_lock()?, _held: held })
    }

    /// Returns the value. Takes no lock: no other thread has a reference.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// A [`parking_lot::Condvar`] for a [`Mutex`]. The mutex counts as held during a wait. That is
/// harmless: the thread sleeps.
#[derive(Debug, Default)]
pub struct Condvar(parking_lot::Condvar);

impl Condvar {
    /// Creates a condition variable.
    pub const fn new() -> Self {
        Self(parking_lot::Condvar::new())
    }

    /// Unlocks, waits for a notification, and locks again.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        self.0.wait(&mut guard.guard);
    }

    /// Waits, as [`wait`](Self::wait), at most until `deadline`.
    pub fn wait_until<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Instant,
    ) -> WaitTimeoutResult {
        self.0.wait_until(&mut guard.guard, deadline)
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A [`parking_lot::RwLock`] that is counted while it is locked.
#[derive(Debug, Default)]
pub struct RwLock<T>(parking_lot::RwLock<T>);

/// A guard of a [`RwLock`]. `G` is the guard of `parking_lot`.
#[derive(Debug)]
pub struct RwLockGuard<G> {
    guard: G,
    _held: Held,
}

impl<T> RwLock<T> {
    /// Creates an unlocked lock.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::RwLock::new(value))
    }

    /// Locks for reading.
    pub fn read(&self) -> RwLockGuard<parking_lot::RwLockReadGuard<'_, T>> {
        let held = Held::new();
        RwLockGuard { guard: self.0.read(), _held: held }
    }

    /// Locks for writing.
    pub fn write(&self) -> RwLockGuard<parking_lot::RwLockWriteGuard<'_, T>> {
        let held = Held::new();
        RwLockGuard { guard: self.0.write(), _held: held }
    }
}

impl<G: Deref> Deref for RwLockGuard<G> {
    type Target = G::Target;
    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for RwLockGuard<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}
