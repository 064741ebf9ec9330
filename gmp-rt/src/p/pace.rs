//! The poll-time estimate of a P: decides whether its queued polls justify waking another thread.
//!
//! Waking a thread costs the waker a system call, and the woken thread starts with a delay. A
//! server with a few short requests at a time is faster without a wake-up.
//!
//! The time is measured from when work was found to when it has run out. This is done only if the
//! network is in use: there the clock is cheap compared with the system call that polls the
//! network. Otherwise the estimate is unknown, and any queued work justifies a wake-up.
//!
//! The estimate follows the median: it changes by a quarter of itself at each measurement. A mean
//! would stay too large for long after the thread was descheduled once.

use crate::tuning::WAKE_LATENCY;
use crate::util::clock;
use std::cell::Cell;

/// The estimate of a P. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// When the current work was found, and the poll count at that time.
    began: Cell<Option<(u64, u64)>>,
    /// Nanoseconds per poll; 0 if unknown.
    poll: Cell<u64>,
}

impl Pace {
    /// Begins a measurement: work was found at the time `now`, after `polls` polls.
    pub(crate) fn begin(&self, now: u64, polls: u64) {
        self.began.set(Some((now, polls)));
    }

    /// Discards the measurement: the P was idle.
    pub(crate) fn forget(&self) {
        self.began.set(None);
    }

    /// Ends the measurement at the time `now`, after `polls` polls. The work has run out, or the P
    /// polls the network.
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

    /// Whether `n` polls take long enough to wake another thread for some of them.
    pub(crate) fn is_worth_waking(&self, n: usize) -> bool {
        let poll = self.poll.get();
        n > 0 && (poll == 0 || n as u64 * poll >= clock::nanos(WAKE_LATENCY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures `times` runs of four polls of `poll` ns each.
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
        // Without a poll or without `begin` nothing is measured.
        pace.begin(1_000, 100);
        pace.end(2_000, 100);
        pace.end(3_000, 200);
        assert!(pace.is_worth_waking(1));
    }

    #[test]
    fn short_polls_are_worth_it_when_there_are_many() {
        let pace = Pace::default();
        run(&pace, 1, 10_000);
        let worth = clock::nanos(WAKE_LATENCY) as usize / 10_000;
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
