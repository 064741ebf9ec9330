//! What the runtime reports: to the hook of the program, or to stderr.
//!
//! A message that ends the process is no event. It goes to stderr in any case.

pub(crate) mod reporter;

use super::stall::Stall;
use crate::prim::debug_assert_no_lock_held;
use crate::sys::stderr;
use crate::wait_reason::WaitReason;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::Location;
use std::time::{Duration, Instant};

/// Something that the runtime reports. [`on_event`](crate::runtime::on_event) sets the hook that
/// gets it.
///
/// [`Display`](fmt::Display) is the text that stderr gets if there is no hook. It has several lines
/// in some cases, and no line feed at its end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A goroutine panicked, and no [`JoinHandle`](crate::JoinHandle) returns the panic.
    #[non_exhaustive]
    UnjoinedPanic {
        /// The goroutine's id.
        goid: u64,
        /// The goroutine's name, if it has one.
        name: Option<String>,
        /// The place where it was spawned.
        spawned_at: &'static Location<'static>,
        /// The id of the goroutine that spawned it; 0 for an external thread.
        parent: u64,
        /// The message of the panic.
        message: String,
        /// The reason of the goroutine's last wait.
        last_wait: WaitReason,
    },
    /// A goroutine stalled its thread. Only with `GMPDEBUG=stall=1`, once per spawn site.
    /// [`on_stall`](crate::runtime::on_stall) reports every stall.
    Stall(Stall),
    /// No goroutine of a runtime can ever be woken. Only if `GMPDEBUG=deadlock=…` or
    /// `#[gmp::main]` asks for it, once per runtime.
    #[non_exhaustive]
    Deadlock {
        /// All goroutines of the runtime, as from [`dump`](crate::runtime::dump).
        dump: String,
    },
    /// The OS refused a thread, or the runtime has 10,000. Once per runtime.
    #[non_exhaustive]
    ThreadRefused {
        /// The cause.
        cause: String,
    },
    /// A runtime has more than 512 threads, because goroutines block the others. Once per
    /// runtime.
    #[non_exhaustive]
    ManyThreads {
        /// The number of threads.
        threads: usize,
    },
    /// A dropped runtime did not end within its time.
    #[non_exhaustive]
    StillRunning {
        /// The goroutines and threads that have not ended: the text of a
        /// [`ShutdownError`](crate::runtime::ShutdownError).
        left: String,
    },
    /// An environment variable has an invalid value.
    #[non_exhaustive]
    InvalidSetting {
        /// The name of the variable.
        variable: &'static str,
        /// Its value, unless only a part of it is invalid, which the complaint names.
        value: Option<String>,
        /// What is wrong, and what the runtime does.
        complaint: String,
    },
    /// SIGQUIT will not show the goroutines.
    #[non_exhaustive]
    SigquitUnavailable {
        /// The cause.
        cause: String,
    },
    /// A line of `GMPDEBUG=schedtrace=N`.
    #[non_exhaustive]
    Trace {
        /// The line. With `scheddetail=1` it is followed by a line for each P and M. The lines of
        /// the goroutines are in further events.
        text: String,
    },
    /// The execution trace of `GMPDEBUG=trace=FILE` could not be written.
    #[non_exhaustive]
    TraceFailed {
        /// The file.
        file: String,
        /// The cause.
        cause: String,
    },
    /// The hook was too slow, so the runtime dropped events or stalls.
    #[non_exhaustive]
    Lost {
        /// The number of dropped ones.
        count: u64,
    },
}

/// How urgent an [`Event`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Something that was asked for.
    Info,
    /// The program runs on, with a restriction.
    Warning,
    /// A bug of the program.
    Error,
}

impl Event {
    /// Returns how urgent the event is, for the level of a log.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::UnjoinedPanic { .. } | Self::Deadlock { .. } => Severity::Error,
            Self::Trace { .. } => Severity::Info,
            Self::Stall(_)
            | Self::ThreadRefused { .. }
            | Self::ManyThreads { .. }
            | Self::StillRunning { .. }
            | Self::InvalidSetting { .. }
            | Self::SigquitUnavailable { .. }
            | Self::TraceFailed { .. }
            | Self::Lost { .. } => Severity::Warning,
        }
    }
}

