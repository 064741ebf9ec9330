//! Sysmon: the thread that guarantees that a goroutine that blocks its thread or computes does not
//! stop the others (Go: `sysmon`).
//!
//! Sysmon has no P and runs no goroutine. It works in rounds. For each P that runs a poll, a round
//! requests a service if the P has had none for a millisecond ([`P::request_service`]).
//!
//! For each P that is in the same poll as in the round before, it
//!
//! - requests a yield if the poll lasts for a slice, or for 100 µs while a timer or an event waits
//!   ([`P::request_preempt`]),
//! - hands off the P if its M is in a marked blocking call, and work waits for the P or the call
//!   lasts for 10 ms,
//! - hands off the P if its M is stuck in an unmarked poll, and work waits that no other P can do:
//!   after 100 µs if the thread sleeps in a system call, after a millisecond if it sleeps for a
//!   lock, after 5 ms of CPU time if it computes (1 ms if a timer or an event waits, see
//!   [`CpuBoundPoll`]). Without such work it hands off the P after 10 ms if the thread is blocked.
//!   It never hands off a P whose thread only waits for a CPU,
//! - starts a thief for a `runnext` that the M does not reach, if a P is idle.
//!
//! For the runtime as a whole, a round
//!
//! - has the threads of handed-off Ps paused if they compute ([`handed_off`]),
//! - wakes a thief if work is queued while a P is idle,
//! - wakes an M for a timer that is overdue, or fires it,
//! - sends an M to a netpoller that no M has polled for a millisecond, or polls it,
//! - changes the number of active Ps if that increases throughput ([`self::adapt`]), and follows
//!   the CPU quota.
//!
//! On an overloaded machine the OS deschedules threads for milliseconds, and a descheduled holder
//! of a lock (of the allocator, of a queue) delays others. This looks like many blocked threads. So
//! a sleep counts only if the thread has used no CPU time between two checks. A sleep for a lock
//! does not count while another M waits for a CPU: that M may hold the lock.
//!
//! While a goroutine runs, sysmon sleeps for 20 µs to 1 ms between rounds, and not much past the
//! next timer. While no goroutine runs, it sleeps until an M has a P for longer than
//! `SYSMON_WAKE_SOON` ([`self::deep_sleep`]): an idle runtime causes no wake-ups.
//!
//! # Differences from Go
//!
//! Go's `syscall` package marks system calls. Here any poll may block without a mark, so sysmon
//! reads the state of suspect threads from `/proc`. Go preempts a CPU-bound goroutine by a signal.
//! Here its P goes to another thread, and the goroutine computes on without a P
//! ([`crate::sched::pause`]).

mod activity;
pub(crate) mod adapt;
mod away;
mod classify;
pub(crate) mod deep_sleep;
mod handed_off;

use self::activity::ThreadActivity;
use self::adapt::{AdaptiveProcs, Counts, Sample};
use self::classify::Locked;
use self::handed_off::{CpuBoundPoll, HandedOffs, Report};
use crate::observe::deadlock::{DeadlockSearch, NextSearch};
use crate::observe::schedtrace::Trace;
use crate::observe::stall::StallKind;
use crate::p::blocking_calls::CallCount;
use crate::p::{P, PStatus};
use crate::sched::Sched;
use crate::sched::idle::IdleLists;
use crate::sched::pause::{self, Seat};
use crate::sched::ps::PsView;
use crate::sched::shutdown::LateReaps;
use crate::sched::wake::Started;
use crate::sys::own_threads::OwnThread;
use crate::sys::thread_state::{self, ThreadSleep};
use crate::throw::AbortOnUnwind;
use crate::tuning::{
    ADAPT_PROCS, COMPUTING_AFTER, PROGRESS_CPU, SLICE, SLOW_CHECK, SYSMON_BUSY_NAP, SYSMON_MAX_NAP,
    SYSMON_NAP,
};
use crate::util::clock;
use std::sync::Arc;
use std::time::Duration;

/// What sysmon remembers of an active P between rounds.
#[derive(Clone, Debug, Default)]
struct Seen {
    marks: Marks,
    poll: PollSeen,
    /// The CPU time of the thread in the last round, if the P made no progress while fewer Ps run
    /// than `max_procs`.
    cpu: Option<u64>,
    /// The counters that [`Sysmon::counts`] has.
    counted: Option<Counts>,
    /// The number of netpolls.
    netpolls: Option<u64>,
}

