//! Execution traces of the real scheduler, read by our own reader and by Go's tool.
//!
//! A process has one trace at a time, so the tests take a lock.

#[path = "../../gmp-rt/src/tracer/check_tests.rs"]
#[allow(dead_code, reason = "the unit tests of the tracer use the rest")]
mod reader;

mod busy;

use self::busy::Busy;
use self::reader::{Summary, check, check_with_go};
use gmp::trace::{self, FlightRecorder};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Event types.
mod event {
    pub(super) const PROCS_CHANGE: u8 = 9;
    pub(super) const PROC_STEAL: u8 = 12;
    pub(super) const GO_CREATE: u8 = 14;
    pub(super) const GO_DESTROY: u8 = 17;
    pub(super) const GO_UNBLOCK: u8 = 21;
    pub(super) const SYSCALL_BEGIN: u8 = 22;
    pub(super) const SYSCALL_END: u8 = 23;
    pub(super) const SYSCALL_END_BLOCKED: u8 = 24;
}

fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file in memory.
#[derive(Clone, Debug, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl io::Write for Memory {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Checks a trace with both readers.
fn accepted(name: &str, file: &[u8]) -> Summary {
    let summary = check(file).unwrap_or_else(|why| {
        let path = std::env::temp_dir().join(format!("gmp-{name}-{}.bad", std::process::id()));
        std::fs::write(&path, file).unwrap();
        panic!("{}: {why}", path.display())
    });
    check_with_go(name, file);
    summary
}

/// Traces what `f` does.
fn traced(name: &str, f: impl FnOnce()) -> Summary {
    let file = Memory::default();
    trace::start(file.clone()).unwrap();
    f();
    trace::stop().unwrap();
    accepted(name, &file.bytes())
}

/// The number of traces in a row: `.ci/full` asks for more.
fn rounds() -> usize {
    std::env::var("GMP_TRACES").map_or(5, |n| n.parse().expect("GMP_TRACES is a number"))
}

#[test]
fn traces_of_a_busy_program_are_accepted() {
    let _alone = alone();
    let busy = Busy::start();
    // From before the first trace to after the last one, so traces begin and end in its midst.
    let recorder = FlightRecorder::new(Duration::from_millis(400)).max_bytes(4 << 20);
    let mut seen = BTreeSet::new();
    let mut reasons = BTreeSet::new();
    for round in 0..rounds() {
        let file = Memory::default();
        let early = (round % 2 == 0).then(|| recorder.start().unwrap());
        busy.run(1);
        trace::start(file.clone()).unwrap();
        let late = (round % 2 == 1).then(|| recorder.start().unwrap());
        // Every third trace lasts for several generations.
        busy.run(if round % 3 == 0 { 4 } else { 1 });
        let mut flight = Vec::new();
        early.or(late).unwrap().write_to(&mut flight).unwrap();
        busy.run(1);
        trace::stop().unwrap();
        accepted(&format!("busy-flight-{round}"), &flight);
        let summary = accepted(&format!("busy-{round}"), &file.bytes());
        seen.extend(summary.events.into_keys());
        reasons.extend(summary.reasons.into_keys());
        assert!(!trace::is_enabled());
    }
    busy.stop();
    let events = (9..=14).chain([16, 17]).chain(19..=24).chain(39..=44).chain([48]);
    let missing: Vec<u8> = events.filter(|event| !seen.contains(event)).collect();
    assert!(missing.is_empty(), "no trace has the events {missing:?}");
    for reason in ["network", "sleep", "chan receive", "select", "sync", "sync: goroutine join"] {
        assert!(reasons.contains(reason), "{reason} is not among {reasons:?}");
    }
}

async fn a_named_future() {
    gmp::sleep(Duration::from_millis(1)).await;
    gmp::yield_now().await;
}

#[test]
fn goroutines_have_the_names_of_their_futures_and_their_reasons() {
    let _alone = alone();
    let runtime = gmp::runtime::Builder::new().max_procs(1).build().unwrap();
    let summary = traced("names", || {
        runtime.block_on(async {
            gmp::task::Builder::new().name("the label").spawn(a_named_future()).await.unwrap();
        });
    });
    let function = "trace::a_named_future";
    assert!(summary.functions.contains(function), "{:?}", summary.functions);
    assert!(summary.functions.contains("gmp::sleep"), "{:?}", summary.functions);
    assert!(summary.texts.contains("the label"), "{:?}", summary.texts);
    assert_eq!(summary.reasons.get("sleep"), Some(&1), "{:?}", summary.reasons);
    assert_eq!(summary.reasons.get("runtime.Gosched"), Some(&1), "{:?}", summary.reasons);
    assert_eq!(summary.events.get(&event::GO_CREATE), Some(&1));
    assert_eq!(summary.events.get(&event::GO_DESTROY), Some(&1));
    assert_eq!(summary.events.get(&event::GO_UNBLOCK), Some(&1));
    assert!(summary.left.is_empty(), "{:?}", summary.left);
}

