//! What the runtime reports: to a hook, and to a stderr that is full or closed.

use super::support::{block_thread_until, child, is_child, runtime, until};
use gmp::runtime::{Event, Severity};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

/// Runs the test `name` in a child. Returns `None` in the child, and what the child wrote to stderr
/// in the parent.
fn in_child(name: &str, env: &[(&str, &str)]) -> Option<String> {
    if is_child() {
        return None;
    }
    let output = child(name, env);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {text}", output.status);
    Some(text)
}

/// Panics of goroutines are expected. std's hook would write to stderr.
fn silence_panics() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// Ends a goroutine by a panic that no handle returns.
fn panic_unjoined(runtime: &gmp::Runtime) {
    let handle = gmp::task::Builder::new()
        .name("bad")
        .on(runtime.handle())
        .spawn(async { panic!("expected by the test") });
    until(|| handle.is_finished());
    drop(handle);
}

#[test]
fn the_hook_gets_events_in_place_of_stderr() {
    if let Some(text) =
        in_child("events::the_hook_gets_events_in_place_of_stderr", &[("GMPDEBUG", "x=1")])
    {
        assert!(!text.contains("nobody joined it") && !text.contains("unknown key"), "{text}");
        return;
    }
    silence_panics();
    let (tx, rx) = mpsc::channel();
    gmp::runtime::on_event(move |event| tx.send(event.clone()).unwrap()).unwrap();
    let runtime = runtime(1);
    let event = rx.recv().unwrap();
    assert!(matches!(event, Event::InvalidSetting { variable: "GMPDEBUG", .. }), "{event}");
    assert_eq!(event.to_string(), "gmp: GMPDEBUG: unknown key \"x\"; ignored");
    panic_unjoined(&runtime);
    let event = rx.recv().unwrap();
    assert_eq!(event.severity(), Severity::Error);
    let text = event.to_string();
    assert!(text.starts_with("gmp: goroutine ") && text.contains("expected by the test"), "{text}");
    let Event::UnjoinedPanic { name, spawned_at, message, .. } = event else { panic!("{text}") };
    assert_eq!((name.as_deref(), message.as_str()), (Some("bad"), "expected by the test"));
    assert!(spawned_at.file().ends_with("events.rs"));
}

#[test]
fn the_end_of_a_runtime_waits_for_the_hook() {
    if in_child("events::the_end_of_a_runtime_waits_for_the_hook", &[]).is_some() {
        return;
    }
    silence_panics();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    gmp::runtime::on_event(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    })
    .unwrap();
    for n in 1..=20 {
        let runtime = runtime(1);
        panic_unjoined(&runtime);
        runtime.shutdown(std::time::Duration::from_secs(60)).unwrap();
        // On a busy machine the limit may pass first.
        until(|| calls.load(Ordering::SeqCst) == n);
    }
}

