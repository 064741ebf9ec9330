//! Looking inside: dumps and the scheduler's trace.

use super::support::{child, is_child, runtime, until};
use gmp::go;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn a_dump_shows_state_name_parent_and_site() {
    let runtime = runtime(1);
    let dump = runtime.block_on(async {
        go!({
            let sleeper = go!(name = "sleeper", gmp::sleep(Duration::from_secs(60)));
            let joiner = go!(name = "joiner", async { std::future::pending::<()>().await });
            let call = go!(name = "caller", async {
                gmp::blocking(|| std::thread::sleep(Duration::from_millis(50)));
            });
            // The caller blocks the only P: when this goes on, that was taken from it.
            gmp::sleep(Duration::from_millis(20)).await;
            let dump = gmp::runtime::dump();
            call.await.unwrap();
            sleeper.abort();
            joiner.abort();
            dump
        })
        .await
        .unwrap()
    });
    assert!(dump.contains(" [sleep] {name: sleeper}:\n"), "{dump}");
    assert!(dump.contains(" [await] {name: joiner}:\n"), "{dump}");
    assert!(dump.contains(" [syscall] {name: caller}:\n"), "{dump}");
    assert!(dump.contains(" [running]:\n"), "{dump}");
    assert!(
        dump.contains("created by goroutine ") && dump.contains("\ttests/it/inside.rs:"),
        "{dump}"
    );
    assert_eq!(dump.split("\n\n").count(), 4, "{dump}");
}

/// `TestNumGoroutine` and `issue9321.go`: dumps under full load, many at once.
#[test]
fn dumps_under_load() {
    let runtime = runtime(2);
    let stop = Arc::new(AtomicBool::new(false));
    for _ in 0..100 {
        let stop = stop.clone();
        runtime.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                go!({}).await.unwrap();
                gmp::yield_now().await;
            }
        });
    }
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let dump = runtime.block_on(async { gmp::runtime::dump() });
                    assert!(dump.matches("goroutine ").count() >= 100);
                }
            });
        }
    });
    stop.store(true, Ordering::Relaxed);
    until(|| runtime.handle().num_goroutine() == 0);
    assert_eq!(runtime.block_on(async { gmp::runtime::dump() }), "");
}

#[test]
fn schedtrace_has_gos_format() {
    let name = "inside::schedtrace_has_gos_format";
    if !is_child() {
        let text =
            |env| String::from_utf8_lossy(&child(name, &[("GMPDEBUG", env)]).stderr).into_owned();
        let lines = text("schedtrace=10");
        let line = lines.lines().find(|line| line.starts_with("SCHED ")).unwrap();
        assert!(line.starts_with("SCHED 0ms: gomaxprocs=2 idleprocs="), "{line}");
        for part in
            [" threads=", " spinningthreads=", " needspinning=0 idlethreads=", " runqueue=", " [ "]
        {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert!(line.contains(" ] schedticks=[ ") && line.ends_with(" ]"), "{line}");
        assert!(lines.matches("SCHED ").count() >= 3, "{lines}");
        let detail = text("schedtrace=10,scheddetail=1");
        assert!(detail.contains("\n  P0: status="), "{detail}");
        assert!(detail.contains("status=4(sleep) m=nil lockedm=nil"), "{detail}");
        return;
    }
    let runtime = runtime(2);
    runtime.block_on(async { go!(gmp::sleep(Duration::from_millis(100))).await.unwrap() });
}
