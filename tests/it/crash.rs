//! Messages and exit statuses of processes that fail, tested in child processes.

use super::support::talk::Talk;
use super::support::{child, is_child};
use gmp::go;
use std::io::Read;
use std::process::Output;
use std::time::Duration;

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_unjoined_panic_names_goroutine_and_site() {
    if !is_child() {
        let output = child("crash::an_unjoined_panic_names_goroutine_and_site", &[]);
        let text = stderr(&output);
        assert!(output.status.success(), "contained: {text}");
        assert!(
            text.contains("goroutine 2 \"loner\" panicked and nobody joined it: oh no"),
            "{text}"
        );
        assert!(text.contains("spawned at tests/it/crash.rs:"), "{text}");
        assert!(text.contains("by goroutine 1"), "{text}");
        assert!(text.contains("last wait: sleep"), "{text}");
        assert!(
            text.contains("dropped later panicked and nobody joined it: kept")
                || text.contains("nobody joined it: kept"),
            "{text}"
        );
        return;
    }
    let runtime = gmp::Runtime::new().unwrap();
    gmp::block_on(runtime.spawn(async {
        drop(go!(name = "loner", async {
            gmp::sleep(Duration::from_millis(1)).await;
            panic!("oh no");
        }));
        while gmp::num_goroutine() > 1 {
            gmp::yield_now().await;
        }
        // The panic is reported when its handle is dropped.
        let handle = go!(async { panic!("kept") });
        while !handle.is_finished() {
            gmp::yield_now().await;
        }
        drop(handle);
    }))
    .unwrap();
    // A goroutine counts as ended before its panic is reported. The shutdown joins the threads.
    runtime.shutdown(Duration::from_secs(60)).unwrap();
}

#[test]
fn panic_abort_ends_the_process_with_status_2() {
    let name = "crash::panic_abort_ends_the_process_with_status_2";
    if !is_child() {
        for env in [&[("POLICY", "builder")][..], &[("GMPDEBUG", "panic=abort")][..]] {
            let output = child(name, env);
            assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
            let text = stderr(&output);
            assert!(text.contains("\npanic: fatal\n\ngoroutine "), "{text}");
            let named = " [running] {name: bad}:\ncreated by goroutine 0\n\ttests/it/crash.rs:";
            assert!(text.contains(named), "{text}");
        }
        return;
    }
    let mut builder = gmp::runtime::Builder::new();
    if std::env::var_os("POLICY").is_some() {
        builder = builder.panic_policy(gmp::runtime::PanicPolicy::Abort);
    }
    let runtime = builder.build().unwrap();
    let bad =
        gmp::task::Builder::new().name("bad").on(runtime.handle()).spawn(async { panic!("fatal") });
    let _ = runtime.block_on(bad);
    unreachable!("the process has ended");
}

#[test]
fn a_panic_policy_of_the_builder_overrides_the_environment() {
    let name = "crash::a_panic_policy_of_the_builder_overrides_the_environment";
    if !is_child() {
        let output = child(name, &[("GMPDEBUG", "panic=abort")]);
        assert!(output.status.success(), "{}", stderr(&output));
        return;
    }
    #[gmp::main(panic = "contain")]
    async fn by_attribute() {
        assert!(go!(async { panic!("contained") }).await.is_err());
    }
    let builder = gmp::runtime::Builder::new().panic_policy(gmp::runtime::PanicPolicy::Contain);
    let runtime = builder.build().unwrap();
    assert!(runtime.block_on(runtime.spawn(async { panic!("contained") })).is_err());
    by_attribute();
}

/// `tests/deadlock.rs` checks that a program is ended.
const ALL_ASLEEP: &str = "all goroutines are asleep - deadlock!";

/// A program whose `main` is an external thread may continue, whatever its goroutines do.
#[test]
fn a_deadlock_without_a_main_goroutine_is_reported_once() {
    let name = "crash::a_deadlock_without_a_main_goroutine_is_reported_once";
    if !is_child() {
        for settings in ["deadlock=report", "deadlock=fatal"] {
            let mut talk = Talk::new(name, &[("GMPDEBUG", settings)]);
            talk.wait_for(ALL_ASLEEP);
            talk.say("x");
            let rest = talk.end();
            assert!(!rest.iter().any(|line| line.contains(ALL_ASLEEP)), "{settings}: {rest:?}");
        }
        return;
    }
    let runtime = gmp::runtime::Builder::new().max_procs(2).build().unwrap();
    for round in 0..2 {
        let stuck = runtime.spawn(std::future::pending::<()>());
        // The parent answers when it has read the report. In the second round sysmon has time for
        // another one.
        match round {
            0 => std::io::stdin().read_exact(&mut [0]).unwrap(),
            _ => std::thread::sleep(Duration::from_millis(150)),
        }
        stuck.abort();
        assert!(gmp::block_on(stuck).unwrap_err().is_cancelled());
    }
}

