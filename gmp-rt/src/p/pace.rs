//! How long a poll takes on a P, about: to tell whether what lies on its ring is worth waking another thread.
//!
//! Waking a thread costs the waker a system call, and the other comes after some ten microseconds; a server whose
//! requests take less, three at a time, is better off without. (`redis-benchmark` and `wrk`, which share the two
//! CPUs with the server: 6 % and 20 % more requests, half of the context switches.)
//!
//! Measured from when work was found to when it had run out, so only where the network is in use: there the
//! system call that asks it pays for the clock. Elsewhere the pace is not known, and everything is worth it.
//!
//! The estimate follows the median, by a quarter of itself at each measurement: a mean would believe for long after
//! that a thread had lost its CPU for a millisecond.

use crate::tuning::WAKE_WORTH;
use crate::util::clock;
use std::cell::Cell;

/// The estimate of a P. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// When the present work was found, and how many polls there had been then.
    began: Cell<Option<(u64, u64)>>,
    /// Nanoseconds of a poll; 0 if not known.
    poll: Cell<u64>,
}

impl Pace {
    /// Work was found at the moment `now`, after `polls` polls.
    pub(crate) fn begin(&self, now: u64, polls: u64) {
        self.began.set(Some((now, polls)));
    }

    /// The P has rested: what was begun before is not measured.
    pub(crate) fn forget(&self) {
        self.began.set(None);
    }

    /// At the moment `now`, after `polls` polls, there is none left, or it is time to look.
    pub(crate) fn end(&self, now: u64, polls: u64) {
        let Some((began, before)) = self.began.take() else { return };
        let Some(measured) = (now - began).checked_div(polls - before) else { return };
        let poll = self.poll.get();
        self.poll.set(match poll {
            0 => measured,
            _ if measured > poll => poll + poll / 4 + 1,
            _ => poll - poll / 4,
        });
    }

    /// Whether `n` polls take so long that another thread should be woken for some of them.
    pub(crate) fn is_worth_waking(&self, n: usize) -> bool {
        let poll = self.poll.get();
        n > 0 && (poll == 0 || n as u64 * poll >= clock::nanos(WAKE_WORTH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures `times` runs of four polls, each poll taking so long.
    fn run(pace: &Pace, times: usize, poll: u64) {
        for _ in 0..times {
            pace.begin(1_000, 100);
            pace.end(1_000 + 4 * poll, 104);
        }
    }

    #[test]
    fn everything_is_worth_it_until_the_pace_is_known() {
        let pace = Pace::default();
        assert!(pace.is_worth_waking(1));
        assert!(!pace.is_worth_waking(0));
        // No poll, or no beginning: nothing to learn.
        pace.begin(1_000, 100);
        pace.end(2_000, 100);
        pace.end(3_000, 200);
        assert!(pace.is_worth_waking(1));
    }

    #[test]
    fn short_polls_are_worth_it_when_there_are_many() {
        let pace = Pace::default();
        run(&pace, 1, 10_000);
        let worth = clock::nanos(WAKE_WORTH) as usize / 10_000;
        assert!(!pace.is_worth_waking(worth - 1));
        assert!(pace.is_worth_waking(worth));
    }

    #[test]
    fn one_outlier_changes_little_a_new_pace_is_learnt() {
        let pace = Pace::default();
        run(&pace, 1, 10_000);
        run(&pace, 1, 5_000_000);
        assert!(!pace.is_worth_waking(2));
        run(&pace, 40, 5_000_000);
        assert!(pace.is_worth_waking(1));
        run(&pace, 40, 1_000);
        assert!(!pace.is_worth_waking(10));
    }
}
