//! The facts that the hooks report about goroutines and Ps.

use crate::wait_reason::{self, WaitReason};
use std::panic::Location;

/// The origin of a goroutine as a frame of a stack: the type of its future, and its spawn site.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spawn {
    pub(crate) site: &'static Location<'static>,
    pub(crate) future: fn() -> &'static str,
}

impl Spawn {
    /// Returns what makes it different from others.
    pub(super) fn key(self) -> (usize, usize) {
        (std::ptr::from_ref(self.site).addr(), self.future as usize)
    }
}

// By address: two addresses with the same text only repeat an entry of a table.
impl PartialEq for Spawn {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Spawn {}

/// A goroutine, as a hook describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TracedG<'a> {
    pub(crate) id: u64,
    /// `None` if the goroutine has ended.
    pub(crate) spawn: Option<Spawn>,
    pub(crate) name: Option<&'a str>,
}

/// The number of an active P of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Right {
    pub(crate) runtime: u16,
    pub(crate) number: usize,
}

/// Whether a goroutine that does not run is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    Runnable,
    Waiting,
}

/// How a goroutine leaves its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollExit {
    /// It waits.
    Parked,
    /// It is queued again.
    Queued,
    /// It still runs: it was aborted during its poll.
    Stays,
}

/// Why a thread loses its P inside a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// A marked blocking call.
    Call,
    /// The poll blocks without a mark.
    Blocked,
    /// The poll computes.
    Computes,
}

/// Why a goroutine stops running, or enters a call: the text of the event, and the leaf of its
/// stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaveReason {
    Wait(WaitReason),
    Yield,
    Preempted,
    Loss(Loss),
}

/// The texts of reasons that are no wait. Their ids follow those of the wait reasons.
const YIELD_TEXTS: [&str; 2] = ["runtime.Gosched", "preempted"];

/// The number of texts with a fixed id.
pub(super) const TEXTS: usize = wait_reason::ALL.len() + YIELD_TEXTS.len();

/// Returns the texts with a fixed id. They have the ids from 1 up in each generation.
pub(super) fn texts() -> impl Iterator<Item = &'static str> {
    wait_reason::ALL.iter().map(|reason| reason.trace_text()).chain(YIELD_TEXTS)
}

impl LeaveReason {
    fn index(self) -> usize {
        match self {
            Self::Wait(reason) => reason as usize,
            Self::Yield => wait_reason::ALL.len(),
            Self::Preempted => wait_reason::ALL.len() + 1,
            // No event has the text of a loss. The number only identifies the stack.
            Self::Loss(loss) => TEXTS + loss as usize,
        }
    }

    /// Returns the id of the text. Different reasons have different ids.
    pub(super) fn text(self) -> u64 {
        self.index() as u64 + 1
    }

    /// Returns the function in the leaf frame.
    pub(super) fn leaf(self) -> &'static str {
        match self {
            Self::Wait(reason) => reason.operation(),
            Self::Yield => "gmp::yield_now",
            Self::Preempted => "gmp::preempted",
            Self::Loss(Loss::Call) => "gmp::blocking call",
            Self::Loss(Loss::Blocked) => "gmp::blocked thread",
            Self::Loss(Loss::Computes) => "gmp::computing without await",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_own_text() {
        let of = |reason: LeaveReason| texts().nth(reason.text() as usize - 1);
        for reason in wait_reason::ALL {
            assert_eq!(of(LeaveReason::Wait(reason)), Some(reason.trace_text()));
        }
        assert_eq!(of(LeaveReason::Yield), Some("runtime.Gosched"));
        assert_eq!(of(LeaveReason::Preempted), Some("preempted"));
        assert_eq!(texts().count(), TEXTS);
    }
}