/// Each wait is much longer than sysmon takes to check for a deadlock.
#[gmp::main]
async fn waits_for_others() {
    const WAIT: Duration = Duration::from_millis(200);
    let (tx, rx) = gmp::chan(0);
    std::thread::spawn(move || {
        std::thread::sleep(WAIT);
        tx.send_blocking(1).unwrap();
    });
    assert_eq!(rx.recv().await, Ok(1), "from a plain thread");
    let (tx, rx) = futures::channel::oneshot::channel();
    std::thread::spawn(move || {
        std::thread::sleep(WAIT);
        tx.send(2).unwrap();
    });
    assert_eq!(rx.await, Ok(2), "from a plain thread, by a foreign future");
    let other = gmp::runtime::Builder::new().max_procs(1).build().unwrap();
    let handle = other.spawn(async {
        gmp::sleep(WAIT).await;
        3
    });
    assert_eq!(handle.await.unwrap(), 3, "from another runtime");
    // A join of a goroutine that waits for an external thread.
    let (tx, rx) = futures::channel::oneshot::channel::<()>();
    let joined = gmp::spawn(rx);
    std::thread::spawn(move || {
        std::thread::sleep(WAIT);
        drop(tx);
    });
    assert!(joined.await.unwrap().is_err());
    gmp::block_in_place(|| drop(other));
}

#[test]
fn a_wait_for_a_thread_or_another_runtime_is_no_deadlock() {
    let name = "crash::a_wait_for_a_thread_or_another_runtime_is_no_deadlock";
    if is_child() {
        return waits_for_others();
    }
    let output = child(name, &[("GMPDEBUG", "deadlock=fatal")]);
    let text = stderr(&output);
    assert!(output.status.success() && !text.contains(ALL_ASLEEP), "{}: {text}", output.status);
}

#[gmp::main]
async fn leaves_the_work_to_a_thread() {
    std::thread::spawn(|| {
        // The parent answers when it has read the report.
        std::io::stdin().read_exact(&mut [0]).unwrap();
        std::process::exit(0);
    });
    std::future::pending::<()>().await;
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_with_other_threads_is_not_ended() {
    let name = "crash::a_process_with_other_threads_is_not_ended";
    if is_child() {
        return leaves_the_work_to_a_thread();
    }
    let mut talk = Talk::new(name, &[("GMPDEBUG", "deadlock=fatal")]);
    talk.wait_for(&format!("gmp: {ALL_ASLEEP}"));
    talk.say("x");
    talk.end();
}

#[gmp::main]
async fn panics_below_a_frame() {
    #[inline(never)]
    fn frame_of_the_program() {
        panic!("with a backtrace");
    }
    assert!(go!(name = "deep", async { frame_of_the_program() }).await.is_err());
}

#[test]
fn a_panic_in_a_program_names_the_goroutine_and_ends_its_backtrace_there() {
    let name = "crash::a_panic_in_a_program_names_the_goroutine_and_ends_its_backtrace_there";
    if is_child() {
        return panics_below_a_frame();
    }
    let output = child(name, &[("RUST_BACKTRACE", "1")]);
    let text = stderr(&output);
    assert!(output.status.success(), "{text}");
    let (_, message) = text.split_once("gmp: goroutine 2 \"deep\", spawned at ").expect(&text);
    assert!(message.contains(" by goroutine 1, panics:\n"), "{text}");
    let (_, frames) = message.split_once("stack backtrace:").expect(&text);
    assert!(frames.contains("frame_of_the_program"), "{text}");
    assert!(!frames.contains("gmp_rt::") && !frames.contains("catch_unwind"), "{text}");
}

fn assert_names_the_goroutine(error: &gmp::JoinError) {
    let error = error.to_string();
    assert!(error.contains(" \"bad\" (spawned at tests/it/crash.rs:"), "{error}");
    assert!(error.ends_with(" panicked: oh no"), "{error}");
}

#[gmp::test]
async fn an_error_in_a_test_names_the_goroutine() {
    let bad = go!(name = "bad", async { panic!("oh no") });
    assert_names_the_goroutine(&bad.await.unwrap_err());
}

/// The hook belongs to the program. Without `#[gmp::main]` only the errors name the goroutine.
#[test]
fn tests_and_runtimes_leave_the_panic_hook_alone() {
    if !is_child() {
        let output = child("crash::tests_and_runtimes_leave_the_panic_hook_alone", &[]);
        let text = stderr(&output);
        assert!(output.status.success(), "{text}");
        assert_eq!(text.matches("hook of the program").count(), 2, "{text}");
        assert!(!text.contains("panics:"), "{text}");
        return;
    }
    std::panic::set_hook(Box::new(|_| eprintln!("hook of the program")));
    an_error_in_a_test_names_the_goroutine();
    let runtime = gmp::runtime::Builder::new().max_procs(1).build().unwrap();
    let bad =
        gmp::task::Builder::new().name("bad").on(runtime.handle()).spawn(async { panic!("oh no") });
    assert_names_the_goroutine(&gmp::block_on(bad).unwrap_err());
}

/// On a busy machine the thread that received an event from the kernel may wait for a CPU. Until it
/// runs, no thread waits in the netpoller and no P runs.
#[cfg(unix)]
#[test]
fn an_event_on_its_way_is_no_deadlock() {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};
    let name = "crash::an_event_on_its_way_is_no_deadlock";
    if !is_child() {
        let output = child(name, &[("GMPDEBUG", "deadlock=fatal")]);
        assert!(output.status.success(), "{}", stderr(&output));
        return;
    }
    static OVER: AtomicBool = AtomicBool::new(false);
    for _ in 0..8 {
        std::thread::spawn(|| {
            while !OVER.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
    }
    let runtime = gmp::runtime::Builder::new().max_procs(2).build().unwrap();
    let (mut writer, reader) = std::os::unix::net::UnixStream::pair().unwrap();
    let reads = runtime.spawn(async move {
        let reader = gmp::net::UnixStream::from_std(reader).unwrap();
        while reader.read(&mut [0]).await.unwrap() > 0 {}
    });
    for n in 0..40 {
        // Around the time at which sysmon checks for a deadlock.
        std::thread::sleep(Duration::from_millis(20 + n));
        writer.write_all(&[1]).unwrap();
    }
    drop(writer);
    gmp::block_on(reads).unwrap();
    OVER.store(true, Ordering::Relaxed);
}

/// Recurses on the stack of the thread: each level awaits a boxed future.
fn descend(depth: u64) -> std::pin::Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move { if depth == 0 { 0 } else { 1 + descend(depth - 1).await } })
}

