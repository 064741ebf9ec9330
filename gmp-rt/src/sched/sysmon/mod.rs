//! Sysmon: the thread that keeps the promise that a goroutine that blocks or hogs its thread does
//! not stop the others (Go: `sysmon`).
//!
//! Sysmon has no P and runs no goroutine. In each round it checks every P that is in the same poll
//! as in the round before. It
//!
//! - asks for a yield if a poll lasts for a slice ([`P::ask_yield`]),
//! - asks for an overdue service ([`P::ask_attention`]),
//! - hands off a P whose M is in a marked blocking call, if work waits for the P, or after 10 ms,
//! - hands off a P whose M is stuck in an unmarked poll, if work waits that no other P can do:
//!   after 100 µs if the thread sleeps in a system call, after a millisecond if it sleeps for a
//!   lock, after 5 ms of CPU time if it computes (1 ms if a timer or an event waits, see [`Hog`]).
//!   It never hands off a P whose thread only waits for a CPU,
//! - moves goroutines from the queue of a handed-off P to the inbox and the global queue,
//! - wakes a thief for a `runnext` that its M does not reach, or for queued work while a P is idle,
//! - sends an M to a netpoller that no M has polled for a while, or polls it,
//! - changes the number of running Ps if that increases throughput ([`super::width`]).
//!
//! On an overloaded machine threads stand still for milliseconds, and a descheduled holder of a
//! lock (of the allocator, of a queue) delays others. This looks like many blocked threads. So a
//! sleep counts only if the thread has used no CPU time between two checks. A sleep for a lock does
//! not count while another M waits for a CPU: that M may hold the lock.
//!
//! While a goroutine runs, sysmon sleeps for 20 µs to 1 ms between rounds, and not much past the
//! next timer. While no goroutine runs, it sleeps until an M takes a P for more than a moment
//! ([`super::lull`]): an idle runtime causes no wake-ups.
//!
//! # Differences from Go
//!
//! In Go the compiler marks system calls. Here any poll may block without a mark, so sysmon reads
//! the state of suspect threads from `/proc`. Go preempts a CPU-bound goroutine by a signal. Here
//! its P goes to another thread, and the goroutine computes on without a P ([`super::pause`]).

mod away;
mod classify;
mod suspect;

use self::away::Away;
use self::classify::Locked;
use self::suspect::Suspect;
use super::Sched;
use super::idle::Lists;
use super::pause::{self, Seat};
use super::stall::{Stall, StallKind};
use super::trace::Trace;
use super::wake::Started;
use super::width::{Counts, Sample, Width};
use crate::g::GoId;
use crate::p::call::Call;
use crate::p::{P, PStatus};
use crate::sys::thread_state::{self, Sleep};
use crate::throw::AbortOnUnwind;
use crate::tuning::{
    COMPUTING_AFTER, PROGRESS_CPU, SLICE, SLOW_CHECK, SYSMON_BUSY_NAP, SYSMON_MAX_NAP, SYSMON_NAP,
    WIDTH_PROCS,
};
use crate::util::clock;
use std::sync::Arc;
use std::time::Duration;

/// What sysmon remembers of a P between rounds.
#[derive(Clone, Debug, Default)]
struct Seen {
    marks: Marks,
    suspect: Option<Suspect>,
    /// If it was seen asleep for a lock.
    locked: Option<Locked>,
    /// The CPU time of the thread at the first check after the request to yield.
    asked: Option<u64>,
    /// If it was displaced because it computes.
    hog: Option<Hog>,
    /// If it was displaced because it blocked.
    away: Option<Away>,
    /// The CPU time of the thread in the last round, if the P made no progress while fewer Ps run
    /// than `max_procs`.
    cpu: Option<u64>,
}

/// The counts of a P, and when each was first seen.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    polls: u64,
    poll_since: u64,
    call: Call,
    call_since: u64,
    services: u64,
    /// When a service was last seen, or asked for.
    service_since: u64,
}

