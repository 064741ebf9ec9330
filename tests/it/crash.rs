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
            assert!(text.contains("panic: fatal") && text.contains("goroutine "), "{text}");
        }
        return;
    }
    let mut builder = gmp::Builder::new();
    if std::env::var_os("POLICY").is_some() {
        builder = builder.panic_policy(gmp::PanicPolicy::Abort);
    }
    let runtime = builder.build().unwrap();
    let _ = runtime.block_on(runtime.spawn(async { panic!("fatal") }));
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
    let builder = gmp::Builder::new().panic_policy(gmp::PanicPolicy::Contain);
    let runtime = builder.build().unwrap();
    assert!(runtime.block_on(runtime.spawn(async { panic!("contained") })).is_err());
    by_attribute();
}

#[test]
fn all_asleep_is_fatal_on_request() {
    let name = "crash::all_asleep_is_fatal_on_request";
    if !is_child() {
        for settings in ["deadlock=fatal", "deadlock=fatal,schedtrace=100"] {
            let output = child(name, &[("GMPDEBUG", settings)]);
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{settings}: {text}");
            assert!(
                text.contains("fatal error: all goroutines are asleep - deadlock!\n\ngoroutine "),
                "{settings}: {text}"
            );
            assert!(text.contains("[await] {name: stuck}:"), "{settings}: {text}");
        }
        return;
    }
    let runtime = gmp::Builder::new().max_procs(2).build().unwrap();
    // A timer and a blocking call are no deadlock.
    gmp::block_on(runtime.spawn(gmp::sleep(Duration::from_millis(100)))).unwrap();
    let call = || std::thread::sleep(Duration::from_millis(100));
    gmp::block_on(runtime.spawn(async move { gmp::blocking(call) })).unwrap();
    println!("not dead yet");
    let stuck = runtime.handle().spawn_named("stuck", std::future::pending::<()>());
    let _ = gmp::block_on(stuck);
}

#[test]
fn all_asleep_is_told_once() {
    const MESSAGE: &str = "all goroutines are asleep - deadlock!";
    let name = "crash::all_asleep_is_told_once";
    if !is_child() {
        let mut talk = Talk::new(name, &[("GMPDEBUG", "deadlock=report")]);
        talk.wait_for(MESSAGE);
        talk.say("x");
        let rest = talk.end();
        assert!(!rest.iter().any(|line| line.contains(MESSAGE)), "reported twice: {rest:?}");
        return;
    }
    let runtime = gmp::Builder::new().max_procs(2).build().unwrap();
    for round in 0..2 {
        let (tx, rx) = futures::channel::oneshot::channel();
        let waits = runtime.spawn(rx);
        // An external thread wakes the goroutine after the report. The parent answers when it has
        // read the report. In the second round sysmon has time for another one.
        match round {
            0 => std::io::stdin().read_exact(&mut [0]).unwrap(),
            _ => std::thread::sleep(Duration::from_millis(150)),
        }
        tx.send(()).unwrap();
        gmp::block_on(waits).unwrap().unwrap();
    }
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
    let runtime = gmp::Builder::new().max_procs(2).build().unwrap();
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
