//! The place for the waker of a joiner, in the header of the goroutine that is joined.
//!
//! # Invariants
//!
//! - I1: only the owner of the slot changes it and uses the waker. The `JoinHandle` owns it while
//!   `JOIN_WAKER` of the [status word](super::status) is not set. The completing M owns it from
//!   the death of the goroutine on, if `JOIN_WAKER` is set.
//! - I2: the word is a [`TinyWaker`], which the slot owns.
//!
//! A walk may read the word at any time ([`JoinSlot::goroutine`]). So it is atomic. The walk learns
//! an address and does not use what is there. All accesses are Relaxed: the status word orders
//! those of the owners, and a walk takes the value as a hint.

use super::waker::TinyWaker;
use crate::g::stored::StoredWaker;
use crate::prim::Ordering::Relaxed;
use crate::prim::{AtomicPtr, UnsafeCell};
use std::mem::ManuallyDrop;
use std::task::Waker;

/// The slot. See the [module](self).
pub(super) struct JoinSlot {
    word: AtomicPtr<()>,
    /// Empty. The models check by it that there is one owner at a time (I1).
    turn: UnsafeCell<()>,
}

impl JoinSlot {
    /// Makes an empty slot.
    #[inline]
    pub(super) fn new() -> Self {
        let word = AtomicPtr::new(TinyWaker::EMPTY.into_raw().cast_mut());
        Self { word, turn: UnsafeCell::new(()) }
    }

    /// Whether the waker here and `waker` wake the same task.
    ///
    /// # Safety
    ///
    /// I1: the caller owns the slot.
    #[inline]
    pub(super) unsafe fn will_wake(&self, waker: &Waker) -> bool {
        self.turn.with(|_| ());
        // SAFETY: I1, I2 — the waker of the slot, which keeps it.
        let known = ManuallyDrop::new(unsafe { TinyWaker::from_raw(self.word.load(Relaxed)) });
        known.will_wake(waker)
    }

    /// Puts `waker` here. Returns the waker that was here before.
    ///
    /// # Safety
    ///
    /// I1: the caller owns the slot.
    #[inline]
    pub(super) unsafe fn put(&self, waker: TinyWaker) -> TinyWaker {
        self.turn.with_mut(|_| ());
        let before = self.word.load(Relaxed);
        self.word.store(waker.into_raw().cast_mut(), Relaxed);
        // SAFETY: I1, I2 — the slot had this waker, and has another one now.
        unsafe { TinyWaker::from_raw(before) }
    }

    /// Takes the waker.
    ///
    /// # Safety
    ///
    /// I1: the caller owns the slot.
    #[inline]
    pub(super) unsafe fn take(&self) -> Option<StoredWaker> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.put(TinyWaker::EMPTY) }.take()
    }

    /// Returns the address of the goroutine whose waker is here; `None` if there is none or a
    /// foreign one. The slot holds one reference on that goroutine while the waker is here.
    pub(super) fn goroutine(&self) -> Option<usize> {
        TinyWaker::goroutine_in(self.word.load(Relaxed))
    }
}

impl Drop for JoinSlot {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: I1 — no other thread has the slot.
        drop(unsafe { self.put(TinyWaker::EMPTY) });
    }
}
