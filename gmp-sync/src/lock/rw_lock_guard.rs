//! Guards of an [`RwLock`]. A guard holds the read lock or the write lock.
//!
//! # Invariants
//!
//! - I1: the goroutine that has taken the lock makes one guard, which unlocks on drop. Until then
//!   the value does not change under a reader, and a writer has exclusive access to it.

use crate::lock::mapped_rw_lock_guard::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, OwnedMappedRwLockReadGuard,
    OwnedMappedRwLockWriteGuard,
};
use crate::lock::rw_lock::RwLock;
use crate::lock::show_guards::show_guards;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// The read lock of an [`RwLock`], released on drop.
#[must_use = "dropping the guard unlocks"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// Creates the guard of a caller that has taken the read lock.
    #[inline]
    pub(crate) fn new(lock: &'a RwLock<T>) -> Self {
        Self { lock }
    }

    /// Narrows the guard to a part of the value.
    pub fn map<U: ?Sized>(guard: Self, f: impl FnOnce(&T) -> &U) -> MappedRwLockReadGuard<'a, U> {
        let value = NonNull::from(f(&guard));
        MappedRwLockReadGuard::new(Self::into_lock(guard).raw(), value)
    }

    /// As [`map`](Self::map), if the part exists.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    pub fn filter_map<U: ?Sized>(
        guard: Self,
        f: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<MappedRwLockReadGuard<'a, U>, Self> {
        match f(&guard).map(NonNull::from) {
            Some(value) => Ok(MappedRwLockReadGuard::new(Self::into_lock(guard).raw(), value)),
            None => Err(guard),
        }
    }

    /// Returns the lock, which stays taken.
    fn into_lock(guard: Self) -> &'a RwLock<T> {
        ManuallyDrop::new(guard).lock
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.raw().read_unlock();
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: I1.
        unsafe { &*self.lock.value() }
    }
}

/// The write lock of an [`RwLock`], released on drop.
#[must_use = "dropping the guard unlocks"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    _value: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Creates the guard of a caller that has taken the write lock.
    #[inline]
    pub(crate) fn new(lock: &'a RwLock<T>) -> Self {
        Self { lock, _value: PhantomData }
    }

    /// Turns the write lock into a read lock. The value does not change in between.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// use sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let mut writer = lock.write_blocking();
    /// *writer += 1;
    /// let reader = RwLockWriteGuard::downgrade(writer);
    /// assert_eq!((*reader, *lock.read_blocking()), (2, 2));
    /// ```
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let lock = Self::into_lock(guard);
        lock.raw().downgrade();
        RwLockReadGuard::new(lock)
    }

    /// Narrows the guard to a part of the value.
    pub fn map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedRwLockWriteGuard<'a, U> {
        let value = NonNull::from(f(&mut guard));
        MappedRwLockWriteGuard::new(Self::into_lock(guard).raw(), value)
    }

    /// As [`map`](Self::map), if the part exists.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    pub fn filter_map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedRwLockWriteGuard<'a, U>, Self> {
        match f(&mut guard).map(NonNull::from) {
            Some(value) => Ok(MappedRwLockWriteGuard::new(Self::into_lock(guard).raw(), value)),
            None => Err(guard),
        }
    }

    /// Returns the lock, which stays taken.
    fn into_lock(guard: Self) -> &'a RwLock<T> {
        ManuallyDrop::new(guard).lock
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.raw().write_unlock();
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: I1.
        unsafe { &*self.lock.value() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: I1.
        unsafe { &mut *self.lock.value() }
    }
}

/// The read lock of an [`RwLock`] in an `Arc`, released on drop.
#[must_use = "dropping the guard unlocks"]
pub struct OwnedRwLockReadGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
}

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    /// Creates the guard of a caller that has taken the read lock.
    pub(crate) fn new(lock: Arc<RwLock<T>>) -> Self {
        Self { lock }
    }

    /// Narrows the guard to a part of the value.
    pub fn map<U: ?Sized>(
        guard: Self,
        f: impl FnOnce(&T) -> &U,
    ) -> OwnedMappedRwLockReadGuard<T, U> {
        let value = NonNull::from(f(&guard));
        OwnedMappedRwLockReadGuard::new(Self::into_lock(guard), value)
    }

    /// As [`map`](Self::map), if the part exists.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    pub fn filter_map<U: ?Sized>(
        guard: Self,
        f: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<OwnedMappedRwLockReadGuard<T, U>, Self> {
        match f(&guard).map(NonNull::from) {
            Some(value) => Ok(OwnedMappedRwLockReadGuard::new(Self::into_lock(guard), value)),
            None => Err(guard),
        }
    }

    /// Returns the lock, which stays taken.
    fn into_lock(guard: Self) -> Arc<RwLock<T>> {
        let guard = ManuallyDrop::new(guard);
        // SAFETY: moved out of a guard that is not dropped.
        unsafe { ptr::read(&raw const guard.lock) }
    }
}

impl<T: ?Sized> Drop for OwnedRwLockReadGuard<T> {
    fn drop(&mut self) {
        self.lock.raw().read_unlock();
    }
}

impl<T: ?Sized> Deref for OwnedRwLockReadGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: I1.
        unsafe { &*self.lock.value() }
    }
}

/// The write lock of an [`RwLock`] in an `Arc`, released on drop.
#[must_use = "dropping the guard unlocks"]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
    _value: PhantomData<T>,
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// Creates the guard of a caller that has taken the write lock.
    pub(crate) fn new(lock: Arc<RwLock<T>>) -> Self {
        Self { lock, _value: PhantomData }
    }

    /// Turns the write lock into a read lock. The value does not change in between.
    pub fn downgrade(guard: Self) -> OwnedRwLockReadGuard<T> {
        let lock = Self::into_lock(guard);
        lock.raw().downgrade();
        OwnedRwLockReadGuard::new(lock)
    }

    /// Narrows the guard to a part of the value.
    pub fn map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> &mut U,
    ) -> OwnedMappedRwLockWriteGuard<T, U> {
        let value = NonNull::from(f(&mut guard));
        OwnedMappedRwLockWriteGuard::new(Self::into_lock(guard), value)
    }

    /// As [`map`](Self::map), if the part exists.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    pub fn filter_map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<OwnedMappedRwLockWriteGuard<T, U>, Self> {
        match f(&mut guard).map(NonNull::from) {
            Some(value) => Ok(OwnedMappedRwLockWriteGuard::new(Self::into_lock(guard), value)),
            None => Err(guard),
        }
    }

    /// Returns the lock, which stays taken.
    fn into_lock(guard: Self) -> Arc<RwLock<T>> {
        let guard = ManuallyDrop::new(guard);
        // SAFETY: moved out of a guard that is not dropped.
        unsafe { ptr::read(&raw const guard.lock) }
    }
}

impl<T: ?Sized> Drop for OwnedRwLockWriteGuard<T> {
    fn drop(&mut self) {
        self.lock.raw().write_unlock();
    }
}

impl<T: ?Sized> Deref for OwnedRwLockWriteGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: I1.
        unsafe { &*self.lock.value() }
    }
}

impl<T: ?Sized> DerefMut for OwnedRwLockWriteGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: I1.
        unsafe { &mut *self.lock.value() }
    }
}

show_guards! {
    [T: ?Sized] T in RwLockReadGuard<'_, T>;
    [T: ?Sized] T in RwLockWriteGuard<'_, T>;
    [T: ?Sized] T in OwnedRwLockReadGuard<T>;
    [T: ?Sized] T in OwnedRwLockWriteGuard<T>;
}
