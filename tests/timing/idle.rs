//! An idle runtime uses no CPU, and sysmon uses little.

use crate::alone;
use crate::support::net::pair;
use crate::support::{child, is_child, passed_in_child, until};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The name of the thread that pauses others.
const PAUSER: &str = "gmp-pauser";

/// Returns the `/proc` entries of this process's threads whose name `matches`.
pub(crate) fn threads(matches: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    // A thread may end meanwhile.
    let name = |task: &PathBuf| std::fs::read_to_string(task.join("comm")).unwrap_or_default();
    tasks.filter(|task| matches(name(task).trim())).collect()
}

/// The threads of a runtime: its workers and sysmon.
fn runtime_threads() -> Vec<PathBuf> {
    threads(|name| name.starts_with("gmp-"))
}

fn read(task: &Path, file: &str) -> String {
    std::fs::read_to_string(task.join(file)).unwrap()
}

/// Returns the number of context switches of these threads.
fn context_switches(threads: &[PathBuf]) -> u64 {
    let of_thread = |task: &PathBuf| {
        let status = read(task, "status");
        let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
        lines.map(|line| line.rsplit('\t').next().unwrap().parse::<u64>().unwrap()).sum::<u64>()
    };
    threads.iter().map(of_thread).sum()
}

/// Returns the CPU time of these threads, and the time for which they were runnable without a CPU.
pub(crate) fn cpu_and_wait(threads: &[PathBuf]) -> (Duration, Duration) {
    let sum = |field: usize| {
        let of_thread = |task: &PathBuf| {
            let stat = read(task, "schedstat");
            stat.split(' ').nth(field).unwrap().parse::<u64>().unwrap()
        };
        Duration::from_nanos(threads.iter().map(of_thread).sum())
    };
    (sum(0), sum(1))
}

/// Whether all these threads sleep, according to the kernel.
fn all_sleep(threads: &[PathBuf]) -> bool {
    // The state follows the name, which is in parentheses.
    threads.iter().all(|task| read(task, "stat").rsplit(')').next().unwrap().starts_with(" S"))
}

/// Asserts that the threads of a runtime with this number of timers sleep through a second.
fn assert_idle(metrics: impl Fn() -> gmp::runtime::Metrics, timers: usize) {
    // Workers beyond the number of Ps and the pauser end some time after their last work.
    until(|| {
        let metrics = metrics();
        metrics.timers.pending == timers
            && metrics.threads.sleeping() == metrics.threads.total
            && metrics.threads.total <= metrics.max_procs
            && self::threads(|name| name == PAUSER).is_empty()
    });
    let threads = runtime_threads();
    assert!(threads.len() >= 2, "a worker and sysmon: {threads:?}");
    // A worker in the pool may still be on its way to sleep. Sysmon enters its deep sleep some time
    // after the last P has become idle. Its other sleeps last a millisecond.
    until(|| {
        let before = context_switches(&threads);
        std::thread::sleep(Duration::from_millis(50));
        all_sleep(&threads) && context_switches(&threads) == before
    });
    let before = context_switches(&threads);
    std::thread::sleep(Duration::from_secs(1));
    let switches = context_switches(&threads) - before;
    assert_eq!(switches, 0, "context switches in an idle second");
}

#[test]
fn an_idle_runtime_never_wakes() {
    let _alone = alone();
    if passed_in_child("idle::an_idle_runtime_never_wakes") {
        return;
    }
    let runtime = gmp::runtime::Builder::new().max_procs(4).build().unwrap();
    let handles: Vec<_> = (0..1000).map(|n| runtime.spawn(async move { n })).collect();
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
    for _ in 0..1000 {
        runtime.spawn(gmp::sleep(Duration::from_secs(3600)));
    }
    assert_idle(|| runtime.handle().metrics(), 1000);
}

/// A program with `#[gmp::main]`, which also waits for SIGQUIT.
#[test]
fn an_idle_program_never_wakes() {
    #[gmp::main]
    async fn program() {
        for _ in 0..1000 {
            gmp::spawn(gmp::sleep(Duration::from_secs(3600)));
        }
        let (tx, rx) = futures::channel::oneshot::channel();
        // A thread without a name inherits the name of the thread that starts it.
        let watcher = std::thread::Builder::new().name("watcher".into()).spawn(move || {
            assert_idle(gmp::runtime::metrics, 1000);
            tx.send(()).unwrap();
        });
        // An error if the watcher has panicked.
        let _ = rx.await;
        watcher.unwrap().join().unwrap();
    }
    let _alone = alone();
    if !passed_in_child("idle::an_idle_program_never_wakes") {
        program();
    }
}

