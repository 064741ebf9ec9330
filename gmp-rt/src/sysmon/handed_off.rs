//! What sysmon knows of the polls that continue without an active P.
//!
//! The thread of a handed-off P still blocks or computes. While it computes it takes CPU time from
//! the threads that have an active P, so it has to be paused ([`super::pause`]). Some threads are
//! known to compute at the hand-off. The others were blocked, and sysmon detects by their CPU clock
//! that they compute later ([`Away`]). Sysmon also reports a stall that was too short for a report
//! at the hand-off.
//!
//! There may be thousands of such threads, so a round of sysmon does not visit them all. A hand-off
//! puts its P into a list ([`PTable::take_hand_offs`]), from which sysmon takes it. Hogs are
//! visited every [`VISIT`]. A thread that stays blocked is visited ever less often, finally once
//! per second, and a heap knows which one is next. A P is counted at each hand-off: what sysmon
//! knows of an earlier one is dropped at its next visit.
//!
//! [`PTable::take_hand_offs`]: crate::sched::ps::PTable::take_hand_offs

use super::away::Away;
use super::{Marks, Sysmon};
use crate::g::GoId;
use crate::observe::stall::StallKind;
use crate::p::blocking_calls::CallCount;
use crate::p::{P, PStatus};
use crate::sched::Sched;
use crate::sched::pause;
use crate::sys::thread_state::{self, ThreadSleep};
use crate::tuning::{SLICE, SLOW_CHECK};
use crate::util::clock;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

/// The time between two visits of a hog, and between the first two visits of another P.
const VISIT: Duration = SLICE;

/// The longest time between two visits.
const VISIT_MAX: Duration = SLOW_CHECK;

/// A poll whose P was handed off because it computes.
///
/// Go lets a goroutine compute for 10 ms before it preempts it. Here the thread of a handed-off P
/// computes on, so an earlier hand-off costs only a wake-up. But if every CPU-bound goroutine lost
/// its P early, a batch of them would get a thread each. So a hand-off is early only for goroutines
/// that wait for a timer, an event or an external thread, and not for the rest of a batch that an
/// idle P has found ([`P::delays_newcomers`]). Without pauses it is also limited to one for each P.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuBoundPoll {
    pub(super) goid: GoId,
    /// Which poll it is.
    pub(super) polls: u64,
    pub(super) report: Report,
}

/// The report of a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    Made,
    /// To be made when the slice of the poll is over: until then it is no stall.
    Due,
}

/// A handed-off P.
#[derive(Debug)]
struct HandedOff {
    p: Arc<P>,
    /// Which hand-off of the P it is.
    hand_off: u64,
    polls: u64,
    poll_since: u64,
    call: CallCount,
    /// If it was handed off because it computes, or was found to compute later.
    hog: Option<CpuBoundPoll>,
    /// If it was handed off because it blocked.
    away: Option<Away>,
    /// The time until the next visit, if neither `hog` nor `away` says when that is.
    pace: u64,
}

impl HandedOff {
    /// `seen` is what is known of the P from the time when it was active.
    fn new(p: Arc<P>, hand_off: u64, seen: Option<Marks>, now: u64) -> Self {
        let (polls, call) = (p.counters.polls.get(), p.calls.get());
        let seen = seen.filter(|marks| marks.polls == polls);
        let poll_since = seen.map_or(now, |marks| marks.poll_since);
        let pace = clock::nanos(VISIT);
        Self { p, hand_off, polls, poll_since, call, hog: None, away: None, pace }
    }

    /// Whether the P has not been active since.
    fn is_handed_off(&self) -> bool {
        self.p.status() == PStatus::HandedOff && self.p.hand_offs() == self.hand_off
    }

    /// Whether the poll that was handed off because it computes is still under way.
    fn is_hog(&self) -> bool {
        let polls = self.p.counters.polls.get();
        let is_same = self.hog.is_some_and(|hog| hog.polls == polls);
        is_same && self.is_handed_off() && !self.p.is_returning()
    }

    /// Returns when the next visit is due.
    fn visit_at(&self, now: u64) -> u64 {
        match (self.hog, self.away) {
            (Some(CpuBoundPoll { report: Report::Due, .. }), _) => {
                self.poll_since + clock::nanos(SLICE)
            }
            (Some(_), _) => now + clock::nanos(VISIT),
            (None, Some(away)) if away.check_at > now => away.check_at,
            (None, _) => now + self.pace,
        }
    }

