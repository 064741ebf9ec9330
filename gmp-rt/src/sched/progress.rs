//! What a thief has seen of the progress of other Ps.
//!
//! An M usually runs its `runnext` within 50 ns of its wake-up. To steal it would move it to
//! another CPU for nothing. So a thief takes it only if the M has begun no poll for a time.

use crate::util::clock;
use std::time::Duration;

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// By the number of the P: its number of polls, and the time at which that was first seen.
    seen: Vec<(u64, u64)>,
}

impl Progress {
    /// Whether the P with the number `p`, which has made `polls` polls at the time `now`, has made
    /// none for at least `time`, as far as this thief has seen.
    pub(super) fn has_stopped(&mut self, p: usize, polls: u64, now: u64, time: Duration) -> bool {
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
    use crate::tuning::RUNNEXT_BACKOFF;

    #[test]
    fn a_p_has_stopped_if_it_was_seen_twice_without_a_poll_between() {
        let (mut progress, after) = (Progress::default(), clock::nanos(RUNNEXT_BACKOFF));
        let mut stopped = |p, polls, now| progress.has_stopped(p, polls, now, RUNNEXT_BACKOFF);
        assert!(!stopped(3, 7, 1_000), "never seen before");
        assert!(!stopped(3, 7, 1_000 + after - 1));
        assert!(stopped(3, 7, 1_000 + after));
        assert!(!stopped(3, 8, 2_000 + after), "it made a poll");
        assert!(!stopped(0, 7, 3_000 + after), "another P");
        assert!(stopped(3, 8, 2_000 + 2 * after));
    }
}
