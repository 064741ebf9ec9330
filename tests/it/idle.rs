//! A runtime with nothing to do does nothing.

use super::support::{child, is_child, until};
use std::time::{Duration, Instant};

/// How often the threads of this process whose name is such were put to sleep and woken, by the kernel's count.
#[cfg(target_os = "linux")]
fn context_switches(is_meant: impl Fn(&str) -> bool) -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks
        .map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).unwrap())
        .filter(|status| {
            let name = status.lines().find_map(|line| line.strip_prefix("Name:\t"));
            is_meant(name.unwrap())
        })
        .flat_map(|status| {
            let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
            lines
                .map(|line| line.rsplit('\t').next().unwrap().parse::<u64>().unwrap())
                .collect::<Vec<_>>()
        })
        .sum()
}

/// No periodic wake-ups: in a second of idling, with and without sleepers far away, the kernel
/// counts no more switches than the test itself makes.
#[cfg(target_os = "linux")]
#[test]
fn an_idle_runtime_never_wakes() {
    if !is_child() {
        let output = child("idle::an_idle_runtime_never_wakes", &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let runtime = gmp::Builder::new().max_procs(4).build().unwrap();
    let handles: Vec<_> = (0..1000).map(|n| runtime.spawn(async move { n })).collect();
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
    for _ in 0..1000 {
        runtime.spawn(gmp::sleep(Duration::from_secs(3600)));
    }
    assert_idle(|| runtime.handle().stats(), 1000);
}

/// A program as most are: with `#[gmp::main]`, which waits for SIGQUIT.
#[cfg(target_os = "linux")]
#[test]
fn an_idle_program_never_wakes() {
    #[gmp::main]
    async fn program() {
        for _ in 0..1000 {
            gmp::spawn(gmp::sleep(Duration::from_secs(3600)));
        }
        let (tx, rx) = futures::channel::oneshot::channel();
        let watcher = std::thread::spawn(move || {
            assert_idle(gmp::runtime::stats, 1000);
            tx.send(()).unwrap();
        });
        // An error if the watcher has panicked.
        let _ = rx.await;
        watcher.join().unwrap();
    }
    if is_child() {
        return program();
    }
    let output = child("idle::an_idle_program_never_wakes", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// With connections that are open and waited for, too.
#[cfg(target_os = "linux")]
#[test]
fn an_idle_network_never_wakes() {
    if !is_child() {
        let output = child("idle::an_idle_network_never_wakes", &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let runtime = gmp::Builder::new().max_procs(4).build().unwrap();
    for _ in 0..10 {
        runtime.spawn(async {
            let (client, server) = super::net_tcp::pair().await;
            client.write_all(b"x").await.unwrap();
            server.read_exact(&mut [0]).await.unwrap();
            client.set_read_deadline(Some(std::time::Instant::now() + Duration::from_secs(3600)));
            let _ = client.read(&mut [0]).await;
            unreachable!("nobody writes: {server:?}");
        });
    }
    until(|| {
        let dump = runtime.block_on(async { gmp::runtime::dump() });
        dump.matches("[IO wait").count() == 10
    });
    assert_idle(|| runtime.handle().stats(), 10);
}

/// A goroutine that wakes now and then, for a moment, wakes no thread but its own.
#[cfg(target_os = "linux")]
#[test]
fn a_slow_ticker_does_not_wake_sysmon() {
    const TICKS: u64 = 50;
    if !is_child() {
        let output = child("idle::a_slow_ticker_does_not_wake_sysmon", &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let runtime = gmp::Builder::new().max_procs(2).build().unwrap();
    let ticks = |n| async move {
        for _ in 0..n {
            gmp::sleep(Duration::from_millis(20)).await;
        }
    };
    // Until it sleeps for the first time.
    runtime.block_on(runtime.spawn(ticks(5))).unwrap();
    let count = || context_switches(|name| name == "gmp-sysmon");
    let before = count();
    runtime.block_on(runtime.spawn(ticks(TICKS))).unwrap();
    // It does wake if a thread loses its CPU for long in such a moment.
    let switches = count() - before;
    assert!(switches <= TICKS / 2, "{switches} context switches of sysmon in {TICKS} ticks");
}

/// Nanoseconds of CPU that the thread with this name has used.
#[cfg(target_os = "linux")]
fn cpu_of(name: &str) -> u64 {
    let read = |task: &std::path::Path, file| std::fs::read_to_string(task.join(file)).unwrap();
    let mut tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let task = tasks.find(|task| read(task, "comm").trim() == name).unwrap();
    read(&task, "schedstat").split(' ').next().unwrap().parse().unwrap()
}

/// Who looks after others sleeps most of the time, also after it was roused from a rest of all.
#[cfg(target_os = "linux")]
#[test]
fn sysmon_naps_while_others_run() {
    if !is_child() {
        let output = child("idle::sysmon_naps_while_others_run", &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let runtime = gmp::Builder::new().max_procs(2).build().unwrap();
    for _ in 0..3 {
        runtime.block_on(runtime.spawn(gmp::sleep(Duration::from_millis(50)))).unwrap();
        let (start, before) = (Instant::now(), cpu_of("gmp-sysmon"));
        let busy = runtime.spawn(async move {
            while start.elapsed() < Duration::from_millis(200) {
                gmp::yield_now().await;
            }
        });
        gmp::block_on(busy).unwrap();
        let (used, elapsed) = (cpu_of("gmp-sysmon") - before, start.elapsed());
        assert!(u128::from(used) < elapsed.as_nanos() / 5, "{used} ns of CPU in {elapsed:?}");
    }
}

/// Those who run first after a rest of all may block, with the only one on their ring that can end it.
#[test]
fn who_blocks_first_after_a_rest_is_noticed() {
    for procs in [1, 2] {
        let runtime = gmp::Builder::new().max_procs(procs).build().unwrap();
        for _ in 0..10 {
            runtime.block_on(gmp::sleep(Duration::from_millis(5)));
            let (tx, rx) = std::sync::mpsc::channel();
            let first = runtime.spawn(async move {
                let blockers: Vec<_> = (0..procs)
                    .map(|_| {
                        let (tx, rx) = std::sync::mpsc::channel();
                        (tx, gmp::spawn(async move { rx.recv().unwrap() }))
                    })
                    .collect();
                gmp::spawn(async move { tx.send(()).unwrap() });
                let (ends, handles): (Vec<_>, Vec<_>) = blockers.into_iter().unzip();
                rx.recv().unwrap();
                ends.iter().for_each(|end| end.send(()).unwrap());
                for handle in handles {
                    handle.await.unwrap();
                }
            });
            gmp::block_on(first).unwrap();
        }
    }
}

/// Asserts that nobody wakes for a second, once all threads of a runtime with so many timers sleep.
#[cfg(target_os = "linux")]
fn assert_idle(stats: impl Fn() -> gmp::runtime::Stats, timers: usize) {
    until(|| {
        let stats = stats();
        stats.timers == timers && stats.idle_threads == stats.threads
    });
    // Whoever is in the pool may still be on its way to sleep.
    std::thread::sleep(Duration::from_millis(100));
    let before = context_switches(|_| true);
    std::thread::sleep(Duration::from_secs(1));
    let switches = context_switches(|_| true) - before;
    assert!(switches <= 4, "{switches} context switches in an idle second");
}
