//! Who may run goroutines with a P: the right to run, as one small word.
//!
//! It changes under the lock of the idle lists, also when sysmon displaces a P whose M does not
//! come back; so an M that holds the lock knows what it has. [`StatusKey`] is the evidence, which
//! lies behind that lock. Without the lock an M may be displaced any time, and finds out when it
//! looks. A marked blocking call is no status: see [`call`](super::call).
//!
//! | status | right to run | who holds the [`OwnedP`](super::OwnedP) |
//! |--------|--------------|------------------------------------------|
//! | `Running` | yes | the M that runs it |
//! | `Idle` | yes | the idle list |
//! | `Displaced` | no | the M, inside a poll; thieves empty its queue |
//! | `Spare` | no | the spare list; its queue is empty, its timers are served by all |
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store and AcqRel CAS here | Acquire load in [`StatusWord::get`] | to a thief: the queue as it was when its P was displaced |
//!
//! [`StatusWord::displace`] is a CAS, so that of two who take the right away one has it to pass on.

use crate::prim::AtomicU8;
use crate::prim::Ordering::{AcqRel, Acquire, Release};

/// The status of a P. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PStatus {
    Idle = 0,
    Running = 1,
    Displaced = 2,
    Spare = 3,
}

/// Evidence that the lock of the idle lists is held. The lists own the only one of a runtime, so
/// a thread that can borrow it has the lock.
#[derive(Debug)]
pub(crate) struct StatusKey(());

impl StatusKey {
    /// The key of a runtime, to be put behind the lock of its idle lists.
    pub(crate) fn new() -> Self {
        Self(())
    }
}

/// The status word of a P.
#[derive(Debug)]
pub(crate) struct StatusWord(AtomicU8);

impl StatusWord {
    /// A spare P's.
    pub(crate) fn spare() -> Self {
        Self(AtomicU8::new(PStatus::Spare as u8))
    }

    /// The status just now.
    #[inline]
    pub(crate) fn get(&self) -> PStatus {
        // O1
        match self.0.load(Acquire) {
            0 => PStatus::Idle,
            1 => PStatus::Running,
            2 => PStatus::Displaced,
            _ => PStatus::Spare,
        }
    }

    /// Changes it; not from `Running` to `Displaced`. The caller has the [`StatusKey`].
    pub(super) fn set(&self, status: PStatus) {
        self.0.store(status as u8, Release); // O1
    }

    /// Takes the right to run away from the M that has it; `false` if it has none. The caller has
    /// the [`StatusKey`].
    pub(super) fn displace(&self) -> bool {
        let (from, to) = (PStatus::Running as u8, PStatus::Displaced as u8);
        self.0.compare_exchange(from, to, AcqRel, Acquire).is_ok() // O1
    }
}
