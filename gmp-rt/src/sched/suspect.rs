//! A thread that is in the same poll for long: what it does there, as far as can be told from looks at its
//! CPU clock and, where that does not tell, at its state.
//!
//! The clock is read at each look; the state, ten times dearer, only if the clock stands still, because a thread
//! that has used CPU since the last look was not asleep. One that was seen to wait for a CPU still does while
//! its clock stands still: it has to run before it can sleep.

use crate::sys::thread_state::Sleep;

/// What sysmon knows of such a thread. See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Suspect {
    /// CPU it had used when it came under suspicion.
    first_cpu: u64,
    /// CPU it had used at the last look.
    cpu: u64,
    /// Since when the clock is known to stand there.
    since: u64,
    does: Does,
}

/// What it did when its clock came to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Not known: it has run since the last look.
    Unknown,
    /// It wants a CPU.
    Waits,
    /// It sleeps.
    Sleeps(Sleep),
}

/// What a look tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// It runs or would like to, and has used so much CPU since it came under suspicion.
    Awake { cpu: u64 },
    /// It sleeps, and has not run for so long.
    Asleep { why: Sleep, time: u64 },
}

impl Suspect {
    /// At the moment `now` a thread that has used `cpu` comes under suspicion. Has to be looked at next.
    pub(super) fn new(now: u64, cpu: u64) -> Self {
        Self { first_cpu: cpu, cpu, since: now, does: Does::Unknown }
    }

    /// Looks again. `sleep` asks whether it sleeps; `None` if it is gone.
    pub(super) fn look(
        &mut self,
        now: u64,
        cpu: u64,
        sleep: impl FnOnce() -> Option<Sleep>,
    ) -> Option<Sight> {
        let awake = Sight::Awake { cpu: cpu.saturating_sub(self.first_cpu) };
        if self.cpu != cpu {
            (self.cpu, self.since, self.does) = (cpu, now, Does::Unknown);
            return Some(awake);
        }
        if self.does == Does::Waits {
            return Some(awake);
        }
        let why = sleep()?;
        if why == Sleep::No {
            self.does = Does::Waits;
            return Some(awake);
        }
        self.does = Does::Sleeps(why);
        Some(Sight::Asleep { why, time: now - self.since })
    }

    /// Whether it was last seen asleep in a call.
    pub(super) fn is_in_call(&self) -> bool {
        self.does == Does::Sleeps(Sleep::Call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asleep(why: Sleep, time: u64) -> Option<Sight> {
        Some(Sight::Asleep { why, time })
    }

    fn unasked() -> Option<Sleep> {
        panic!("a clock that moves, or a wait for a CPU, tells enough")
    }

    #[test]
    fn one_sleep_is_measured_from_the_look_before_it() {
        let mut suspect = Suspect::new(10, 5);
        assert_eq!(suspect.look(10, 5, || Some(Sleep::Call)), asleep(Sleep::Call, 0));
        assert!(suspect.is_in_call());
        assert_eq!(suspect.look(110, 5, || Some(Sleep::Call)), asleep(Sleep::Call, 100));
        // It ran for a moment: another sleep.
        assert_eq!(suspect.look(210, 6, unasked), Some(Sight::Awake { cpu: 1 }));
        assert!(!suspect.is_in_call());
        assert_eq!(suspect.look(310, 6, || Some(Sleep::Lock)), asleep(Sleep::Lock, 100));
    }

    #[test]
    fn who_waits_for_a_cpu_is_asked_once() {
        let mut suspect = Suspect::new(10, 5);
        assert_eq!(suspect.look(10, 5, || Some(Sleep::No)), Some(Sight::Awake { cpu: 0 }));
        assert_eq!(suspect.look(20, 5, unasked), Some(Sight::Awake { cpu: 0 }));
        assert_eq!(suspect.look(30, 9, unasked), Some(Sight::Awake { cpu: 4 }));
        assert_eq!(suspect.look(40, 9, || Some(Sleep::Call)), asleep(Sleep::Call, 10));
    }

    #[test]
    fn who_was_woken_and_has_not_run_does_not_sleep() {
        let mut suspect = Suspect::new(10, 5);
        assert_eq!(suspect.look(10, 5, || Some(Sleep::Call)), asleep(Sleep::Call, 0));
        assert_eq!(suspect.look(500, 5, || Some(Sleep::No)), Some(Sight::Awake { cpu: 0 }));
        assert_eq!(suspect.look(600, 5, || None), Some(Sight::Awake { cpu: 0 }));
    }

    #[test]
    fn who_is_gone_is_none() {
        assert_eq!(Suspect::new(10, 5).look(10, 5, || None), None);
    }
}
