//! `GMPDEBUG=trace=FILE`: a trace from the first runtime of the process to the end of that runtime,
//! or to the end of the process.

use crate::limits::{DROP_GRACE, TRACE_GRACE};
use crate::observe::event::{self, Event};
use crate::prim::fixed::Mutex;
use crate::sched::Sched;
use crate::sys::exit;
use crate::sys::trace_file::TraceFile;
use crate::trace;
use crate::tracer::TraceOutput;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Instant;

/// The trace that the environment asks for.
static TRACE: Mutex<FileTrace> = Mutex::new(FileTrace::New);

#[derive(Debug)]
enum FileTrace {
    New,
    Running {
        file: PathBuf,
        first: Weak<Sched>,
    },
    /// Not written before the deadline, which was reported.
    Late(Arc<TraceOutput>),
    Over,
}

/// Begins the trace if `first` is the first runtime. `%p` in `file` stands for the process id.
pub(super) fn begin(file: &str, first: &Arc<Sched>) {
    let file = &PathBuf::from(file.replace("%p", &std::process::id().to_string()));
    let mut state = TRACE.lock();
    if !matches!(*state, FileTrace::New) {
        return;
    }
    *state = FileTrace::Running { file: file.to_owned(), first: Arc::downgrade(first) };
    drop(state);
    if let Err(error) = TraceFile::create(file).and_then(trace::start) {
        *TRACE.lock() = FileTrace::Over;
        return report(file, &error);
    }
    if !exit::at_exit(end_at_exit) {
        report(file, &io::ErrorKind::OutOfMemory.into());
    }
}

/// Ends the trace if `sched`, which has ended, was the first runtime. Waits until it is written, at
/// most until `deadline`.
pub(super) fn end(sched: &Arc<Sched>, deadline: Option<Instant>) {
    let is_first = match &*TRACE.lock() {
        FileTrace::Running { first, .. } => std::ptr::eq(first.as_ptr(), Arc::as_ptr(sched)),
        FileTrace::New | FileTrace::Late(_) | FileTrace::Over => false,
    };
    if is_first {
        end_now(deadline);
    }
}

extern "C" fn end_at_exit() {
    end_now(Instant::now().checked_add(TRACE_GRACE));
}

fn end_now(deadline: Option<Instant>) {
    // In the child of a fork another thread may hold the lock for ever.
    let Some(mut state) = TRACE.try_lock() else { return };
    let file = match std::mem::replace(&mut *state, FileTrace::Over) {
        FileTrace::Running { file, .. } => file,
        FileTrace::Late(output) => {
            drop(state);
            // The last chance of the writer. A second report would say the same.
            let _ = output.finish(Instant::now().checked_add(DROP_GRACE));
            return;
        }
        FileTrace::New | FileTrace::Over => return,
    };
    drop(state);
    if let Err(error) = finish(deadline) {
        // Not in the child of a fork: the trace is the parent's. Not if the program has ended it.
        if !matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::NotFound) {
            report(&file, &error);
        }
    }
}

/// Ends the trace, and waits for its writer until `deadline`.
fn finish(deadline: Option<Instant>) -> io::Result<()> {
    let output = trace::end()?;
    let finished = output.finish(deadline);
    if finished.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
        *TRACE.lock() = FileTrace::Late(output);
    }
    finished
}

fn report(file: &Path, error: &io::Error) {
    let (file, cause) = (file.display().to_string(), error.to_string());
    event::emit(Event::TraceFailed { file, cause });
}