impl Marks {
    /// Whether `p` is in the same poll for long.
    fn is_still(&self, p: &P, now: u64) -> bool {
        let long = now - self.poll_since >= clock::nanos(SYSMON_NAP);
        long && self.polls == p.counters.polls.get()
    }
}

/// A poll that was displaced because it computes.
///
/// Go lets a goroutine compute for 10 ms before it preempts it. Here a displaced thread computes
/// on, so an earlier hand-off costs only a wake-up. But if every CPU-bound goroutine were displaced
/// early, a batch of them would get a thread each. So a hand-off is early only for goroutines that
/// wait for a timer, an event or an outside thread. Without pauses it is also limited to one for
/// each P.
#[derive(Clone, Copy, Debug)]
struct Hog {
    goid: GoId,
    /// Which poll it is.
    polls: u64,
    report: Report,
}

/// The report of a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    Made,
    /// To be made when the slice of the poll is over: until then it is no stall.
    Due,
}

/// Whether a round changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// Sysmon handed off a P or woke an M.
    Acted,
    /// A thread may be blocked: the next round is soon.
    Watching,
    /// Nothing to do.
    Quiet,
}

/// The main function of the thread.
pub(super) fn sysmon_main(sched: Arc<Sched>) {
    // User code that sysmon calls is contained, so a panic here is gmp's own. Without sysmon the
    // runtime would hang when a goroutine blocks its thread.
    let _abort = AbortOnUnwind("monitoring the threads");
    let _seat = Seat::for_sysmon(sched.id);
    thread_state::sleep_exactly();
    sched.limit_hogs();
    let mut sysmon = Sysmon::new(sched);
    let (mut nap, mut reported_deadlock) = (SYSMON_NAP, false);
    loop {
        if sysmon.sched.idle.with(|lists| lists.stopping) {
            return;
        }
        sysmon.nap(nap);
        let long_idle = sysmon.sched.idle.with(|lists| lists.long_idle(sysmon.idle_after));
        sysmon.trace.print_if_due(&sysmon.sched, clock::now());
        if long_idle && !sysmon.has_report_due() {
            reported_deadlock |= !reported_deadlock && sysmon.sched.check_dead();
            // A trace has lines also while nothing runs.
            let is_traced = !sysmon.sched.config.trace.every.is_zero();
            if !is_traced && sysmon.sleep_deep() {
                nap = Duration::ZERO;
                continue;
            }
        }
        let now = clock::now();
        nap = match sysmon.round(now) {
            Round::Acted => SYSMON_BUSY_NAP,
            Round::Watching => SYSMON_NAP,
            Round::Quiet if now < sysmon.watch_until => SYSMON_NAP,
            Round::Quiet => (2 * nap).clamp(SYSMON_NAP, SYSMON_MAX_NAP),
        };
    }
}

pub(super) struct Sysmon {
    sched: Arc<Sched>,
    /// By the number of the P.
    seen: Vec<Seen>,
    /// The number of netpolls, and when sysmon last saw it change.
    net: (u64, u64),
    trace: Trace,
    /// When the number of CPUs was last read.
    procs_read: u64,
    /// Time without a running goroutine after which sysmon sleeps until it is woken.
    idle_after: Duration,
    /// Until then all naps are short, because a poll that blocked is often followed by another.
    watch_until: u64,
    width: Width,
}

impl Sysmon {
    pub(super) fn new(sched: Arc<Sched>) -> Self {
        let (seen, trace) = (Vec::new(), Trace::default());
        let (procs_read, width) = (clock::now(), Width::new(sched.max_procs()));
        let (idle_after, watch_until) = (SYSMON_NAP, 0);
        Self { sched, seen, net: (0, 0), trace, procs_read, idle_after, watch_until, width }
    }

