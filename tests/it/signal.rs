//! Signals, sent to child processes because signals belong to a whole process.
#![cfg(unix)]

use super::support::{child, child_command, child_with_signals, is_child, runtime, waiting};
use futures::{FutureExt, StreamExt};
use gmp::signal::{SignalKind, ctrl_c, shutdown, signal};
use gmp::{go, select};
use rustix::process::{Pid, Signal, getpid, kill_process};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[path = "../../examples/graceful_shutdown.rs"]
mod graceful_shutdown;

/// Sends a signal to this process. The OS decides which thread is interrupted, and when.
fn send(signal: Signal) {
    kill_process(getpid(), signal).unwrap();
}

/// Sends a signal to this thread. The handler has run when this returns.
fn raise(signal: Signal) {
    signal_hook::low_level::raise(signal.as_raw()).unwrap();
}

fn assert_success(output: &Output) {
    assert!(
        output.status.success(),
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A child and the lines it prints.
struct Started {
    child: Child,
    printed: std::io::Lines<BufReader<ChildStdout>>,
}

impl Started {
    fn new(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, printed }
    }

    /// Waits for a line with `text` and returns the rest of that line.
    fn until(&mut self, text: &str) -> String {
        loop {
            let line = self.printed.next().unwrap_or_else(|| panic!("no {text:?}")).unwrap();
            if let Some((_, rest)) = line.split_once(text) {
                return rest.to_owned();
            }
        }
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn end(mut self) -> Output {
        self.printed.by_ref().for_each(drop);
        self.child.wait_with_output().unwrap()
    }
}

/// Listeners in two runtimes and outside of any runtime all receive each signal.
#[test]
fn every_listener_gets_every_signal() {
    const ROUNDS: usize = 200;
    let name = "signal::every_listener_gets_every_signal";
    if !is_child() {
        return assert_success(&child(name, &[]));
    }
    let runtimes = [runtime(1), runtime(2)];
    let (reported, reports) = std::sync::mpsc::channel();
    let mut count = 0;
    for runtime in &runtimes {
        for _ in 0..3 {
            let reported = reported.clone();
            let mut listener =
                runtime.block_on(async { signal(SignalKind::user_defined1()) }).unwrap();
            count += 1;
            runtime.spawn(async move {
                while let Some(()) = listener.recv().await {
                    reported.send(()).unwrap();
                }
            });
        }
    }
    let mut listener = signal(SignalKind::user_defined1()).unwrap();
    let mut other = signal(SignalKind::user_defined2()).unwrap();
    for _ in 0..ROUNDS {
        send(Signal::USR1);
        for _ in 0..count {
            reports.recv().unwrap();
        }
        gmp::block_on(listener.recv()).unwrap();
        assert!(reports.try_recv().is_err(), "one signal was reported twice");
    }
    assert_eq!(other.recv().now_or_never(), None);
    // The listeners end with their runtimes.
    for runtime in runtimes {
        runtime.shutdown(Duration::from_secs(30)).unwrap();
    }
}

#[test]
fn no_signal_is_missed_and_unread_ones_count_as_one() {
    let name = "signal::no_signal_is_missed_and_unread_ones_count_as_one";
    if !is_child() {
        return assert_success(&child(name, &[]));
    }
    gmp::block_on(async {
        let mut listener = signal(SignalKind::user_defined1()).unwrap();
        for _ in 0..3 {
            raise(Signal::USR1);
        }
        // A listener that is created later receives later signals only.
        let mut late = signal(SignalKind::user_defined1()).unwrap();
        listener.recv().await.unwrap();
        assert_eq!(listener.recv().now_or_never(), None);
        assert_eq!(late.recv().now_or_never(), None);
        raise(Signal::USR1);
        late.next().await.unwrap();
        listener.next().await.unwrap();
        // A dropped wait misses no signal.
        for _ in 0..1000 {
            assert_eq!(listener.recv().now_or_never(), None);
        }
        raise(Signal::USR1);
        select! {
            got = listener.recv() => assert_eq!(got, Some(())),
            _ = gmp::sleep(Duration::from_secs(30)) => panic!("lost"),
        }
        assert_eq!(listener.kind().to_string(), "SIGUSR1");
    });
    // A listener of a runtime that has ended, awaited outside of it.
    let short = runtime(1);
    let mut listener = short.block_on(async { signal(SignalKind::hangup()) }).unwrap();
    short.shutdown(Duration::from_secs(30)).unwrap();
    assert_eq!(gmp::block_on(listener.recv()), None);
}

/// Listeners are created and dropped while signals arrive.
#[test]
fn listeners_come_and_go_while_signals_arrive() {
    let name = "signal::listeners_come_and_go_while_signals_arrive";
    if !is_child() {
        return assert_success(&child(name, &[]));
    }
    // Keeps the default action from being restored.
    let mut keeper = signal(SignalKind::user_defined1()).unwrap();
    let storm = std::thread::spawn(|| (0..20_000).for_each(|_| send(Signal::USR1)));
    let runtime = runtime(2);
    let work: Vec<_> = (0..8)
        .map(|_| {
            runtime.spawn(async {
                for _ in 0..200 {
                    let mut listener = signal(SignalKind::user_defined1()).unwrap();
                    let mut other = signal(SignalKind::user_defined2()).unwrap();
                    select! {
                        _ = listener.recv() => {}
                        _ = gmp::sleep(Duration::from_millis(1)) => {}
                    }
                    assert_eq!(other.recv().now_or_never(), None);
                }
            })
        })
        .collect();
    for work in work {
        gmp::block_on(work).unwrap();
    }
    storm.join().unwrap();
    gmp::block_on(keeper.recv()).unwrap();
    // The last signal is received, whatever came before.
    let _ = keeper.recv().now_or_never();
    send(Signal::USR1);
    gmp::block_on(keeper.recv()).unwrap();
}

#[test]
fn the_last_listener_restores_the_previous_action() {
    let name = "signal::the_last_listener_restores_the_previous_action";
    if !is_child() {
        // The default action of SIGTERM.
        let output = child(name, &[]);
        assert_eq!(output.status.signal(), Some(Signal::TERM.as_raw()), "{:?}", output.status);
        // Ignored, as by `nohup`.
        let mut shell = Command::new("sh");
        let child = child_command(name, &[]);
        shell.args(["-c", "trap '' TERM; exec \"$0\" \"$@\""]).arg(child.get_program());
        shell.args(child.get_args());
        shell.envs(child.get_envs().filter_map(|(key, value)| Some((key, value?))));
        return assert_success(&shell.output().unwrap());
    }
    gmp::block_on(async {
        let mut first = signal(SignalKind::terminate()).unwrap();
        let second = signal(SignalKind::terminate()).unwrap();
        drop(second);
        send(Signal::TERM);
        first.recv().await.unwrap();
        drop(first);
        // A second time.
        let mut third = signal(SignalKind::terminate()).unwrap();
        send(Signal::TERM);
        third.recv().await.unwrap();
    });
    send(Signal::TERM);
}

/// The listener receives one Ctrl-C. The next one ends the process, which does not listen any more.
#[test]
fn a_second_ctrl_c_ends_the_process() {
    let name = "signal::a_second_ctrl_c_ends_the_process";
    if is_child() {
        return gmp::block_on(async {
            let pressed = ctrl_c();
            println!("ready");
            pressed.await.unwrap();
            println!("heard");
            std::future::pending::<()>().await;
        });
    }
    let mut child = Started::new(child_with_signals(name, &[]));
    child.until("ready");
    child.send(Signal::INT);
    child.until("heard");
    child.send(Signal::INT);
    assert_eq!(child.end().status.signal(), Some(Signal::INT.as_raw()));
}

/// A loop that calls `ctrl_c` in each round. Ctrl-C comes while the body of the loop runs.
#[test]
fn ctrl_c_between_two_calls_is_kept() {
    let name = "signal::ctrl_c_between_two_calls_is_kept";
    if !is_child() {
        return assert_success(&started_with_signals(name).end());
    }
    gmp::block_on(async {
        // Twice: the signal is kept again after it was received.
        for _ in 0..2 {
            let mut bodies = 0;
            loop {
                select! {
                    pressed = ctrl_c() => break pressed.unwrap(),
                    _ = gmp::sleep(Duration::from_millis(5)) => {
                        bodies += 1;
                        if bodies == 3 {
                            raise(Signal::INT);
                        }
                    }
                }
            }
            assert_eq!(bodies, 3, "received by the next call");
        }
        // A call that was never awaited, and one beside another listener.
        drop(ctrl_c());
        let mut listener = signal(SignalKind::interrupt()).unwrap();
        for _ in 0..3 {
            raise(Signal::INT);
            listener.recv().await.unwrap();
        }
        ctrl_c().await.unwrap();
        raise(Signal::INT);
        listener.recv().await.unwrap();
    });
}

/// A program that does not wait for Ctrl-C any more ends at the second one.
#[test]
fn a_second_ctrl_c_that_nothing_waits_for_ends_the_process() {
    let name = "signal::a_second_ctrl_c_that_nothing_waits_for_ends_the_process";
    if is_child() {
        drop(ctrl_c());
        raise(Signal::INT);
        println!("kept");
        raise(Signal::INT);
        unreachable!("the second signal ends the process");
    }
    let mut child = started_with_signals(name);
    child.until("kept");
    assert_eq!(child.end().status.signal(), Some(Signal::INT.as_raw()));
}

fn started_with_signals(name: &str) -> Started {
    Started::new(child_with_signals(name, &[]))
}

/// Receives `kind` on a runtime of Tokio, in order.
struct OnTokio {
    runtime: tokio::runtime::Runtime,
    listener: tokio::signal::unix::Signal,
}

impl OnTokio {
    fn new(kind: SignalKind) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let kind = tokio::signal::unix::SignalKind::from_raw(kind.as_raw());
        let listener = runtime.block_on(async { tokio::signal::unix::signal(kind) }).unwrap();
        Self { runtime, listener }
    }

    fn hears(&mut self) {
        self.runtime.block_on(self.listener.recv()).unwrap();
    }
}

/// Raises a signal and checks that `listener` receives it once.
fn hears_once(listener: &mut gmp::signal::Signal, kind: Signal) {
    raise(kind);
    gmp::block_on(listener.recv()).unwrap();
    assert_eq!(listener.recv().now_or_never(), None);
}

#[test]
fn a_handler_of_tokio_from_before_is_called() {
    let name = "signal::a_handler_of_tokio_from_before_is_called";
    if !is_child() {
        return assert_success(&child(name, &[]));
    }
    let mut tokio = OnTokio::new(SignalKind::user_defined1());
    for _ in 0..3 {
        let mut listener = signal(SignalKind::user_defined1()).unwrap();
        hears_once(&mut listener, Signal::USR1);
        tokio.hears();
        drop(listener);
        raise(Signal::USR1);
        tokio.hears();
    }
}

#[test]
fn a_handler_of_tokio_from_later_is_called() {
    let name = "signal::a_handler_of_tokio_from_later_is_called";
    if !is_child() {
        return assert_success(&child(name, &[]));
    }
    let mut first = signal(SignalKind::user_defined1()).unwrap();
    let mut tokio = OnTokio::new(SignalKind::user_defined1());
    hears_once(&mut first, Signal::USR1);
    tokio.hears();
    drop(first);
    // Tokio's handler is the last one. Its handler stays, and so does the one that it replaced.
    for _ in 0..3 {
        raise(Signal::USR1);
        tokio.hears();
        let mut again = signal(SignalKind::user_defined1()).unwrap();
        hears_once(&mut again, Signal::USR1);
        tokio.hears();
    }
}

#[test]
fn handlers_of_signal_hook_are_called_in_both_orders() {
    let name = "signal::handlers_of_signal_hook_are_called_in_both_orders";
    if !is_child() {
        return assert_success(&child(name, &[]));
    }
    let calls = Arc::new(AtomicUsize::new(0));
    let register = |signal: Signal| {
        let calls = calls.clone();
        let count = move || {
            calls.fetch_add(1, Ordering::Relaxed);
        };
        hook(signal, count)
    };
    // The handler of signal-hook is there first.
    register(Signal::USR1);
    let mut listener = signal(SignalKind::user_defined1()).unwrap();
    hears_once(&mut listener, Signal::USR1);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    drop(listener);
    raise(Signal::USR1);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    // The handler of gmp is there first, and goes and comes.
    let mut listener = signal(SignalKind::user_defined2()).unwrap();
    let id = register(Signal::USR2);
    hears_once(&mut listener, Signal::USR2);
    drop(listener);
    raise(Signal::USR2);
    let mut listener = signal(SignalKind::user_defined2()).unwrap();
    hears_once(&mut listener, Signal::USR2);
    assert_eq!(calls.load(Ordering::Relaxed), 5);
    // signal-hook keeps its handler without an action.
    signal_hook::low_level::unregister(id);
    hears_once(&mut listener, Signal::USR2);
    assert_eq!(calls.load(Ordering::Relaxed), 5);
}

#[expect(unsafe_code, reason = "a handler of a signal")]
fn hook(signal: Signal, action: impl Fn() + Send + Sync + 'static) -> signal_hook::SigId {
    // SAFETY: the actions of these tests only add to an atomic.
    unsafe { signal_hook::low_level::register(signal.as_raw(), action) }.unwrap()
}

#[test]
fn signals_without_a_handler_are_errors() {
    for raw in [9, 19, 11, 7, 8, 4, 0, -1, 32, 100, 1000, i32::MAX] {
        let error = signal(SignalKind::from_raw(raw)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{raw}: {error}");
        assert!(error.to_string().contains("signal"), "{error}");
    }
}

/// gmp handles SIGQUIT unless a listener exists, and again after the last listener is dropped.
#[test]
fn a_listener_for_sigquit_replaces_the_dump_of_main() {
    #[gmp::main]
    async fn program() {
        let mut quit = signal(SignalKind::quit()).unwrap();
        println!("ready");
        quit.recv().await.unwrap();
        drop(quit);
        println!("heard");
        std::future::pending::<()>().await;
    }
    let name = "signal::a_listener_for_sigquit_replaces_the_dump_of_main";
    if is_child() {
        return program();
    }
    let mut child = Started::new(child_with_signals(name, &[]));
    child.until("ready");
    child.send(Signal::QUIT);
    child.until("heard");
    child.send(Signal::QUIT);
    let output = child.end();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert_eq!(text.matches("SIGQUIT: quit").count(), 1, "{text}");
}

/// Waiting for a signal is no deadlock, holds no thread and uses no CPU.
#[test]
fn a_wait_for_a_signal_is_no_deadlock_and_uses_no_cpu() {
    let name = "signal::a_wait_for_a_signal_is_no_deadlock_and_uses_no_cpu";
    if is_child() {
        let runtime = runtime(2);
        let work = runtime.spawn(async {
            let mut hangup = signal(SignalKind::hangup()).unwrap();
            let waits = go!(async move { hangup.recv().await.unwrap() });
            waiting("signal wait", 1).await;
            println!("ready");
            waits.await.unwrap();
        });
        gmp::block_on(work).unwrap();
        return;
    }
    let mut child = Started::new(child_with_signals(name, &[("GMPDEBUG", "deadlock=fatal")]));
    child.until("ready");
    // Sysmon finds all goroutines asleep and enters deep sleep. The time until then depends on the
    // machine.
    let quiet = (0..20).any(|_| {
        let before = switches(&child.child);
        std::thread::sleep(Duration::from_millis(500));
        switches(&child.child) == before
    });
    assert!(quiet, "it never rests");
    child.send(Signal::HUP);
    assert_success(&child.end());
}

/// Returns the numbers of context switches of the threads of `child`.
fn switches(child: &Child) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    let status =
        tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).unwrap());
    let lines = |status: String| {
        let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    status.flat_map(lines).collect()
}