    /// Reports a stall that is due. Has the thread paused if it computes.
    fn visit(&mut self, sched: &Arc<Sched>, now: u64) {
        let (polls, call) = (self.p.counters.polls.get(), self.p.calls.get());
        let is_same = self.polls == polls && self.call == call;
        let pace = if is_same { 2 * self.pace } else { 0 };
        self.pace = pace.clamp(clock::nanos(VISIT), clock::nanos(VISIT_MAX));
        if self.polls != polls {
            (self.polls, self.poll_since, self.hog, self.away) = (polls, now, None, None);
        }
        self.call = call;
        if self.p.is_returning() {
            return;
        }
        if self.hog.is_some() {
            pause::retry(sched);
        }
        self.report_if_due(sched, now);
        self.mark_if_computes(sched, now);
    }

    fn report_if_due(&mut self, sched: &Sched, now: u64) {
        let lasts = now - self.poll_since;
        let Some(hog) = &mut self.hog else { return };
        if hog.report == Report::Due && lasts >= clock::nanos(SLICE) {
            hog.report = Report::Made;
            let lasts = Duration::from_nanos(lasts);
            sched.stalls.report(&self.p, hog.goid, StallKind::Computing, lasts);
        }
    }

    /// Has the thread paused if it was blocked at the hand-off and computes now.
    fn mark_if_computes(&mut self, sched: &Arc<Sched>, now: u64) {
        if self.hog.is_some() || self.call.in_progress() || !pause::is_on(sched) {
            return;
        }
        let p = &self.p;
        let Some(cpu) = thread_state::cpu(p.thread()) else { return };
        let away = self.away.get_or_insert_with(|| Away::new(cpu, now));
        // If the OS does not say, it counts as awake: it has used CPU time.
        let is_awake = || {
            !matches!(thread_state::sleep(p.thread()), Some(ThreadSleep::Call | ThreadSleep::Lock))
        };
        if !away.check(cpu, now, is_awake) {
            return;
        }
        let goid = p.goid();
        let is_marked = sched.idle.with(|_| {
            let is_same = p.counters.polls.get() == self.polls && p.calls.get() == self.call;
            let is_away = is_same && p.status() == PStatus::HandedOff && !p.is_returning();
            if is_away {
                pause::mark(p);
            }
            is_away
        });
        if is_marked {
            pause::call(sched);
            // The stall was reported at the hand-off.
            self.hog = Some(CpuBoundPoll { goid, polls: self.polls, report: Report::Made });
        }
    }
}

/// A handed-off P that does not compute, as far as sysmon knows. The one that is visited first is
/// the greatest.
#[derive(Debug)]
struct Calm {
    visit_at: u64,
    handed_off: HandedOff,
}

impl PartialEq for Calm {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Calm {}

impl PartialOrd for Calm {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Calm {
    fn cmp(&self, other: &Self) -> Ordering {
        self.visit_at.cmp(&other.visit_at).reverse()
    }
}

/// The handed-off Ps that sysmon knows. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct HandedOffs {
    calm: BinaryHeap<Calm>,
    /// Those that compute. There are few, or they take longer than a visit.
    hogs: Vec<HandedOff>,
    /// The time of the next visit of the hogs.
    hogs_at: u64,
}

impl HandedOffs {
    /// Returns the number of polls that were handed off because they compute.
    pub(super) fn hogs(&self) -> usize {
        self.hogs.iter().filter(|hog| hog.is_hog()).count()
    }

    /// Iterates over the threads that compute without an active P.
    pub(super) fn hog_threads(&self) -> impl Iterator<Item = u32> {
        self.hogs.iter().filter(|hog| hog.is_hog()).map(|hog| hog.p.thread())
    }

    /// Whether a poll may still become a stall, which only sysmon notices.
    pub(super) fn has_report_due(&self) -> bool {
        let is_due = |hog: CpuBoundPoll| hog.report == Report::Due;
        self.hogs.iter().any(|handed_off| handed_off.is_hog() && handed_off.hog.is_some_and(is_due))
    }

    fn add(&mut self, handed_off: HandedOff, now: u64) {
        let visit_at = handed_off.visit_at(now);
        if handed_off.hog.is_some() {
            self.hogs_at = if self.hogs.is_empty() { visit_at } else { self.hogs_at.min(visit_at) };
            self.hogs.push(handed_off);
        } else {
            self.calm.push(Calm { visit_at, handed_off });
        }
    }

    /// Takes those that are to be visited at the time `now`.
    fn take_due(&mut self, now: u64) -> Vec<HandedOff> {
        let mut due = match !self.hogs.is_empty() && self.hogs_at <= now {
            true => std::mem::take(&mut self.hogs),
            false => Vec::new(),
        };
        while self.calm.peek().is_some_and(|calm| calm.visit_at <= now) {
            due.extend(self.calm.pop().map(|calm| calm.handed_off));
        }
        due
    }

