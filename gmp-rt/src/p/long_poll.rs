//! What is known of a poll that lasts long. Dumps show it.
//!
//! Sysmon and the thread that hands off the P write it, with the number of the poll. So it needs no
//! clearing: it is valid while the count of polls is the same. All accesses are Relaxed, because
//! all values are hints for reports.

use crate::prim::fixed::AtomicU64;
use crate::prim::fixed::Ordering::Relaxed;

/// The long poll of a P. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct LongPoll {
    /// The number of the poll.
    poll: AtomicU64,
    since: AtomicU64,
    /// The number of a poll that computes.
    computing: AtomicU64,
}

impl LongPoll {
    /// Records when the poll number `poll` was first noticed, if that is not known.
    pub(super) fn note(&self, poll: u64, since: u64) {
        if self.poll.load(Relaxed) != poll {
            self.since.store(since, Relaxed);
            self.poll.store(poll, Relaxed);
        }
    }

    /// Returns when the poll number `poll` was first noticed, if it is known.
    pub(super) fn since(&self, poll: u64) -> Option<u64> {
        (self.poll.load(Relaxed) == poll).then(|| self.since.load(Relaxed))
    }

    /// Records that the poll number `poll` computes.
    pub(super) fn note_computes(&self, poll: u64) {
        self.computing.store(poll, Relaxed);
    }

    /// Whether the poll number `poll` was seen computing.
    pub(super) fn computes(&self, poll: u64) -> bool {
        self.computing.load(Relaxed) == poll
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_notice_of_a_poll_counts() {
        let long = LongPoll::default();
        assert_eq!((long.since(7), long.computes(7)), (None, false));
        long.note(7, 100);
        long.note(7, 200);
        long.note_computes(7);
        assert_eq!((long.since(7), long.computes(7)), (Some(100), true));
        assert_eq!((long.since(8), long.computes(8)), (None, false));
        long.note(8, 300);
        assert_eq!((long.since(8), long.computes(8)), (Some(300), false));
    }
}