#[test]
fn a_runtime_with_idle_connections_never_wakes() {
    let _alone = alone();
    if passed_in_child("idle::a_runtime_with_idle_connections_never_wakes") {
        return;
    }
    let runtime = gmp::runtime::Builder::new().max_procs(4).build().unwrap();
    for _ in 0..10 {
        runtime.spawn(async {
            let (client, server) = pair().await;
            client.write_all(b"x").await.unwrap();
            server.read_exact(&mut [0]).await.unwrap();
            client.set_read_deadline(Some(Instant::now() + Duration::from_secs(3600)));
            let _ = client.read(&mut [0]).await;
            unreachable!("nobody writes: {server:?}");
        });
    }
    until(|| {
        let dump = runtime.block_on(async { gmp::runtime::dump() });
        dump.matches("[IO wait").count() == 10
    });
    assert_idle(|| runtime.handle().metrics(), 10);
}

/// A goroutine that runs for some microseconds now and then wakes only its own thread.
#[test]
fn a_slow_ticker_does_not_wake_sysmon() {
    const TICKS: u64 = 50;
    let _alone = alone();
    if passed_in_child("idle::a_slow_ticker_does_not_wake_sysmon") {
        return;
    }
    let runtime = gmp::runtime::Builder::new().max_procs(2).build().unwrap();
    let ticks = |n| async move {
        for _ in 0..n {
            gmp::sleep(Duration::from_millis(20)).await;
        }
    };
    // Until sysmon enters its deep sleep for the first time.
    runtime.block_on(runtime.spawn(ticks(5))).unwrap();
    let sysmon = threads(|name| name == "gmp-sysmon");
    let all = runtime_threads();
    let (before, (_, waited_before)) = (context_switches(&sysmon), cpu_and_wait(&all));
    runtime.block_on(runtime.spawn(ticks(TICKS))).unwrap();
    let (switches, (_, waited)) = (context_switches(&sysmon) - before, cpu_and_wait(&all));
    // Sysmon wakes if the tick takes long because its thread waits for a CPU.
    let waited = (waited - waited_before).as_millis() as u64;
    let limit = TICKS / 2 + 4 * waited;
    assert!(switches <= limit, "{switches} context switches of sysmon in {TICKS} ticks");
}

/// Sysmon wakes for each line of a trace, and sleeps in between.
#[test]
fn a_trace_wakes_sysmon_only_for_its_lines() {
    let name = "idle::a_trace_wakes_sysmon_only_for_its_lines";
    let _alone = alone();
    if is_child() {
        let runtime = gmp::runtime::Builder::new().max_procs(2).build().unwrap();
        runtime.block_on(runtime.spawn(async {})).unwrap();
        let sysmon = threads(|name| name == "gmp-sysmon");
        // The first lines come while the threads start.
        std::thread::sleep(Duration::from_millis(500));
        let before = context_switches(&sysmon);
        std::thread::sleep(Duration::from_secs(1));
        let switches = context_switches(&sysmon) - before;
        // Without a deep sleep it wakes each millisecond.
        assert!(switches < 200, "{switches} context switches of sysmon for 20 lines");
        return;
    }
    let output = child(name, &[("GMPDEBUG", "schedtrace=50")]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = said.lines().filter(|line| line.starts_with("SCHED ")).count();
    assert!(lines >= 20, "{said}");
}

/// Sysmon sleeps most of the time while goroutines run, also after its deep sleep.
#[test]
fn sysmon_uses_little_cpu_while_goroutines_run() {
    let _alone = alone();
    if passed_in_child("idle::sysmon_uses_little_cpu_while_goroutines_run") {
        return;
    }
    let runtime = gmp::runtime::Builder::new().max_procs(2).build().unwrap();
    for _ in 0..3 {
        runtime.block_on(runtime.spawn(gmp::sleep(Duration::from_millis(50)))).unwrap();
        let sysmon = threads(|name| name == "gmp-sysmon");
        let (start, (before, _)) = (Instant::now(), cpu_and_wait(&sysmon));
        let busy = runtime.spawn(async move {
            while start.elapsed() < Duration::from_millis(200) {
                gmp::yield_now().await;
            }
        });
        gmp::block_on(busy).unwrap();
        let (used, elapsed) = (cpu_and_wait(&sysmon).0 - before, start.elapsed());
        assert!(used < elapsed / 5, "{used:?} of CPU in {elapsed:?}");
    }
}
