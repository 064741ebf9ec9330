//! Where a thread keeps its P, while it has one.
//!
//! What `RefCell<Option<OwnedP>>` would be, but for its count of borrows: a P is looked at several times a poll. (A yield took 317
//! instructions with it; 234 without, and with its poll inlined.) The count is kept in builds with debug
//! assertions, so tests would see a borrow that outlives its P.
//!
//! # Invariants
//!
//! - I1: the slot is not `Sync`: all that happens to it happens on one thread, one after the other.
//! - I2: no [`PRef`] is alive when the slot changes. It does so only between polls, in [`PSlot::put`] and [`PSlot::take`],
//!   whose callers hold none.

use crate::p::OwnedP;
use std::cell::{Cell, UnsafeCell};

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct PSlot {
    p: UnsafeCell<Option<OwnedP>>,
    /// How many [`PRef`]s there are, with debug assertions.
    borrows: Cell<u32>,
}

impl PSlot {
    /// The P, if there is one.
    #[inline(always)]
    pub(super) fn get(&self) -> Option<PRef<'_>> {
        // SAFETY: I1, I2 — while the reference is alive nothing writes.
        let p = unsafe { &*self.p.get() }.as_ref()?;
        debug_assert!(self.count(1));
        Some(PRef { p, slot: self })
    }

    /// Puts a P there; gives back the one that was.
    pub(super) fn put(&self, p: OwnedP) -> Option<OwnedP> {
        debug_assert_eq!(self.borrows.get(), 0, "I2");
        // SAFETY: I1, I2 — nobody has a reference.
        unsafe { &mut *self.p.get() }.replace(p)
    }

    /// Takes the P away.
    pub(super) fn take(&self) -> Option<OwnedP> {
        debug_assert_eq!(self.borrows.get(), 0, "I2");
        // SAFETY: I1, I2 — nobody has a reference.
        unsafe { &mut *self.p.get() }.take()
    }

    /// One more or less; always `true`.
    fn count(&self, change: i32) -> bool {
        self.borrows.set(self.borrows.get().wrapping_add_signed(change));
        true
    }
}

/// The P of this thread, borrowed: it keeps it meanwhile.
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
    use crate::p::P;

    #[test]
    fn it_holds_one() {
        let slot = PSlot::default();
        assert!(slot.get().is_none() && slot.take().is_none());
        assert!(slot.put(P::new(7, 0).1).is_none());
        assert_eq!(slot.get().map(|p| p.id), Some(7));
        assert_eq!(slot.put(P::new(8, 0).1).map(|p| p.id), Some(7));
        assert_eq!(slot.take().map(|p| p.id), Some(8));
        assert!(slot.get().is_none());
    }

    #[test]
    #[should_panic(expected = "I2")]
    fn a_borrow_that_outlives_its_p_is_noticed() {
        let slot = PSlot::default();
        let _none = slot.put(P::new(7, 0).1);
        let _p = slot.get();
        let _taken = slot.take();
    }
}
