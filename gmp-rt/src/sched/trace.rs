//! `GMPDEBUG=schedtrace=N`: every N milliseconds a line about the scheduler on stderr, in Go's format.
//! With `scheddetail=1` also a line for each P, M in the pool and goroutine.

use super::Sched;
use crate::g::heap;
use crate::g::status::Phase;
use crate::p::PStatus;
use crate::throw::say;
use crate::util::clock;
use std::fmt::Write;
use std::time::Duration;

/// What is traced, and since when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceConfig {
    /// Between two lines; zero for no trace.
    pub(crate) every: Duration,
    /// Whether everything is listed.
    pub(crate) detail: bool,
}

/// The trace of one runtime, as sysmon keeps it.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// When the first line was printed; 0 before.
    start: u64,
    next: u64,
}

impl Trace {
    /// Prints a line if it is time.
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
    /// What both forms begin with. Sysmon is a thread too, as in Go.
    fn trace_head(&self, ms: u64) -> String {
        let (idle, spinning) = self.idle.word.counts();
        let (threads, pool) = self.idle.with(|lists| (lists.threads + 1, lists.pool.len()));
        format!(
            "SCHED {ms}ms: gomaxprocs={} idleprocs={idle} threads={threads} \
             spinningthreads={spinning} needspinning=0 idlethreads={pool} runqueue={}",
            self.procs(),
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

    fn detail(&self, ms: u64) -> String {
        let mut text = self.trace_head(ms);
        text.push_str(" gcwaiting=false nmidlelocked=0 stopwait=0 sysmonwait=false");
        for p in self.ps.iter() {
            let status = u8::from(p.status() != PStatus::Idle);
            let _ = write!(
                text,
                "\n  P{}: status={status} schedtick={} syscalltick={} m={} runqsize={} gfreecnt=0 \
                 timerslen={}",
                p.id,
                p.counters.slices.get(),
                p.calls.get().begun(),
                p.thread(),
                p.runq.len(),
                p.timers.len(),
            );
        }
        heap::for_each(|g| {
            if g.runtime() == self.id {
                let status = match g.status.phase() {
                    Phase::Free | Phase::Dead => 6,
                    Phase::Runnable => 1,
                    Phase::Running => 2,
                    Phase::Waiting => 4,
                };
                let reason = g.wait().0.reason;
                let _ =
                    write!(text, "\n  G{}: status={status}({reason}) m=nil lockedm=nil", g.goid());
            }
        });
        text
    }
}
