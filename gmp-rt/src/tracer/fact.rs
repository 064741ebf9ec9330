//! What the hooks tell about goroutines and Ps.

use crate::wait_reason::WaitReason;
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

/// The texts have the ids from 1 up in each generation.
pub(super) const TEXTS: [&str; 22] = [
    "await",
    "sleep",
    "network",
    "sync: goroutine join",
    "chan receive",
    "chan send",
    "select",
    "forever",
    "sync: semaphore",
    "sync",
    "sync",
    "sync",
    "sync.(*Cond).Wait",
    "sync: wait group",
    "sync: barrier",
    "sync: once",
    "context.Done",
    "signal wait",
    "blocking limit",
    "name lookup",
    "runtime.Gosched",
    "preempted",
];

const LEAVES: [&str; 25] = [
    "gmp::future::await",
    "gmp::sleep",
    "gmp::net::wait",
    "gmp::JoinHandle::join",
    "gmp::chan::recv",
    "gmp::chan::send",
    "gmp::select",
    "gmp::select (no cases)",
    "gmp::sync::Semaphore::acquire",
    "gmp::sync::Mutex::lock",
    "gmp::sync::RwLock::read",
    "gmp::sync::RwLock::write",
    "gmp::sync::Cond::wait",
    "gmp::sync::WaitGroup::wait",
    "gmp::sync::Barrier::wait",
    "gmp::sync::Once::call",
    "gmp::sync::Context::done",
    "gmp::signal::recv",
    "gmp::spawn_blocking (limit)",
    "gmp::net::resolve",
    "gmp::yield_now",
    "gmp::preempted",
    "gmp::blocking call",
    "gmp::blocked thread",
    "gmp::computing without await",
];

impl LeaveReason {
    fn index(self) -> usize {
        match self {
            Self::Wait(reason) => reason as usize,
            Self::Yield => 20,
            Self::Preempted => 21,
            Self::Loss(loss) => 22 + loss as usize,
        }
    }

    /// Returns the id of the text.
    pub(super) fn text(self) -> u64 {
        self.index() as u64 + 1
    }

    /// Returns the function in the leaf frame.
    pub(super) fn leaf(self) -> &'static str {
        LEAVES[self.index()]
    }
}
