//! SIGQUIT, sent to child processes.
#![cfg(unix)]

use super::support::{child_with_signals, is_child};
use gmp::go;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A child prints this line when it has reached the state that the test needs.
const READY: &str = "child is ready";

/// A child that has printed [`READY`].
struct Started(Child);

impl Started {
    fn new(name: &str, env: &[(&str, &str)]) -> Self {
        let mut command = child_with_signals(name, env);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains(READY)), "it ended before");
        Self(child)
    }

    fn quit(&self) {
        kill_process(Pid::from_child(&self.0), Signal::QUIT).unwrap();
    }

    /// Reads stderr to the end.
    fn end(mut self) -> (ExitStatus, String) {
        let mut text = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (self.0.wait().unwrap(), text)
    }
}

fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

/// Goroutines that occupy every P, and some that wait.
#[gmp::main(max_procs = 2)]
async fn stuck() {
    go!(name = "sleeper", gmp::sleep(Duration::from_secs(3600)));
    go!(name = "waiter", std::future::pending::<()>());
    go!(name = "hog", async { spin() });
    go!(name = "blocker", async { std::thread::sleep(Duration::from_secs(3600)) });
    let shown = ["[sleep] {name: sleeper}", "[await] {name: waiter}", "[running] {name: hog}"];
    loop {
        let dump = gmp::runtime::dump();
        if shown.iter().all(|goroutine| dump.contains(goroutine)) {
            break;
        }
        gmp::yield_now().await;
    }
    println!("{READY}");
    spin();
}

#[test]
fn sigquit_shows_all_goroutines_and_exits_with_2() {
    let name = "quit::sigquit_shows_all_goroutines_and_exits_with_2";
    if is_child() {
        return stuck();
    }
    let child = Started::new(name, &[]);
    child.quit();
    let (status, text) = child.end();
    assert_eq!(status.code(), Some(2), "{text}");
    let (_, dump) = text.split_once("SIGQUIT: quit\n\ngoroutine 1 [").expect(&text);
    for part in [
        "] {name: main}:\ncreated by goroutine 0\n\t",
        "\n\ngoroutine 2 [sleep] {name: sleeper}:\ncreated by goroutine 1\n\ttests/it/quit.rs:",
        "\n\ngoroutine 3 [await] {name: waiter}:\n",
        "] {name: hog}:\n",
        "] {name: blocker}:\n",
    ] {
        assert!(dump.contains(part), "{part:?} in {text}");
    }
}

/// Repeated signals have no effect, also while the first one is served.
#[test]
fn repeated_signals_during_a_dump_have_no_effect() {
    let name = "quit::repeated_signals_during_a_dump_have_no_effect";
    if is_child() {
        return stuck();
    }
    let child = Started::new(name, &[]);
    for _ in 0..100 {
        child.quit();
    }
    let (status, text) = child.end();
    assert_eq!(status.code(), Some(2), "{text}");
    assert_eq!(text.matches("SIGQUIT: quit").count(), 1, "{text}");
    assert_eq!(text.matches("{name: main}").count(), 1, "{text}");
}

/// More goroutines than a pipe has room for in a dump.
#[gmp::main]
async fn crowd() {
    for _ in 0..10_000 {
        go!(name = "one of many", std::future::pending::<()>());
    }
    println!("{READY}");
    std::future::pending::<()>().await;
}

/// Stderr is not read, and the signal is not repeated.
#[test]
fn a_dump_ends_if_stderr_is_not_read() {
    let name = "quit::a_dump_ends_if_stderr_is_not_read";
    if is_child() {
        return crowd();
    }
    let mut child = Started::new(name, &[]);
    child.quit();
    assert_eq!(child.0.wait().unwrap().code(), Some(2));
    let (_, text) = child.end();
    assert!(text.contains("SIGQUIT: quit\n\ngoroutine 1 ["), "{text}");
    assert!(text.matches("one of many").count() < 9_000, "the pipe had room");
}

/// The dump takes long because stderr is read slowly. Repeated signals end the process.
#[test]
fn repeated_signals_end_a_dump_that_takes_long() {
    let name = "quit::repeated_signals_end_a_dump_that_takes_long";
    if is_child() {
        return crowd();
    }
    let mut child = Started::new(name, &[]);
    child.quit();
    let mut stderr = BufReader::new(child.0.stderr.take().unwrap());
    let mut lines = String::new();
    while !lines.contains("\ngoroutine 1 [") {
        assert!(stderr.read_line(&mut lines).unwrap() > 0, "no dump: {lines}");
    }
    let status = loop {
        child.quit();
        // Repeats the signal like a user at a terminal.
        std::thread::sleep(Duration::from_millis(50));
        // Makes room for a piece, so that the dump goes on.
        stderr.read_exact(&mut [0; 4096]).unwrap();
        if let Some(status) = child.0.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.code(), Some(2));
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(rest.matches("one of many").count() < 9_000, "the dump has ended before");
}

/// Installs a handler of the program itself.
fn own_handler() -> Arc<AtomicBool> {
    let seen = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGQUIT, seen.clone()).unwrap();
    seen
}

static SEEN: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// signal-hook calls the previous handler, gmp's, which must detect the handler of the program.
#[gmp::main]
async fn has_its_own() {
    let seen = SEEN.get_or_init(own_handler);
    println!("{READY}");
    while !seen.load(Ordering::Acquire) {
        gmp::yield_now().await;
    }
    // Long enough for an unwanted dump to appear.
    gmp::sleep(Duration::from_millis(200)).await;
}

#[test]
fn a_program_may_handle_sigquit_itself() {
    let name = "quit::a_program_may_handle_sigquit_itself";
    if is_child() {
        if std::env::var_os("BEFORE").is_some() {
            SEEN.set(own_handler()).unwrap();
        }
        return has_its_own();
    }
    for env in [&[][..], &[("BEFORE", "1")][..]] {
        let child = Started::new(name, env);
        child.quit();
        let (status, text) = child.end();
        assert!(status.success(), "{status}: {text}");
        assert!(!text.contains("SIGQUIT"), "{text}");
    }
}

/// Without `#[gmp::main]` the signal has its default action.
#[test]
fn runtimes_of_a_builder_leave_sigquit_alone() {
    use std::os::unix::process::ExitStatusExt;
    let name = "quit::runtimes_of_a_builder_leave_sigquit_alone";
    if is_child() {
        // The default action would leave a core file behind.
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        setrlimit(Resource::Core, none).unwrap();
        let runtime = gmp::Runtime::new().unwrap();
        return runtime.block_on(async {
            println!("{READY}");
            std::future::pending().await
        });
    }
    let child = Started::new(name, &[]);
    child.quit();
    let (status, text) = child.end();
    assert_eq!(status.signal(), Some(Signal::QUIT.as_raw()), "{status}: {text}");
}
