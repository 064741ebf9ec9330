//! Execution traces and the flight recorder, which record all runtimes of the process.
//!
//! One trace and one recorder run at a time, so operations that find one running do nothing.

use crate::context::Cx;
use crate::coverage::{End, did};
use crate::violation::violation;
use gmp::trace::{FlightRecorder, Recording};
use parking_lot::Mutex;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// The first bytes of each trace.
const HEADER: &[u8] = b"go 1.26 trace";

/// Whether an operation has the trace, and whether one has the recorder.
static TRACE: AtomicBool = AtomicBool::new(false);
static RECORDER: AtomicBool = AtomicBool::new(false);

/// The right to use the trace or the recorder.
struct Turn(&'static AtomicBool);

impl Turn {
    fn take(taken: &'static AtomicBool) -> Option<Self> {
        (!taken.swap(true, SeqCst)).then(|| Self(taken))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

/// The first bytes that a trace has written. All of them would be megabytes, which malloc keeps.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn has_header(&self) -> bool {
        self.0.lock().as_slice() == HEADER
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut written = self.0.lock();
        let missing = (HEADER.len() - written.len()).min(bytes.len());
        written.extend_from_slice(&bytes[..missing]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A trace that runs. Its drop, also in an aborted operation, ends it and checks what was written.
struct Traced {
    written: Written,
    _turn: Turn,
}

impl Drop for Traced {
    fn drop(&mut self) {
        if let Err(error) = gmp::trace::stop() {
            violation(format!("the end of a trace: {error}"));
        }
        if !self.written.has_header() {
            violation("a trace has no header");
        }
        // The tracer has dropped its writer.
        if Arc::strong_count(&self.written.0) != 1 {
            violation("a trace has ended and keeps its writer");
        }
        did("trace::stop", End::Ok);
    }
}

/// Makes entries of the program, some of which end later than the trace.
async fn annotate(cx: &mut Cx) {
    let task = gmp::trace::task("operation");
    let part = task.task("part");
    let region = part.region("pause");
    cx.pause().await;
    part.log("draws", cx.rand.below(1000));
    gmp::trace::log("no", "task");
    drop(region);
    let _region = gmp::trace::region("rest");
    cx.pause().await;
}

/// A trace of all runtimes begins and ends while they work.
pub(crate) async fn trace(mut cx: Cx) {
    let Some(turn) = Turn::take(&TRACE) else { return did("trace::start", End::Not) };
    let written = Written::default();
    if let Err(error) = gmp::trace::start(written.clone()) {
        violation(format!("a trace does not begin: {error}"));
    }
    let traced = Traced { written, _turn: turn };
    did("trace::start", End::Ok);
    if !gmp::trace::is_enabled() {
        violation("a trace runs and is not enabled");
    }
    if gmp::trace::start(std::io::sink()).is_ok() {
        violation("two traces run at once");
    }
    annotate(&mut cx).await;
    gmp::sleep(cx.rand.micros(2000)).await;
    drop(traced);
}

fn check_recording(recording: &Recording) {
    let written = Written::default();
    if let Err(error) = recording.write_to(written.clone()) {
        violation(format!("a flight recorder does not write: {error}"));
    }
    if !written.has_header() {
        violation("a recording has no header");
    }
    did("Recording::write_to", End::Ok);
}

/// The flight recorder writes several times, and ends while the runtimes work.
pub(crate) async fn flight_recorder(mut cx: Cx) {
    let Some(turn) = Turn::take(&RECORDER) else { return did("FlightRecorder::start", End::Not) };
    let recorder = FlightRecorder::new(Duration::from_millis(1 + cx.rand.below(20)));
    let recording = match recorder.max_bytes(1 << 20).start() {
        Ok(recording) => recording,
        Err(error) => violation(format!("a flight recorder does not begin: {error}")),
    };
    // Dropped before the turn, also in an aborted operation.
    let recorded = (recording, turn);
    did("FlightRecorder::start", End::Ok);
    for _ in 0..1 + cx.rand.below(2) {
        annotate(&mut cx).await;
        gmp::sleep(cx.rand.micros(2000)).await;
        check_recording(&recorded.0);
    }
    let _ = recorded.0.lost_bytes();
}
