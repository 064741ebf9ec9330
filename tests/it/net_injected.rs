//! System calls that fail, by the fault injection of `strace`. The program continues, or gets an
//! error that says what is wrong. Nothing hangs.

use super::net_strace::can_trace;
use super::net_tcp::{echo, pair};
use super::support::{child_of, is_child, runtime};
use gmp::go;
use gmp::net::{Async, TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream, WatchLimit};
use gmp::signal::{SignalKind, ctrl_c, signal};
use std::io::{self, ErrorKind};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Runs the test `name` in a child, once for each of `faults`. In each run one system call fails.
fn with_faults(faults: &[&str], name: &str) {
    if !can_trace("Faults of system calls are untested.") {
        return;
    }
    let trace = format!("gmp-{}-{}", name, std::process::id());
    let trace = std::env::temp_dir().join(trace);
    let path = trace.to_str().expect("a path in UTF-8");
    for fault in faults {
        let calls = fault.split(':').next().unwrap();
        let (calls, inject) = (format!("trace={calls}"), format!("inject={fault}"));
        let strace = ["strace", "-f", "-o", path, "-e", &calls, "-e", &inject];
        let output = child_of(&strace, &format!("net_injected::{name}"));
        assert!(
            output.status.success(),
            "{fault}: {}\n{}",
            String::from_utf8_lossy(&output.stderr),
            String::from_utf8_lossy(&output.stdout)
        );
        let traced = std::fs::read_to_string(&trace).unwrap();
        std::fs::remove_file(&trace).unwrap();
        assert!(traced.contains("(INJECTED)"), "{fault}: no call has failed");
    }
}

/// Transfers bytes and sleeps, in a runtime with a limit of time.
fn sockets_and_timers_work() {
    let runtime = runtime(2);
    let work = runtime.spawn(async {
        for _ in 0..10 {
            let (client, server) = pair().await;
            go!(echo(server));
            for _ in 0..10 {
                client.write_all(b"ping").await.unwrap();
                client.read_exact(&mut [0; 4]).await.unwrap();
                gmp::sleep(MS).await;
            }
        }
    });
    gmp::block_on(work).unwrap();
}

#[test]
fn without_epoll_pwait2_waits_are_coarser() {
    if is_child() {
        return sockets_and_timers_work();
    }
    let faults = [
        "epoll_pwait2:error=ENOSYS",
        "epoll_pwait2:error=EPERM",
        "epoll_pwait2:error=EINTR:when=1..50",
    ];
    with_faults(&faults, "without_epoll_pwait2_waits_are_coarser");
}

#[test]
fn without_timerfd_sockets_and_timers_work() {
    if is_child() {
        return sockets_and_timers_work();
    }
    let faults = [
        "timerfd_create:error=EMFILE",
        "timerfd_create:error=ENOSYS",
        "timerfd_create:error=EPERM",
    ];
    with_faults(&faults, "without_timerfd_sockets_and_timers_work");
}

/// A socket cannot be made. Goroutines and timers still run.
#[test]
fn without_a_netpoller_a_socket_returns_the_error_of_the_os() {
    if is_child() {
        let runtime = runtime(2);
        let work = runtime.spawn(async {
            for _ in 0..3 {
                let error = TcpListener::bind("127.0.0.1:0").await.unwrap_err();
                assert_eq!(error.raw_os_error(), Some(24), "EMFILE: {error}");
                let (reader, _writer) = io::pipe().unwrap();
                let error = Async::new(reader).map(drop).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(24), "EMFILE: {error}");
                go!(gmp::sleep(MS)).await.unwrap();
            }
        });
        return gmp::block_on(work).unwrap();
    }
    let faults = ["epoll_create1,epoll_create:error=EMFILE", "eventfd2:error=EMFILE"];
    with_faults(&faults, "without_a_netpoller_a_socket_returns_the_error_of_the_os");
}

/// Whether the process has a handler of the signal.
fn has_handler(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (kind.as_raw() - 1)) != 0
}

