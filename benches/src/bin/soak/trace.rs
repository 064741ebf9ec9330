//! The last operations of each worker, for the report of a violation.
//!
//! All entries are relaxed atomics: the trace must not order the memory accesses that a sanitizer
//! checks.

use crate::table::TABLE;
use crate::world::now_micros;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Operations that are kept per worker.
const KEPT: usize = 16;

/// Workers that have a ring of their own.
pub(crate) const WORKERS: usize = 96;

/// The ring of one worker.
#[derive(Debug)]
pub(crate) struct Trace {
    /// Operations that were begun.
    begun: AtomicU64,
    /// Start of the running operation, in microseconds of the run; 0 if none runs.
    since: AtomicU64,
    /// Index in the table, and the number of the operation.
    entries: [AtomicU64; KEPT],
}

/// The rings of all workers.
#[derive(Debug)]
pub(crate) struct Traces(Vec<Trace>);

impl Traces {
    /// Creates empty rings.
    pub(crate) fn new() -> Self {
        let ring = || Trace {
            begun: AtomicU64::new(0),
            since: AtomicU64::new(0),
            entries: [const { AtomicU64::new(0) }; KEPT],
        };
        Self((0..WORKERS).map(|_| ring()).collect())
    }

    /// Returns the ring of a worker.
    pub(crate) fn of(&self, worker: usize) -> &Trace {
        &self.0[worker % WORKERS]
    }

    /// Returns the number of operations that were begun.
    pub(crate) fn begun(&self) -> u64 {
        self.0.iter().map(|trace| trace.begun.load(Relaxed)).sum()
    }

    /// Returns the worker whose operation runs for longest, its name and that time.
    pub(crate) fn longest(&self) -> Option<(usize, &'static str, Duration)> {
        let now = now_micros();
        let running = self.0.iter().enumerate().filter_map(|(worker, trace)| {
            let since = trace.since.load(Relaxed);
            let span = Duration::from_micros(now.saturating_sub(since));
            (since != 0).then(|| (worker, trace.latest(), span))
        });
        running.max_by_key(|(_, _, span)| *span)
    }

    /// Returns the last operations of each worker, a line each, the newest first.
    pub(crate) fn tail(&self) -> String {
        let mut text = String::new();
        for (worker, trace) in self.0.iter().enumerate() {
            let begun = trace.begun.load(Relaxed);
            if begun == 0 {
                continue;
            }
            let since = trace.since.load(Relaxed);
            let state = match now_micros().saturating_sub(since) {
                _ if since == 0 => "idle".to_owned(),
                micros => format!("running for {:?}", Duration::from_micros(micros)),
            };
            let _ = write!(text, "  worker {worker} ({state}):");
            for back in 0..(KEPT as u64).min(begun) {
                let number = begun - 1 - back;
                let entry = trace.entries[number as usize % KEPT].load(Relaxed);
                let _ = write!(text, " {number}:{}", TABLE[entry as usize].name);
            }
            text.push('\n');
        }
        text
    }
}

impl Trace {
    /// Records the start of an operation. `index` is its place in the table.
    pub(crate) fn begin(&self, index: usize) {
        let number = self.begun.fetch_add(1, Relaxed);
        self.entries[number as usize % KEPT].store(index as u64, Relaxed);
        self.since.store(now_micros().max(1), Relaxed);
    }

    /// Records the end of the operation.
    pub(crate) fn end(&self) {
        self.since.store(0, Relaxed);
    }

    fn latest(&self) -> &'static str {
        let number = self.begun.load(Relaxed).saturating_sub(1);
        let entry = self.entries[number as usize % KEPT].load(Relaxed);
        TABLE[entry as usize].name
    }
}
