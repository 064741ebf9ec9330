//! `GMPDEBUG=schedtrace=N`: prints a line about the scheduler to stderr every N milliseconds, in
//! Go's format. With `scheddetail=1` also a line for each P, M and goroutine.
//!
//! As in Go, the values are read while the runtime runs, so they need not be consistent.
//!
//! Sysmon makes the line of `schedtrace`. The walk over all goroutines takes long if there are
//! many, so the reporter thread makes it, and prints the goroutines slab by slab. While it does so,
//! no further trace is made.

use super::dump::running;
use super::event::{self, Event, reporter};
use crate::g::status::Phase;
use crate::g::{GSight, GoId, heap};
use crate::m::MId;
use crate::m::SYSMON;
use crate::p::{P, PStatus};
use crate::prim::Ordering::Relaxed;
use crate::prim::fixed::AtomicBool;
use crate::sched::Sched;
use crate::sched::ps::NumberTotals;
use crate::util::clock;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The trace of one runtime. Sysmon keeps it.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// The time of the first line; 0 before it.
    start: u64,
    next: u64,
    /// Whether the reporter thread has the last trace of `scheddetail` still to print.
    is_printing: Arc<AtomicBool>,
}

/// The right to print a trace on the reporter thread. Its drop ends that, also if the thread has no
/// room for the job.
struct Printing(Arc<AtomicBool>);

impl Drop for Printing {
    fn drop(&mut self) {
        self.0.store(false, Relaxed); // Relaxed: see `Trace::post`
    }
}

impl Trace {
    /// Returns when the next line is due.
    pub(crate) fn next_due(&self, sched: &Sched) -> u64 {
        if sched.config.trace.every.is_zero() { clock::FOREVER } else { self.next }
    }

    /// Prints a line if it is due.
    pub(crate) fn print_if_due(&mut self, sched: &Arc<Sched>, now: u64) {
        let config = sched.config.trace;
        if config.every.is_zero() || now < self.next {
            return;
        }
        if self.start == 0 {
            self.start = now;
        }
        self.next = now + clock::nanos(config.every);
        let ms = (now - self.start) / 1_000_000;
        if config.detail && reporter::start().is_ok() {
            return self.post(sched, ms);
        }
        event::emit(Event::Trace { text: sched.line(ms) });
    }

    /// Has the reporter thread print a trace of `scheddetail`, unless it has one still to print.
    fn post(&self, sched: &Arc<Sched>, ms: u64) {
        // Relaxed: no other memory depends on it.
        if self.is_printing.load(Relaxed) {
            return;
        }
        self.is_printing.store(true, Relaxed); // Relaxed: see above
        let (sched, printing) = (Arc::downgrade(sched), Printing(self.is_printing.clone()));
        let job = move || {
            let _until_the_end = &printing;
            if let Some(sched) = sched.upgrade() {
                sched.print_detail(ms);
            }
        };
        // The thread runs, so the job is not returned.
        let _ = reporter::post(Box::new(job));
    }
}

impl Sched {
    /// Returns the beginning of both formats. Sysmon counts as a thread, as in Go. A P that
    /// adaptive procs have deactivated counts as idle.
    fn trace_head(&self, ms: u64) -> String {
        let (idle, spinning) = self.idle.word.counts();
        let (threads, pool, inactive) = self.idle.with(|lists| {
            let inactive = lists.quota.max.saturating_sub(lists.quota.active);
            (lists.threads.count + 1, lists.pool.len(), inactive)
        });
        let idle = idle + inactive;
        format!(
            "SCHED {ms}ms: gomaxprocs={} idleprocs={idle} threads={threads} \
             spinningthreads={spinning} needspinning=0 idlethreads={pool} runqueue={}",
            self.max_procs(),
            self.globq.len() + self.inbox.len(),
        )
    }

    /// Returns the line of `schedtrace`. It has a column for each P number below `max_procs`, so
    /// the same column always shows the same number.
    pub(crate) fn line(&self, ms: u64) -> String {
        let mut text = self.trace_head(ms);
        let limit = self.max_procs();
        let ps: Vec<_> = self.idle.with(|lists| {
            let queued = |p: &Arc<P>| p.runq.len() + usize::from(p.runq.has_next());
            let numbers = lists.ps.numbers(limit);
            numbers.map(|(p, ticks)| (p.map_or(0, queued), ticks)).collect()
        });
        text.push_str(" [");
        for (queued, _) in &ps {
            let _ = write!(text, " {queued}");
        }
        text.push_str(" ] schedticks=[");
        for (_, ticks) in &ps {
            let _ = write!(text, " {}", ticks.counts.slices);
        }
        text.push_str(" ]");
        self.name_runtime(&mut text);
        text
    }

    /// Appends the name of the runtime, after Go's fields. The number distinguishes runtimes of the
    /// same name.
    fn name_runtime(&self, text: &mut String) {
        let _ = write!(text, " runtime={}({})", self.id, self.config.name);
    }

