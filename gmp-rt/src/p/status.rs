//! Who may run goroutines with a P: the right to run, as one small word.
//!
//! Idle, spare and running change hands under the lock of the idle lists. Two things happen
//! without it: the M that owns the P marks a blocking call ([`PStatus::Blocking`]) and its end, and
//! sysmon, holding the lock, displaces a P whose M does not come back. They meet in this file.
//!
//! | status | right to run | who holds the [`OwnedP`](super::OwnedP) |
//! |--------|--------------|------------------------------------------|
//! | `Running` | yes | the M that runs it |
//! | `Blocking` | yes, but it may be taken any time | the M, inside a marked blocking call |
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
//! One CAS decides between [`StatusWord::exit_blocking`] and [`StatusWord::displace`]: a right to run
//! has one owner always.

use crate::prim::AtomicU8;
use crate::prim::Ordering::{AcqRel, Acquire, Release};

/// The status of a P. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PStatus {
    Idle = 0,
    Running = 1,
    Blocking = 2,
    Displaced = 3,
    Spare = 4,
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
            2 => PStatus::Blocking,
            3 => PStatus::Displaced,
            _ => PStatus::Spare,
        }
    }

    /// Changes it, under the lists' lock; not between `Running`, `Blocking` and `Displaced`.
    pub(super) fn set(&self, status: PStatus) {
        self.0.store(status as u8, Release); // O1
    }

    /// Begins a marked blocking call. Only the owner, while running: a plain CAS-free store would
    /// give back a right that was just taken.
    #[inline]
    pub(super) fn enter_blocking(&self) -> bool {
        self.change(PStatus::Running, PStatus::Blocking)
    }

    /// Ends it; `false` if the right to run is gone.
    #[inline]
    pub(super) fn exit_blocking(&self) -> bool {
        self.change(PStatus::Blocking, PStatus::Running)
    }

    /// Takes the right to run away from an M that was seen as `seen`; `false` if it has moved on.
    /// Under the lists' lock.
    pub(super) fn displace(&self, seen: PStatus) -> bool {
        self.change(seen, PStatus::Displaced)
    }

    #[inline(always)]
    fn change(&self, from: PStatus, to: PStatus) -> bool {
        self.0.compare_exchange(from as u8, to as u8, AcqRel, Acquire).is_ok() // O1
    }
}