    /// Forgets the Ps that are not handed off any more, if there are such. `handed_off` Ps are.
    fn forget_returned(&mut self, handed_off: usize) {
        if self.calm.len() + self.hogs.len() > handed_off {
            self.calm.retain(|calm| calm.handed_off.is_handed_off());
            self.hogs.retain(HandedOff::is_handed_off);
        }
    }
}

impl Sysmon {
    /// Takes over the Ps that were handed off since the last call.
    pub(super) fn note_hand_offs(&mut self, now: u64) {
        self.note_hand_offs_with(now, |_| None);
    }

    /// Takes over the P that sysmon itself has handed off. `hog` is its poll, if it computes.
    pub(super) fn note_own_hand_off(&mut self, p: &P, hog: Option<CpuBoundPoll>, now: u64) {
        self.note_hand_offs_with(now, |handed_off| {
            let is_p = std::ptr::eq(&*handed_off.p, p);
            hog.filter(|hog| is_p && hog.polls == handed_off.polls)
        });
    }

    fn note_hand_offs_with(&mut self, now: u64, hog: impl Fn(&HandedOff) -> Option<CpuBoundPoll>) {
        let arrived = self.sched.idle.with(|lists| lists.ps.take_hand_offs());
        for (p, hand_off) in arrived {
            let number = p.number();
            let is_holder = self.ps.get(number).is_some_and(|holder| Arc::ptr_eq(holder, &p));
            let seen = is_holder.then(|| std::mem::take(&mut self.seen[number]).marks);
            let mut handed_off = HandedOff::new(p, hand_off, seen, now);
            handed_off.hog = hog(&handed_off);
            self.handed_off.add(handed_off, now);
        }
    }

    /// Visits the handed-off Ps for which that is due. Forgets those that are active again.
    pub(super) fn visit_handed_off(&mut self, now: u64) {
        for mut handed_off in self.handed_off.take_due(now) {
            if handed_off.is_handed_off() {
                handed_off.visit(&self.sched, now);
                self.handed_off.add(handed_off, now);
            }
        }
    }

    /// Forgets the Ps that are not handed off any more.
    pub(super) fn forget_returned(&mut self) {
        let handed_off = self.sched.idle.with(|lists| lists.ps.handed_off_len());
        self.handed_off.forget_returned(handed_off);
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::*;
    use crate::g::Ids;
    use crate::p::OwnedP;
    use crate::sched::Config;

    fn handed_off(at: u64) -> HandedOff {
        let mut handed_off = HandedOff::new(OwnedP::new(0).shared().clone(), 1, None, at);
        handed_off.pace = 0;
        handed_off
    }

    /// The times of visits do not depend on the order of the hand-offs.
    #[test]
    fn only_ps_that_are_due_are_visited() {
        let mut all = HandedOffs::default();
        for at in [30, 10, 20, 40] {
            all.add(handed_off(at), at);
        }
        let due = |all: &mut HandedOffs, now| {
            all.take_due(now).iter().map(|due| due.poll_since).collect::<Vec<_>>()
        };
        assert_eq!(due(&mut all, 9), []);
        assert_eq!(due(&mut all, 20), [10, 20]);
        let mut hog = handed_off(50);
        hog.hog = Some(CpuBoundPoll { goid: 1, polls: 0, report: Report::Due });
        all.add(hog, 50);
        assert_eq!(due(&mut all, 40), [30, 40]);
        assert_eq!(due(&mut all, 50 + clock::nanos(SLICE)), [50]);
        assert!(all.calm.is_empty() && all.hogs.is_empty());
    }

    /// Thousands of threads may stay blocked, and sysmon visits each at most once per second.
    #[test]
    fn a_thread_that_stays_in_a_marked_call_is_visited_ever_less_often() {
        let sched = Sched::new((Ids::MAX_RUNTIMES - 2) as u16, Config::default());
        let p = OwnedP::new(0);
        assert!(p.enter_blocking());
        let mut handed_off = HandedOff::new(p.shared().clone(), 1, None, 0);
        let mut visit = |now| {
            handed_off.visit(&sched, now);
            handed_off.visit_at(now) - now
        };
        let least = clock::nanos(VISIT);
        assert_eq!([visit(1), visit(2), visit(3)], [2 * least, 4 * least, 8 * least]);
        assert_eq!((4..30).map(&mut visit).max(), Some(clock::nanos(VISIT_MAX)));
        p.exit_blocking();
        // Something has changed.
        assert!((least..=2 * least).contains(&visit(30)));
    }
}