/// What sysmon remembers of a long poll.
#[derive(Clone, Debug, Default)]
struct PollSeen {
    activity: Option<ThreadActivity>,
    /// If the thread was seen asleep for a lock.
    locked: Option<Locked>,
    /// The CPU time of the thread at the first check after the request to yield.
    asked: Option<u64>,
}

/// The counts of a P, and when each was first seen.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    polls: u64,
    poll_since: u64,
    call: CallCount,
    call_since: u64,
    services: u64,
    /// When a service was last seen, or asked for.
    service_since: u64,
}

impl Marks {
    /// Whether `p` is in the same poll for long.
    fn is_in_long_poll(&self, p: &P, now: u64) -> bool {
        let long = now - self.poll_since >= clock::nanos(SYSMON_NAP);
        long && self.polls == p.counters.polls.get()
    }
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

/// Runs sysmon, on its own thread.
pub(super) fn sysmon_main(sched: Arc<Sched>) {
    // User code that sysmon calls is contained, so a panic here is gmp's own. Without sysmon the
    // runtime would hang when a goroutine blocks its thread.
    let _abort = AbortOnUnwind("monitoring the threads");
    let _seat = Seat::for_sysmon(sched.id);
    let _own = OwnThread::enter();
    thread_state::sleep_exactly();
    sched.limit_hogs();
    let mut sysmon = Sysmon::new(sched);
    let (mut nap, mut search) = (SYSMON_NAP, DeadlockSearch::default());
    loop {
        // Until the last M has left, a destructor may wait for a timer.
        if sysmon.sched.idle.with(|lists| lists.is_over()) {
            return;
        }
        sysmon.nap(nap);
        let long_idle = sysmon.sched.idle.with(|lists| lists.long_idle(sysmon.idle_after));
        sysmon.trace.print_if_due(&sysmon.sched, clock::now());
        if long_idle && !sysmon.handed_off.has_report_due() {
            let until = match search.round(&sysmon.sched) {
                NextSearch::Never => clock::FOREVER,
                NextSearch::At(at) => at,
            };
            // A trace has lines also while nothing runs.
            if sysmon.sleep_deep(until.min(sysmon.trace.next_due(&sysmon.sched))) {
                nap = Duration::ZERO;
                continue;
            }
        }
        let now = clock::now();
        // Heuristic: short naps notice the next blocked thread early. The table "Heuristics" of
        // `benches/README.md` has what they give.
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
    /// The active Ps.
    ps: PsView,
    /// What is known of each active P, by its number.
    seen: Vec<Seen>,
    handed_off: HandedOffs,
    /// Sums of the counters of the active Ps.
    counts: Counts,
    /// When a netpoll was last noticed.
    netpolled: u64,
    trace: Trace,
    /// When the number of CPUs was last read.
    procs_read: u64,
    /// Time without a running goroutine after which sysmon sleeps until it is woken.
    idle_after: Duration,
    /// Until then all naps are short, because a poll that blocked is often followed by another.
    /// Heuristic: see the table in `benches/README.md`.
    watch_until: u64,
    adaptive: AdaptiveProcs,
    late_reaps: LateReaps,
}

impl Sysmon {
    pub(super) fn new(sched: Arc<Sched>) -> Self {
        Self {
            ps: PsView::default(),
            seen: Vec::new(),
            handed_off: HandedOffs::default(),
            counts: Counts::default(),
            netpolled: 0,
            trace: Trace::default(),
            procs_read: clock::now(),
            idle_after: SYSMON_NAP,
            watch_until: 0,
            adaptive: AdaptiveProcs::new(sched.max_procs()),
            late_reaps: LateReaps::default(),
            sched,
        }
    }

    /// Sleeps for `nap`, but not long past the next timer: all Ms may be too busy to fire it.
    fn nap(&self, nap: Duration) {
        let until_timer = self.sched.next_timer().saturating_sub(clock::now());
        let soonest = Duration::from_nanos(until_timer).saturating_add(SYSMON_BUSY_NAP);
        std::thread::sleep(nap.min(soonest));
    }

    /// Sleeps until an M takes a P, or until the time `until`. Returns `false` at once if an M has
    /// just taken one, if work is queued, or if no M will wake for the next timer or event.
    pub(super) fn sleep_deep(&mut self, until: u64) -> bool {
        if let Some(active) = self.adaptive.reset() {
            self.sched.set_active_procs(active);
        }
        self.forget_returned();
        let before = clock::now();
        // An M must wake for timers and events, and there must be nothing to run. Otherwise sysmon
        // stays awake for them. If work is queued, no thread could be started for it. The fence
        // pairs with that of a submitter that relied on a thread that was then refused.
        let tended = |lists: &IdleLists| {
            self.sched.idle.word.fence_before_recheck();
            let roles = &lists.pool.roles;
            !self.sched.has_queued()
                && (roles.timer_sleeper.is_some() || self.sched.next_timer() == clock::FOREVER)
                && (roles.poller.is_some() || self.sched.net.in_use().is_none())
        };
        let slept = self.sched.sysmon_deep_sleep(until, tended);
        if slept {
            let now = clock::now();
            // If all Ms rest many times per millisecond, sysmon stays awake: each time the first M
            // that runs would have to wake it.
            let short = now - before < clock::nanos(SYSMON_MAX_NAP);
            self.idle_after = if short { SYSMON_MAX_NAP } else { SYSMON_NAP };
            self.seen.fill(Seen::default());
            self.netpolled = now;
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
        self.refresh_ps(now);
        // Queued work although a P is idle and no M spins.
        if sched.has_queued() || (0..self.ps.len()).any(|number| self.has_stale_work(number)) {
            sched.wakep();
        }
        self.adapt_procs(now);
        for number in 0..self.ps.len() {
            let Some(p) = self.ps.get(number).cloned() else { continue };
            match self.retake(number, &p, now) {
                Round::Acted => round = Round::Acted,
                Round::Watching if round == Round::Quiet => round = Round::Watching,
                Round::Watching | Round::Quiet => {}
            }
        }
        self.visit_handed_off(now);
        self.rescue_timers(now);
        self.rescue_netpoll(now);
        self.late_reaps.round(&sched, now);
        if now - self.procs_read >= clock::nanos(SLOW_CHECK) {
            self.procs_read = now;
            sched.update_procs();
        }
        round
    }

    /// Refreshes the view of the active Ps. Forgets what is known of a number if its holder has
    /// changed.
    fn refresh_ps(&mut self, now: u64) {
        if self.ps.is_fresh(&self.sched) {
            return;
        }
        // Before the holders change: what is known of a handed-off P is still under its number.
        self.note_hand_offs(now);
        let before = self.ps.copy(&self.sched);
        self.seen.resize(self.ps.len(), Seen::default());
        for (number, seen) in self.seen.iter_mut().enumerate() {
            let former = before.get(number).and_then(Option::as_ref);
            let is_same = match (former, self.ps.get(number)) {
                (Some(former), Some(p)) => Arc::ptr_eq(former, p),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            if !is_same {
                *seen = Seen::default();
            }
        }
    }

    /// Whether the ring of the P has more goroutines than the P has run since the last round.
    fn has_stale_work(&self, number: usize) -> bool {
        let (Some(p), Some(seen)) = (self.ps.get(number), self.seen.get(number)) else {
            return false;
        };
        let queued = p.runq.len() as u64;
        queued > 0 && queued >= p.counters.polls.get() - seen.marks.polls
    }

    /// Whether a shared queue or a ring has work.
    fn any_work(&self) -> bool {
        self.sched.has_queued() || self.ps.iter().any(|p| p.runq.len() > 0)
    }

    /// Changes the number of running Ps if that increases throughput.
    fn adapt_procs(&mut self, now: u64) {
        let sched = self.sched.clone();
        if !sched.config.adaptive {
            return;
        }
        if sched.max_procs() > ADAPT_PROCS {
            // The maximum may have been raised while this thread set a lower number.
            if sched.procs() < sched.max_procs() {
                sched.set_active_procs(sched.max_procs());
            }
            return;
        }
        self.count();
        let (limit, active, waiting) = (sched.max_procs(), sched.procs(), self.any_work());
        let mut running = 0;
        let mut stuck = false;
        for number in 0..self.ps.len() {
            let Some(p) = self.ps.get(number).cloned() else { continue };
            let is_running = p.status() == PStatus::Running;
            running += usize::from(is_running);
            if active == limit || !is_running {
                // Out of date in the next round.
                self.seen[number].cpu = None;
            } else {
                stuck |= self.is_stuck(number, &p, now);
            }
        }
        let sample = Sample { counts: self.counts, limit, active, running, stuck, waiting };
        if let Some(active) = self.adaptive.round(now, &sample) {
            sched.set_active_procs(active);
        }
    }

    /// Adds up what the counters of the active Ps have grown since the last round.
    fn count(&mut self) {
        for (number, seen) in self.seen.iter_mut().enumerate() {
            let Some(p) = self.ps.get(number) else { continue };
            let counts = Counts::of(&p.counters);
            if let Some(before) = seen.counted.replace(counts) {
                self.counts.add(&counts.since(&before));
            }
        }
    }

    /// Whether `p` makes no progress, and not only because its thread has lost its CPU.
    fn is_stuck(&mut self, number: usize, p: &P, now: u64) -> bool {
        let lying = self.has_stale_work(number);
        let seen = &mut self.seen[number];
        // Between polls the P may belong to a thread that is not awake yet.
        let in_poll = p.goid() != 0 && seen.marks.is_in_long_poll(p, now);
        if !lying && !in_poll {
            seen.cpu = None;
            return false;
        }
        let cpu = thread_state::cpu(p.thread());
        let Some(before) = std::mem::replace(&mut seen.cpu, cpu) else { return false };
        let used = cpu.map_or(0, |cpu| cpu.saturating_sub(before));
        used >= clock::nanos(PROGRESS_CPU)
            || thread_state::sleep(p.thread()) != Some(ThreadSleep::No)
    }

    /// Wakes an M for timers that are overdue. Fires them itself if no M can be started.
    fn rescue_timers(&self, now: u64) {
        let next = self.sched.next_timer();
        if next.saturating_add(clock::nanos(SYSMON_NAP)) > now {
            return;
        }
        let (idle, _) = self.sched.idle.word.counts();
        if idle > 0 && self.sched.ensure_timer_sleeper(next) == Started::Refused {
            for timers in self.sched.ps.all_timers().filter(|timers| timers.next_when() <= now) {
                timers.fire(now);
            }
        }
    }

    /// Sends an M with an idle P to a netpoller that no M has polled for a while. Polls it itself
    /// if no M can be started.
    fn rescue_netpoll(&mut self, now: u64) {
        let sched = &self.sched;
        let Some(netpoll) = sched.net.in_use() else { return };
        let mut is_polled = sched.net.is_awaited();
        for (p, seen) in (0..).map_while(|number| self.ps.get(number)).zip(&mut self.seen) {
            let netpolls = p.counters.netpolls.get();
            let before = seen.netpolls.replace(netpolls);
            is_polled |= before.is_some_and(|before| before != netpolls);
        }
        if is_polled {
            self.netpolled = now;
            return;
        }
        if now - self.netpolled < clock::nanos(SYSMON_MAX_NAP) {
            return;
        }
        self.netpolled = now;
        let (idle, spinning) = sched.idle.word.counts();
        // An M that spins goes to the netpoller if it finds no work.
        let sent = idle > 0
            && (spinning > 0
                || sched.startm(sched.idle.word.spin_unconditionally()) == Started::Enough);
        if !sent {
            sched.net.rescue(&**netpoll);
        }
    }

    fn retake(&mut self, number: usize, p: &Arc<P>, now: u64) -> Round {
        let polls = p.counters.polls.get();
        let call = p.calls.get();
        let seen = &mut self.seen[number];
        let marks = &mut seen.marks;
        let same_call = marks.call == call;
        if !same_call {
            (marks.call, marks.call_since) = (call, now);
        }
        let is_running = p.status() == PStatus::Running;
        let is_in_poll = is_running && !call.in_progress();
        let services = p.counters.services.get();
        if marks.services != services {
            (marks.services, marks.service_since) = (services, now);
        } else if is_in_poll && now - marks.service_since >= clock::nanos(SYSMON_MAX_NAP) {
            marks.service_since = now;
            p.request_service();
        }
        if marks.polls != polls {
            let is_slow = polls - marks.polls == 1;
            (marks.polls, marks.poll_since) = (polls, now);
            seen.poll = PollSeen::default();
            if is_slow && is_in_poll && self.is_wanted(p, now) {
                self.begin_classify(number, p, now);
                return Round::Watching;
            }
            return Round::Quiet;
        }
        // A slice of several polls ends in a service. The poll of a handed-off P is asked at the
        // hand-off.
        if is_in_poll && now - marks.poll_since >= clock::nanos(SLICE) {
            p.note_long_poll(marks.poll_since);
            p.request_preempt();
        }
        let marks = *marks;
        match is_running {
            true if is_in_poll => self.retake_poll(number, p, marks, now),
            true if same_call => self.retake_syscall(p, marks, now),
            true | false => Round::Quiet,
        }
    }

    /// Reads the CPU time of a thread whose poll has just begun. The next round then knows whether
    /// the thread has run since.
    fn begin_classify(&mut self, number: usize, p: &P, now: u64) {
        let cpu = thread_state::cpu(p.thread());
        self.seen[number].poll.activity = cpu.map(|cpu| ThreadActivity::new(now, cpu));
    }

    /// Checks a marked blocking call that was under way in the last round.
    fn retake_syscall(&self, p: &P, marks: Marks, now: u64) -> Round {
        let long = now - marks.call_since >= clock::nanos(SLICE);
        if (long || self.is_wanted(p, now)) && self.sched.handoff_call(p, marks.call) {
            return Round::Acted;
        }
        Round::Quiet
    }

    /// Checks an unmarked poll that was under way in the last round.
    fn retake_poll(&mut self, number: usize, p: &P, marks: Marks, now: u64) -> Round {
        let stuck = now - marks.poll_since;
        if p.goid() == 0 {
            return Round::Quiet;
        }
        if stuck < clock::nanos(SYSMON_NAP) {
            return if self.is_wanted(p, now) { Round::Watching } else { Round::Quiet };
        }
        let (idle, _) = self.sched.idle.word.counts();
        if idle > 0 && p.runq.has_next() {
            // A thief takes the `runnext` that this M does not reach.
            let _ = self.sched.startm(self.sched.idle.word.spin_unconditionally());
            return Round::Acted;
        }
        let (long, wanted) = (stuck >= clock::nanos(SLICE), self.is_wanted(p, now));
        let patience = if wanted && self.is_urgent(now) {
            // A poll that uses channels yields at its next operation; one that computes does not.
            p.request_preempt();
            SYSMON_MAX_NAP
        } else {
            COMPUTING_AFTER
        };
        // Also if no goroutine waits for the P: the time of the sleep is known when one does.
        let kind = self.classify(number, p, patience, now);
        if !long && !wanted {
            return Round::Quiet;
        }
        let Some(kind) = kind else {
            let in_call =
                self.seen[number].poll.activity.as_ref().is_some_and(ThreadActivity::is_in_call);
            return if in_call { Round::Watching } else { Round::Quiet };
        };
        let goid = p.goid();
        // The id is 0 after the end of the poll: its M may be about to hand the P over.
        let still = || {
            let is_same = p.counters.polls.get() == marks.polls && p.calls.get() == marks.call;
            is_same && p.goid() == goid
        };
        let computes = kind == StallKind::Computing;
        // Under the lock of the lists: if `p` is running there, it is handed off.
        let hands_off = || {
            let hands_off = still() && p.status() == PStatus::Running;
            if hands_off && computes {
                pause::mark(p);
            }
            hands_off
        };
        if (computes && !wanted) || !self.sched.handoffp(p, hands_off) {
            return Round::Quiet;
        }
        if computes {
            pause::call(&self.sched);
        }
        if kind == StallKind::Blocked {
            self.watch_until = now + clock::nanos(SLICE);
        }
        let report = if long || kind == StallKind::Blocked { Report::Made } else { Report::Due };
        // If no goroutine waited for the P, the hand-off is a precaution and not a stall.
        if report == Report::Made && wanted {
            self.sched.stalls.report(p, goid, kind, Duration::from_nanos(stuck));
        }
        let hog = computes.then_some(CpuBoundPoll { goid, polls: marks.polls, report });
        self.note_own_hand_off(p, hog, now);
        Round::Acted
    }

    /// Whether a goroutine waits that a timer, an event or an external thread woke, and a P may be
    /// handed off early for it: see [`CpuBoundPoll`].
    ///
    /// Heuristic: a newcomer waits for at most [`SYSMON_MAX_NAP`] of CPU time of a CPU-bound poll,
    /// and not for [`COMPUTING_AFTER`]. The table "Heuristics" of `benches/README.md` has what it
    /// gives.
    fn is_urgent(&self, now: u64) -> bool {
        let waits = self.sched.next_timer() <= now
            || !self.sched.inbox.is_empty()
            || self.ps.iter().any(|p| p.delays_newcomers());
        // A spinning M will find it.
        let (_, spinning) = self.sched.idle.word.counts();
        if !waits || spinning > 0 {
            return false;
        }
        // Hogs that are paused take no CPU time from others, however many there are.
        pause::is_on(&self.sched) || self.handed_off.hogs() < self.sched.max_procs()
    }

    /// Whether work or a timer waits and no other P is idle.
    fn is_wanted(&self, p: &P, now: u64) -> bool {
        let (idle, _) = self.sched.idle.word.counts();
        let work = || p.runq.has_next() || self.any_work() || self.sched.next_timer() <= now;
        idle == 0 && work()
    }
}
