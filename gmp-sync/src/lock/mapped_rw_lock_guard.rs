//! Guards of a part of the value of an [`RwLock`]. A guard holds the read lock or the write lock.
//!
//! # Invariants
//!
//! - I1: a guard holds the lock, taken over from the guard that it was made of. Until it unlocks on
//!   drop, the part does not change under a reader, and a writer has exclusive access to it.

use crate::lock::raw_rw_lock::RawRwLock;
use crate::lock::rw_lock::RwLock;
use crate::lock::show_guards::show_guards;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A part of the value of an [`RwLock`], with the read lock, which is released on drop.
#[must_use = "dropping the guard unlocks"]
pub struct MappedRwLockReadGuard<'a, T: ?Sized> {
    raw: &'a RawRwLock,
    value: NonNull<T>,
    _value: PhantomData<&'a T>,
}

// SAFETY: as `&T`. Without the bound two threads could set a `Cell`.
unsafe impl<T: ?Sized + Sync> Send for MappedRwLockReadGuard<'_, T> {}
// SAFETY: as `&T`. Without the bound two threads could set a `Cell`.
unsafe impl<T: ?Sized + Sync> Sync for MappedRwLockReadGuard<'_, T> {}

impl<'a, T: ?Sized> MappedRwLockReadGuard<'a, T> {
    /// Creates the guard of a caller that has taken the read lock, for a part of the value.
    pub(super) fn new(raw: &'a RawRwLock, value: NonNull<T>) -> Self {
        Self { raw, value, _value: PhantomData }
    }

    /// Narrows the guard to a part of the value.
    pub fn map<U: ?Sized>(guard: Self, f: impl FnOnce(&T) -> &U) -> MappedRwLockReadGuard<'a, U> {
        let value = NonNull::from(f(&guard));
        MappedRwLockReadGuard::new(Self::into_raw(guard), value)
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
            Some(value) => Ok(MappedRwLockReadGuard::new(Self::into_raw(guard), value)),
            None => Err(guard),
        }
    }

    /// Returns the lock, which stays taken.
    fn into_raw(guard: Self) -> &'a RawRwLock {
        ManuallyDrop::new(guard).raw
    }
}

impl<T: ?Sized> Drop for MappedRwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.raw.read_unlock();
    }
}

impl<T: ?Sized> Deref for MappedRwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: I1.
        unsafe { self.value.as_ref() }
    }
}

/// A part of the value of an [`RwLock`], with the write lock, which is released on drop.
#[must_use = "dropping the guard unlocks"]
pub struct MappedRwLockWriteGuard<'a, T: ?Sized> {
    raw: &'a RawRwLock,
    value: NonNull<T>,
    _value: PhantomData<&'a mut T>,
}

// SAFETY: as `&mut T`. Without the bound an `Rc` could move to another thread.
unsafe impl<T: ?Sized + Send> Send for MappedRwLockWriteGuard<'_, T> {}
// SAFETY: as `&mut T`. Without the bound two threads could set a `Cell`.
unsafe impl<T: ?Sized + Sync> Sync for MappedRwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> MappedRwLockWriteGuard<'a, T> {
    /// Creates the guard of a caller that has taken the write lock, for a part of the value.
    pub(super) fn new(raw: &'a RawRwLock, value: NonNull<T>) -> Self {
        Self { raw, value, _value: PhantomData }
    }

    /// Narrows the guard to a part of the value.
    pub fn map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedRwLockWriteGuard<'a, U> {
        let value = NonNull::from(f(&mut guard));
        MappedRwLockWriteGuard::new(Self::into_raw(guard), value)
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
            Some(value) => Ok(MappedRwLockWriteGuard::new(Self::into_raw(guard), value)),
            None => Err(guard),
        }
    }

    /// Returns the lock, which stays taken.
    fn into_raw(guard: Self) -> &'a RawRwLock {
        ManuallyDrop::new(guard).raw
    }
}

impl<T: ?Sized> Drop for MappedRwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.raw.write_unlock();
    }
}

impl<T: ?Sized> Deref for MappedRwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: I1.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for MappedRwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: I1.
        unsafe { self.value.as_mut() }
    }
}

/// A part of the value of an [`RwLock`] in an `Arc`, with the read lock, released on drop.
///
/// `T` is the value of the lock, `U` the part.
#[must_use = "dropping the guard unlocks"]
pub struct OwnedMappedRwLockReadGuard<T: ?Sized, U: ?Sized> {
    lock: Arc<RwLock<T>>,
    value: NonNull<U>,
    _value: PhantomData<*const U>,
}

