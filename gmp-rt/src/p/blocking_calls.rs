//! The count of a P's marked blocking calls (Go: `syscalltick`). It is odd during a call.
//!
//! The M writes the count with plain stores. Sysmon compares it with the count of its last round.
//! The count never changes the status of the P. An M whose call takes long loses its P like an M
//! whose poll takes long, only through
//! [`StatusWord::hand_off`](super::status::StatusWord::hand_off). It notices this when it reads its
//! status at the end of the call. If no P is idle then, it waits for one
//! ([`way_back`](crate::sched)). So a goroutine that returns from a call never computes beside
//! `max_procs` others.
//!
//! The call may end just as sysmon hands off the P. If the M then did not notice the hand-off, it
//! would compute beside others. So sysmon reads the count again after it has changed the status. If
//! the call has ended, sysmon takes the hand-off back (O2).
//!
//! A separate status for such a P (Go before 1.26) needs a compare-and-swap at both ends of each
//! call, to decide which thread owns the active P. That makes a call slower
//! (`benches/src/bin/call.rs`).
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store in [`BlockingCalls::begin`] | Acquire load in [`BlockingCalls::get`] | the M's queue |
//! | O2 | barrier in [`P::hand_off_in_call`](super::P::hand_off_in_call), between the change of the status and the second read of the count | light barrier in [`OwnedP::exit_blocking`](super::OwnedP::exit_blocking), between the end of the call and the load of the status | either the M sees that its P is handed off, or sysmon sees that the call has ended |
//!
//! The barrier of sysmon is a system call, under the lock of the idle lists. A kernel without it
//! would make sysmon wait there. So sysmon does without it on such a kernel, and a call that ends
//! at the wrong nanosecond computes beside others until the next call or the end of its poll.
//!
//! O1 makes everything that the M queued before the call visible to sysmon, and through the status
//! to thieves.

use crate::prim::AtomicU64;
use crate::prim::Ordering::{Acquire, Relaxed, Release};

/// The count of one P. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct BlockingCalls(AtomicU64);

/// One reading of the count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallCount(u64);

impl CallCount {
    /// Whether a call was in progress.
    pub(crate) fn in_progress(self) -> bool {
        self.0 % 2 == 1
    }

    /// Returns the number of calls begun (Go: `syscalltick`).
    pub(crate) fn begun(self) -> u64 {
        self.0.div_ceil(2)
    }
}

impl BlockingCalls {
    /// Returns the current count.
    pub(crate) fn get(&self) -> CallCount {
        CallCount(self.0.load(Acquire)) // O1
    }

    /// Begins a call. Returns `false` if one is in progress. Only for the owner.
    #[inline]
    pub(super) fn begin(&self) -> bool {
        let count = self.0.load(Relaxed); // Relaxed: its own
        let begins = count.is_multiple_of(2);
        if begins {
            self.0.store(count + 1, Release); // O1
        }
        begins
    }

    /// Ends the call that was begun. Only for the owner.
    #[inline]
    pub(super) fn end(&self) {
        let count = self.0.load(Relaxed); // Relaxed: its own
        self.0.store(count + 1, Release); // Release: as each count of a P, for `metrics`
    }
}
