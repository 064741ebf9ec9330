//! The thread that writes a trace to its file.
//!
//! Generations wait in a queue, so a slow writer holds up no worker. If too much waits, the trace
//! ends with an error.

use super::wire::HEADER;
use crate::prim::contain;
use crate::prim::fixed::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// How much may wait for a slow writer.
pub(super) const MAX_UNWRITTEN: usize = 64 << 20;

/// The queue to a writer. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct TraceOutput {
    queue: Mutex<OutputQueue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct OutputQueue {
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    end: OutputEnd,
}

/// How far the output is.
#[derive(Debug, Default)]
enum OutputEnd {
    /// More follows.
    #[default]
    Open,
    /// Nothing follows.
    Closed,
    /// Everything is written.
    Written,
    /// It ended before.
    Failed(io::Error),
}

impl TraceOutput {
    /// Starts the thread that writes to `w`.
    pub(super) fn start(w: impl Write + Send + 'static) -> io::Result<Arc<Self>> {
        let output = Arc::new(Self::default());
        output.push(HEADER.to_vec());
        let queue = output.clone();
        let mut w: Box<dyn Write + Send> = Box::new(w);
        thread::Builder::new().name("gmp-trace-out".to_owned()).spawn(move || {
            let mut result = Err(io::Error::other("the writer of the trace panicked"));
            // The writer is user code.
            contain(|| result = queue.write_to(&mut w));
            contain(|| drop(w));
            queue.ends(result);
        })?;
        Ok(output)
    }

    fn write_to(&self, w: &mut dyn Write) -> io::Result<()> {
        while let Some(bytes) = self.next() {
            w.write_all(&bytes)?;
            // Counted until it is written.
            self.queue.lock().bytes -= bytes.len();
        }
        w.flush()
    }

    /// Returns what is to be written next. `None` at the end, or if the output has failed.
    fn next(&self) -> Option<Vec<u8>> {
        let mut queue = self.queue.lock();
        loop {
            match queue.end {
                OutputEnd::Failed(_) | OutputEnd::Written => return None,
                OutputEnd::Open | OutputEnd::Closed => {}
            }
            if let Some(bytes) = queue.waiting.pop_front() {
                return Some(bytes);
            }
            if matches!(queue.end, OutputEnd::Closed) {
                return None;
            }
            self.changed.wait(&mut queue);
        }
    }

    fn ends(&self, result: io::Result<()>) {
        let mut queue = self.queue.lock();
        if matches!(queue.end, OutputEnd::Failed(_)) {
            return;
        }
        queue.end = match result {
            Ok(()) => OutputEnd::Written,
            Err(error) => OutputEnd::Failed(error),
        };
        queue.waiting.clear();
        self.changed.notify_all();
    }

    /// Ends the output with an error, unless it has one.
    pub(super) fn fail(&self, error: io::Error) {
        self.ends(Err(error));
    }

    /// Appends a part of the file.
    pub(super) fn push(&self, bytes: Vec<u8>) {
        let mut queue = self.queue.lock();
        if !matches!(queue.end, OutputEnd::Open) {
            return;
        }
        if queue.bytes + bytes.len() > MAX_UNWRITTEN {
            drop(queue);
            return self.fail(too_slow());
        }
        queue.bytes += bytes.len();
        queue.waiting.push_back(bytes);
        self.changed.notify_all();
    }

    /// Whether the output has ended with an error.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.queue.lock().end, OutputEnd::Failed(_))
    }

    /// Waits until everything is written, at most until `deadline`. Does not wait for a writer that
    /// has failed.
    ///
    /// After the deadline the thread goes on to write, and the call may be repeated.
    pub(crate) fn finish(&self, deadline: Option<Instant>) -> io::Result<()> {
        let mut queue = self.queue.lock();
        if matches!(queue.end, OutputEnd::Open) {
            queue.end = OutputEnd::Closed;
            self.changed.notify_all();
        }
        while matches!(queue.end, OutputEnd::Closed) {
            match deadline {
                None => self.changed.wait(&mut queue),
                Some(deadline) => {
                    let waited = self.changed.wait_until(&mut queue, deadline);
                    if waited.timed_out() && matches!(queue.end, OutputEnd::Closed) {
                        return Err(unwritten(queue.bytes));
                    }
                }
            }
        }
        match std::mem::replace(&mut queue.end, OutputEnd::Written) {
            OutputEnd::Failed(error) => Err(error),
            OutputEnd::Open | OutputEnd::Closed | OutputEnd::Written => Ok(()),
        }
    }
}

/// Returns the error of a trace that is not written in time.
fn unwritten(bytes: usize) -> io::Error {
    let text = format!("{bytes} bytes of it are not written yet, because its writer waits");
    io::Error::new(io::ErrorKind::TimedOut, text)
}

/// Returns the error of a trace whose events come faster than they are written.
pub(super) fn too_slow() -> io::Error {
    let text = format!(
        "the trace has ended: more than {} MiB wait for its writer; \
         a faster writer, or a flight recorder, keeps up",
        MAX_UNWRITTEN >> 20
    );
    io::Error::new(io::ErrorKind::StorageFull, text)
}
