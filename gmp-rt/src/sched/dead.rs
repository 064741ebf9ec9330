//! Deadlock detection: all goroutines are asleep (Go: `checkdead`).
//!
//! There is a deadlock if goroutines are parked, no P runs, no queue has work, no timer is pending,
//! no goroutine waits for the network and no thread is in a blocking call. Then only an external
//! thread could wake a goroutine. Go ends the program, because it has no external threads. Here
//! [`OnDeadlock`] decides. The default is to ignore it.
//!
//! When an event arrives, the M in the netpoller takes the waiter before it has a P. In between, no
//! goroutine waits for the network and no P runs, which looks like a deadlock. On a busy machine
//! this lasts for milliseconds. So before a report sysmon makes that M leave the netpoller and
//! enter it again, and then checks all conditions again.

use super::Sched;
use crate::throw::say;
use crate::util::clock;

/// What happens when all goroutines are asleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnDeadlock {
    /// Nothing: an external thread may wake them.
    #[default]
    Ignore,
    /// It is reported once.
    Report,
    /// It is reported, and the process exits with status 2, as in Go.
    Fatal,
}

/// Go's message.
const TEXT: &str = "all goroutines are asleep - deadlock!";

impl Sched {
    /// Whether only an external thread could wake a goroutine.
    fn is_dead(&self) -> bool {
        let asleep = self.idle.with(|lists| lists.all_idle() && lists.pool.len() == lists.threads);
        let nothing_comes = self.next_timer() == clock::FOREVER && !self.net.has_waiters();
        asleep && nothing_comes && !self.any_work() && self.live() > 0
    }

    fn is_surely_dead(&self) -> bool {
        // The wait ends when the state changes, because it delays sysmon.
        self.is_dead() && self.net.has_come_round(|| self.is_dead()) && self.is_dead()
    }

    /// Reports a deadlock, if there is one and the configuration asks for it. Returns whether it
    /// did. Sysmon calls it when no P has run for a time.
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
