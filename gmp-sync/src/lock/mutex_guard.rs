//! Guards of a [`Mutex`]. A guard holds the lock.
//!
//! # Invariants
//!
//! - I1: the goroutine that has taken the lock makes one guard, which unlocks on drop. Until then
//!   the guard has exclusive access to the value.

use crate::lock::mutex::Mutex;
use crate::lock::raw_mutex::RawMutex;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// A locked [`Mutex`]. Dropping the guard unlocks it.
#[must_use = "dropping the guard unlocks"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    // As `&mut T`: otherwise the guard would be `Sync` for a `T` that is only `Send`.
    _value: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Creates the guard of a caller that has taken the lock.
    #[inline]
    pub(crate) fn new(mutex: &'a Mutex<T>) -> Self {
        Self { mutex, _value: PhantomData }
    }

    /// Returns the mutex.
    #[must_use]
    pub fn mutex(guard: &Self) -> &'a Mutex<T> {
        guard.mutex
    }

    /// Narrows the guard to a part of the value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// use sync::{Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new((1, "one"));
    /// let mut name = MutexGuard::map(mutex.lock_blocking(), |pair| &mut pair.1);
    /// *name = "uno";
    /// drop(name);
    /// assert_eq!(mutex.into_inner(), (1, "uno"));
    /// ```
    pub fn map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedMutexGuard<'a, U> {
        let value = NonNull::from(f(&mut guard));
        let guard = ManuallyDrop::new(guard);
        MappedMutexGuard { raw: guard.mutex.raw(), value, _value: PhantomData }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.raw().unlock();
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: I1.
        unsafe { &*self.mutex.value() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: I1.
        unsafe { &mut *self.mutex.value() }
    }
}

/// A locked [`Mutex`], held by an `Arc`. Dropping the guard unlocks it.
#[must_use = "dropping the guard unlocks"]
pub struct OwnedMutexGuard<T: ?Sized> {
    mutex: Arc<Mutex<T>>,
    // As an owned `T`: otherwise the guard would be `Sync` for a `T` that is only `Send`.
    _value: PhantomData<T>,
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// Creates the guard of a caller that has taken the lock.
    pub(crate) fn new(mutex: Arc<Mutex<T>>) -> Self {
        Self { mutex, _value: PhantomData }
    }

    /// Returns the mutex.
    #[must_use]
    pub fn mutex(guard: &Self) -> &Arc<Mutex<T>> {
        &guard.mutex
    }
}

impl<T: ?Sized> Drop for OwnedMutexGuard<T> {
    fn drop(&mut self) {
        self.mutex.raw().unlock();
    }
}

impl<T: ?Sized> Deref for OwnedMutexGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: I1.
        unsafe { &*self.mutex.value() }
    }
}

impl<T: ?Sized> DerefMut for OwnedMutexGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: I1.
        unsafe { &mut *self.mutex.value() }
    }
}

/// A part of the value of a locked [`Mutex`]. Dropping the guard unlocks it.
#[must_use = "dropping the guard unlocks"]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    raw: &'a RawMutex,
    value: NonNull<T>,
    _value: PhantomData<&'a mut T>,
}

// SAFETY: as `&mut T`. Without the bound an `Rc` could move to another thread.
unsafe impl<T: ?Sized + Send> Send for MappedMutexGuard<'_, T> {}
// SAFETY: as `&mut T`. Without the bound two threads could set a `Cell`.
unsafe impl<T: ?Sized + Sync> Sync for MappedMutexGuard<'_, T> {}

impl<T: ?Sized> Drop for MappedMutexGuard<'_, T> {
    fn drop(&mut self) {
        self.raw.unlock();
    }
}

impl<T: ?Sized> Deref for MappedMutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: I1 — a part of the value, as long as the guard holds the lock.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for MappedMutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: I1 — a part of the value, as long as the guard holds the lock.
        unsafe { self.value.as_mut() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedMutexGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MappedMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
