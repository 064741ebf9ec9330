//! The status of a P: whether it is active, and which part of the scheduler holds it.
//!
//! The status changes only under the lock of the idle lists, also when sysmon hands off a P. So an
//! M that holds the lock can rely on the status it reads. [`StatusKey`], which is behind that lock,
//! is the evidence. Without the lock an M's P may be handed off at any time, and the M notices when
//! it reads the status. A marked blocking call is no status: see [`call`](super::blocking_calls).
//!
//! | status | active | holder of the [`OwnedP`](super::OwnedP) |
//! |--------|--------|------------------------------------------|
//! | `Running` | yes | the M that runs it |
//! | `Idle` | yes | the idle list |
//! | `HandedOff` | no | the M, inside a poll; its queue is emptied at the hand-off |
//! | `Spare` | no | the spare list; its queue is empty |
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store and AcqRel CAS here | Acquire load in [`StatusWord::get`] | the queue |
//!
//! O1 makes the queue of a handed-off P visible, as it was at the hand-off.
//!
//! [`StatusWord::hand_off`] is a CAS, so that only one of two concurrent hand-offs succeeds and
//! activates a spare P.

use crate::prim::AtomicU8;
use crate::prim::Ordering::{AcqRel, Acquire, Release};

/// The status of a P. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PStatus {
    Idle = 0,
    Running = 1,
    HandedOff = 2,
    Spare = 3,
}

/// Evidence that the lock of the idle lists is held. The lists own the only key of a runtime, so a
/// thread that can borrow the key holds the lock.
#[derive(Debug)]
pub(crate) struct StatusKey(());

impl StatusKey {
    /// Makes the key of a runtime, to be put behind the lock of its idle lists.
    pub(crate) fn new() -> Self {
        Self(())
    }
}

/// The status word of a P.
#[derive(Debug)]
pub(crate) struct StatusWord(AtomicU8);

impl StatusWord {
    /// Returns the word of a spare P.
    pub(crate) fn spare() -> Self {
        Self(AtomicU8::new(PStatus::Spare as u8))
    }

    /// Returns the current status.
    #[inline]
    pub(crate) fn get(&self) -> PStatus {
        // O1
        match self.0.load(Acquire) {
            0 => PStatus::Idle,
            1 => PStatus::Running,
            2 => PStatus::HandedOff,
            _ => PStatus::Spare,
        }
    }

    /// Changes the status; not from `Running` to `HandedOff`. The caller has the [`StatusKey`].
    pub(super) fn set(&self, status: PStatus) {
        self.0.store(status as u8, Release); // O1
    }

    /// Hands the P off. Returns `false` if its status is not `Running`. The caller has the
    /// [`StatusKey`].
    pub(super) fn hand_off(&self) -> bool {
        let (from, to) = (PStatus::Running as u8, PStatus::HandedOff as u8);
        self.0.compare_exchange(from, to, AcqRel, Acquire).is_ok() // O1
    }
}
