//! Guards of a [`Mutex`]. A guard holds the lock.
//!
//! # Invariants
//!
//! - I1: the goroutine that has taken the lock makes one guard, which unlocks on drop. Until then
//!   the guard has exclusive access to the value.

use crate::lock::mutex::Mutex;
use crate::lock::raw_mutex::RawMutex;
use crate::lock::show_guards::show_guards;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
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
        Self::mapped(guard, value)
    }

    /// As [`map`](Self::map), if the part exists.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// use sync::{Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new(vec![1, 2]);
    /// let first = MutexGuard::filter_map(mutex.lock_blocking(), |list| list.first_mut()).unwrap();
    /// assert_eq!(*first, 1);
    /// drop(first);
    /// let list = MutexGuard::filter_map(mutex.lock_blocking(), |list| list.get_mut(2));
    /// assert_eq!(list.unwrap_err().len(), 2);
    /// ```
    pub fn filter_map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedMutexGuard<'a, U>, Self> {
        match f(&mut guard).map(NonNull::from) {
            Some(value) => Ok(Self::mapped(guard, value)),
            None => Err(guard),
        }
    }

    /// Creates the guard of a part of the value.
    fn mapped<U: ?Sized>(guard: Self, value: NonNull<U>) -> MappedMutexGuard<'a, U> {
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

    /// Narrows the guard to a part of the value.
    pub fn map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> &mut U,
    ) -> OwnedMappedMutexGuard<T, U> {
        let value = NonNull::from(f(&mut guard));
        Self::mapped(guard, value)
    }

    /// As [`map`](Self::map), if the part exists.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    pub fn filter_map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<OwnedMappedMutexGuard<T, U>, Self> {
        match f(&mut guard).map(NonNull::from) {
            Some(value) => Ok(Self::mapped(guard, value)),
            None => Err(guard),
        }
    }

    /// Creates the guard of a part of the value.
    fn mapped<U: ?Sized>(guard: Self, value: NonNull<U>) -> OwnedMappedMutexGuard<T, U> {
        let guard = ManuallyDrop::new(guard);
        // SAFETY: moved out of a guard that is not dropped.
        let mutex = unsafe { ptr::read(&raw const guard.mutex) };
        OwnedMappedMutexGuard { mutex, value, _value: PhantomData }
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

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// Narrows the guard to a part of the value.
    pub fn map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedMutexGuard<'a, U> {
        let value = NonNull::from(f(&mut guard));
        Self::mapped(guard, value)
    }

    /// As [`map`](Self::map), if the part exists.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    pub fn filter_map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedMutexGuard<'a, U>, Self> {
        match f(&mut guard).map(NonNull::from) {
            Some(value) => Ok(Self::mapped(guard, value)),
            None => Err(guard),
        }
    }

    fn mapped<U: ?Sized>(guard: Self, value: NonNull<U>) -> MappedMutexGuard<'a, U> {
        let guard = ManuallyDrop::new(guard);
        MappedMutexGuard { raw: guard.raw, value, _value: PhantomData }
    }
}

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

/// A part of the value of a locked [`Mutex`], held by an `Arc`. Dropping the guard unlocks it.
///
/// `T` is the value of the mutex, `U` the part.
#[must_use = "dropping the guard unlocks"]
pub struct OwnedMappedMutexGuard<T: ?Sized, U: ?Sized> {
    mutex: Arc<Mutex<T>>,
    value: NonNull<U>,
    _value: PhantomData<*mut U>,
}

// SAFETY: as `Arc<Mutex<T>>` and `&mut U`. Without the bounds an `Rc` could move to another thread.
unsafe impl<T: ?Sized + Send, U: ?Sized + Send> Send for OwnedMappedMutexGuard<T, U> {}
// SAFETY: as `Arc<Mutex<T>>` and `&mut U`. Without the bounds two threads could set a `Cell`.
unsafe impl<T: ?Sized + Send, U: ?Sized + Sync> Sync for OwnedMappedMutexGuard<T, U> {}

impl<T: ?Sized, U: ?Sized> OwnedMappedMutexGuard<T, U> {
    /// Narrows the guard to a part of the value.
    pub fn map<V: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut U) -> &mut V,
    ) -> OwnedMappedMutexGuard<T, V> {
        let value = NonNull::from(f(&mut guard));
        Self::mapped(guard, value)
    }

    /// As [`map`](Self::map), if the part exists.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    pub fn filter_map<V: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut U) -> Option<&mut V>,
    ) -> Result<OwnedMappedMutexGuard<T, V>, Self> {
        match f(&mut guard).map(NonNull::from) {
            Some(value) => Ok(Self::mapped(guard, value)),
            None => Err(guard),
        }
    }

    fn mapped<V: ?Sized>(guard: Self, value: NonNull<V>) -> OwnedMappedMutexGuard<T, V> {
        let guard = ManuallyDrop::new(guard);
        // SAFETY: moved out of a guard that is not dropped.
        let mutex = unsafe { ptr::read(&raw const guard.mutex) };
        OwnedMappedMutexGuard { mutex, value, _value: PhantomData }
    }
}

impl<T: ?Sized, U: ?Sized> Drop for OwnedMappedMutexGuard<T, U> {
    fn drop(&mut self) {
        self.mutex.raw().unlock();
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedMappedMutexGuard<T, U> {
    type Target = U;

    fn deref(&self) -> &U {
        // SAFETY: I1 — a part of the value, as long as the guard holds the lock.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized, U: ?Sized> DerefMut for OwnedMappedMutexGuard<T, U> {
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: I1 — a part of the value, as long as the guard holds the lock.
        unsafe { self.value.as_mut() }
    }
}

show_guards! {
    [T: ?Sized] T in MutexGuard<'_, T>;
    [T: ?Sized] T in OwnedMutexGuard<T>;
    [T: ?Sized] T in MappedMutexGuard<'_, T>;
    [T: ?Sized, U: ?Sized] U in OwnedMappedMutexGuard<T, U>;
}