// SAFETY: as `Arc<RwLock<T>>` and `&U`. Without the bounds an `Rc` could move to another thread.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Sync> Send for OwnedMappedRwLockReadGuard<T, U> {}
// SAFETY: as `Arc<RwLock<T>>` and `&U`. Without the bounds two threads could set a `Cell`.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Sync> Sync for OwnedMappedRwLockReadGuard<T, U> {}

impl<T: ?Sized, U: ?Sized> OwnedMappedRwLockReadGuard<T, U> {
    /// Creates the guard of a caller that has taken the read lock, for a part of the value.
    pub(super) fn new(lock: Arc<RwLock<T>>, value: NonNull<U>) -> Self {
        Self { lock, value, _value: PhantomData }
    }

    /// Narrows the guard to a part of the value.
    pub fn map<V: ?Sized>(
        guard: Self,
        f: impl FnOnce(&U) -> &V,
    ) -> OwnedMappedRwLockReadGuard<T, V> {
        let value = NonNull::from(f(&guard));
        OwnedMappedRwLockReadGuard::new(Self::into_lock(guard), value)
    }

    /// As [`map`](Self::map), if the part exists.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    pub fn filter_map<V: ?Sized>(
        guard: Self,
        f: impl FnOnce(&U) -> Option<&V>,
    ) -> Result<OwnedMappedRwLockReadGuard<T, V>, Self> {
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

impl<T: ?Sized, U: ?Sized> Drop for OwnedMappedRwLockReadGuard<T, U> {
    fn drop(&mut self) {
        self.lock.raw().read_unlock();
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedMappedRwLockReadGuard<T, U> {
    type Target = U;

    fn deref(&self) -> &U {
        // SAFETY: I1.
        unsafe { self.value.as_ref() }
    }
}

/// A part of the value of an [`RwLock`] in an `Arc`, with the write lock, released on drop.
///
/// `T` is the value of the lock, `U` the part.
#[must_use = "dropping the guard unlocks"]
pub struct OwnedMappedRwLockWriteGuard<T: ?Sized, U: ?Sized> {
    lock: Arc<RwLock<T>>,
    value: NonNull<U>,
    _value: PhantomData<*mut U>,
}

// SAFETY: as `Arc<RwLock<T>>` and `&mut U`. Without the bounds an `Rc` could move to another
// thread.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Send> Send for OwnedMappedRwLockWriteGuard<T, U> {}
// SAFETY: as `Arc<RwLock<T>>` and `&mut U`. Without the bounds two threads could set a `Cell`.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Sync> Sync for OwnedMappedRwLockWriteGuard<T, U> {}

impl<T: ?Sized, U: ?Sized> OwnedMappedRwLockWriteGuard<T, U> {
    /// Creates the guard of a caller that has taken the write lock, for a part of the value.
    pub(super) fn new(lock: Arc<RwLock<T>>, value: NonNull<U>) -> Self {
        Self { lock, value, _value: PhantomData }
    }

    /// Narrows the guard to a part of the value.
    pub fn map<V: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut U) -> &mut V,
    ) -> OwnedMappedRwLockWriteGuard<T, V> {
        let value = NonNull::from(f(&mut guard));
        OwnedMappedRwLockWriteGuard::new(Self::into_lock(guard), value)
    }

    /// As [`map`](Self::map), if the part exists.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    pub fn filter_map<V: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut U) -> Option<&mut V>,
    ) -> Result<OwnedMappedRwLockWriteGuard<T, V>, Self> {
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

impl<T: ?Sized, U: ?Sized> Drop for OwnedMappedRwLockWriteGuard<T, U> {
    fn drop(&mut self) {
        self.lock.raw().write_unlock();
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedMappedRwLockWriteGuard<T, U> {
    type Target = U;

    fn deref(&self) -> &U {
        // SAFETY: I1.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized, U: ?Sized> DerefMut for OwnedMappedRwLockWriteGuard<T, U> {
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: I1.
        unsafe { self.value.as_mut() }
    }
}

show_guards! {
    [T: ?Sized] T in MappedRwLockReadGuard<'_, T>;
    [T: ?Sized] T in MappedRwLockWriteGuard<'_, T>;
    [T: ?Sized, U: ?Sized] U in OwnedMappedRwLockReadGuard<T, U>;
    [T: ?Sized, U: ?Sized] U in OwnedMappedRwLockWriteGuard<T, U>;
}