/// Go's message.
pub(super) const ALL_ASLEEP: &str = "all goroutines are asleep - deadlock!";

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnjoinedPanic { goid, name, spawned_at, parent, message, last_wait } => {
                let name = name.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
                write!(
                    f,
                    "gmp: goroutine {goid}{name} panicked and nobody joined it: {message}\n\
                     \tspawned at {spawned_at} by goroutine {parent}; last wait: {last_wait}"
                )
            }
            Self::Stall(stall) => write!(f, "gmp: stall: {stall}"),
            Self::Deadlock { dump } => {
                write!(
                    f,
                    "gmp: {ALL_ASLEEP} (nothing can wake them; an abort could end them)\n\n{dump}"
                )
            }
            Self::ThreadRefused { cause } => {
                write!(f, "gmp: cannot start a thread ({cause}); continuing with those there are")
            }
            Self::StillRunning { left } => write!(f, "gmp: runtime dropped: {left}"),
            Self::ManyThreads { threads } => {
                write!(
                    f,
                    "gmp: {threads} threads, because goroutines block them; bound such calls by a \
                     semaphore or use spawn_blocking"
                )
            }
            Self::InvalidSetting { variable, value, complaint } => {
                let value = value.as_ref().map(|value| format!("={value}")).unwrap_or_default();
                write!(f, "gmp: {variable}{value}: {complaint}")
            }
            Self::SigquitUnavailable { cause } => {
                write!(f, "gmp: SIGQUIT will not show the goroutines: {cause}")
            }
            Self::TraceFailed { file, cause } => {
                write!(f, "gmp: the trace {file} is not complete: {cause}")
            }
            Self::Trace { text } => f.write_str(text),
            Self::Lost { count } => {
                write!(f, "gmp: {count} events were dropped: the hook of on_event is too slow")
            }
        }
    }
}

/// A text of more bytes may exceed the room of a pipe that is read. The reporter thread writes it,
/// because that thread may wait for the reader.
const LONG: usize = 4096;

/// How long the reporter thread waits for the reader of stderr. Chosen.
const LONG_WAIT: Duration = Duration::from_secs(1);

/// Reports `event`: to the hook on the reporter thread, or to stderr if there is no hook. Does not
/// wait for either.
///
/// The caller holds no lock of gmp.
pub(crate) fn emit(event: Event) {
    debug_assert_no_lock_held("reports an event");
    let Err(event) = reporter::offer(event) else { return };
    let text = event.to_string();
    if text.len() <= LONG || reporter::start().is_err() {
        return stderr::write_line(&text, Duration::ZERO);
    }
    let _ = reporter::post(Box::new(move || stderr::write_line(&text, LONG_WAIT)));
}

/// Reports `event` before this returns: to the hook, or to stderr if there is no hook. Only on the
/// reporter thread, which may wait. `Break` means that nobody reads stderr.
pub(super) fn emit_here(event: &Event) -> ControlFlow<()> {
    if reporter::call_hook(event) {
        return ControlFlow::Continue(());
    }
    let begin = Instant::now();
    stderr::write_line(&event.to_string(), LONG_WAIT);
    if begin.elapsed() < LONG_WAIT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// Writes `text` to stderr, for a process that is about to end. The events before it come first.
pub(crate) fn last_words(text: &str) {
    debug_assert_no_lock_held("ends the process");
    reporter::flush();
    stderr::write_line(text, crate::throw::LAST_WORDS);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_event_says_what_happened() {
        let panic = Event::UnjoinedPanic {
            goid: 7,
            name: Some("worker".to_owned()),
            spawned_at: Location::caller(),
            parent: 1,
            message: "oh no".to_owned(),
            last_wait: WaitReason::Sleep,
        };
        let text = panic.to_string();
        assert!(text.starts_with(
            "gmp: goroutine 7 \"worker\" panicked and nobody joined it: oh no\n\tspawned at "
        ));
        assert!(text.ends_with(" by goroutine 1; last wait: sleep"), "{text}");
        assert_eq!(panic.severity(), Severity::Error);
        let trace = Event::Trace { text: "SCHED 0ms:".to_owned() };
        assert_eq!((trace.to_string().as_str(), trace.severity()), ("SCHED 0ms:", Severity::Info));
        let setting = |value| Event::InvalidSetting {
            variable: "GMPDEBUG",
            value,
            complaint: "bad".to_owned(),
        };
        assert_eq!(setting(None).to_string(), "gmp: GMPDEBUG: bad");
        assert_eq!(setting(Some("x".to_owned())).to_string(), "gmp: GMPDEBUG=x: bad");
        let setting = setting(None);
        assert!(setting.severity() < panic.severity());
    }
}