    /// Sleeps for `nap`, but not long past the next timer: all Ms may be too busy to fire it.
    fn nap(&self, nap: Duration) {
        let until_timer = self.sched.next_timer().saturating_sub(clock::now());
        let soonest = Duration::from_nanos(until_timer).saturating_add(SYSMON_BUSY_NAP);
        std::thread::sleep(nap.min(soonest));
    }

    /// Sleeps until an M takes a P. Returns `false` at once if an M has just taken one, or if no M
    /// will wake for the next timer or event.
    pub(super) fn sleep_deep(&mut self) -> bool {
        if let Some(width) = self.width.reset() {
            self.sched.set_width(width);
        }
        let before = clock::now();
        // An M must wake for timers and events. Otherwise sysmon stays awake for them.
        let tended = |lists: &Lists| {
            (lists.sleeper.is_some() || self.sched.next_timer() == clock::FOREVER)
                && (lists.poller.is_some() || self.sched.net.in_use().is_none())
        };
        let slept = self.sched.idle.lull_sysmon(tended);
        if slept {
            let now = clock::now();
            // If all Ms rest many times per millisecond, sysmon stays awake: each time the first M
            // that runs would have to wake it.
            let short = now - before < clock::nanos(SYSMON_MAX_NAP);
            self.idle_after = if short { SYSMON_MAX_NAP } else { SYSMON_NAP };
            self.seen.clear();
            self.net.1 = now;
            self.postpone_procs();
        }
        slept
    }

    /// Delays the next reading of the number of CPUs. It takes longer than most short busy times.
    fn postpone_procs(&mut self) {
        let soonest = clock::after(SLICE).saturating_sub(clock::nanos(SLOW_CHECK));
        self.procs_read = self.procs_read.max(soonest);
    }

    /// Checks every P once.
    pub(super) fn round(&mut self, now: u64) -> Round {
        let sched = self.sched.clone();
        let mut round = Round::Quiet;
        self.seen.resize(sched.ps.len(), Seen::default());
        // Queued work although a P is idle and no M spins.
        if sched.has_queued() || sched.ps.iter().any(|p| self.is_left_lying(p)) {
            sched.wakep();
        }
        self.look_at_width(now);
        for p in sched.ps.iter().filter(|p| p.status() == PStatus::Displaced && p.has_loot()) {
            sched.requeue_all(p.runq.steal_all());
            sched.wakep();
        }
        for p in sched.ps.iter() {
            match self.look(p, now) {
                Round::Acted => round = Round::Acted,
                Round::Watching if round == Round::Quiet => round = Round::Watching,
                Round::Watching | Round::Quiet => {}
            }
        }
        self.look_at_timers(now);
        self.look_at_net(now);
        if now - self.procs_read >= clock::nanos(SLOW_CHECK) {
            self.procs_read = now;
            sched.update_procs();
        }
        round
    }

    /// Whether the ring of `p` has more goroutines than `p` has run since the last round.
    fn is_left_lying(&self, p: &P) -> bool {
        let before = self.seen.get(p.id).map_or(0, |seen| seen.marks.polls);
        p.has_loot() && p.runq.len() as u64 >= p.counters.polls.get() - before
    }

    /// Changes the number of running Ps if that increases throughput.
    fn look_at_width(&mut self, now: u64) {
        let sched = self.sched.clone();
        if !sched.config.adaptive {
            return;
        }
        if sched.max_procs() > WIDTH_PROCS {
            // The maximum may have been raised while this thread set a lower number.
            if sched.procs() < sched.max_procs() {
                sched.set_width(sched.max_procs());
            }
            return;
        }
        let mut counts = Counts::default();
        sched.ps.iter().for_each(|p| counts.add(&p.counters));
        let running = || sched.ps.iter().filter(|p| p.status() == PStatus::Running);
        let (limit, width, waiting) = (sched.max_procs(), sched.procs(), sched.any_work());
        // CPU times of Ps that are not checked now are out of date in the next round.
        for (p, seen) in sched.ps.iter().zip(&mut self.seen) {
            if width == limit || p.status() != PStatus::Running {
                seen.cpu = None;
            }
        }
        let stuck = width < limit && running().any(|p| self.is_stuck(p, now));
        let sample = Sample { counts, limit, width, running: running().count(), stuck, waiting };
        if let Some(width) = self.width.round(now, &sample) {
            sched.set_width(width);
        }
    }