/// The queue of events is limited, and a hook that blocks stops neither worker threads nor sysmon.
#[test]
fn a_hook_that_blocks_loses_events_and_stops_nothing() {
    if in_child("events::a_hook_that_blocks_loses_events_and_stops_nothing", &[]).is_some() {
        return;
    }
    silence_panics();
    let (open, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let (panics, lost) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (count_panics, count_lost) = (panics.clone(), lost.clone());
    gmp::runtime::on_event(move |event| {
        // Blocks until the sender is dropped.
        let _ = gate.lock().unwrap().recv();
        match event {
            Event::UnjoinedPanic { .. } => count_panics.fetch_add(1, Ordering::SeqCst),
            Event::Lost { count, .. } => count_lost.fetch_add(*count, Ordering::SeqCst),
            other => panic!("{other}"),
        };
    })
    .unwrap();
    let runtime = runtime(1);
    for _ in 0..3000 {
        panic_unjoined(&runtime);
    }
    // Sysmon hands off the P of a goroutine that blocks.
    let flag = Arc::new(AtomicBool::new(false));
    let (seen, setter) = (flag.clone(), flag);
    let blocks = runtime.spawn(async move {
        gmp::spawn(async move { setter.store(true, Ordering::SeqCst) });
        block_thread_until(move || seen.load(Ordering::SeqCst));
    });
    gmp::block_on(blocks).unwrap();
    drop(open);
    until(|| panics.load(Ordering::SeqCst) >= 1000);
    // `Lost` precedes the next event that has room.
    panic_unjoined(&runtime);
    until(|| panics.load(Ordering::SeqCst) + lost.load(Ordering::SeqCst) == 3001);
    assert!(lost.load(Ordering::SeqCst) > 1000);
}

#[test]
fn a_hook_may_panic_and_set_another_one() {
    if in_child("events::a_hook_may_panic_and_set_another_one", &[]).is_some() {
        return;
    }
    silence_panics();
    let (tx, rx) = mpsc::channel();
    gmp::runtime::on_event(move |_| {
        let tx = tx.clone();
        gmp::runtime::on_event(move |event| tx.send(event.to_string()).unwrap()).unwrap();
        panic!("expected by the test");
    })
    .unwrap();
    let runtime = runtime(1);
    panic_unjoined(&runtime);
    // The first event may be on its way to the first hook, and the second one too.
    until(|| {
        panic_unjoined(&runtime);
        rx.try_recv().is_ok()
    });
}

#[cfg(unix)]
mod stderr {
    use super::*;
    use std::io::{PipeReader, PipeWriter};
    use std::os::fd::OwnedFd;

    /// Returns a pipe that has room for nothing. Its reader does not read.
    fn full_pipe() -> (PipeReader, PipeWriter) {
        let (reader, writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        while rustix::io::write(&writer, &[b'x'; 4096]).is_ok() {}
        while rustix::io::write(&writer, b"x").is_ok() {}
        rustix::io::ioctl_fionbio(&writer, false).unwrap();
        (reader, writer)
    }

    /// stdout and stderr of this process, in place of which there are others until this is dropped.
    struct Replaced(OwnedFd, OwnedFd);

    impl Replaced {
        fn by(writer: &PipeWriter) -> Self {
            let before = (rustix::stdio::stdout(), rustix::stdio::stderr());
            let copy = |fd| rustix::io::dup(fd).unwrap();
            let this = Self(copy(before.0), copy(before.1));
            rustix::stdio::dup2_stdout(writer).unwrap();
            rustix::stdio::dup2_stderr(writer).unwrap();
            this
        }
    }

    impl Drop for Replaced {
        fn drop(&mut self) {
            rustix::stdio::dup2_stdout(&self.0).unwrap();
            rustix::stdio::dup2_stderr(&self.1).unwrap();
        }
    }

    /// Makes a runtime report what it can, on every kind of thread, and run goroutines after that.
    fn report_all() {
        let runtime = crate::support::runtime(1);
        panic_unjoined(&runtime);
        // Three goroutines block their threads while others wait: stalls.
        let handle = runtime.handle().clone();
        let spawner = runtime.spawn(async move {
            let block = |handle: gmp::runtime::Handle| async move {
                block_thread_until(move || handle.metrics().handoffs.total() >= 2);
            };
            let blocked: Vec<_> = (0..3).map(|_| gmp::spawn(block(handle.clone()))).collect();
            for blocked in blocked {
                blocked.await.unwrap();
            }
        });
        gmp::block_on(spawner).unwrap();
        // Sysmon traces each millisecond.
        gmp::block_on(runtime.spawn(gmp::sleep(std::time::Duration::from_millis(20)))).unwrap();
        panic_unjoined(&runtime);
        assert!(runtime.handle().metrics().stalls.total() > 0);
    }

    const ALL: &[(&str, &str)] =
        &[("GMPDEBUG", "schedtrace=1,scheddetail=1,stall=1,deadlock=report,x=1")];

    #[test]
    fn a_full_stderr_stops_no_thread() {
        if in_child("events::stderr::a_full_stderr_stops_no_thread", ALL).is_some() {
            return;
        }
        silence_panics();
        let (_reader, writer) = full_pipe();
        let _replaced = Replaced::by(&writer);
        report_all();
    }

    #[test]
    fn a_closed_stdout_and_stderr_stop_no_thread() {
        if in_child("events::stderr::a_closed_stdout_and_stderr_stop_no_thread", ALL).is_some() {
            return;
        }
        silence_panics();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let _replaced = Replaced::by(&writer);
        report_all();
    }

    /// A thread of the program that waits for room holds the lock of std's stderr.
    #[test]
    fn a_thread_that_holds_the_lock_of_stderr_stops_no_other() {
        let name = "events::stderr::a_thread_that_holds_the_lock_of_stderr_stops_no_other";
        if in_child(name, ALL).is_some() {
            return;
        }
        silence_panics();
        let _lock = std::io::stderr().lock();
        report_all();
    }
}