/// The example `graceful_shutdown`, stopped while it serves clients.
#[test]
fn sigterm_drains_the_graceful_server() {
    let name = "signal::sigterm_drains_the_graceful_server";
    if is_child() {
        return assert_eq!(graceful_shutdown::main(), std::process::ExitCode::SUCCESS);
    }
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Started::new(child_with_signals(name, &[("LISTEN", "127.0.0.1:0")]));
        let addr = server.until("listening on ");
        let mut clients: Vec<_> = (0..10)
            .map(|n| {
                let mut client = TcpStream::connect(&addr).unwrap();
                client.write_all(&[n]).unwrap();
                let mut back = [0];
                client.read_exact(&mut back).unwrap();
                assert_eq!(back, [n]);
                client
            })
            .collect();
        server.send(signal);
        for client in &mut clients {
            let mut text = String::new();
            client.read_to_string(&mut text).unwrap();
            assert_eq!(text, "goodbye\n");
        }
        server.until("all connections have finished");
        assert!(TcpStream::connect(&addr).is_err());
        assert_success(&server.end());
    }
}

/// Each of the two signals ends the wait. After that both have their previous actions again.
#[test]
fn a_request_to_end_is_either_of_two_signals() {
    let name = "signal::a_request_to_end_is_either_of_two_signals";
    if is_child() {
        for (sent, kind) in
            [(Signal::TERM, SignalKind::terminate()), (Signal::INT, SignalKind::interrupt())]
        {
            // It listens from the call on.
            let ends = shutdown();
            raise(sent);
            assert_eq!(gmp::block_on(ends).unwrap(), kind);
        }
        raise(Signal::TERM);
        unreachable!("the signal ends the process");
    }
    let output = child_with_signals(name, &[]).output().unwrap();
    assert_eq!(output.status.signal(), Some(Signal::TERM.as_raw()), "{output:?}");
}
