//! The process of a cell: it is started, watched, and killed if it does not end.

use super::control;
use super::names::PROCS;
use crate::entrant::Runtime;
use crate::programs::Program;
use std::io::Read;
use std::ops::ControlFlow;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time that a process has to print its result after its limit.
const GRACE: Duration = Duration::from_secs(5);

/// The interval at which the process of a contestant with its own control thread is watched.
const WATCH: Duration = Duration::from_millis(20);

/// The end of a process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It printed this.
    Printed(String),
    /// It did not end in time and was killed.
    Killed,
    /// The program does not know the cell.
    Unknown,
}

/// The result of a process.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) end: End,
    /// The worst lateness of the thread that watched the process.
    pub(crate) control: Duration,
}

/// Runs the cell `name`, which ends by itself within `limit`, with [`PROCS`] procs. Calls `look`
/// with the id of the process while it runs.
pub(crate) fn run(
    program: &Program,
    name: &str,
    limit: Duration,
    look: &mut dyn FnMut(u32),
) -> Result<Outcome, String> {
    // A thread of a Go program needs a P to return from a sleep, so it cannot be the control.
    let tick = if program.entrant.runtime == Runtime::Go { control::TICK } else { WATCH };
    let mut command = program.run(name);
    for variable in ["GMPMAXPROCS", "TOKIO_WORKER_THREADS", "GOMAXPROCS"] {
        command.env(variable, PROCS.to_string());
    }
    let outcome = watch(&mut command, limit + GRACE, tick, look);
    outcome.map_err(|error| format!("{} {name}: {error}", program.entrant))
}

/// Runs a command until it ends or `limit` is over.
fn watch(
    command: &mut Command,
    limit: Duration,
    tick: Duration,
    look: &mut dyn FnMut(u32),
) -> Result<Outcome, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let stdout = collect(child.stdout.take().expect("a pipe"));
    let stderr = collect(child.stderr.take().expect("a pipe"));
    let start = Instant::now();
    let (control, status) = control::run(tick, || {
        look(child.id());
        match child.try_wait() {
            Ok(None) if start.elapsed() < limit => ControlFlow::Continue(()),
            ended => ControlFlow::Break(ended),
        }
    });
    let end = match status.map_err(|error| error.to_string())? {
        Some(status) => end_of(status, text(stdout)?, &text(stderr)?)?,
        None => {
            kill(&mut child);
            End::Killed
        }
    };
    Ok(Outcome { end, control })
}

fn kill(child: &mut Child) {
    // It may have ended since.
    let _ = child.kill();
    let _ = child.wait();
}

/// Reads a pipe to its end on a thread, so that the process never waits for the reader.
fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<std::io::Result<Vec<u8>>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).map(|_| bytes)
    })
}

fn text(reader: JoinHandle<std::io::Result<Vec<u8>>>) -> Result<String, String> {
    let bytes = reader.join().expect("a reader does not panic");
    let bytes = bytes.map_err(|error| format!("cannot read the output: {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn end_of(status: ExitStatus, stdout: String, stderr: &str) -> Result<End, String> {
    if status.success() {
        Ok(End::Printed(stdout))
    } else if stderr.contains(crate::UNKNOWN) {
        Ok(End::Unknown)
    } else {
        Err(format!("failed ({status}): {}", stderr.trim_end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<Outcome, String> {
        let mut command = Command::new("sh");
        watch(command.args(["-c", script]), limit, Duration::from_millis(1), &mut |_| ())
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn the_output_of_a_process_is_read() {
        let outcome = shell("echo sample 1 2; echo noise >&2", LONG).unwrap();
        assert_eq!(outcome.end, End::Printed("sample 1 2\n".to_owned()));
    }

    #[test]
    fn a_process_that_does_not_end_is_killed() {
        let outcome = shell("exec sleep 60", Duration::from_millis(20)).unwrap();
        assert_eq!(outcome.end, End::Killed);
    }

    #[test]
    fn an_unknown_cell_is_no_error_but_a_crash_is() {
        let unknown = "echo 'no such contestant or workload: gmp late/x' >&2; exit 1";
        assert_eq!(shell(unknown, LONG).unwrap().end, End::Unknown);
        let crash = shell("echo 'wrong sum' >&2; exit 101", LONG).unwrap_err();
        assert!(crash.contains("wrong sum"), "{crash}");
    }

    #[test]
    fn more_output_than_a_pipe_holds_does_not_stop_the_process() {
        let outcome =
            shell("head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2", LONG).unwrap();
        let End::Printed(text) = outcome.end else { panic!("{:?}", outcome.end) };
        assert_eq!(text.len(), 300_000);
    }
}