/// A goroutine that does nothing while a trace runs is in it.
#[test]
fn idle_goroutines_are_named() {
    const WAITING: u64 = 4;
    let _alone = alone();
    let runtime = gmp::runtime::Builder::new().max_procs(2).build().unwrap();
    let (tx, rx) = gmp::chan::<()>(1);
    let (ready_tx, ready) = gmp::chan::<()>(100);
    let idle: Vec<_> = (0..100)
        .map(|_| {
            let (rx, ready) = (rx.clone(), ready_tx.clone());
            runtime.spawn(async move {
                ready.send(()).await.unwrap();
                let _ = rx.recv().await;
            })
        })
        .collect();
    runtime.block_on(async {
        for _ in 0..100 {
            ready.recv().await.unwrap()
        }
    });
    let summary = traced("idle", || {
        // The last of them may still be on its way to the channel.
        let dump = || runtime.block_on(async { gmp::runtime::dump() });
        let parked = || dump().matches("[chan receive").count() == 100;
        while !parked() {
            std::thread::yield_now();
        }
    });
    let waiting = summary.left.values().filter(|status| **status == WAITING).count();
    assert_eq!(waiting, 100, "{:?}", summary.left);
    drop(tx);
    runtime.block_on(async {
        for idle in idle {
            idle.await.unwrap()
        }
    });
}

#[test]
fn blocking_calls_are_system_calls() {
    let _alone = alone();
    let runtime = gmp::runtime::Builder::new().max_procs(1).adaptive_procs(false).build().unwrap();
    let summary = traced("calls", || {
        runtime.block_on(async {
            gmp::spawn(async { gmp::block_in_place(|| ()) }).await.unwrap();
            // The other goroutine needs the P.
            let (tx, rx) = std::sync::mpsc::channel();
            let blocked = gmp::spawn(async move { gmp::block_in_place(|| rx.recv().unwrap()) });
            gmp::spawn(async move { tx.send(()).unwrap() }).await.unwrap();
            blocked.await.unwrap();
            let (tx, rx) = std::sync::mpsc::channel();
            let unmarked = gmp::spawn(async move { rx.recv().unwrap() });
            gmp::spawn(async move { tx.send(()).unwrap() }).await.unwrap();
            unmarked.await.unwrap();
        });
    });
    let count = |event| summary.events.get(&event).copied().unwrap_or(0);
    assert!(count(event::SYSCALL_BEGIN) >= 3, "{summary:?}");
    assert!(count(event::SYSCALL_END) >= 1, "{summary:?}");
    assert!(count(event::PROC_STEAL) >= 2, "{summary:?}");
    assert!(count(event::SYSCALL_END_BLOCKED) >= 2, "{summary:?}");
    assert!(summary.functions.contains("gmp::blocked thread"), "{:?}", summary.functions);
}

#[test]
fn regions_across_awaits_nest_in_the_file() {
    let _alone = alone();
    let runtime = gmp::runtime::Builder::new().max_procs(2).build().unwrap();
    let summary = traced("regions", || {
        runtime.block_on(async {
            let inner = gmp::spawn(async {
                let task = trace::task("task");
                let part = task.task("part");
                task.log("key", 42);
                let first = task.region("first");
                gmp::yield_now().await;
                let second = part.region("second");
                gmp::yield_now().await;
                drop(first);
                gmp::yield_now().await;
                let third = trace::region("third");
                trace::log("free", "message");
                drop(second);
                // It ends elsewhere.
                third
            });
            let third = inner.await.unwrap();
            gmp::spawn(async move { drop(third) }).await.unwrap();
        });
        // Outside of a goroutine they do nothing.
        let _task = trace::task("nowhere");
        let _region = trace::region("nowhere");
        trace::log("nowhere", "");
    });
    for text in ["task", "part", "key", "42", "first", "second", "third", "free", "message"] {
        assert!(summary.texts.contains(text), "{text}: {:?}", summary.texts);
    }
    assert!(!summary.texts.contains("nowhere"));
}

#[test]
fn the_number_of_ps_is_in_the_trace() {
    let _alone = alone();
    let runtime = gmp::runtime::Builder::new().max_procs(2).build().unwrap();
    let summary = traced("procs", || {
        runtime.block_on(async {
            gmp::spawn(async {
                gmp::set_max_procs(3).unwrap();
                gmp::yield_now().await;
            })
            .await
            .unwrap();
        });
    });
    assert!(summary.events.get(&event::PROCS_CHANGE) >= Some(&2), "{summary:?}");
}

