//! Finds Ps whose thread was descheduled while work is queued on their ring.
//!
//! If a server shares its CPUs with other programs, the OS may deschedule a thread in the middle of
//! a batch of requests for milliseconds. Another M that goes from batch to batch of network events
//! always has work, so it never begins to steal. The requests on that ring would wait for the
//! thread. So an M checks for such Ps whenever its own queue is empty, before it polls the network.
//! It steals half of the ring of a P that made no poll for
//! [`STILL_AFTER`](crate::tuning::STILL_AFTER).

use crate::util::clock;
use std::time::Duration;

/// What an M has seen of the progress of other Ps. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Still {
    /// By the number of the P: its number of polls, and the time at which that was first seen.
    seen: Vec<(u64, u64)>,
}

impl Still {
    /// Whether the P with the number `p`, which has made `polls` polls at the time `now`, has made
    /// none for at least `time`, as far as this M has seen.
    pub(super) fn is_still(&mut self, p: usize, polls: u64, now: u64, time: Duration) -> bool {
        if self.seen.len() <= p {
            self.seen.resize(p + 1, (u64::MAX, 0));
        }
        let (before, since) = &mut self.seen[p];
        if *before != polls {
            (*before, *since) = (polls, now);
        }
        now - *since >= clock::nanos(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::STILL_AFTER;

    #[test]
    fn still_is_who_was_seen_twice_without_a_poll_between() {
        let (mut still, after) = (Still::default(), clock::nanos(STILL_AFTER));
        let mut is_still = |p, polls, now| still.is_still(p, polls, now, STILL_AFTER);
        assert!(!is_still(3, 7, 1_000), "never seen before");
        assert!(!is_still(3, 7, 1_000 + after - 1));
        assert!(is_still(3, 7, 1_000 + after));
        assert!(!is_still(3, 8, 2_000 + after), "it came on");
        assert!(!is_still(0, 7, 3_000 + after), "another one");
        assert!(is_still(3, 8, 2_000 + 2 * after));
    }
}
