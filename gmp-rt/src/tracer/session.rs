//! Begin and end of traces and of their generations.
//!
//! A trace runs while there is a file, or a flight recorder, or both. Both get the same
//! generations. The thread `gmp-trace` ends a generation every second, and earlier if it has become
//! long. The calls that begin or end a trace do the same by themselves. The [`Session`] belongs to
//! one of these threads at a time.

use super::fact::{Rest, Right, TracedG};
use super::generation::{Generation, Moment};
use super::output::{MAX_UNWRITTEN, TraceOutput, too_slow};
use super::recorder::{self, GenerationRing};
use super::{Tracer, is_active};
use crate::prim::Ordering::{Relaxed, Release};
use std::io::{self, Write};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long a generation lasts (Go: the same).
const GENERATION: Duration = Duration::from_secs(1);

/// The length at which a generation ends early. Chosen: a generation is in memory as a whole.
const GENERATION_BYTES: usize = 8 << 20;

/// What the tracer needs from the scheduler.
pub(crate) trait Scheduler: Sync {
    /// Calls `f` for every goroutine that is alive. One that runs may count as runnable.
    fn walk(&self, f: &mut dyn FnMut(&TracedG<'_>, Rest));

    /// Calls `f` for the goroutines that run, with the thread and its P.
    fn running(&self, f: &mut dyn FnMut(u64, Option<Right>, &TracedG<'_>));

    /// Returns the sum of the maximums for the numbers of active Ps.
    fn max_procs(&self) -> u64;

    /// Makes the hooks call the tracer, or not. When it returns, every hook that begins sees that.
    fn switch(&self, is_on: bool);
}

/// What gets the generations.
#[derive(Debug)]
pub(super) struct Session {
    file: Option<File>,
    ring: Option<GenerationRing>,
    scheduler: Option<&'static dyn Scheduler>,
}

/// The session, for one caller at a time. No lock is held: a walk drops references to goroutines,
/// which no thread may do under a lock.
#[derive(Debug)]
struct SessionGuard<'a> {
    tracer: &'a Tracer,
    /// Always there.
    session: Option<Session>,
}

impl Deref for SessionGuard<'_> {
    type Target = Session;
    fn deref(&self) -> &Session {
        self.session.as_ref().expect("it is put back by the drop")
    }
}

impl DerefMut for SessionGuard<'_> {
    fn deref_mut(&mut self) -> &mut Session {
        self.session.as_mut().expect("it is put back by the drop")
    }
}

impl Drop for SessionGuard<'_> {
    fn drop(&mut self) {
        *self.tracer.session.lock() = self.session.take();
        self.tracer.session_is_back.notify_all();
    }
}

impl std::fmt::Debug for dyn Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scheduler")
    }
}

/// A file that is written.
#[derive(Debug)]
struct File {
    output: Arc<TraceOutput>,
    first: u64,
    /// Whether it ended with an error, which the call of `stop` returns.
    has_failed: bool,
}

impl Session {
    pub(super) fn new() -> Self {
        Self { file: None, ring: None, scheduler: None }
    }

    fn has_file(&self) -> bool {
        self.file.as_ref().is_some_and(|file| !file.has_failed)
    }

    /// Returns the lengths at which a generation ends, and at which it is lost.
    fn limits(&self) -> (usize, usize) {
        let (soft, hard) = (GENERATION_BYTES, MAX_UNWRITTEN);
        match &self.ring {
            Some(ring) if self.has_file() => (soft.min(ring.max_bytes() / 2), hard),
            Some(ring) => (soft.min(ring.max_bytes() / 2), ring.max_bytes().max(1 << 20)),
            None => (soft, hard),
        }
    }

    fn is_over(&self) -> bool {
        !self.has_file() && self.ring.is_none()
    }
}

fn already(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, format!("{what}; end it first"))
}