    /// Whether `p` makes no progress, and not only because its thread has lost its CPU.
    fn is_stuck(&mut self, p: &P, now: u64) -> bool {
        let lying = self.is_left_lying(p);
        let Some(seen) = self.seen.get_mut(p.id) else { return false };
        // Between polls the P may belong to a thread that is not awake yet.
        let in_poll = p.goid() != 0 && seen.marks.is_still(p, now);
        if !lying && !in_poll {
            seen.cpu = None;
            return false;
        }
        let cpu = thread_state::cpu(p.thread());
        let Some(before) = std::mem::replace(&mut seen.cpu, cpu) else { return false };
        let used = cpu.map_or(0, |cpu| cpu.saturating_sub(before));
        used >= clock::nanos(PROGRESS_CPU) || thread_state::sleep(p.thread()) != Some(Sleep::No)
    }

    /// Wakes an M for timers that are overdue. Fires them itself if no M can be started.
    fn look_at_timers(&self, now: u64) {
        let next = self.sched.next_timer();
        if next.saturating_add(clock::nanos(SYSMON_NAP)) > now {
            return;
        }
        let (idle, _) = self.sched.idle.word.counts();
        if idle > 0 && self.sched.tend(next) == Started::Refused {
            for p in self.sched.ps.iter().filter(|p| p.timers.next_when() <= now) {
                p.timers.fire(now);
            }
        }
    }

    /// Sends an M with an idle P to a netpoller that no M has polled for a while. Polls it itself
    /// if no M can be started.
    fn look_at_net(&mut self, now: u64) {
        let sched = &self.sched;
        let Some(netpoll) = sched.net.in_use() else { return };
        let asked = sched.ps.iter().map(|p| p.counters.netpolls.get()).sum();
        if sched.net.is_awaited() || asked != self.net.0 {
            self.net = (asked, now);
            return;
        }
        if now - self.net.1 < clock::nanos(SYSMON_MAX_NAP) {
            return;
        }
        self.net.1 = now;
        let (idle, spinning) = sched.idle.word.counts();
        // An M that spins goes to the netpoller if it finds no work.
        let sent = idle > 0
            && (spinning > 0
                || sched.start_spinning(sched.idle.word.spin_anyway()) == Started::Enough);
        if !sent {
            sched.net.rescue(&**netpoll);
        }
    }

    fn look(&mut self, p: &P, now: u64) -> Round {
        let polls = p.counters.polls.get();
        let call = p.calls.get();
        let Some(seen) = self.seen.get_mut(p.id) else { return Round::Quiet };
        let marks = &mut seen.marks;
        let same_call = marks.call == call;
        if !same_call {
            (marks.call, marks.call_since) = (call, now);
        }
        let runs = p.status() == PStatus::Running && !call.is_under_way();
        let services = p.counters.services.get();
        if marks.services != services {
            (marks.services, marks.service_since) = (services, now);
        } else if runs && now - marks.service_since >= clock::nanos(SYSMON_MAX_NAP) {
            marks.service_since = now;
            p.ask_attention();
        }
        if marks.polls != polls {
            let is_slow = polls - marks.polls == 1;
            (marks.polls, marks.poll_since) = (polls, now);
            *seen = Seen { marks: seen.marks, cpu: seen.cpu, ..Seen::default() };
            if is_slow && runs && self.is_wanted(p, now) {
                self.begin_watch(p, now);
                return Round::Watching;
            }
            return Round::Quiet;
        }
        // A slice of several polls ends in a service. A displaced P is asked at the hand-off.
        if runs && now - marks.poll_since >= clock::nanos(SLICE) {
            p.ask_yield();
        }
        let seen = *marks;
        match p.status() {
            PStatus::Running if !call.is_under_way() => self.look_at_poll(p, seen, now),
            PStatus::Running if same_call => self.look_at_call(p, seen, now),
            PStatus::Displaced => {
                self.look_at_displaced(p, seen, now);
                Round::Quiet
            }
            PStatus::Running | PStatus::Idle | PStatus::Spare => Round::Quiet,
        }
    }

