//! Guards of an [`RwLock`]: who has one is inside.
//!
//! # Invariants
//!
//! - I1: a guard is made by whoever has just come in, once, and leaves when it is dropped. Until
//!   then a reader's value does not change, and a writer's is its own.

use crate::rw_lock::RwLock;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;

/// A reader of an [`RwLock`]; dropping it leaves.
#[must_use = "dropping the guard unlocks"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// The caller is inside as a reader, and has no guard yet.
    #[inline]
    pub(crate) fn new(lock: &'a RwLock<T>) -> Self {
        Self { lock }
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

/// The writer of an [`RwLock`]; dropping it leaves.
#[must_use = "dropping the guard unlocks"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    _value: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// The caller is inside as the writer, and has no guard yet.
    #[inline]
    pub(crate) fn new(lock: &'a RwLock<T>) -> Self {
        Self { lock, _value: PhantomData }
    }

    /// From writer to reader: nobody changes the value in between.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let mut writer = lock.write_blocking();
    /// *writer += 1;
    /// let reader = RwLockWriteGuard::downgrade(writer);
    /// assert_eq!((*reader, *lock.read_blocking()), (2, 2));
    /// ```
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let lock = ManuallyDrop::new(guard).lock;
        lock.raw().downgrade();
        RwLockReadGuard::new(lock)
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

/// A reader of an [`RwLock`] with a share of it; dropping it leaves.
#[must_use = "dropping the guard unlocks"]
pub struct OwnedRwLockReadGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
}

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    /// The caller is inside as a reader, and has no guard yet.
    pub(crate) fn new(lock: Arc<RwLock<T>>) -> Self {
        Self { lock }
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

/// The writer of an [`RwLock`] with a share of it; dropping it leaves.
#[must_use = "dropping the guard unlocks"]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
    _value: PhantomData<T>,
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// The caller is inside as the writer, and has no guard yet.
    pub(crate) fn new(lock: Arc<RwLock<T>>) -> Self {
        Self { lock, _value: PhantomData }
    }

    /// From writer to reader: nobody changes the value in between.
    pub fn downgrade(guard: Self) -> OwnedRwLockReadGuard<T> {
        let guard = ManuallyDrop::new(guard);
        // SAFETY: moved out of a guard that is never dropped.
        let lock = unsafe { ptr::read(&raw const guard.lock) };
        lock.raw().downgrade();
        OwnedRwLockReadGuard::new(lock)
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

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedRwLockReadGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedRwLockWriteGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
