//! Deadlock detection: all goroutines are asleep (Go: `checkdead`).
//!
//! A runtime is *quiet* if goroutines are parked, no P runs, no queue has work, no timer is
//! pending, no goroutine waits for the network and no thread is in a blocking call. In Go that is a
//! deadlock. Here an external thread, another runtime or a foreign future may still wake a
//! goroutine. So a report needs a [proof](super::stuck) for every goroutine of the runtime: nothing
//! has a waker of it. [`OnDeadlock`] decides what follows. The default is to ignore it.
//!
//! `fatal` ends the process only if the goroutine of `#[gmp::main]` is one of them, no other
//! runtime has goroutines, and the process has no threads but gmp's. Otherwise it reports: a plain
//! thread may do the work of a program whose goroutines wait for ever. Only Linux lists the
//! threads, and only with `/proc` and a free descriptor. Where they are unknown, `fatal` reports.
//!
//! When an event arrives, the M in the netpoller takes the waiter before it has a P. In between, no
//! goroutine waits for the network and no P runs, which looks quiet. On a busy machine this lasts
//! for milliseconds. So before a report sysmon makes that M leave the netpoller and enter it again,
//! and then checks everything again.
//!
//! A search walks over all goroutines, which takes long if there are many. So sysmon makes it only
//! after a second without a running goroutine, once, and takes at most a percent of its time for it
//! ([`DeadlockSearch`]).
//!
//! `#[gmp::test]` needs no proof: see [`ParkedCheck`].

use super::event::{self, ALL_ASLEEP, Event};
use super::stuck::{AllStuck, Keys};
use crate::sched::config::OnDeadlock;
use crate::sched::{Sched, registry};
use crate::sys::own_threads;
use crate::tuning::{SLOW_CHECK, SYSMON_MAX_NAP};
use crate::util::clock;
use std::time::Duration;

/// Time between two walks that must agree. Chosen: a thread that was about to change something has
/// done it by then.
const SECOND_LOOK: Duration = Duration::from_millis(10);

/// The result of a search for a deadlock.
#[derive(Debug)]
enum Search {
    /// A goroutine may be woken.
    None,
    /// All goroutines seemed to be stuck, but something changed.
    Unsure,
    Deadlock(AllStuck),
}

/// The result of a check for a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// A goroutine may be woken, or nothing is to be reported.
    Alive,
    /// Another check is necessary.
    Unsure,
    /// The deadlock was reported.
    Reported,
}

/// Sysmon's searches for a deadlock. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct DeadlockSearch {
    /// When the rest of all Ps began that was searched last.
    searched: Option<u64>,
    /// The time without a running goroutine before the next search, if it is more than usual.
    pause: u64,
    is_reported: bool,
}

/// When the next search for a deadlock is due, if no goroutine runs before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextSearch {
    Never,
    At(u64),
}

impl DeadlockSearch {
    /// The share of its time that sysmon takes for searches, at most: one in this number.
    const SHARE: u64 = 100;

    /// Searches if that is due, and reports a deadlock if the configuration asks for it. Called
    /// while no goroutine runs.
    pub(crate) fn round(&mut self, sched: &Sched) -> NextSearch {
        if self.is_reported || sched.config.on_deadlock == OnDeadlock::Ignore {
            return NextSearch::Never;
        }
        let since = sched.idle.with(|lists| lists.idle_since);
        if self.searched == Some(since) || !sched.is_quiet() {
            return NextSearch::Never;
        }
        let at = since + self.pause.max(clock::nanos(SLOW_CHECK));
        let begin = clock::now();
        if begin < at {
            return NextSearch::At(at);
        }
        let verdict = sched.checkdead();
        let end = clock::now();
        self.pause = Self::SHARE * (end - begin);
        match verdict {
            Verdict::Alive => self.searched = Some(since),
            Verdict::Unsure => return NextSearch::At(since.max(end) + self.pause),
            Verdict::Reported => self.is_reported = true,
        }
        NextSearch::Never
    }
}

impl Sched {
    /// Whether no goroutine can run until an external thread or another runtime acts.
    pub(super) fn is_quiet(&self) -> bool {
        let asleep =
            self.idle.with(|lists| lists.all_idle() && lists.pool.len() == lists.threads.count);
        let nothing_comes = self.next_timer() == clock::FOREVER && !self.net.has_waiters();
        asleep && nothing_comes && !self.any_work() && self.live() > 0
    }

