//! Forks of a process that runs goroutines. Each test runs in a process of its own.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "std has no fork")]

use super::support::{child, is_child, passed_in_child, runtime, until, waiting};
use gmp::go;
use gmp::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// A child that hangs is ended after this time, in seconds, and its test fails.
const HUNG: u32 = 60;

/// Forks. Returns `None` in the child.
fn fork() -> Option<libc::pid_t> {
    // SAFETY: the tests run little code in the child. No other thread holds a lock of that code at
    // the fork: see `used_runtime`.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: takes no memory.
            unsafe { libc::alarm(HUNG) };
            None
        }
        pid => {
            assert!(pid > 0, "{}", std::io::Error::last_os_error());
            Some(pid)
        }
    }
}

/// Waits for the end of a child.
fn wait(pid: libc::pid_t) -> ExitStatus {
    let mut status = 0;
    // SAFETY: the pointer is valid during the call.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(waited, pid, "{}", std::io::Error::last_os_error());
    ExitStatus::from_raw(status)
}

/// Runs `f` in a fork, whose exit status it returns.
fn in_fork(f: impl FnOnce() -> i32) -> ExitStatus {
    match fork() {
        Some(pid) => wait(pid),
        None => {
            let code = catch_unwind(AssertUnwindSafe(f)).unwrap_or(101);
            // SAFETY: takes no memory.
            unsafe { libc::_exit(code) }
        }
    }
}

/// Runs `f` in a fork and checks that it panics with the message about forks.
fn assert_refused(what: &str, f: impl FnOnce()) {
    let status = in_fork(|| {
        let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("it must panic");
        let text = gmp_rt::panic_message(&*panic);
        i32::from(!text.contains("is a fork of the process that started the gmp runtime"))
    });
    assert_eq!(status.code(), Some(0), "{what}: {status}");
}

/// Returns a runtime. Its threads and those of the default runtime sleep.
fn used_runtime() -> gmp::Runtime {
    let runtime = runtime(2);
    gmp::block_on(gmp::spawn(async {})).unwrap();
    gmp::block_on(runtime.spawn(async {})).unwrap();
    std::panic::set_hook(Box::new(|_| {}));
    until(|| {
        let before = other_threads();
        before == other_threads() && before.iter().all(|status| status.contains("State:\tS"))
    });
    runtime
}

/// Returns the states of the other threads, and how often each was switched. If none changes and
/// all sleep, none holds a lock.
fn other_threads() -> Vec<String> {
    // SAFETY: takes no memory.
    let me = unsafe { libc::gettid() }.to_string();
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let others = tasks.filter(|task| task.file_name().to_str() != Some(&me));
    let shown = ["State:", "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"];
    let status = |task: std::fs::DirEntry| {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let lines = status.lines().filter(|line| shown.iter().any(|name| line.starts_with(name)));
        lines.collect::<Vec<_>>().join("\n")
    };
    others.map(status).collect()
}

#[test]
fn calls_that_need_a_runtime_of_the_parent_panic() {
    if passed_in_child("fork::calls_that_need_a_runtime_of_the_parent_panic") {
        return;
    }
    let runtime = used_runtime();
    let handle = runtime.handle().clone();
    assert_refused("spawn", || drop(gmp::spawn(async {})));
    assert_refused("Handle::spawn", || drop(handle.spawn(async {})));
    assert_refused("Handle::block_on", || handle.block_on(async {}));
    assert_refused("sleep", || gmp::block_on(gmp::sleep(Duration::from_millis(1))));
    let never = std::future::pending::<()>();
    let limit = Duration::from_millis(1);
    assert_refused("timeout", || {
        let _ = gmp::block_on(gmp::timeout(limit, never));
    });
    let status = in_fork(|| {
        let error = gmp::block_on(gmp::net::UdpSocket::bind("127.0.0.1:0")).unwrap_err();
        i32::from(!error.to_string().contains("is a fork"))
    });
    assert_eq!(status.code(), Some(0), "bind: {status}");
    // The parent is not affected.
    assert_eq!(gmp::block_on(handle.spawn(async { 1 })).unwrap(), 1);
    runtime.shutdown(LONG).unwrap();
}

#[test]
fn the_end_of_a_runtime_does_not_wait_in_a_fork() {
    if passed_in_child("fork::the_end_of_a_runtime_does_not_wait_in_a_fork") {
        return;
    }
    let runtime = used_runtime();
    runtime.spawn(std::future::pending::<()>()).detach();
    let mut slot = Some(runtime);
    let status = in_fork(|| {
        drop(slot.take());
        0
    });
    assert_eq!(status.code(), Some(0), "drop: {status}");
    assert_refused("shutdown", || slot.take().unwrap().shutdown(LONG).unwrap());
    slot.take().unwrap().shutdown(LONG).unwrap();
}

