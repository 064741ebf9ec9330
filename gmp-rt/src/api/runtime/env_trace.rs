//! `GMPDEBUG=trace=FILE`: a trace from the first runtime of the process to the end of that runtime,
//! or to the end of the process.

use crate::observe::event::{self, Event};
use crate::prim::fixed::Mutex;
use crate::sched::Sched;
use crate::sys::exit;
use crate::trace;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

/// The trace that the environment asks for.
static TRACE: Mutex<FileTrace> = Mutex::new(FileTrace::New);

#[derive(Debug)]
enum FileTrace {
    New,
    Running { file: PathBuf, first: Weak<Sched> },
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
    if let Err(error) = File::create(file).and_then(trace::start) {
        *TRACE.lock() = FileTrace::Over;
        return report(file, &error);
    }
    if !exit::at_exit(end_at_exit) {
        report(file, &io::ErrorKind::OutOfMemory.into());
    }
}

/// Ends the trace if `sched`, which has ended, was the first runtime.
pub(super) fn end(sched: &Arc<Sched>) {
    let is_first = match &*TRACE.lock() {
        FileTrace::Running { first, .. } => std::ptr::eq(first.as_ptr(), Arc::as_ptr(sched)),
        FileTrace::New | FileTrace::Over => false,
    };
    if is_first {
        end_now();
    }
}

extern "C" fn end_at_exit() {
    end_now();
}

fn end_now() {
    // In the child of a fork another thread may hold the lock for ever.
    let Some(mut state) = TRACE.try_lock() else { return };
    let FileTrace::Running { file, .. } = std::mem::replace(&mut *state, FileTrace::Over) else {
        return;
    };
    drop(state);
    if let Err(error) = trace::stop() {
        // Not in the child of a fork: the trace is the parent's. Not if the program has ended it.
        if !matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::NotFound) {
            report(&file, &error);
        }
    }
}

fn report(file: &Path, error: &io::Error) {
    let (file, cause) = (file.display().to_string(), error.to_string());
    event::emit(Event::TraceFailed { file, cause });
}
