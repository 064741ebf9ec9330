//! Writes execution traces in the format of Go's tools, version 2.
//!
//! `go tool trace FILE` shows them. The scheduler states facts by [`hook`]s: this goroutine starts
//! here, that thread has no P any more. The reader of a trace replays a model of the scheduler. It
//! rejects a file in which an event does not fit. It trusts sequence numbers and the order of the
//! events of a thread, not the clock. So the tracer keeps the same model ([`transition`]). For each
//! fact it writes what the file still lacks.
//!
//! | part | contents |
//! |------|----------|
//! | [`stream`] | the events of one thread, behind a small lock |
//! | [`goroutines`], [`proc`] | what the file says about goroutines and Ps |
//! | [`transition`], [`region`] | from facts to events |
//! | [`generation`] | batches, strings and stacks of about a second |
//! | [`output`], [`recorder`] | a file that is written, and the ring of the flight recorder |
//! | [`session`] | begin and end of traces, and of generations |
//! | [`hook`] | the entry points for the scheduler |
//!
//! # Generations
//!
//! A generation can be read without those before it, so all statuses that it needs are in it. Each
//! stream moves to the next generation by itself, at the latest when the tracer asks it. A record
//! (of a goroutine, of a P) has the generation of its last event. A thread that is behind a record
//! moves first. So the events about one goroutine or P never go back to an older generation,
//! without a stop of all threads.
//!
//! # Why not otherwise
//!
//! A word per goroutine in its slab would save the look-up of its record, about 20 ns per event.
//! But the cell of a goroutine is reused by another one. A thread that reads the word late would
//! write events for the wrong goroutine. Ids are never reused.
//!
//! # Locks
//!
//! A thread takes a stream's lock, then at most one of: a shard of the records, the collector, the
//! idle Ps, the regions. Sysmon takes its own stream, then that of another thread.

mod fact;
mod frame;
mod generation;
mod goroutines;
pub(crate) mod hook;
mod output;
mod proc;
mod recorder;
mod region;
pub(crate) mod session;
mod stream;
mod transition;
mod wire;

#[cfg(all(test, not(gmp_loom)))]
pub(crate) mod check_tests;
#[cfg(all(test, not(gmp_loom)))]
mod model_tests;
#[cfg(all(test, not(gmp_loom)))]
mod tests;

pub(crate) use self::fact::{LeaveReason, Loss, PollExit, Rest, Right, Spawn, TracedG};
pub(crate) use self::output::TraceOutput;
pub(crate) use self::region::RegionId;
pub(crate) use self::stream::Stream;

use self::generation::Collector;
use self::goroutines::Goroutines;
use self::proc::Procs;
use self::region::Regions;
use self::session::Session;
use crate::prim::fixed::{AtomicU64, Condvar, Lazy, Mutex};
use crate::sys::fork;
use crate::util::clock;
use std::sync::Arc;

/// A tracer. The process has one; tests make others.
#[derive(Debug)]
pub(crate) struct Tracer {
    /// The number of the trace: odd while it runs, even after its end.
    epoch: AtomicU64,
    /// The generation that threads write to. Numbers are never used again.
    generation: AtomicU64,
    /// The first generation of the file. Later ones take new goroutines only by their creation.
    file_from: AtomicU64,
    /// The sum of the maximums of all runtimes, to be written by the next thread that can; else 0.
    procs_to_announce: AtomicU64,
    goroutines: Goroutines,
    procs: Mutex<Procs>,
    regions: Regions,
    collector: Mutex<Collector>,
    streams: Mutex<Vec<Arc<Stream>>>,
    /// The stream of the tracer itself, and of threads that end.
    own: Arc<Stream>,
    /// Whether a generation should end early.
    flip_requested: Mutex<bool>,
    flip_request: Condvar,
    /// `None` while a thread has it.
    session: Mutex<Option<Session>>,
    session_is_back: Condvar,
    /// How many forks were before.
    forks: u32,
}

/// The thread of the tracer's own stream. No thread of an OS has this number.
const OWN_THREAD: u64 = 1 << 40;

/// The tracer of the process.
pub(crate) static TRACER: Lazy<Tracer> = Lazy::new(Tracer::new);

fn is_active(epoch: u64) -> bool {
    epoch % 2 == 1
}

impl Tracer {
    pub(crate) fn new() -> Self {
        let own = Arc::new(Stream::new(OWN_THREAD));
        Self {
            epoch: AtomicU64::new(0),
            generation: AtomicU64::new(0),
            file_from: AtomicU64::new(u64::MAX),
            procs_to_announce: AtomicU64::new(0),
            goroutines: Goroutines::new(),
            procs: Mutex::default(),
            regions: Regions::new(),
            collector: Mutex::new(Collector::new()),
            streams: Mutex::new(vec![own.clone()]),
            own,
            flip_requested: Mutex::new(false),
            flip_request: Condvar::new(),
            session: Mutex::new(Some(Session::new())),
            session_is_back: Condvar::new(),
            forks: fork::forks(),
        }
    }

    /// Returns the count of forks when this tracer was made.
    pub(crate) fn forks(&self) -> u32 {
        self.forks
    }

    fn now(&self) -> u64 {
        clock::now()
    }

    /// Returns the stream of a thread.
    pub(crate) fn stream_of(&self, thread: u64) -> Arc<Stream> {
        let mut streams = self.streams.lock();
        if let Some(stream) = streams.iter().find(|stream| stream.thread == thread) {
            return stream.clone();
        }
        let stream = Arc::new(Stream::new(thread));
        streams.push(stream.clone());
        stream
    }

    /// Ends the stream of a thread that ends.
    pub(crate) fn end_stream(&self, stream: &Arc<Stream>) {
        if let Some(mut writer) = stream.writer(self) {
            writer.loses_p();
            // Before the thread's number is used again.
            writer.flush();
        }
        self.streams.lock().retain(|other| !Arc::ptr_eq(other, stream));
    }

    /// Whether a generation takes goroutines that the file does not know only by their creation.
    fn takes_only_creations(&self, generation: u64) -> bool {
        // Relaxed: changed before the generations that it concerns begin.
        generation > self.file_from.load(crate::prim::Ordering::Relaxed)
    }

    /// Asks for the end of the generation.
    fn request_flip(&self) {
        *self.flip_requested.lock() = true;
        self.flip_request.notify_all();
    }
}
