//! Observability: dumps and the scheduler trace.

use super::support::{child_command, is_child, runtime, until};
use gmp::go;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn a_dump_shows_state_name_parent_and_site() {
    const LINES: [&str; 4] = [
        " [sleep] {name: sleeper}:\n",
        " [await] {name: joiner}:\n",
        " [syscall] {name: caller}:\n",
        " [running]:\n",
    ];
    let runtime = runtime(1);
    let dump = runtime.block_on(async {
        go!({
            let sleeper = go!(name = "sleeper", gmp::sleep(Duration::from_secs(60)));
            let joiner = go!(name = "joiner", async { std::future::pending::<()>().await });
            let (tx, rx) = std::sync::mpsc::channel();
            let call = go!(name = "caller", async move { gmp::block_in_place(|| rx.recv()) });
            // The caller blocks the only P. The dump is complete only if that P was handed off. If
            // this goroutine loses its P while it makes a dump, that dump does not show it as
            // running.
            let mut dump = String::new();
            while !LINES.iter().all(|line| dump.contains(line)) {
                gmp::sleep(Duration::from_millis(1)).await;
                dump = gmp::runtime::dump();
            }
            tx.send(()).unwrap();
            call.await.unwrap().unwrap();
            sleeper.abort();
            joiner.abort();
            dump
        })
        .await
        .unwrap()
    });
    assert!(
        dump.contains("created by goroutine ") && dump.contains("\ttests/it/inside.rs:"),
        "{dump}"
    );
    assert_eq!(dump.split("\n\n").count(), 4, "{dump}");
}

/// A goroutine that computes is `running`, also after its P was handed off. One that blocks without
/// a mark is in a `syscall`.
#[test]
fn a_dump_distinguishes_computing_from_blocking_after_a_hand_off() {
    let runtime = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    let (tx, rx) = std::sync::mpsc::channel::<()>();
    let stopped = stop.clone();
    gmp::task::Builder::new().name("hog").on(runtime.handle()).spawn(async move {
        while !stopped.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
    gmp::task::Builder::new().name("blocker").on(runtime.handle()).spawn(async move { rx.recv() });
    // One P runs both and the dumps, so both were handed off before the last dump.
    let dump = || runtime.block_on(async { gmp::runtime::dump() });
    until(|| runtime.handle().metrics().threads.cpu_bound == 1);
    until(|| dump().contains("[syscall] {name: blocker}"));
    let shown = dump();
    assert!(shown.contains("[running] {name: hog}"), "{shown}");
    stop.store(true, Ordering::Relaxed);
    drop(tx);
}

/// `TestNumGoroutine` and `issue9321.go`: dumps under full load, many at once.
#[test]
fn dumps_work_under_load() {
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
    // A goroutine counts as ended before the dump shows it as dead.
    until(|| runtime.block_on(async { gmp::runtime::dump() }).is_empty());
}

/// Replaces the values of a line: numbers and `nil` become `#`, booleans `?`, wait reasons `()`.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let after_sign = shape.ends_with('=');
        let (taken, put) = match first {
            _ if digits > 0 => (digits, "#"),
            _ if after_sign && rest.starts_with("nil") => (3, "#"),
            _ if after_sign && rest.starts_with("true") => (4, "?"),
            _ if after_sign && rest.starts_with("false") => (5, "?"),
            '(' => (rest.find(')').unwrap() + 1, "()"),
            _ => (first.len_utf8(), &rest[..first.len_utf8()]),
        };
        shape.push_str(put);
        rest = &rest[taken..];
    }
    shape
}

const HEAD: &str = "SCHED #ms: gomaxprocs=# idleprocs=# threads=# spinningthreads=# needspinning=# \
                    idlethreads=# runqueue=#";
const DETAIL: &str = " gcwaiting=? nmidlelocked=# stopwait=# sysmonwait=?";
/// After Go's fields.
const NAME: &str = " runtime=#()";
const P_LINE: &str =
    "  P#: status=# schedtick=# syscalltick=# m=# runqsize=# gfreecnt=# timerslen=#";
const M_LINE: &str = "  M#: p=# curg=# mallocing=# throwing=# preemptoff= locks=# dying=# \
                      spinning=? blocked=? lockedg=#";
const G_LINE: &str = "  G#: status=#() m=# lockedm=#";

/// Returns the value after `key=` in a line.
fn value<'a>(line: &'a str, key: &str) -> &'a str {
    let (_, rest) = line.split_once(key).unwrap_or_else(|| panic!("{key} in {line}"));
    rest.split([' ', '(']).next().unwrap()
}

/// Returns the traces that a child prints, each as its lines, when `enough` accepts them.
fn traces(name: &str, debug: &str, enough: impl Fn(&[Vec<String>]) -> bool) -> Vec<Vec<String>> {
    let mut command = child_command(name, &[("GMPDEBUG", debug)]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut traces: Vec<Vec<String>> = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.starts_with("SCHED ") {
            // The traces up to now are complete.
            if enough(&traces) {
                break;
            }
            traces.push(Vec::new());
        }
        if let Some(trace) = traces.last_mut() {
            trace.push(line);
        }
    }
    // The child ends at the end of its input.
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(enough(&traces), "{traces:#?}");
    traces
}