#[cfg(target_os = "linux")]
#[test]
fn a_stack_overflow_names_the_goroutine() {
    use std::os::unix::process::ExitStatusExt;
    if !is_child() {
        let output = child("crash::a_stack_overflow_names_the_goroutine", &[]);
        let text = stderr(&output);
        const SIGABRT: i32 = 6;
        assert_eq!(output.status.signal(), Some(SIGABRT), "{text}");
        let line = text.lines().find(|line| line.starts_with("gmp: goroutine ")).expect(&text);
        assert!(line.contains(" {name: deep}, spawned at tests/it/crash.rs:"), "{text}");
        assert!(line.contains("overflows the stack of its thread"), "{text}");
        assert!(line.contains("gmp::runtime::Builder::thread_stack_size"), "{text}");
        // The report of std follows.
        let (_, after) = text.split_once(line).unwrap();
        assert!(after.contains("thread 'gmp-m"), "{text}");
        assert!(after.contains("has overflowed its stack"), "{text}");
        return;
    }
    let runtime = gmp::runtime::Builder::new().thread_stack_size(256 << 10).build().unwrap();
    runtime.block_on(async {
        go!(name = "deep", descend(100_000)).await.unwrap();
    });
    unreachable!("the stack holds 100,000 levels");
}

#[test]
fn a_large_stack_holds_a_deep_recursion() {
    let runtime = gmp::runtime::Builder::new().thread_stack_size(256 << 20).build().unwrap();
    let depth = 20_000;
    assert_eq!(runtime.block_on(runtime.spawn(descend(depth))).unwrap(), depth);
}

/// A fault that is no overflow passes to the handler that was there before, without a report.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a fault on purpose")]
#[test]
fn another_fault_is_not_reported_as_an_overflow() {
    use std::os::unix::process::ExitStatusExt;
    if !is_child() {
        const SIGSEGV: i32 = 11;
        let output = child("crash::another_fault_is_not_reported_as_an_overflow", &[]);
        let text = stderr(&output);
        assert_eq!(output.status.signal(), Some(SIGSEGV), "{text}");
        assert!(!text.contains("gmp: "), "{text}");
        return;
    }
    let runtime = gmp::Runtime::new().unwrap();
    let faulty = runtime.spawn(async {
        let nowhere = std::ptr::without_provenance_mut::<u8>(16);
        // SAFETY: not safe: the test needs a fault.
        unsafe { nowhere.write_volatile(1) };
    });
    let _ = gmp::block_on(faulty);
    unreachable!("the write had an effect");
}
