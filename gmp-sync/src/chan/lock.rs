//! The part of a channel that both ends share: the lock and the data that it guards.
//!
//! The lock has no guard type, because a select holds the locks of several channels of different
//! types at once.
//!
//! # Invariants
//!
//! - I1: `core` is accessed only under `lock`.

use super::core::{ChanPhase, Core};
use crate::wait::wakers::Wakers;
use gmp_rt::prim::{AtomicBool, Ordering, RawLock, UnsafeCell};
use gmp_rt::task::park::StorableWaker;
use std::fmt;
use std::task::Waker;

/// Whether a receive may find a value, a sender or the end of the channel.
///
/// A select reads this without the lock, to skip empty channels. It is written under the lock. It
/// may be `true` although the channel is empty, and a reader may see an old value. So a select that
/// has skipped a channel checks it under the lock before it waits.
#[derive(Debug)]
pub(crate) struct Readable(AtomicBool);

impl Readable {
    #[inline(always)]
    pub(crate) fn get(&self) -> bool {
        // `Relaxed`: a reader that then uses the channel locks it first.
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn set(&self, readable: bool) {
        self.0.store(readable, Ordering::Relaxed);
    }
}

/// The shared part of a channel. The lock is in the cache line of the data that it guards.
#[repr(C)]
pub(crate) struct Chan<T> {
    lock: RawLock,
    pub(crate) readable: Readable,
    core: UnsafeCell<Core<T>>,
}

// SAFETY: I1 — values and nodes are accessed under the lock, so by one thread at a time.
unsafe impl<T: Send> Send for Chan<T> {}
// SAFETY: as above; no reference to a value is returned.
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
        let (lock, readable) = (RawLock::new(), Readable(AtomicBool::new(false)));
        Self { lock, readable, core: UnsafeCell::new(Core::new(cap)) }
    }

    /// Creates a closed channel with one sender and no receiver.
    pub(super) fn closed(cap: usize) -> Self {
        let chan = Self::new(cap);
        chan.with(|core| {
            core.receivers = 0;
            core.phase = ChanPhase::Closed;
        });
        chan
    }

    /// Runs `f` under the lock.
    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Core<T>) -> R) -> R {
        self.lock();
        Locked(self).with(f)
    }

    /// Runs `f` under the lock. If `f` fails, it has changed nothing, and the lock is returned
    /// held.
    ///
    /// For the usual case without waiting: the result stays in registers. The result of
    /// [`with`](Self::with) goes through memory, and reading it stalls on stores of smaller pieces.
    #[inline(always)]
    pub(crate) fn quickly<R, E>(
        &self,
        f: impl FnOnce(&mut Core<T>) -> Result<R, E>,
    ) -> Result<R, (E, Locked<'_, T>)> {
        self.lock();
        let locked = Locked(self);
        // SAFETY: this thread has just locked it.
        match unsafe { self.locked(f) } {
            Ok(result) => {
                locked.forget();
                // SAFETY: locked above. `f` notifies no listener, so there is none to wake.
                unsafe { self.lock.unlock() };
                Ok(result)
            }
            Err(error) => Err((error, locked)),
        }
    }

    /// Locks, for a caller that holds several locks at once.
    #[inline]
    pub(crate) fn lock(&self) {
        self.lock.lock();
    }

    /// Unlocks. The caller wakes the returned listeners when it holds no lock.
    ///
    /// # Safety
    ///
    /// This thread has [locked](Self::lock) it.
    #[inline(always)]
    pub(crate) unsafe fn unlock(&self) -> Wakers {
        // SAFETY: guaranteed by the caller.
        let (rung, readable) =
            unsafe { self.locked(|core| (core.take_rung(), core.is_readable())) };
        self.readable.set(readable);
        // SAFETY: guaranteed by the caller.
        unsafe { self.lock.unlock() };
        rung
    }

    /// Runs `f` on the data that the lock guards.
    ///
    /// # Safety
    ///
    /// This thread has [locked](Self::lock) it.
    #[inline]
    pub(crate) unsafe fn locked<R>(&self, f: impl FnOnce(&mut Core<T>) -> R) -> R {
        // SAFETY: I1 — guaranteed by the caller.
        self.core.with_mut(|core| f(unsafe { &mut *core }))
    }

    /// Returns the id that dumps show as the resource.
    pub(crate) fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Closes the channel. Returns `false` if it was closed already.
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

/// A held lock. [`with`](Self::with) unlocks it, and so does a drop.
pub(crate) struct Locked<'a, T>(&'a Chan<T>);

impl<'a, T> Locked<'a, T> {
    /// Returns the channel.
    #[inline(always)]
    pub(super) fn chan(&self) -> &'a Chan<T> {
        self.0
    }

    /// Runs `f`, unlocks, and wakes the notified listeners.
    #[inline]
    pub(super) fn with<R>(self, f: impl FnOnce(&mut Core<T>) -> R) -> R {
        // SAFETY: it is locked.
        let result = unsafe { self.0.locked(f) };
        let chan = self.forget();
        // SAFETY: it is locked, and no other code unlocks it.
        unsafe { chan.unlock() }.wake_all();
        result
    }

    /// Prepares a foreign waker to be stored under this lock. The waker is cloned while the lock is
    /// released, because cloning may run any code. So the caller has to check the channel again.
    pub(super) fn prepare_foreign(self, waker: &Waker) -> (StorableWaker<'_>, Self) {
        let chan = self.0;
        drop(self);
        let waker = StorableWaker::new(waker);
        chan.lock();
        (waker, Self(chan))
    }

    /// Keeps the lock held, and returns the channel. The caller releases the lock by
    /// [`Chan::unlock`].
    #[inline(always)]
    pub(crate) fn keep(self) -> &'a Chan<T> {
        self.forget()
    }

    /// Returns the channel without unlocking it. The caller unlocks inline, where a drop would be a
    /// call.
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
