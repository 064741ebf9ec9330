//! What both ends of a channel share: the lock and what it guards.
//!
//! The lock is a bare one, without a guard, because a select holds those of several channels of
//! different types at once.
//!
//! # Invariants
//!
//! - I1: `core` is reached under `lock` only.

use super::core::{Core, Phase};
use crate::wakers::Wakers;
use gmp_rt::park::StorableWaker;
use gmp_rt::prim::{RawLock, UnsafeCell};
use std::fmt;
use std::task::Waker;

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

    /// A closed channel with one sender and no receiver.
    pub(super) fn closed(cap: usize) -> Self {
        let chan = Self::new(cap);
        chan.with(|core| {
            core.receivers = 0;
            core.phase = Phase::Closed;
        });
        chan
    }

    /// Runs `f` under the lock.
    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Core<T>) -> R) -> R {
        self.lock();
        Locked(self).with(f)
    }

    /// Runs `f` under the lock. If it fails it has done nothing, and the lock is kept for who knows what to do.
    ///
    /// This is for the usual case, in which no waiting goes on: its result stays in registers. That of
    /// [`with`](Self::with) lies in memory, written in words and read in pairs of them, which made a CPU wait for 4 of 25 ns.
    #[inline(always)]
    pub(crate) fn quickly<R, E>(
        &self,
        f: impl FnOnce(&mut Core<T>) -> Result<R, E>,
    ) -> Result<R, (E, Locked<'_, T>)> {
        self.lock();
        let locked = Locked(self);
        // SAFETY: locked just now.
        match unsafe { self.locked(f) } {
            Ok(result) => {
                locked.forget();
                // SAFETY: locked above. No bell was rung: `f` knows of none.
                unsafe { self.lock.unlock() };
                Ok(result)
            }
            Err(error) => Err((error, locked)),
        }
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

/// A lock that is held. Unlocked by [`with`](Self::with), or if there is a panic.
pub(crate) struct Locked<'a, T>(&'a Chan<T>);

impl<'a, T> Locked<'a, T> {
    /// The channel.
    #[inline(always)]
    pub(super) fn chan(&self) -> &'a Chan<T> {
        self.0
    }

    /// Runs `f`, unlocks, and wakes the bells that were rung.
    #[inline]
    pub(super) fn with<R>(self, f: impl FnOnce(&mut Core<T>) -> R) -> R {
        // SAFETY: it is locked.
        let result = unsafe { self.0.locked(f) };
        let chan = self.forget();
        // SAFETY: it is locked, and nobody else unlocks it.
        unsafe { chan.unlock() }.wake_all();
        result
    }

    /// Prepares a foreign waker to be stored under this lock. It is cloned while the lock is
    /// released, since it may run any code: the caller has to check the channel again.
    pub(super) fn prepare_foreign(self, waker: &Waker) -> (StorableWaker<'_>, Self) {
        let chan = self.0;
        drop(self);
        let waker = StorableWaker::new(waker);
        chan.lock();
        (waker, Self(chan))
    }

    /// It stays locked: whoever locks several unlocks them by [`Chan::unlock`].
    #[inline(always)]
    pub(crate) fn keep(self) {
        self.forget();
    }

    /// The channel, which somebody else unlocks: as part of the code there, where a drop would be a call.
    #[inline(always)]
    fn forget(self) -> &'a Chan<T> {
        std::mem::ManuallyDrop::new(self).0
    }
}

impl<T> Drop for Locked<'_, T> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: it is locked.
        unsafe { self.0.unlock() }.wake_all();
    }
}
