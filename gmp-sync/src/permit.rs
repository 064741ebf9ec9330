//! Permits taken from a [`Semaphore`]: they go back when they are dropped.

use crate::semaphore::Semaphore;
use std::sync::Arc;

/// Permits of a [`Semaphore`]; dropping it gives them back.
#[derive(Debug)]
#[must_use = "dropping the permits gives them back"]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
    permits: usize,
}

impl<'a> Permit<'a> {
    /// The caller has taken so many.
    #[inline]
    pub(crate) fn new(semaphore: &'a Semaphore, permits: usize) -> Self {
        Self { semaphore, permits }
    }

    /// How many they are.
    #[must_use]
    pub fn permits(&self) -> usize {
        self.permits
    }

    /// Does not give them back: that is up to [`Semaphore::release`].
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// Takes some of them away into a guard of their own; `None` if there are fewer.
    pub fn split(&mut self, permits: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(permits)?;
        Some(Self { semaphore: self.semaphore, permits })
    }

    /// Puts both together.
    ///
    /// # Panics
    ///
    /// If they are of different semaphores.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        let same = std::ptr::eq(self.semaphore, other.semaphore);
        assert!(same, "semaphore: permits of different semaphores cannot be put together");
        self.permits += std::mem::take(&mut other.permits);
    }
}

impl Drop for Permit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.give_back(self.permits);
    }
}

/// Permits of a [`Semaphore`], with a share of it; dropping it gives them back.
#[derive(Debug)]
#[must_use = "dropping the permits gives them back"]
pub struct OwnedPermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
}

impl OwnedPermit {
    /// The caller has taken so many.
    #[inline]
    pub(crate) fn new(semaphore: Arc<Semaphore>, permits: usize) -> Self {
        Self { semaphore, permits }
    }

    /// How many they are.
    #[must_use]
    pub fn permits(&self) -> usize {
        self.permits
    }

    /// The semaphore they are of.
    #[must_use]
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    /// Does not give them back: that is up to [`Semaphore::release`].
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// Takes some of them away into a guard of their own; `None` if there are fewer.
    pub fn split(&mut self, permits: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(permits)?;
        Some(Self { semaphore: self.semaphore.clone(), permits })
    }

    /// Puts both together.
    ///
    /// # Panics
    ///
    /// If they are of different semaphores.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        let same = Arc::ptr_eq(&self.semaphore, &other.semaphore);
        assert!(same, "semaphore: permits of different semaphores cannot be put together");
        self.permits += std::mem::take(&mut other.permits);
    }
}

impl Drop for OwnedPermit {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.give_back(self.permits);
    }
}