/// The handler of signals writes to an eventfd. Without it no handler is installed, so the signal
/// keeps its action.
#[test]
fn without_an_eventfd_a_listener_of_signals_returns_the_error_of_the_os() {
    if is_child() {
        for kind in [SignalKind::user_defined1(), SignalKind::interrupt()] {
            let error = signal(kind).map(drop).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(24), "EMFILE: {error}");
            assert!(!has_handler(kind));
        }
        let error = gmp::block_on(ctrl_c()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(24), "EMFILE: {error}");
        assert!(!has_handler(SignalKind::interrupt()));
        return gmp::block_on(go!(gmp::sleep(MS))).unwrap();
    }
    let name = "without_an_eventfd_a_listener_of_signals_returns_the_error_of_the_os";
    with_faults(&["eventfd2:error=EMFILE"], name);
}

/// The first eventfd of the process is for the handler. The netpoller makes the next two: `polling`
/// replaces the second one by a pipe.
#[test]
fn a_listener_of_signals_works_after_an_eventfd_was_refused() {
    if is_child() {
        let kind = SignalKind::user_defined1();
        let error = signal(kind).map(drop).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(24), "EMFILE: {error}");
        assert!(!has_handler(kind));
        let mut listener = signal(kind).unwrap();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::USR1)
            .unwrap();
        return gmp::block_on(listener.recv()).unwrap();
    }
    let faults = ["eventfd2:error=EMFILE:when=1", "eventfd2:error=EMFILE:when=3"];
    with_faults(&faults, "a_listener_of_signals_works_after_an_eventfd_was_refused");
}

/// The netpoller registers descriptors of its own.
#[test]
fn the_limit_of_watches_is_named_by_the_first_socket() {
    if is_child() {
        return assert_watch_limit(gmp::block_on(TcpListener::bind("127.0.0.1:0")));
    }
    with_faults(&["epoll_ctl:error=ENOSPC"], "the_limit_of_watches_is_named_by_the_first_socket");
}

/// Number of the call of `epoll_ctl` from which on it fails, in each thread.
const FAILS: usize = 40;

fn assert_watch_limit<T>(made: io::Result<T>) {
    let error = made.map(drop).unwrap_err();
    assert!(error.get_ref().is_some_and(|error| error.is::<WatchLimit>()), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
    assert!(error.to_string().contains("fs.epoll.max_user_watches"), "{error}");
}

/// The calls are counted for each thread. All sockets are made on the thread that calls `block_on`.
#[test]
fn the_limit_of_watches_has_an_error_of_its_own() {
    if !is_child() {
        let fault = format!("epoll_ctl:error=ENOSPC:when={FAILS}+");
        return with_faults(&[&fault], "the_limit_of_watches_has_an_error_of_its_own");
    }
    let (tcp, unix_path) = (
        gmp::block_on(TcpListener::bind("127.0.0.1:0")).unwrap(),
        std::env::temp_dir().join(format!("gmp-watches-{}", std::process::id())),
    );
    let unix = gmp::block_on(async { UnixListener::bind(&unix_path) }).unwrap();
    let addr = tcp.local_addr().unwrap();
    std::thread::scope(|scope| {
        let accepts = scope.spawn(|| {
            // Each socket costs two calls of this thread.
            for _ in 0..FAILS / 2 - 1 {
                gmp::block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
            }
            let last = gmp::block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
            let client = std::net::TcpStream::connect(addr).unwrap();
            assert_watch_limit(gmp::block_on(tcp.accept()));
            // The connection was closed.
            let mut end = Vec::new();
            let _ = io::Read::read_to_end(&mut { &client }, &mut end);
            let client = std::os::unix::net::UnixStream::connect(&unix_path).unwrap();
            assert_watch_limit(gmp::block_on(unix.accept()));
            drop(client);
            assert_watch_limit(gmp::block_on(TcpStream::connect(addr)));
            assert_watch_limit(gmp::block_on(TcpListener::bind("127.0.0.1:0")));
            assert_watch_limit(gmp::block_on(UdpSocket::bind("127.0.0.1:0")));
            assert_watch_limit(gmp::block_on(UnixStream::connect(&unix_path)));
            assert_watch_limit(signal(SignalKind::hangup()));
            assert_watch_limit(Async::new(io::pipe().unwrap().0));
            drop(last);
        });
        accepts.join().unwrap();
        // The listener still works. The connect above is in its queue, and closed.
        let accepts = scope.spawn(|| {
            let client = std::net::TcpStream::connect(addr).unwrap();
            let from = client.local_addr().unwrap();
            while gmp::block_on(tcp.accept()).unwrap().1 != from {}
        });
        accepts.join().unwrap();
    });
    std::fs::remove_file(&unix_path).unwrap();
}