impl Tracer {
    /// Waits for the session.
    fn session(&self) -> SessionGuard<'_> {
        let mut slot = self.session.lock();
        loop {
            if let Some(session) = slot.take() {
                return SessionGuard { tracer: self, session: Some(session) };
            }
            self.session_is_back.wait(&mut slot);
        }
    }

    /// Begins to write a trace to `w`.
    pub(crate) fn start_file(
        &'static self,
        scheduler: &'static dyn Scheduler,
        w: impl Write + Send + 'static,
    ) -> io::Result<()> {
        // Without the lock, because a refusal drops the writer, which is user code.
        let output = TraceOutput::start(w)?;
        let begun = self.begin_file(scheduler, &output);
        if begun.is_err() {
            output.fail(io::ErrorKind::Interrupted.into());
        }
        begun
    }

    fn begin_file(
        &'static self,
        scheduler: &'static dyn Scheduler,
        output: &Arc<TraceOutput>,
    ) -> io::Result<()> {
        let mut session = self.session();
        if session.file.is_some() {
            return Err(already("a trace is running, or `stop` has not returned its error yet"));
        }
        let first = self.generation.load(Relaxed) + 1;
        self.file_from.store(first, Relaxed);
        session.file = Some(File { output: output.clone(), first, has_failed: false });
        let begun = self.begin_or_flip(&mut session, scheduler);
        if begun.is_err() {
            session.file = None;
            self.file_from.store(u64::MAX, Relaxed);
        }
        begun
    }

    /// Ends the file. Returns its output, which may not be written yet.
    pub(crate) fn stop_file(&self) -> io::Result<Arc<TraceOutput>> {
        let mut session = self.session();
        if session.has_file() {
            self.flip(&mut session);
        }
        let Some(file) = session.file.take() else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no trace is running"));
        };
        self.file_from.store(u64::MAX, Relaxed);
        self.end_if_over(&mut session);
        drop(session);
        Ok(file.output)
    }

    /// Begins to record.
    pub(crate) fn start_ring(
        &'static self,
        scheduler: &'static dyn Scheduler,
        span: Duration,
        max_bytes: usize,
    ) -> io::Result<()> {
        let mut session = self.session();
        if session.ring.is_some() {
            return Err(already("a flight recorder is running"));
        }
        session.ring = Some(GenerationRing::new(span, max_bytes));
        let begun = self.begin_or_flip(&mut session, scheduler);
        if begun.is_err() {
            session.ring = None;
        }
        begun
    }

    /// Ends the recorder.
    pub(crate) fn stop_ring(&self) {
        let mut session = self.session();
        session.ring = None;
        self.end_if_over(&mut session);
    }

    /// Returns how many bytes of events were lost since the trace began.
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.collector.lock().lost_bytes()
    }

    /// Returns what the recorder has, as a file.
    pub(crate) fn record(&self) -> Vec<u8> {
        recorder::encode(&self.kept())
    }

    /// Ends the generation. Returns those that the recorder has.
    pub(super) fn kept(&self) -> Vec<Arc<Generation>> {
        let mut session = self.session();
        if session.ring.is_some() {
            self.flip(&mut session);
        }
        session.ring.as_ref().map(GenerationRing::snapshot).unwrap_or_default()
    }

    /// Has the next goroutine that starts write the number of Ps.
    pub(crate) fn announce_procs(&self, procs: u64) {
        self.procs_to_announce.store(procs, Relaxed); // Relaxed: only a number
    }

    fn begin_or_flip(
        &'static self,
        session: &mut Session,
        scheduler: &'static dyn Scheduler,
    ) -> io::Result<()> {
        if is_active(self.epoch.load(Relaxed)) {
            self.flip(session);
            return Ok(());
        }
        // The thread waits for the lock of the session.
        let thread = thread::Builder::new().name("gmp-trace".to_owned());
        let epoch = self.epoch.load(Relaxed) + 1;
        thread.spawn(move || self.serve(epoch))?;
        session.scheduler = Some(scheduler);
        *self.flip_requested.lock() = false;
        self.announce_procs(scheduler.max_procs());
        let generation = self.generation.load(Relaxed) + 1;
        let mut collector = self.collector.lock();
        let (soft, hard) = session.limits();
        collector.set_limits(soft, hard);
        collector.begin(generation, Moment::now(self.now()));
        drop(collector);
        self.generation.store(generation, Release); // pairs with `Stream::writer`
        self.epoch.store(epoch, Release); // pairs with `Stream::writer`
        scheduler.switch(true);
        scheduler.running(&mut |thread, right, g| {
            if let Some(mut writer) = self.stream_of(thread).writer(self) {
                writer.adopts(g, right);
            }
        });
        Ok(())
    }

    /// Runs the thread of the tracer.
    fn serve(&self, epoch: u64) {
        loop {
            let deadline = Instant::now() + GENERATION;
            let mut is_requested = self.flip_requested.lock();
            while !*is_requested
                && !self.flip_request.wait_until(&mut is_requested, deadline).timed_out()
            {
            }
            *is_requested = false;
            drop(is_requested);
            let mut session = self.session();
            if self.epoch.load(Relaxed) != epoch {
                return;
            }
            self.flip(&mut session);
            self.end_if_over(&mut session);
        }
    }

    /// Ends the generation and begins the next one.
    fn flip(&self, session: &mut Session) {
        let (ends, next) = (self.generation.load(Relaxed), self.generation.load(Relaxed) + 1);
        let (epoch, scheduler) = (self.epoch.load(Relaxed), session.scheduler);
        if session.file.as_ref().is_some_and(|file| file.first == ends) {
            self.name_all(epoch, scheduler);
        }
        self.announce_procs(scheduler.map_or(0, Scheduler::max_procs));
        let mut collector = self.collector.lock();
        let (soft, hard) = session.limits();
        collector.set_limits(soft, hard);
        collector.begin(next, Moment::now(self.now()));
        drop(collector);
        self.generation.store(next, Release); // pairs with `Writer::advance`
        for stream in self.all_streams() {
            if let Some(mut writer) = stream.writer_of(self, epoch) {
                writer.advance();
            }
        }
        self.deliver(session);
    }

    /// Writes the statuses of all goroutines that the generation does not have yet. The first
    /// generation of a file has to name each one.
    fn name_all(&self, epoch: u64, scheduler: Option<&'static dyn Scheduler>) {
        if let Some(scheduler) = scheduler {
            scheduler.walk(&mut |g, rest| {
                if let Some(mut writer) = self.own.writer(self) {
                    writer.seen_by_walk(g, rest);
                }
            });
        }
        for stream in self.all_streams() {
            if let Some(mut writer) = stream.writer_of(self, epoch) {
                writer.show();
            }
        }
    }

    fn all_streams(&self) -> Vec<Arc<super::Stream>> {
        self.streams.lock().clone()
    }

    /// Passes the generation on that no thread writes any more.
    fn deliver(&self, session: &mut Session) {
        let mut collector = self.collector.lock();
        let generation = collector.end().map(Arc::new);
        let is_lost = collector.take_loss();
        drop(collector);
        let Some(generation) = generation else { return };
        if let Some(file) = session.file.as_mut().filter(|file| !file.has_failed) {
            // A recorder was there before the file.
            if generation.number >= file.first {
                if is_lost {
                    file.output.fail(too_slow());
                } else {
                    file.output.push(encoded(&generation));
                }
            }
            file.has_failed = file.output.has_failed();
            if file.has_failed {
                self.file_from.store(u64::MAX, Relaxed);
            }
        }
        if let Some(ring) = &mut session.ring {
            if is_lost {
                ring.clear();
            } else {
                ring.push(generation, self.now());
            }
        }
    }

    /// Ends the trace if nothing gets its events.
    fn end_if_over(&self, session: &mut Session) {
        let epoch = self.epoch.load(Relaxed);
        if !session.is_over() || !is_active(epoch) {
            return;
        }
        if let Some(scheduler) = session.scheduler.take() {
            scheduler.switch(false);
        }
        self.epoch.store(epoch + 1, Release); // pairs with `Stream::writer`
        // Waits for the threads that write now. Later ones see the new epoch.
        for stream in self.all_streams() {
            drop(stream.writer_of(self, epoch));
        }
        self.goroutines.clear();
        *self.procs.lock() = super::Procs::default();
        self.regions.clear();
        self.collector.lock().clear();
        self.request_flip();
    }
}

fn encoded(generation: &Generation) -> Vec<u8> {
    let mut out = Vec::with_capacity(generation.bytes + generation.bytes / 8 + 1024);
    generation.encode(&mut out, &[]);
    out
}
