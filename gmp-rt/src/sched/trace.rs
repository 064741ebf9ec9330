//! `GMPDEBUG=schedtrace=N`: prints a line about the scheduler to stderr every N milliseconds, in
//! Go's format. With `scheddetail=1` also a line for each P, M and goroutine.
//!
//! As in Go, the values are read while the runtime runs, so they need not be consistent.

use super::Sched;
use super::wake::SYSMON;
use crate::g::status::Phase;
use crate::g::{GoId, heap};
use crate::m::MId;
use crate::p::{P, PStatus};
use crate::throw::say;
use crate::util::clock;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::Arc;
use std::time::Duration;

/// What is traced, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceConfig {
    /// The interval between two lines. Zero: no trace.
    pub(crate) every: Duration,
    /// Whether each P, M and goroutine is listed.
    pub(crate) detail: bool,
}

/// The trace of one runtime. Sysmon keeps it.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// The time of the first line; 0 before it.
    start: u64,
    next: u64,
}

impl Trace {
    /// Prints a line if it is due.
    pub(super) fn print_if_due(&mut self, sched: &Sched, now: u64) {
        let config = sched.config.trace;
        if config.every.is_zero() || now < self.next {
            return;
        }
        if self.start == 0 {
            self.start = now;
        }
        self.next = now + clock::nanos(config.every);
        let ms = (now - self.start) / 1_000_000;
        say!("{}", if config.detail { sched.detail(ms) } else { sched.line(ms) });
    }
}

impl Sched {
    /// Returns the beginning of both formats. Sysmon counts as a thread, as in Go.
    fn trace_head(&self, ms: u64) -> String {
        let (idle, spinning) = self.idle.word.counts();
        let (threads, pool) = self.idle.with(|lists| (lists.threads + 1, lists.pool.len()));
        format!(
            "SCHED {ms}ms: gomaxprocs={} idleprocs={idle} threads={threads} \
             spinningthreads={spinning} needspinning=0 idlethreads={pool} runqueue={}",
            self.max_procs(),
            self.globq.len() + self.inbox.len(),
        )
    }

    fn line(&self, ms: u64) -> String {
        let mut text = self.trace_head(ms);
        let has_right = |status| matches!(status, PStatus::Idle | PStatus::Running);
        let ps: Vec<_> = self.ps.iter().filter(|p| has_right(p.status())).collect();
        text.push_str(" [");
        for p in &ps {
            let _ = write!(text, " {}", p.runq.len());
        }
        text.push_str(" ] schedticks=[");
        for p in &ps {
            let _ = write!(text, " {}", p.counters.slices.get());
        }
        text.push_str(" ]");
        text
    }

    /// Returns the lines of `scheddetail`: Ps, Ms with the newest first, goroutines. Some fields
    /// describe what gmp does not have: locks of Ms, goroutines bound to threads, the collector.
    /// They have the values of a Go program that does not use these. So has `gfreecnt`, because
    /// only the owner of a P counts its free cells.
    fn detail(&self, ms: u64) -> String {
        let mut text = self.trace_head(ms);
        text.push_str(" gcwaiting=false nmidlelocked=0 stopwait=0 sysmonwait=false");
        self.ps.iter().for_each(|p| p_line(&mut text, p));
        for (id, m) in self.ms().into_iter().rev() {
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
        heap::for_each(|g| {
            if g.runtime() == self.id {
                let p = self.ps.iter().find(|p| p.goid() == g.goid());
                let status = match g.status.phase() {
                    Phase::Free | Phase::Dead => 6,
                    Phase::Runnable => 1,
                    Phase::Running if p.is_some_and(|p| self.blocks(p)) => 3,
                    Phase::Running => 2,
                    Phase::Waiting => 4,
                };
                let (reason, m) = (g.wait().0.reason, Nil(p.map(|p| p.m())));
                let _ =
                    write!(text, "\n  G{}: status={status}({reason}) m={m} lockedm=nil", g.goid());
            }
        });
        text
    }

    /// Returns all Ms by number: those that own a P, those that sleep, and sysmon, which prints
    /// this.
    fn ms(&self) -> BTreeMap<MId, MLine> {
        let line = |p: &Arc<P>| {
            let has_right = p.status() == PStatus::Running;
            let curg = Some(p.goid()).filter(|goid| *goid != 0);
            let spinning = has_right && curg.is_none() && p.runq.len() == 0;
            MLine { p: has_right.then_some(p.id), curg, spinning, blocked: false }
        };
        let mut ms: BTreeMap<MId, MLine> =
            self.ps.iter().filter(|p| p.is_owned()).map(|p| (p.m(), line(p))).collect();
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

/// Appends a line for an active P. An inactive P is shown only if it has goroutines or timers, as
/// Go shows a dead one.
fn p_line(text: &mut String, p: &P) {
    let (status, m) = match p.status() {
        PStatus::Idle => (0, None),
        PStatus::Running => (1, Some(p.m())),
        PStatus::Displaced | PStatus::Spare if p.runq.len() + p.timers.len() == 0 => return,
        PStatus::Displaced => (4, Some(p.m())),
        PStatus::Spare => (4, None),
    };
    let _ = write!(
        text,
        "\n  P{}: status={status} schedtick={} syscalltick={} m={} runqsize={} gfreecnt=0 timerslen={}",
        p.id,
        p.counters.slices.get(),
        p.calls.get().begun(),
        Nil(m),
        p.runq.len(),
        p.timers.len(),
    );
}
