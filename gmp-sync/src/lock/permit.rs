//! Guards for permits of a [`Semaphore`]. Dropping a guard releases its permits.

use crate::lock::semaphore::Semaphore;
use std::sync::Arc;

/// Permits of a [`Semaphore`], released on drop.
#[derive(Debug)]
#[must_use = "dropping the permits gives them back"]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: usize,
}

impl<'a> SemaphorePermit<'a> {
    /// Creates a guard for permits that the caller has taken.
    #[inline]
    pub(crate) fn new(semaphore: &'a Semaphore, permits: usize) -> Self {
        Self { semaphore, permits }
    }

    /// Returns the number of permits.
    #[must_use]
    pub fn permits(&self) -> usize {
        self.permits
    }

    /// Drops the guard without releasing its permits. [`Semaphore::release`] can release them
    /// later.
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// Moves `permits` of the permits into a new guard. Returns `None` if there are fewer.
    pub fn split(&mut self, permits: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(permits)?;
        Some(Self { semaphore: self.semaphore, permits })
    }

    /// Adds the permits of `other` to this guard.
    ///
    /// # Panics
    ///
    /// If the guards belong to different semaphores.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        let same = std::ptr::eq(self.semaphore, other.semaphore);
        assert!(same, "semaphore: permits of different semaphores cannot be put together");
        self.permits += std::mem::take(&mut other.permits);
    }
}

impl Drop for SemaphorePermit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.give_back(self.permits);
    }
}

/// Permits of a [`Semaphore`], released on drop. Holds the semaphore by an `Arc`.
#[derive(Debug)]
#[must_use = "dropping the permits gives them back"]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
}

impl OwnedSemaphorePermit {
    /// Creates a guard for permits that the caller has taken.
    #[inline]
    pub(crate) fn new(semaphore: Arc<Semaphore>, permits: usize) -> Self {
        Self { semaphore, permits }
    }

    /// Returns the number of permits.
    #[must_use]
    pub fn permits(&self) -> usize {
        self.permits
    }

    /// Returns the semaphore.
    #[must_use]
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    /// Drops the guard without releasing its permits. [`Semaphore::release`] can release them
    /// later.
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// Moves `permits` of the permits into a new guard. Returns `None` if there are fewer.
    pub fn split(&mut self, permits: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(permits)?;
        Some(Self { semaphore: self.semaphore.clone(), permits })
    }

    /// Adds the permits of `other` to this guard.
    ///
    /// # Panics
    ///
    /// If the guards belong to different semaphores.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        let same = Arc::ptr_eq(&self.semaphore, &other.semaphore);
        assert!(same, "semaphore: permits of different semaphores cannot be put together");
        self.permits += std::mem::take(&mut other.permits);
    }
}

impl Drop for OwnedSemaphorePermit {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.give_back(self.permits);
    }
}
