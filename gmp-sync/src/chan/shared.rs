//! What both ends of a channel share: the lock and what it guards.
//!
//! The lock is a bare one, without a guard, because a select holds those of several channels of
//! different types at once.
//!
//! # Invariants
//!
//! - I1: `core` is reached under `lock` only.

use super::core::Core;
use crate::wakers::Wakers;
use gmp_rt::prim::{RawLock, UnsafeCell};
use std::fmt;

/// What both sides share. The lock is in the line of what it guards.
#[repr(C)]
pub(crate) struct Chan<T> {
    lock: RawLock,
    core: UnsafeCell<Core<T>>,
}

// SAFETY: I1 — values and nodes are reached under the lock, so by one thread at a time.
unsafe impl<T: Send> Send for Chan<T> {}
// SAFETY: as above; no reference to a value is ever given out.
unsafe impl<T: Send> Sync for Chan<T> {}

impl<T> fmt::Debug for Chan<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, cap, phase) = self.with(|core| (core.len(), core.capacity(), core.phase));
        let mut out = f.debug_struct("Chan");
        out.field("len", &len).field("cap", &cap).field("phase", &phase).finish()
    }
}

impl<T> Chan<T> {
    pub(crate) fn new(cap: usize) -> Self {
        Self { lock: RawLock::new(), core: UnsafeCell::new(Core::new(cap)) }
    }

    /// Runs `f` under the lock.
    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Core<T>) -> R) -> R {
        self.lock();
        let unlock = Unlock(self);
        // SAFETY: locked just now.
        let result = unsafe { self.locked(f) };
        drop(unlock);
        result
    }

    /// Locks, for who has to hold several locks at once.
    #[inline]
    pub(crate) fn lock(&self) {
        self.lock.lock();
    }

    /// Unlocks. The bells that were rung are to be woken when no lock is held.
    ///
    /// # Safety
    ///
    /// This thread has [locked](Self::lock) it.
    #[inline(always)]
    pub(crate) unsafe fn unlock(&self) -> Wakers {
        // SAFETY: the caller's promise.
        let rung = unsafe { self.locked(Core::take_rung) };
        // SAFETY: the caller's promise.
        unsafe { self.lock.unlock() };
        rung
    }

    /// Runs `f` on what the lock guards.
    ///
    /// # Safety
    ///
    /// This thread has [locked](Self::lock) it.
    #[inline]
    pub(crate) unsafe fn locked<R>(&self, f: impl FnOnce(&mut Core<T>) -> R) -> R {
        // SAFETY: I1 — the caller's promise.
        self.core.with_mut(|core| f(unsafe { &mut *core }))
    }

    /// What a dump shows as the resource.
    pub(crate) fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Closes it; `false` if it was closed.
    pub(super) fn close(&self) -> bool {
        match self.with(Core::close) {
            Some(wakers) => {
                wakers.wake_all();
                true
            }
            None => false,
        }
    }
}

/// Unlocks, and wakes the bells that were rung.
struct Unlock<'a, T>(&'a Chan<T>);

impl<T> Drop for Unlock<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: made by `with`, which has locked it.
        unsafe { self.0.unlock() }.wake_all();
    }
}