    /// Reads the CPU time of a thread whose poll has just begun. The next round then knows whether
    /// the thread has run since.
    fn begin_watch(&mut self, p: &P, now: u64) {
        let Some(cpu) = thread_state::cpu(p.thread()) else { return };
        if let Some(seen) = self.seen.get_mut(p.id) {
            seen.suspect = Some(Suspect::new(now, cpu));
        }
    }

    /// Checks a marked blocking call that was under way in the last round.
    fn look_at_call(&self, p: &P, seen: Marks, now: u64) -> Round {
        let long = now - seen.call_since >= clock::nanos(SLICE);
        let stuck = || p.calls.get() == seen.call;
        if (long || self.is_wanted(p, now)) && self.sched.displace(p, stuck) {
            return Round::Acted;
        }
        Round::Quiet
    }

    /// Checks an unmarked poll that was under way in the last round.
    fn look_at_poll(&mut self, p: &P, seen: Marks, now: u64) -> Round {
        let stuck = now - seen.poll_since;
        if p.goid() == 0 {
            return Round::Quiet;
        }
        if stuck < clock::nanos(SYSMON_NAP) {
            return if self.is_wanted(p, now) { Round::Watching } else { Round::Quiet };
        }
        let (idle, _) = self.sched.idle.word.counts();
        if idle > 0 && p.runq.has_next() {
            // A thief takes the `runnext` that this M does not reach.
            let _ = self.sched.start_spinning(self.sched.idle.word.spin_anyway());
            return Round::Acted;
        }
        let (long, wanted) = (stuck >= clock::nanos(SLICE), self.is_wanted(p, now));
        let patience = if wanted && self.is_urgent(now) {
            // A poll that uses channels yields at its next operation; one that computes does not.
            p.ask_yield();
            SYSMON_MAX_NAP
        } else {
            COMPUTING_AFTER
        };
        // Also if no goroutine waits for the P: the time of the sleep is known when one does.
        let kind = self.classify(p, patience, now);
        if !long && !wanted {
            return Round::Quiet;
        }
        let Some(kind) = kind else {
            let suspect = self.seen.get(p.id).and_then(|seen| seen.suspect.as_ref());
            let in_call = suspect.is_some_and(Suspect::is_in_call);
            return if in_call { Round::Watching } else { Round::Quiet };
        };
        let goid = p.goid();
        let still = || p.counters.polls.get() == seen.polls && p.calls.get() == seen.call;
        let computes = kind == StallKind::Computing;
        // Under the lock of the lists: if `p` is running there, it is handed off.
        let hands_off = || {
            let hands_off = still() && p.status() == PStatus::Running;
            if hands_off && computes {
                pause::mark(&self.sched, p);
            }
            hands_off
        };
        if (computes && !wanted) || !self.sched.displace(p, hands_off) {
            return Round::Quiet;
        }
        if computes {
            pause::call(&self.sched);
        }
        if kind == StallKind::Blocked {
            self.watch_until = now + clock::nanos(SLICE);
        }
        let report = if long || kind == StallKind::Blocked { Report::Made } else { Report::Due };
        if report == Report::Made {
            self.sched.report_stall(&Stall::new(goid, kind, Duration::from_nanos(stuck)));
        }
        if kind == StallKind::Computing
            && let Some(of_p) = self.seen.get_mut(p.id)
        {
            of_p.hog = Some(Hog { goid, polls: seen.polls, report });
        }
        Round::Acted
    }

