//! Execution traces for Go's viewer: what each goroutine and each thread did, and when.
//!
//! `go tool trace FILE` opens a trace (Go 1.26 or later). It shows a timeline of Ps and threads,
//! with each goroutine that ran, why it stopped, and which goroutine woke it. It lists goroutines
//! by the future that they run, and has profiles of the time that they waited for the network, for
//! synchronisation and for a P. Calls of [`block_in_place`](crate::block_in_place()), and threads
//! that lost their P, are shown as system calls. Goroutines of all runtimes of the process are in
//! one trace.
//!
//! - [`start`] and [`stop`] write a trace to a file.
//! - A [`FlightRecorder`] keeps the last seconds in memory, to be written when something happens.
//! - [`task`], [`region`] and [`log`] add what the program does.
//! - `GMPDEBUG=trace=FILE` traces a program from its first runtime to its end, without a change.
//!
//! # Costs
//!
//! While no trace runs, each event costs a load and a branch. While one runs, an event takes about
//! 200 ns and 5 to 8 bytes, and each goroutine about 30 bytes of memory. At its end, or after a
//! second, a trace of [`start`] names all goroutines: about 10 bytes for each.
//!
//! # Limits
//!
//! A goroutine has no stack while it waits. Its stack in a trace consists of what it waits for, and
//! of the place where it was spawned. The trace does not show code outside of goroutines.
//!
//! # Examples
//!
//! ```
//! # use gmp_rt as gmp;
//! # fn main() -> std::io::Result<()> {
//! # let path = std::env::temp_dir().join(format!("gmp-doc-{}.trace", std::process::id()));
//! gmp::trace::start(std::fs::File::create(&path)?)?;
//! gmp::block_on(async {
//!     gmp::spawn(async { gmp::yield_now().await }).await.unwrap();
//! });
//! gmp::trace::stop()?;
//! # assert!(std::fs::read(&path)?.starts_with(b"go 1.26 trace"));
//! # std::fs::remove_file(&path)?;
//! # Ok(())
//! # }
//! ```

use crate::sched::forked::FORKED;
use crate::sched::handoff;
use crate::sched::traced::Traced;
use crate::sys::fork;
use crate::tracer::{RegionId, TRACER, TraceOutput, hook};
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

/// Begins to write a trace of all runtimes of this process to `w`.
///
/// A separate thread writes, so `w` may be slow, and needs no buffer. [`stop`] ends the trace. One
/// trace runs at a time. A [`FlightRecorder`] may run at the same time.
///
/// # Errors
///
/// If a trace runs already, or the OS refuses a thread, or in a fork of a process that has traced.
/// An error of `w` ends the trace, and so does a `w` for which more than 64 MiB wait: [`stop`]
/// returns these errors.
///
/// # Examples
///
/// ```no_run
/// # use gmp_rt as gmp;
/// gmp::trace::start(std::fs::File::create("app.trace")?)?;
/// # std::io::Result::Ok(())
/// ```
pub fn start(w: impl Write + Send + 'static) -> io::Result<()> {
    check_fork()?;
    handoff::syscall(|| TRACER.start_file(&Traced, w))
}

/// Ends the trace that [`start`] began. Returns when everything is written.
///
/// In a goroutine this is a blocking call.
///
/// # Errors
///
/// The error that ended the trace early, see [`start`]. If no trace runs: `NotFound`.
pub fn stop() -> io::Result<()> {
    check_fork()?;
    handoff::syscall(|| TRACER.stop_file()?.finish(None))
}

/// Ends the trace that [`start`] began. Returns its output, which may not be written yet.
pub(crate) fn end() -> io::Result<Arc<TraceOutput>> {
    check_fork()?;
    handoff::syscall(|| TRACER.stop_file())
}

/// Whether events are recorded: a trace or a [`FlightRecorder`] runs.
///
/// It costs one load, and serves to avoid the work of a [`log`] whose text is expensive.
#[must_use]
pub fn is_enabled() -> bool {
    hook::is_on()
}

/// Returns an error in a fork: its copy of the tracer has no thread.
fn check_fork() -> io::Result<()> {
    match TRACER.forks() == fork::forks() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::Unsupported, FORKED)),
    }
}

/// Begins a task: an operation of the program, of which several goroutines may do parts.
///
/// The viewer lists the tasks with their durations, regions and messages. Dropping the [`Task`]
/// ends it. Without a trace, or outside of a goroutine, it does nothing.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// # gmp::block_on(async {
/// let request = gmp::trace::task("request");
/// {
///     let _parse = request.region("parse");
///     request.log("bytes", 512);
///     gmp::yield_now().await;
/// }
/// # });
/// ```
#[must_use = "dropping it ends the task"]
pub fn task(name: &str) -> Task {
    Task { id: hook::task(0, name).unwrap_or(0) }
}