    /// Prints the lines of `scheddetail`: Ps, Ms with the newest first, goroutines. Some fields
    /// describe what gmp does not have: locks of Ms, goroutines bound to threads, the collector.
    /// They have the values of a Go program that does not use these. So has `gfreecnt`, because
    /// only the owner of a P counts its free cells.
    ///
    /// The goroutines of each slab are an event of their own, so that the text of a million
    /// goroutines is never in memory as a whole. Only on the reporter thread.
    fn print_detail(&self, ms: u64) {
        let ps = self.owned_ps();
        let running = running(&ps);
        if event::emit_here(&Event::Trace { text: self.detail_head(ms, &ps) }).is_break() {
            return;
        }
        let _ = heap::try_for_each_slab(|sights| {
            let ours = sights.iter().filter(|g| g.runtime() == self.id);
            let lines: Vec<String> = ours.map(|g| self.g_line(g, &running)).collect();
            if lines.is_empty() {
                return ControlFlow::Continue(());
            }
            event::emit_here(&Event::Trace { text: lines.join("\n") })
        });
    }

    /// Returns the lines of `scheddetail` before those of goroutines.
    fn detail_head(&self, ms: u64, ps: &[Arc<P>]) -> String {
        let mut text = self.trace_head(ms);
        text.push_str(" gcwaiting=false nmidlelocked=0 stopwait=0 sysmonwait=false");
        self.name_runtime(&mut text);
        self.p_lines(&mut text);
        for (id, m) in self.ms(ps).into_iter().rev() {
            let _ = write!(
                text,
                "\n  M{id}: p={} curg={} mallocing=0 throwing=0 preemptoff= locks=0 dying=0 \
                 spinning={} blocked={} lockedg=nil",
                Nil(m.p),
                Nil(m.curg),
                m.spinning,
                m.blocked,
            );
        }
        text
    }

    fn g_line(&self, g: &GSight, running: &HashMap<GoId, &P>) -> String {
        let p = running.get(&g.goid());
        let status = match g.status.phase() {
            Phase::Free | Phase::Dead => 6,
            Phase::Runnable => 1,
            Phase::Running if p.is_some_and(|p| p.is_returning()) => 1,
            Phase::Running if p.is_some_and(|p| self.blocks(p)) => 3,
            Phase::Running => 2,
            Phase::Waiting => 4,
        };
        let (reason, m) = (g.wait().0.reason, Nil(p.map(|p| p.m())));
        format!("  G{}: status={status}({reason}) m={m} lockedm=nil", g.goid())
    }

    /// Appends a line for each P number below `max_procs`. A number without an active P is shown as
    /// idle: adaptive procs have deactivated it.
    fn p_lines(&self, text: &mut String) {
        let limit = self.max_procs();
        let lines: Vec<_> = self.idle.with(|lists| {
            let line = |(number, (p, ticks)): (usize, (Option<&Arc<P>>, NumberTotals))| {
                let m = p.filter(|p| p.status() == PStatus::Running).map(|p| p.m());
                (number, m, ticks, p.map_or(0, |p| p.runq.len()))
            };
            lists.ps.numbers(limit).enumerate().map(line).collect()
        });
        for (number, m, ticks, queued) in lines {
            let timers =
                if number < self.ps.timers_len() { self.ps.timers(number).len() } else { 0 };
            let _ = write!(
                text,
                "\n  P{number}: status={} schedtick={} syscalltick={} m={} runqsize={queued} \
                 gfreecnt=0 timerslen={timers}",
                u8::from(m.is_some()),
                ticks.counts.slices,
                ticks.calls,
                Nil(m),
            );
        }
    }

    /// Returns all Ms by number: those that own a P, those that sleep, and sysmon.
    fn ms(&self, ps: &[Arc<P>]) -> BTreeMap<MId, MLine> {
        let line = |p: &Arc<P>| {
            let has_right = p.status() == PStatus::Running;
            // Its goroutine is runnable.
            let blocked = p.is_returning();
            let curg = Some(p.goid()).filter(|goid| *goid != 0 && !blocked);
            let spinning = has_right && curg.is_none() && p.runq.len() == 0;
            let p = has_right.then_some(p.number());
            MLine { p, curg, spinning, blocked }
        };
        let mut ms: BTreeMap<MId, MLine> =
            ps.iter().filter(|p| p.is_owned()).map(|p| (p.m(), line(p))).collect();
        let asleep = MLine { blocked: true, ..MLine::default() };
        // Added last: a sleeping M may be the last owner of a P that was just granted to another M.
        self.idle.with(|lists| ms.extend(lists.pool.iter().map(|m| (m.id, asleep))));
        ms.insert(SYSMON, MLine::default());
        ms
    }
}

/// The values of an M that are shown.
#[derive(Clone, Copy, Debug, Default)]
struct MLine {
    p: Option<usize>,
    curg: Option<GoId>,
    spinning: bool,
    blocked: bool,
}

/// A number, or Go's word for none.
struct Nil<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for Nil<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(number) => number.fmt(f),
            None => f.write_str("nil"),
        }
    }
}
