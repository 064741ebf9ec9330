//! Marked blocking calls, counted: odd while one is under way.
//!
//! The M writes, with plain stores; sysmon compares the count with the one of its last round. That is
//! the whole protocol: the count takes no right away and gives none back. An M whose call took long is
//! displaced like any M whose poll takes long, by [`StatusWord::displace`](super::status::StatusWord::displace)
//! alone, and finds out when it looks at its status: at the end of the call, or if sysmon was later than
//! that, at the end of its poll, which is the poll too many that every displacement allows for.
//!
//! A status of its own for such a P (Go before 1.26, and here at first) needs a compare-and-swap at both
//! ends of each call, to decide who has the right: 5.9 ns a call instead of 3.1 (`benches/src/bin/call.rs`).
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store in [`Calls::begin`] | Acquire load in [`Calls::get`] | what the M had queued before the call, to sysmon, and through the status to thieves |

use crate::prim::AtomicU64;
use crate::prim::Ordering::{Acquire, Relaxed, Release};

/// The count of one P. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Calls(AtomicU64);

/// A count as somebody saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Call(u64);

impl Call {
    /// Whether a call was under way.
    pub(crate) fn is_under_way(self) -> bool {
        self.0 % 2 == 1
    }

    /// Calls begun (Go: `syscalltick`).
    pub(crate) fn begun(self) -> u64 {
        self.0.div_ceil(2)
    }
}

impl Calls {
    /// The count just now.
    pub(crate) fn get(&self) -> Call {
        Call(self.0.load(Acquire)) // O1
    }

    /// Begins a call; `false` if one is under way already. Only the owner.
    #[inline]
    pub(super) fn begin(&self) -> bool {
        let count = self.0.load(Relaxed); // Relaxed: its own
        let begins = count.is_multiple_of(2);
        if begins {
            self.0.store(count + 1, Release); // O1
        }
        begins
    }

    /// Ends the call that was begun. Only the owner.
    #[inline]
    pub(super) fn end(&self) {
        let count = self.0.load(Relaxed); // Relaxed: its own
        self.0.store(count + 1, Release); // Release: as each count of a P, for `stats`
    }
}
