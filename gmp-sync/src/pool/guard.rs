//! `PoolGuard`: an item that returns to its pool on drop.

use super::Pool;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// An item of a [`Pool`], put back on drop.
pub struct PoolGuard<'a, T: Send + 'static> {
    pool: &'a Pool<T>,
    /// `None` only during `drop` and `into_inner`.
    item: Option<T>,
}

impl<'a, T: Send + 'static> PoolGuard<'a, T> {
    pub(super) fn new(pool: &'a Pool<T>, item: T) -> Self {
        Self { pool, item: Some(item) }
    }

    /// Returns the item, which then does not go back to the pool.
    ///
    /// This is an associated function, because `T` may have a method of that name.
    ///
    /// # Panics
    ///
    /// Never: a guard has an item.
    #[must_use]
    pub fn into_inner(mut guard: Self) -> T {
        guard.item.take().expect("a guard has an item")
    }
}

impl<T: Send + 'static> Deref for PoolGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.item.as_ref().expect("a guard has an item")
    }
}

impl<T: Send + 'static> DerefMut for PoolGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.item.as_mut().expect("a guard has an item")
    }
}

impl<T: Send + 'static> Drop for PoolGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(item) = self.item.take() {
            self.pool.put(item);
        }
    }
}

impl<T: Send + fmt::Debug + 'static> fmt::Debug for PoolGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Send + fmt::Display + 'static> fmt::Display for PoolGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