    /// Checks a displaced P in the poll of the last round: reports a stall if its slice is over.
    fn look_at_displaced(&mut self, p: &P, seen: Marks, now: u64) {
        self.mark_if_computes(p, seen, now);
        let Some(hog) = self.seen.get_mut(p.id).and_then(|seen| seen.hog.as_mut()) else { return };
        let stuck = now - seen.poll_since;
        let over = stuck >= clock::nanos(SLICE) && hog.polls == seen.polls;
        if over && hog.report == Report::Due {
            hog.report = Report::Made;
            let stuck = Duration::from_nanos(stuck);
            let goid = hog.goid;
            self.sched.report_stall(&Stall::new(goid, StallKind::Computing, stuck));
        }
    }

    /// Has the thread of a displaced P paused, if it blocked at the hand-off and computes now.
    fn mark_if_computes(&mut self, p: &P, marks: Marks, now: u64) {
        let Some(seen) = self.seen.get_mut(p.id) else { return };
        if seen.hog.is_some() || marks.call.is_under_way() || !pause::is_on(&self.sched) {
            return;
        }
        if seen.away.is_some_and(|away| now < away.check_at) {
            return;
        }
        let Some(cpu) = thread_state::cpu(p.thread()) else { return };
        let away = seen.away.get_or_insert_with(|| Away::new(cpu, now));
        let is_awake = || thread_state::sleep(p.thread()) == Some(Sleep::No);
        if !away.check(cpu, now, is_awake) {
            return;
        }
        let (sched, goid) = (&self.sched, p.goid());
        let is_marked = sched.idle.with(|_| {
            let is_same = p.counters.polls.get() == marks.polls && p.calls.get() == marks.call;
            let is_away = is_same && p.status() == PStatus::Displaced;
            if is_away {
                pause::mark(sched, p);
            }
            is_away
        });
        if is_marked {
            pause::call(sched);
            // The stall was reported at the hand-off.
            seen.hog = Some(Hog { goid, polls: marks.polls, report: Report::Made });
        }
    }

    /// Whether a displaced poll may still become a stall, which only sysmon notices.
    fn has_report_due(&self) -> bool {
        self.sched.ps.iter().any(|p| self.hog(p).is_some_and(|hog| hog.report == Report::Due))
    }

    /// Returns the poll for which `p` was displaced, if it is still under way.
    fn hog(&self, p: &P) -> Option<Hog> {
        let hog = self.seen.get(p.id)?.hog?;
        let still = p.status() == PStatus::Displaced && hog.polls == p.counters.polls.get();
        still.then_some(hog)
    }

    /// Whether a goroutine that a timer, an event or an outside thread woke waits, and a P may be
    /// handed off early for it: see [`Hog`].
    fn is_urgent(&self, now: u64) -> bool {
        let waits = self.sched.next_timer() <= now
            || !self.sched.inbox.is_empty()
            || self.sched.ps.iter().any(|p| p.runq.newcomers_len() > 0);
        // A spinning M will find it.
        let (_, spinning) = self.sched.idle.word.counts();
        if !waits || spinning > 0 {
            return false;
        }
        // Hogs that are paused take no CPU time from others, however many there are.
        pause::is_on(&self.sched)
            || self.sched.ps.iter().filter(|p| self.hog(p).is_some()).count()
                < self.sched.max_procs()
    }

    /// Whether work or a timer waits and no other P is idle.
    fn is_wanted(&self, p: &P, now: u64) -> bool {
        let (idle, _) = self.sched.idle.word.counts();
        let work = || p.runq.has_next() || self.sched.any_work() || self.sched.next_timer() <= now;
        idle == 0 && work()
    }
}