#[test]
fn the_flight_recorder_keeps_to_its_limit() {
    const LIMIT: usize = 1 << 20;
    let _alone = alone();
    let runtime = gmp::runtime::Builder::new().max_procs(2).build().unwrap();
    let recording = FlightRecorder::new(Duration::from_secs(60)).max_bytes(LIMIT).start().unwrap();
    assert!(trace::is_enabled());
    runtime.block_on(async {
        let yields = || {
            gmp::spawn(async {
                for _ in 0..150_000 {
                    gmp::yield_now().await
                }
            })
        };
        let all: Vec<_> = (0..4).map(|_| yields()).collect();
        for one in all {
            one.await.unwrap();
        }
    });
    let mut file = Vec::new();
    recording.write_to(&mut file).unwrap();
    // Beside the events there are tables, and the open generation.
    assert!(file.len() < 2 * LIMIT, "{} bytes", file.len());
    accepted("flight", &file);
    drop(recording);
    assert!(!trace::is_enabled());
}

#[test]
fn one_trace_and_one_recorder_run_at_a_time() {
    let _alone = alone();
    let kind = |error: io::Error| error.kind();
    assert_eq!(trace::stop().map_err(kind), Err(ErrorKind::NotFound));
    trace::start(io::sink()).unwrap();
    assert_eq!(trace::start(io::sink()).map_err(kind), Err(ErrorKind::AlreadyExists));
    let recorder = FlightRecorder::new(Duration::from_secs(1));
    let recording = recorder.start().unwrap();
    assert_eq!(recorder.start().map(drop).map_err(kind), Err(ErrorKind::AlreadyExists));
    trace::stop().unwrap();
    assert!(trace::is_enabled());
    drop(recording);
    assert!(!trace::is_enabled());
    assert_eq!(trace::stop().map_err(kind), Err(ErrorKind::NotFound));
}

/// A writer that fails after some bytes, or panics.
struct Broken(ErrorKind);

impl io::Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match self.0 {
            ErrorKind::Other => panic!("a writer panics"),
            kind => Err(kind.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn stop_returns_the_error_of_the_writer() {
    let _alone = alone();
    for kind in [ErrorKind::BrokenPipe, ErrorKind::Other] {
        trace::start(Broken(kind)).unwrap();
        assert_eq!(trace::stop().unwrap_err().kind(), kind);
        assert!(!trace::is_enabled());
    }
}

/// Set for the child of [`the_environment_traces_a_program`]: how it ends.
const END: &str = "GMP_TRACE_TEST_END";

#[test]
fn the_environment_traces_a_program() {
    if let Some(end) = std::env::var_os(END) {
        let runtime = gmp::runtime::Builder::new().max_procs(1).build().unwrap();
        runtime.block_on(gmp::spawn(a_named_future())).unwrap();
        if end == "runtime" {
            drop(runtime);
            // Without an orderly end of the process.
            std::process::abort();
        }
        std::process::exit(3);
    }
    let _alone = alone();
    for end in ["runtime", "exit"] {
        let folder = std::env::temp_dir().display().to_string();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["the_environment_traces_a_program", "--exact", "--test-threads=1"])
            .env(END, end)
            .env("GMPDEBUG", format!("trace={folder}/gmp-env-{end}-%p"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let path = format!("{folder}/gmp-env-{end}-{}", child.id());
        let output = child.wait_with_output().unwrap();
        let file = std::fs::read(&path).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        let summary = accepted(&format!("env-{end}"), &file);
        assert!(summary.functions.contains("trace::a_named_future"), "{:?}", summary.functions);
        let _ = std::fs::remove_file(path);
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["the_environment_traces_a_program", "--exact", "--test-threads=1", "--nocapture"])
        .env(END, "exit")
        .env("GMPDEBUG", "trace=/nonexistent/file")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("gmp: the trace /nonexistent/file is not complete:"), "{said}");
    assert_eq!(output.status.code(), Some(3), "the program runs on");
}

/// Nobody reads the FIFO, so its open waits for ever.
#[cfg(target_os = "linux")]
#[test]
fn a_trace_that_nobody_reads_delays_no_shutdown() {
    const LIMIT: &str = "GMP_TRACE_SHUTDOWN_LIMIT";
    let name = "a_trace_that_nobody_reads_delays_no_shutdown";
    if let Ok(limit) = std::env::var(LIMIT) {
        let runtime = gmp::runtime::Builder::new().max_procs(1).build().unwrap();
        runtime.block_on(gmp::spawn(a_named_future())).unwrap();
        match limit.parse() {
            Ok(millis) => runtime.shutdown(Duration::from_millis(millis)).unwrap(),
            Err(_) => drop(runtime),
        }
        println!("the runtime has ended");
        std::process::exit(3);
    }
    let path = std::env::temp_dir().join(format!("gmp-fifo-{}", std::process::id()));
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let children: Vec<_> = ["2000", "drop"]
        .map(|limit| {
            Command::new(std::env::current_exe().unwrap())
                .args([name, "--exact", "--test-threads=1", "--nocapture"])
                .env(LIMIT, limit)
                .env("GMPDEBUG", format!("trace={}", path.display()))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .into();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("the runtime has ended"));
        let report = format!("gmp: the trace {} is not complete: ", path.display());
        assert_eq!(said.matches(&report).count(), 1, "{said}");
        assert!(said.contains("bytes of it are not written yet"), "{said}");
    }
    std::fs::remove_file(path).unwrap();
}