/// Begins a region of the current goroutine that belongs to no task. See [`Task::region`].
#[must_use = "dropping it ends the region"]
pub fn region(name: &str) -> Region {
    Region { id: hook::region(0, name) }
}

/// Writes a message that belongs to no task. See [`Task::log`].
pub fn log(key: &str, value: impl fmt::Display) {
    log_in(0, key, &value);
}

fn log_in(task: u64, key: &str, value: &dyn fmt::Display) {
    if is_enabled() {
        // Before the tracer takes a lock: the format is user code.
        hook::log(task, key, &value.to_string());
    }
}

/// A task. See [`task()`].
#[derive(Debug)]
#[must_use = "dropping it ends the task"]
pub struct Task {
    /// 0 if it is not in a trace.
    id: u64,
}

impl Task {
    /// Begins a task that is a part of this one.
    pub fn task(&self, name: &str) -> Self {
        Self { id: hook::task(self.id, name).unwrap_or(0) }
    }

    /// Begins a region: a part of the work of the current goroutine.
    ///
    /// Dropping the [`Region`] ends it. It may be held across an await. The viewer shows the time
    /// between, and how long the goroutine ran and waited in it.
    pub fn region(&self, name: &str) -> Region {
        Region { id: hook::region(self.id, name) }
    }

    /// Writes a message. `value` is formatted only if a trace runs. A trace keeps at most the first
    /// 1024 bytes of each text.
    pub fn log(&self, key: &str, value: impl fmt::Display) {
        log_in(self.id, key, &value);
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if self.id != 0 {
            hook::end_task(self.id);
        }
    }
}

/// A region. See [`Task::region`].
///
/// It belongs to the goroutine that began it. If it is dropped elsewhere, it ends when that
/// goroutine runs next.
#[derive(Debug)]
#[must_use = "dropping it ends the region"]
pub struct Region {
    id: Option<RegionId>,
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            hook::end_region(id);
        }
    }
}

/// Settings of a flight recorder: a trace of the last seconds, in bounded memory.
///
/// A service may always have one, and write it when a request was slow, in the hook of
/// [`on_stall`](crate::runtime::on_stall), or in a panic hook.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use gmp::trace::FlightRecorder;
/// use std::time::Duration;
///
/// let recording = FlightRecorder::new(Duration::from_secs(5)).max_bytes(4 << 20).start()?;
/// // …when something is wrong:
/// let mut file = Vec::new(); // or std::fs::File::create("slow.trace")?
/// recording.write_to(&mut file)?;
/// # assert!(file.starts_with(b"go 1.26 trace"));
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "it records nothing until `start`"]
pub struct FlightRecorder {
    span: Duration,
    max_bytes: usize,
}

/// The smallest `max_bytes`: a few buffers of threads.
const LEAST_BYTES: usize = 512 << 10;

impl FlightRecorder {
    /// Records at least the last `span`, if the limit of bytes permits.
    pub fn new(span: Duration) -> Self {
        Self { span, max_bytes: 10 << 20 }
    }

    /// Sets about how many bytes of events are kept. Default: 10 MiB; at least 512 KiB.
    ///
    /// If more happens, it records a shorter time. Beside that each thread has a buffer of 64 KiB,
    /// and each goroutine that did something takes about 30 bytes.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes.max(LEAST_BYTES);
        self
    }

    /// Begins to record. One recorder runs at a time, beside a trace of [`start`](start()).
    ///
    /// # Errors
    ///
    /// If one runs already, or the OS refuses a thread, or in a fork of a process that has traced.
    pub fn start(&self) -> io::Result<Recording> {
        check_fork()?;
        handoff::syscall(|| TRACER.start_ring(&Traced, self.span, self.max_bytes))?;
        Ok(Recording(()))
    }
}

/// A flight recorder that runs. Dropping it ends it.
#[derive(Debug)]
#[must_use = "dropping it ends the recorder"]
pub struct Recording(());

impl Recording {
    /// Writes what was recorded, up to now, as a file for `go tool trace`. The recorder continues.
    ///
    /// In a goroutine this is a blocking call.
    ///
    /// # Errors
    ///
    /// Those of `w`.
    pub fn write_to(&self, mut w: impl Write) -> io::Result<()> {
        check_fork()?;
        handoff::syscall(|| {
            w.write_all(&TRACER.record())?;
            w.flush()
        })
    }

    /// Returns how many bytes of events were lost, because they came faster than the recorder could
    /// sort out old ones. A loss discards what was recorded before it.
    #[must_use]
    pub fn lost_bytes(&self) -> u64 {
        TRACER.lost_bytes()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if check_fork().is_ok() {
            handoff::syscall(|| TRACER.stop_ring());
        }
    }
}