/// Parent and child share the queue of events, and the child has a copy of each socket.
#[test]
fn a_fork_leaves_the_sockets_of_its_parent_alone() {
    if passed_in_child("fork::a_fork_leaves_the_sockets_of_its_parent_alone") {
        return;
    }
    let runtime = used_runtime();
    let pair = runtime.block_on(async { UnixStream::pair().unwrap() });
    let mut slot = Some(pair);
    let status = in_fork(|| {
        let (near, far) = slot.take().unwrap();
        // Without a wait, a socket works.
        gmp::block_on(far.write_all(b"x")).unwrap();
        gmp::block_on(near.read_exact(&mut [0])).unwrap();
        let error = gmp::block_on(near.read(&mut [0])).unwrap_err();
        drop((near, far));
        i32::from(!error.to_string().contains("is a fork"))
    });
    assert_eq!(status.code(), Some(0), "{status}");
    let (near, far) = slot.take().unwrap();
    let reads = runtime.spawn(async move { near.read(&mut [0]).await.unwrap() });
    runtime.block_on(waiting("IO wait", 1));
    gmp::block_on(far.write_all(b"x")).unwrap();
    assert_eq!(gmp::block_on(reads).unwrap(), 1);
    runtime.shutdown(LONG).unwrap();
}

#[test]
fn a_fork_may_build_a_runtime() {
    if passed_in_child("fork::a_fork_may_build_a_runtime") {
        return;
    }
    let _runtime = used_runtime();
    let status = in_fork(|| {
        let own = runtime(2);
        let code = own.block_on(async {
            gmp::sleep(Duration::from_millis(1)).await;
            go!({ 7 }).await.unwrap()
        });
        own.shutdown(LONG).unwrap();
        code
    });
    assert_eq!(status.code(), Some(7), "{status}");
}

/// The child has one thread, which is in the poll. After the poll it must not run the goroutines of
/// the parent.
#[test]
fn a_goroutine_that_forks_ends_the_child_when_its_poll_returns() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let name = "fork::a_goroutine_that_forks_ends_the_child_when_its_poll_returns";
    if !is_child() {
        let output = child(name, &[]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        assert_eq!(text.matches("gmp: fatal error: a goroutine called fork").count(), 2, "{text}");
        return;
    }
    for hands_off in [false, true] {
        let runtime = runtime(1);
        let forks = runtime.spawn(async move {
            let other = go!({
                // In the child this ends the test with another status.
                if RUNS.fetch_add(1, Ordering::Relaxed) > 0 {
                    std::process::exit(7);
                }
            });
            let pid = match hands_off {
                // The P is handed off when the poll returns.
                true => gmp::block_on(async { fork() }),
                false => fork(),
            };
            // Wakes another goroutine, also in the child.
            go!({});
            if pid.is_none() {
                // Makes the goroutine below fail if this process runs it.
                RUNS.store(1, Ordering::Relaxed);
                gmp::yield_now().await;
                std::process::exit(8);
            }
            other.await.unwrap();
            pid
        });
        let pid = gmp::block_on(forks).unwrap().unwrap();
        let status = wait(pid);
        assert_eq!(status.code(), Some(2), "{status}");
        runtime.shutdown(LONG).unwrap();
        RUNS.store(0, Ordering::Relaxed);
    }
}

/// Makes stderr a pipe that is full and whose reader, which is returned, does not read.
fn full_stderr() -> std::io::PipeReader {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let flags = rustix::fs::fcntl_getfl(&writer).unwrap();
    rustix::fs::fcntl_setfl(&writer, flags | rustix::fs::OFlags::NONBLOCK).unwrap();
    while std::io::Write::write(&mut writer, &[b'x'; 4096]).is_ok() {}
    rustix::fs::fcntl_setfl(&writer, flags).unwrap();
    rustix::stdio::dup2_stderr(&writer).unwrap();
    reader
}

/// The message is dropped, since nobody reads the pipe.
#[test]
fn a_child_with_a_full_stderr_ends_when_its_poll_returns() {
    let name = "fork::a_child_with_a_full_stderr_ends_when_its_poll_returns";
    if passed_in_child(name) {
        return;
    }
    let runtime = used_runtime();
    let _reader = full_stderr();
    let forks = runtime.spawn(async { fork() });
    let pid = gmp::block_on(forks).unwrap().unwrap();
    let status = wait(pid);
    assert_eq!(status.code(), Some(2), "{status}");
    runtime.shutdown(LONG).unwrap();
}

#[test]
fn a_goroutine_may_start_programs() {
    // `pre_exec` makes std use `fork`, otherwise it uses `posix_spawn`.
    let with_fork = || {
        let mut command = Command::new("true");
        // SAFETY: the closure does nothing.
        unsafe { command.pre_exec(|| Ok(())) };
        command
    };
    let runtime = runtime(1);
    let runs = runtime.spawn(async move {
        for mut command in [with_fork(), Command::new("true")] {
            assert!(gmp::block_in_place(|| command.status()).unwrap().success());
            gmp::yield_now().await;
        }
        let missing = Command::new("/nonexistent/program").status();
        assert_eq!(missing.unwrap_err().kind(), std::io::ErrorKind::NotFound);
        gmp::sleep(Duration::from_millis(1)).await;
    });
    gmp::block_on(runs).unwrap();
    runtime.shutdown(LONG).unwrap();
}
