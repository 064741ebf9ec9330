//! The slot for the P of a thread.
//!
//! It is a `RefCell<Option<OwnedP>>` without the count of borrows, because each poll reads the P
//! several times. Builds with debug assertions keep the count, so tests detect a borrow that
//! outlives its P.
//!
//! # Invariants
//!
//! - I1: the slot is not `Sync`, so all accesses happen on one thread, one after the other.
//! - I2: no [`PRef`] is alive when the slot changes. It changes only between polls, in
//!   [`PSlot::put`] and [`PSlot::take`], whose callers hold no [`PRef`].

use crate::p::OwnedP;
use std::cell::{Cell, UnsafeCell};

/// The slot. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct PSlot {
    p: UnsafeCell<Option<OwnedP>>,
    /// The number of living [`PRef`]s, with debug assertions.
    borrows: Cell<u32>,
}

impl PSlot {
    /// Returns the P, if there is one.
    #[inline(always)]
    pub(super) fn get(&self) -> Option<PRef<'_>> {
        // SAFETY: I1, I2 — while the reference is alive nothing writes to the slot.
        let p = unsafe { &*self.p.get() }.as_ref()?;
        debug_assert!(self.count(1));
        Some(PRef { p, slot: self })
    }

    /// Stores a P and returns the previous one.
    pub(super) fn put(&self, p: OwnedP) -> Option<OwnedP> {
        debug_assert_eq!(self.borrows.get(), 0, "I2");
        // SAFETY: I1, I2 — no reference is alive.
        unsafe { &mut *self.p.get() }.replace(p)
    }

    /// Takes the P out.
    pub(super) fn take(&self) -> Option<OwnedP> {
        debug_assert_eq!(self.borrows.get(), 0, "I2");
        // SAFETY: I1, I2 — no reference is alive.
        unsafe { &mut *self.p.get() }.take()
    }

    /// Changes the count of borrows. Returns `true`, for use in an assertion.
    fn count(&self, change: i32) -> bool {
        self.borrows.set(self.borrows.get().wrapping_add_signed(change));
        true
    }
}

/// A borrow of this thread's P. The thread keeps the P meanwhile.
#[derive(Debug)]
pub(crate) struct PRef<'a> {
    p: &'a OwnedP,
    slot: &'a PSlot,
}

impl std::ops::Deref for PRef<'_> {
    type Target = OwnedP;
    #[inline(always)]
    fn deref(&self) -> &OwnedP {
        self.p
    }
}

impl Drop for PRef<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        debug_assert!(self.slot.count(-1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_holds_one_p() {
        let slot = PSlot::default();
        assert!(slot.get().is_none() && slot.take().is_none());
        assert!(slot.put(OwnedP::new(7)).is_none());
        assert_eq!(slot.get().map(|p| p.number()), Some(7));
        assert_eq!(slot.put(OwnedP::new(8)).map(|p| p.number()), Some(7));
        assert_eq!(slot.take().map(|p| p.number()), Some(8));
        assert!(slot.get().is_none());
    }

    #[test]
    #[should_panic(expected = "I2")]
    fn a_borrow_that_outlives_its_p_is_noticed() {
        let slot = PSlot::default();
        let _none = slot.put(OwnedP::new(7));
        let _p = slot.get();
        let _taken = slot.take();
    }
}
