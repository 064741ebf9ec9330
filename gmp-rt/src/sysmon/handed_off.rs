//! What sysmon knows of the polls that go on without an active P.
//!
//! The thread of a handed-off P still blocks or computes. While it computes it takes CPU time from
//! the threads that have an active P, so it has to be paused ([`super::pause`]). Some threads are
//! known to compute at the hand-off. The others were blocked, and sysmon detects by their CPU clock
//! that they compute later ([`Away`]). Sysmon also reports a stall that was too short for a report
//! at the hand-off.
//!
//! There may be thousands of such threads, so most rounds of sysmon do not visit them. A hand-off
//! puts its P into a list ([`PTable::take_hand_offs`]), from which sysmon takes it. Sysmon then
//! visits its handed-off Ps every [`VISIT`].
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
use crate::tuning::SLICE;
use crate::util::clock;
use std::sync::Arc;
use std::time::Duration;

/// The time between two visits of the handed-off Ps.
const VISIT: Duration = SLICE;

/// A poll whose P was handed off because it computes.
///
/// Go lets a goroutine compute for 10 ms before it preempts it. Here the thread of a handed-off P
/// computes on, so an earlier hand-off costs only a wake-up. But if every CPU-bound goroutine lost
/// its P early, a batch of them would get a thread each. So a hand-off is early only for goroutines
/// that wait for a timer, an event or an outside thread. Without pauses it is also limited to one
/// for each P.
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
    polls: u64,
    poll_since: u64,
    call: CallCount,
    /// If it was handed off because it computes, or was found to compute later.
    hog: Option<CpuBoundPoll>,
    /// If it was handed off because it blocked.
    away: Option<Away>,
}

impl HandedOff {
    /// `seen` is what is known of the P from the time when it was active.
    fn new(p: Arc<P>, seen: Option<Marks>, now: u64) -> Self {
        let (polls, call) = (p.counters.polls.get(), p.calls.get());
        let seen = seen.filter(|marks| marks.polls == polls);
        let poll_since = seen.map_or(now, |marks| marks.poll_since);
        Self { p, polls, poll_since, call, hog: None, away: None }
    }

    fn is_handed_off(&self) -> bool {
        self.p.status() == PStatus::HandedOff
    }

    /// Whether the poll that was handed off because it computes is still under way.
    fn is_hog(&self) -> bool {
        let polls = self.p.counters.polls.get();
        let is_same = self.hog.is_some_and(|hog| hog.polls == polls);
        is_same && self.is_handed_off() && !self.p.is_returning()
    }

    /// Returns when the next visit is due.
    fn visit_at(&self, now: u64) -> u64 {
        match self.hog {
            Some(CpuBoundPoll { report: Report::Due, .. }) => self.poll_since + clock::nanos(SLICE),
            _ => now + clock::nanos(VISIT),
        }
    }

    /// Reports a stall that is due. Has the thread paused if it computes.
    fn visit(&mut self, sched: &Arc<Sched>, now: u64) {
        let (polls, call) = (self.p.counters.polls.get(), self.p.calls.get());
        if self.polls != polls {
            (self.polls, self.poll_since, self.hog, self.away) = (polls, now, None, None);
        }
        self.call = call;
        if self.p.is_returning() {
            return;
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
        if self.away.is_some_and(|away| now < away.check_at) {
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

/// The handed-off Ps that sysmon knows. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct HandedOffs {
    all: Vec<HandedOff>,
    /// The time of the next visit.
    visit_at: u64,
}

impl HandedOffs {
    /// Returns the number of polls that were handed off because they compute.
    pub(super) fn hogs(&self) -> usize {
        self.all.iter().filter(|handed_off| handed_off.is_hog()).count()
    }

    /// Iterates over the threads that compute without an active P.
    pub(super) fn hog_threads(&self) -> impl Iterator<Item = u32> {
        self.all.iter().filter(|handed_off| handed_off.is_hog()).map(|hog| hog.p.thread())
    }

    /// Whether a poll may still become a stall, which only sysmon notices.
    pub(super) fn has_report_due(&self) -> bool {
        let is_due = |hog: CpuBoundPoll| hog.report == Report::Due;
        self.all.iter().any(|handed_off| handed_off.is_hog() && handed_off.hog.is_some_and(is_due))
    }

    fn add(&mut self, handed_off: HandedOff, now: u64) {
        self.visit_at = self.visit_at.min(handed_off.visit_at(now));
        self.all.push(handed_off);
    }

    /// Removes the Ps that are not handed off any more. A P that is handed off again stays.
    fn forget_returned(&mut self, sched: &Sched) {
        let returned = |handed_off: &mut HandedOff| !handed_off.is_handed_off();
        let gone: Vec<HandedOff> = self.all.extract_if(.., returned).collect();
        if gone.is_empty() {
            return;
        }
        // What is forgotten is dropped after the lock is released.
        let (_forgotten, again): (Vec<HandedOff>, Vec<HandedOff>) = sched.idle.with(|lists| {
            gone.into_iter().partition(|handed_off| lists.ps.forget_hand_off(&handed_off.p))
        });
        self.all.extend(again);
    }
}

impl Sysmon {
    /// Takes over the Ps that were handed off since the last call.
    pub(super) fn note_hand_offs(&mut self, now: u64) {
        let arrived = self.sched.idle.with(|lists| lists.ps.take_hand_offs());
        for p in arrived {
            let number = p.number();
            let is_holder = self.ps.get(number).is_some_and(|holder| Arc::ptr_eq(holder, &p));
            let seen = is_holder.then(|| std::mem::take(&mut self.seen[number]).marks);
            self.handed_off.add(HandedOff::new(p, seen, now), now);
        }
    }

    /// Takes over the P that sysmon itself has handed off. `hog` is its poll, if it computes.
    pub(super) fn note_own_hand_off(&mut self, p: &P, hog: Option<CpuBoundPoll>, now: u64) {
        self.note_hand_offs(now);
        let is_p = |handed_off: &&mut HandedOff| std::ptr::eq(&*handed_off.p, p);
        if let Some(handed_off) = self.handed_off.all.iter_mut().rev().find(is_p) {
            handed_off.hog = hog.filter(|hog| hog.polls == handed_off.polls);
            let visit_at = handed_off.visit_at(now);
            self.handed_off.visit_at = self.handed_off.visit_at.min(visit_at);
        }
    }

    /// Visits the handed-off Ps if that is due.
    pub(super) fn visit_handed_off(&mut self, now: u64) {
        if self.handed_off.all.is_empty() || now < self.handed_off.visit_at {
            return;
        }
        self.forget_returned();
        let mut next = clock::FOREVER;
        for handed_off in &mut self.handed_off.all {
            handed_off.visit(&self.sched, now);
            next = next.min(handed_off.visit_at(now));
        }
        self.handed_off.visit_at = next;
    }

    /// Forgets the Ps that are not handed off any more.
    pub(super) fn forget_returned(&mut self) {
        self.handed_off.forget_returned(&self.sched);
    }
}
