//! All goroutines asleep (Go: `checkdead`).
//!
//! Nobody runs, no timer is pending, nobody waits for the network, no thread is inside a blocking call,
//! and goroutines wait: only a thread outside could still wake one. Go ends the program, because there nobody is outside; here it is
//! told once, and fatal only on request.
//!
//! Between the kernel telling the M in the netpoller of an event and that M leaving the ranks of the idle,
//! nobody waits for the network any more and nobody runs yet: it looks like a deadlock, and on a busy
//! machine for many milliseconds. So before one is told that M is rung out and waited for, and all is
//! looked at once more.

use super::Sched;
use crate::throw::say;
use crate::util::clock;

/// What happens when all goroutines are asleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnDeadlock {
    /// Nothing: a thread outside may well wake them.
    #[default]
    Ignore,
    /// It is told, once.
    Report,
    /// It is told, and the process ends with status 2, as in Go.
    Fatal,
}

/// Go's words.
const TEXT: &str = "all goroutines are asleep - deadlock!";

impl Sched {
    /// Whether only a thread outside could wake anybody.
    fn is_dead(&self) -> bool {
        let asleep = self.idle.with(|lists| lists.all_idle() && lists.pool.len() == lists.threads);
        let nothing_comes = self.next_timer() == clock::FOREVER && !self.net.has_waiters();
        asleep && nothing_comes && !self.any_work() && self.live() > 0
    }

    fn is_surely_dead(&self) -> bool {
        // Not beyond the first sign of life: it is sysmon that waits.
        self.is_dead() && self.net.has_come_round(|| self.is_dead()) && self.is_dead()
    }

    /// Tells about a deadlock, if there is one and it is wanted; returns whether it did. Called by
    /// sysmon when nobody has run for a while.
    pub(super) fn check_dead(&self) -> bool {
        if self.config.on_deadlock == OnDeadlock::Ignore || !self.is_surely_dead() {
            return false;
        }
        if self.config.on_deadlock == OnDeadlock::Fatal {
            say!("fatal error: {TEXT}\n\n{}", self.dump());
            std::process::exit(2);
        }
        say!("gmp: {TEXT} (unless a thread outside of gmp wakes one)\n\n{}", self.dump());
        true
    }
}