/// The work of the child: one goroutine sleeps, one is in a blocking call until stdin ends.
fn sleep_and_call() {
    let runtime = runtime(2);
    let _sleeper = runtime.spawn(gmp::sleep(Duration::from_secs(3600)));
    let read = || std::io::stdin().read_to_end(&mut Vec::new());
    gmp::block_on(runtime.spawn(async move { gmp::block_in_place(read) })).unwrap().unwrap();
}

/// The work of the child: two runtimes of the same name.
fn two_runtimes() {
    let _others = [runtime(1), runtime(1)];
    sleep_and_call();
}

#[test]
fn traces_name_their_runtimes_and_the_docs_have_all_fields() {
    let name = "inside::traces_name_their_runtimes_and_the_docs_have_all_fields";
    if is_child() {
        return two_runtimes();
    }
    let names = |traces: &[Vec<String>]| {
        let lines = traces.iter().map(|trace| &trace[0]);
        let names = lines.filter_map(|line| Some(line.rsplit_once(" runtime=")?.1.to_owned()));
        names.collect::<BTreeSet<_>>()
    };
    let docs = include_str!("../../src/runtime.rs");
    for debug in ["schedtrace=10", "schedtrace=10,scheddetail=1"] {
        let traces = traces(name, debug, |traces| names(traces).len() >= 3);
        let all = names(&traces);
        assert!(all.iter().all(|name| name.ends_with("(gmp)")), "{all:?}");
        for line in traces.concat() {
            let words = line.split([' ', '[', ']']).filter(|word| !word.is_empty());
            for key in words.filter_map(|word| Some(word.split_once('=')?.0)) {
                assert!(docs.contains(&format!("//! | `{key}` |")), "{key} of {line}");
            }
        }
    }
}

#[test]
fn schedtrace_has_gos_format() {
    let name = "inside::schedtrace_has_gos_format";
    if is_child() {
        return sleep_and_call();
    }
    let traces = traces(name, "schedtrace=10", |traces| traces.len() >= 3);
    let lines = traces.concat();
    assert!(lines[0].starts_with("SCHED 0ms: gomaxprocs=2 idleprocs="), "{lines:?}");
    let expected = format!("{HEAD} [ # # ] schedticks=[ # # ]{NAME}");
    for line in &lines {
        assert_eq!(shape(line), expected);
    }
}

#[test]
fn scheddetail_has_gos_format() {
    let name = "inside::scheddetail_has_gos_format";
    if is_child() {
        return sleep_and_call();
    }
    // One goroutine sleeps, and the P of the other one was handed off: nothing changes any more.
    let at_rest = |trace: &Vec<String>| {
        let has = |part| trace.iter().any(|line| line.contains(part));
        has("status=4(sleep)") && has("status=3(") && has(" idleprocs=2 ")
    };
    // The values of one trace need not be of the same time. All values of the second trace are
    // later than the first one.
    let traces = traces(name, "schedtrace=10,scheddetail=1", |traces| {
        traces.len() >= 2 && traces[traces.len() - 2..].iter().all(at_rest)
    });
    for trace in &traces {
        let mut shapes: Vec<String> = trace.iter().map(|line| shape(line)).collect();
        assert_eq!(shapes.remove(0), format!("{HEAD}{DETAIL}{NAME}"));
        shapes.dedup();
        let kinds: Vec<&str> = shapes.iter().map(String::as_str).collect();
        assert!([P_LINE, M_LINE, G_LINE].starts_with(&kinds), "{trace:?}");
    }
    let rest = traces.last().unwrap();
    let lines = |start: char| {
        let start = format!("  {start}");
        rest.iter().filter(move |line| line.starts_with(&start)).collect::<Vec<_>>()
    };
    assert_eq!(lines('M').len().to_string(), value(&rest[0], "threads="), "{rest:#?}");
    let status = |line: &str| value(line, "status=").to_owned();
    // The P that the caller's M keeps is not active, but may hold the sleeper's timer.
    let with_right = lines('P').into_iter().filter(|line| status(line) != "4").count();
    assert_eq!(with_right, 2, "{rest:#?}");
    let sleeper = lines('G').into_iter().find(|line| status(line) == "4").expect("a sleeper");
    assert!(sleeper.contains("status=4(sleep) m=nil lockedm=nil"), "{sleeper}");
    let caller = lines('G').into_iter().find(|line| status(line) == "3").expect("a caller");
    let (goid, m) = (value(caller, "  G").trim_end_matches(':'), value(caller, " m="));
    let m = format!("  M{m}: p=");
    let m = rest.iter().find(|line| line.starts_with(&m)).expect("the caller's M");
    assert_eq!(value(m, "curg="), goid, "{rest:#?}");
}
