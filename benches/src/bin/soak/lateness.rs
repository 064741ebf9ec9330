//! Lateness of wake-ups, by cause.

use crate::control::Control;
use crate::violation::violation;
use crate::world::now_micros;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What makes a goroutine runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Timer,
    Channel,
    Socket,
    /// A waker that an external thread wakes.
    Thread,
}

const CAUSES: [(Cause, &str); 4] = [
    (Cause::Timer, "timer"),
    (Cause::Channel, "channel"),
    (Cause::Socket, "socket"),
    (Cause::Thread, "thread"),
];

/// The worst lateness of the run and of the last second.
#[derive(Debug)]
pub(crate) struct Lateness {
    /// See [`ready_bound`](crate::bounds::ready_bound).
    bound: Duration,
    pub(crate) control: Control,
    worst: [AtomicU64; CAUSES.len()],
    recent: AtomicU64,
}

impl Lateness {
    /// Creates it with the bound of the run.
    pub(crate) fn new(bound: Duration) -> Self {
        let (worst, recent) = Default::default();
        Self { bound, control: Control::default(), worst, recent }
    }

    /// Whether a goroutine that was ready `late` ago has waited for too long, also if the machine
    /// delayed each thread as it did the control thread.
    fn is_too_long(&self, late: Duration) -> bool {
        late > self.bound && late > self.bound + self.control.lost_in(late)
    }

    /// Records that a goroutine ran `late` after its wake-up.
    pub(crate) fn note(&self, cause: Cause, late: Duration) {
        let micros = late.as_micros() as u64;
        self.worst[cause as usize].fetch_max(micros, Relaxed);
        self.recent.fetch_max(micros, Relaxed);
        if self.is_too_long(late) {
            violation(format!("{cause:?}: a ready goroutine waited for {late:?}"));
        }
    }

    /// Checks a timer that has fired: not before `deadline`, and not later than the bound.
    #[track_caller]
    pub(crate) fn timer(&self, what: &str, deadline: Instant) {
        let now = Instant::now();
        if now < deadline {
            violation(format!("{what}: fired {:?} before its deadline", deadline - now));
        }
        self.note(Cause::Timer, now - deadline);
    }

    /// Returns the worst lateness since the last call.
    pub(crate) fn take_recent(&self) -> Duration {
        Duration::from_micros(self.recent.swap(0, Relaxed))
    }
}

impl fmt::Display for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worst lateness, at most {:?}:", self.bound)?;
        for ((_, name), micros) in CAUSES.iter().zip(&self.worst) {
            write!(f, " {name} {:?}", Duration::from_micros(micros.load(Relaxed)))?;
        }
        writeln!(f)
    }
}

/// A wake-up whose goroutine has not run yet. The watchdog reads it.
#[derive(Debug)]
pub(crate) struct Pending {
    cause: Cause,
    /// Microseconds of the run; 0 if no wake-up is pending.
    since: AtomicU64,
}

impl Pending {
    /// Creates one without a wake-up.
    pub(crate) const fn new(cause: Cause) -> Self {
        Self { cause, since: AtomicU64::new(0) }
    }

    /// Records a wake-up after the time `after`.
    pub(crate) fn wake_in(&self, after: Duration) {
        self.since.store(now_micros() + after.as_micros() as u64 + 1, Relaxed);
    }

    /// Whether a wake-up is pending.
    pub(crate) fn is_pending(&self) -> bool {
        self.since.load(Relaxed) != 0
    }

    /// Records that the goroutine runs.
    pub(crate) fn ran(&self, lateness: &Lateness) {
        let since = self.since.swap(0, Relaxed);
        if since != 0 {
            lateness.note(self.cause, Duration::from_micros(now_micros().saturating_sub(since)));
        }
    }

    /// Removes the wake-up, because the goroutine does not exist any more.
    pub(crate) fn forget(&self) {
        self.since.store(0, Relaxed);
    }

    /// Reports a goroutine that has not run within the bound.
    pub(crate) fn check(&self, name: &str, lateness: &Lateness) {
        let since = self.since.load(Relaxed);
        let late = Duration::from_micros(now_micros().saturating_sub(since));
        if since != 0 && lateness.is_too_long(late) {
            violation(format!(
                "runtime {name}: a goroutine has been ready for {late:?} by a {:?} and has not run",
                self.cause
            ));
        }
    }
}