    /// Looks for a proof for every goroutine, twice.
    fn find_deadlock(&self) -> Search {
        let keys = Keys::default();
        let look = || self.is_quiet().then(|| self.all_stuck(&keys)).flatten();
        let until = clock::after(SECOND_LOOK);
        let Some(first) = look() else { return Search::None };
        // The waits end when the state changes, because they delay sysmon.
        let has_gone_round = self.net.has_gone_round(|| self.is_quiet());
        while clock::now() < until && self.is_quiet() {
            std::thread::sleep(SYSMON_MAX_NAP);
        }
        match look() {
            Some(second) if has_gone_round && first == second => Search::Deadlock(second),
            _ => Search::Unsure,
        }
    }

    /// Reports a deadlock, if there is one.
    fn checkdead(&self) -> Verdict {
        let stuck = match self.find_deadlock() {
            Search::None => return Verdict::Alive,
            Search::Unsure => return Verdict::Unsure,
            Search::Deadlock(stuck) => stuck,
        };
        if self.config.on_deadlock == OnDeadlock::Fatal && self.is_whole_program(&stuck) {
            event::last_words(&format!("fatal error: {ALL_ASLEEP}\n\n{}", self.dump()));
            std::process::exit(2);
        }
        if !self.is_quiet() {
            return Verdict::Unsure;
        }
        event::emit(Event::Deadlock { dump: self.dump() });
        Verdict::Reported
    }

    /// Whether the goroutine of `#[gmp::main]` is stuck, no other runtime has goroutines, and the
    /// process has no other threads.
    fn is_whole_program(&self, stuck: &AllStuck) -> bool {
        stuck.has_main
            && registry::all().iter().all(|other| other.id == self.id || other.live() == 0)
            && self.is_process_alone()
    }

    /// Whether all threads of the process are gmp's. Waits for those that are starting or ending.
    fn is_process_alone(&self) -> bool {
        let until = clock::after(SLOW_CHECK);
        while !own_threads::are_alone() {
            if clock::now() > until || !self.is_quiet() {
                return false;
            }
            std::thread::sleep(SECOND_LOOK);
        }
        self.is_quiet()
    }

    /// Returns the time at which a P last went idle, if all goroutines wait for primitives of gmp
    /// and the runtime is quiet.
    fn parked_since(&self) -> Option<u64> {
        let since = self.idle.with(|lists| lists.idle_since);
        let is_parked = self.is_quiet() && self.all_wait_for_primitives() && self.is_quiet();
        is_parked.then_some(since)
    }
}

/// The check for a test that hangs: all its goroutines are parked on primitives of gmp, and nothing
/// has happened for a time. That is no proof, because an external thread may still wake one.
#[derive(Debug)]
pub(crate) struct ParkedCheck {
    after: Duration,
    /// When the goroutines were parked, as the last check has seen it.
    seen: Option<u64>,
}

impl ParkedCheck {
    /// Returns a check that fails a test after `after`.
    pub(crate) fn new(after: Duration) -> Self {
        Self { after, seen: None }
    }

    /// Returns a dump if all goroutines of `sched` have been parked for the time. Two checks in a
    /// row must agree: an event may be on its way to its goroutine during one of them.
    pub(crate) fn check(&mut self, sched: &Sched) -> Option<String> {
        let since = sched.parked_since();
        let was_seen = since.is_some() && self.seen == since;
        self.seen = since;
        let is_over = was_seen && since? + clock::nanos(self.after) <= clock::now();
        is_over.then(|| sched.dump())
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::*;
    use crate::g::Ids;
    use crate::sched::Config;

    /// One goroutine is counted that no walk finds, so no search ends with a report.
    #[test]
    fn a_search_is_due_once_in_each_rest_after_a_second() {
        let config = Config { on_deadlock: OnDeadlock::Report, ..Config::default() };
        let sched = Sched::new((Ids::MAX_RUNTIMES - 2) as u16, config);
        let mut search = DeadlockSearch::default();
        assert_eq!(search.round(&sched), NextSearch::Never, "no goroutine lives");
        sched.live.add_spawned();
        let rests_since = |since| sched.idle.with(|lists| lists.idle_since = since);
        let soon = clock::after(Duration::from_secs(3600));
        rests_since(soon);
        assert_eq!(search.round(&sched), NextSearch::At(soon + clock::nanos(SLOW_CHECK)));
        rests_since(0);
        // The clock begins with the process or before, so the second may not be over yet.
        while search.round(&sched) != NextSearch::Never {
            std::thread::yield_now();
        }
        assert_eq!(search.searched, Some(0));
        rests_since(soon);
        let NextSearch::At(at) = search.round(&sched) else { panic!("a new rest") };
        assert!(at >= soon + search.pause && search.pause > 0);
    }
}
