//! Child processes.
#![cfg(unix)]

use super::support::{child_of, is_child, passed_in_child, runtime, until, waiting};
use futures::FutureExt;
use gmp::go;
use gmp::io::{AsyncBufReadExt, BufReader, ErrorKind, LinesExt};
use gmp::process::{Child, Command, Stdio};
use gmp::signal::SignalKind;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

/// Runs `work` in a goroutine of a runtime with one P.
fn run<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    gmp::block_on(runtime(1).spawn(work)).unwrap()
}

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// Starts a child that ends with status 7 when its input ends, which the caller has.
fn ends_with_its_input() -> (Child, gmp::process::ChildStdin) {
    let mut child = sh("cat >/dev/null; exit 7").stdin(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take().unwrap();
    (child, input)
}

/// Whether a process exists, zombies included.
fn exists(pid: u32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::test_kill_process(pid) != Err(Errno::SRCH)
}

async fn gone(pid: u32) {
    while exists(pid) {
        gmp::yield_now().await;
    }
}

#[test]
fn what_a_child_has_written() {
    run(async {
        let output = sh("echo out; echo err >&2; exit 3").output().await.unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!((&*output.stdout, &*output.stderr), (&b"out\n"[..], &b"err\n"[..]));
        // More than the pipes hold, on both.
        let mut command = sh("head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2");
        let output = command.output().await.unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (300_000, 300_000));
        assert!(Command::new("true").status().await.unwrap().success());
        assert_eq!(Command::new("false").status().await.unwrap().code(), Some(1));
    });
}

/// As in std: `output` does not inherit what was not set, and changes nothing for a later start.
#[test]
fn the_streams_of_output() {
    run(async {
        let mut cat = Command::new("cat");
        assert!(cat.output().await.unwrap().stdout.is_empty(), "its input is empty");
        cat.stdin(std::fs::File::open("Cargo.toml").unwrap());
        assert!(cat.output().await.unwrap().stdout.starts_with(b"[workspace]"));
        let mut discards = sh("echo out; echo err >&2");
        discards.stdout(Stdio::null());
        let output = discards.output().await.unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (0, 4));
        let mut child = Command::new("true");
        child.output().await.unwrap();
        let child = child.spawn().unwrap();
        assert!(child.stdin.is_none() && child.stdout.is_none() && child.stderr.is_none());
        let mut std = std::process::Command::new("cat");
        std.stdin(std::fs::File::open("Cargo.toml").unwrap());
        let output = Command::from(std).output().await.unwrap();
        assert!(output.stdout.starts_with(b"[workspace]"));
    });
}

/// Both pipes wait in the netpoller: the only P serves the writer and the reader.
async fn a_lot_through_a_child() {
    let mut cat = Command::new("cat");
    let mut child = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let data: Vec<u8> = (0..1 << 20).map(|n| (n / 7) as u8).collect();
    let (input, sent) = (child.stdin.take().unwrap(), data.clone());
    let feeds = go!(async move { input.write_all(&sent).await });
    let output = child.wait_with_output().await.unwrap();
    assert!(output.stdout == data, "{} bytes", output.stdout.len());
    assert!(output.status.success());
    feeds.await.unwrap().unwrap();
}

#[test]
fn a_conversation() {
    run(async {
        a_lot_through_a_child().await;
        let mut sed = Command::new("sed");
        sed.args(["-u", "s/a/b/"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = sed.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for n in 0..10 {
            input.write_all(format!("{n} a\n").as_bytes()).await.unwrap();
            assert_eq!(lines.next_line().await.unwrap().unwrap(), format!("{n} b"));
        }
        drop(input);
        assert_eq!(lines.next_line().await.unwrap(), None);
        assert!(child.wait().await.unwrap().success());
    });
}

#[test]
fn a_program_that_cannot_start() {
    run(async {
        let number = |error: std::io::Error| (error.kind(), error.raw_os_error());
        for program in ["/no/such/program", "gmp-no-such-program", "/etc/passwd", "with \0"] {
            let ours = Command::new(program).spawn().unwrap_err();
            let std = std::process::Command::new(program).spawn().unwrap_err();
            assert_eq!(number(ours), number(std), "{program}");
        }
        let missing = Command::new("/no/such/program").output().await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        let no_dir = Command::new("true").current_dir("/no/such/dir").status().await;
        assert_eq!(no_dir.unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn a_child_that_does_not_read() {
    run(async {
        let mut child = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            gmp::yield_now().await;
        }
        let input = child.stdin.as_ref().expect("`try_wait` leaves it open");
        // A child of another test has the other end too, for the moment between fork and exec.
        let error = loop {
            if let Err(error) = input.write_all(b"hello?").await {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        // A write that waits for a full pipe ends with the child.
        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let writes = go!(async move { input.write_all(&[0; 1 << 20]).await });
        waiting("IO wait", 1).await;
        child.kill().await.unwrap();
        assert_eq!(writes.await.unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn a_wait_closes_the_input() {
    run(async {
        let cat = || Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(cat().wait().await.unwrap().success());
        assert!(cat().wait_with_output().await.unwrap().status.success());
        assert!(cat().wait_blocking().unwrap().success());
        assert!(Command::new("cat").stdin(Stdio::piped()).status().await.unwrap().success());
    });
}

async fn kills() {
    let sleep = || Command::new("sleep").arg("1000").spawn().unwrap();
    let mut child = sleep();
    let pid = child.id().unwrap();
    child.kill().await.unwrap();
    assert!(!exists(pid));
    assert_eq!(child.id(), None);
    assert_eq!(child.wait().await.unwrap().signal(), Some(9));
    // A child that has ended needs no kill, and no other process gets the signal.
    child.kill().await.unwrap();
    let error = child.send_signal(SignalKind::terminate()).unwrap_err();
    assert_eq!(Errno::from_io_error(&error), Some(Errno::SRCH));

    // Linux has real-time signals, which have no names.
    let unnamed = if cfg!(target_os = "linux") { 40 } else { SignalKind::hangup().as_raw() };
    for number in [SignalKind::terminate().as_raw(), unnamed] {
        let mut child = sleep();
        child.send_signal(SignalKind::from_raw(number)).unwrap();
        assert_eq!(child.wait().await.unwrap().signal(), Some(number));
    }
    let mut child = sleep();
    let wrong = child.send_signal(SignalKind::from_raw(9999)).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::InvalidInput);
    // Killed while a goroutine waits.
    let pid = child.id().unwrap();
    let waits = go!(async move { child.wait().await });
    waiting("process wait", 1).await;
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(waits.await.unwrap().unwrap().signal(), Some(9));
}

#[test]
fn a_killed_child() {
    run(kills());
}

/// A wait can be dropped at any poll and repeated. The dump names it.
async fn waits_that_are_given_up() {
    let (mut child, input) = ends_with_its_input();
    for _ in 0..3 {
        assert!(child.wait().now_or_never().is_none());
        assert!(gmp::timeout(Duration::from_millis(1), child.wait()).await.is_err());
    }
    let pid = child.id().unwrap();
    let waits = go!(async move { (child.wait().await.unwrap(), child) });
    waiting("process wait", 1).await;
    drop(input);
    let (status, mut child) = waits.await.unwrap();
    assert_eq!(status.code(), Some(7));
    assert_eq!(child.wait().await.unwrap(), status);
    assert_eq!(child.wait_blocking().unwrap(), status);
    assert_eq!(child.try_wait().unwrap(), Some(status));
    assert!(!exists(pid));
}

#[test]
fn a_wait_can_be_dropped_and_repeated() {
    run(waits_that_are_given_up());
}

/// Children that are dropped before their end leave no zombies, and nothing but their end is
/// waited for.
async fn dropped_children() {
    let mut all = Vec::new();
    for _ in 0..10 {
        let (child, input) = ends_with_its_input();
        all.push((child.id().unwrap(), input));
        // Its waiter list may have had an entry.
        let mut child = child;
        assert!(child.wait().now_or_never().is_none());
    }
    assert!(all.iter().all(|(pid, _)| exists(*pid)), "a drop kills no child");
    for (pid, input) in all {
        drop(input);
        gone(pid).await;
    }
    let ended = Command::new("true").spawn().unwrap();
    let pid = ended.id().unwrap();
    drop(ended);
    gone(pid).await;
    let killed = Command::new("sleep").arg("1000").kill_on_drop(true).spawn().unwrap();
    let pid = killed.id().unwrap();
    drop(killed);
    gone(pid).await;
}

#[test]
fn dropped_children_are_reaped() {
    run(dropped_children());
}

/// The event of a child is lost with its runtime. A wait moves to another one, and a thread reaps
/// dropped children.
fn children_outlive_their_runtime() {
    let first = runtime(1);
    let spawn = || gmp::block_on(first.spawn(async { ends_with_its_input() })).unwrap();
    let (before, after, mut awaited) = (spawn(), spawn(), spawn());
    let pids = [&before, &after].map(|(child, _)| child.id().unwrap());
    drop(before.0);
    assert!(awaited.0.wait().now_or_never().is_none());
    first.shutdown(Duration::from_secs(60)).unwrap();
    drop(after.0);
    assert!(pids.into_iter().all(exists));
    drop((before.1, after.1));
    until(|| !pids.into_iter().any(exists));
    let input = awaited.1;
    let waits = async move {
        let wait = go!(async move { awaited.0.wait().await });
        waiting("process wait", 1).await;
        drop(input);
        wait.await.unwrap()
    };
    assert_eq!(run(waits).unwrap().code(), Some(7));
}

#[test]
fn a_child_outlives_its_runtime() {
    children_outlive_their_runtime();
}

/// The drop of a future of `output` kills its child only if `kill_on_drop` is set.
#[test]
fn an_output_that_is_given_up() {
    run(async {
        for kill in [true, false] {
            let (pids, writes_pid) = gmp::io::pipe().unwrap();
            let mut command = sh("echo $$ >&2; exec sleep 1000");
            command.stderr(Stdio::try_from(writes_pid).unwrap()).kill_on_drop(kill);
            let output = go!(async move { command.output().await });
            let mut lines = BufReader::new(pids).lines();
            let pid: u32 = lines.next_line().await.unwrap().unwrap().parse().unwrap();
            output.abort();
            assert!(output.await.unwrap_err().is_cancelled());
            if !kill {
                assert!(exists(pid));
                let process = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
                rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
            }
            gone(pid).await;
        }
    });
}

async fn many_children_at_once() {
    let children = (0..40).map(|n| {
        go!(async move {
            let output = sh(&format!("echo {n}; exit {n}")).output().await.unwrap();
            assert_eq!(output.stdout, format!("{n}\n").into_bytes());
            assert_eq!(output.status.code(), Some(n));
        })
    });
    for child in children.collect::<Vec<_>>() {
        child.await.unwrap();
    }
}

#[test]
fn many_children() {
    gmp::block_on(runtime(4).spawn(many_children_at_once())).unwrap();
}

#[test]
fn the_methods_of_a_command() {
    run(async {
        let mut command = sh("echo $0 $GMP_A $GMP_B $GMP_C-; pwd; ps -o pgid= -p $$");
        command.env("GMP_A", "a").envs([("GMP_B", "b"), ("GMP_C", "c")]).env_remove("GMP_C");
        command.arg("zero").current_dir("/").process_group(0);
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        let pid = child.id().unwrap();
        let text = String::from_utf8(child.wait_with_output().await.unwrap().stdout).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words[..5], ["zero", "a", "b", "-", "/"]);
        assert_eq!(words.get(5).map(|group| group.parse().unwrap()), Some(pid));
        assert_eq!(command.get_program(), "sh");
        assert_eq!(command.get_args().count(), 3);
        assert_eq!(command.get_envs().count(), 3);
        assert_eq!(command.get_current_dir(), Some(std::path::Path::new("/")));
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo $0 $GMP_A-"]).env("GMP_A", "a").env_clear().arg0("other");
        assert_eq!(command.output().await.unwrap().stdout, b"other -\n");
        let user = rustix::process::getuid().as_raw();
        let group = rustix::process::getgid().as_raw();
        command.as_std_mut().arg("more");
        assert!(command.uid(user).gid(group).status().await.unwrap().success());
        assert_eq!(command.as_std().get_program(), command.get_program());
        assert!(command.into_std().status().unwrap().success());
    });
}

/// One child writes to the other.
#[test]
fn a_pipeline() {
    run(async {
        let mut echo = Command::new("echo").arg("b").stdout(Stdio::piped()).spawn().unwrap();
        let between = Stdio::try_from(echo.stdout.take().unwrap()).unwrap();
        let output = Command::new("tr").args(["b", "c"]).stdin(between).output().await.unwrap();
        assert_eq!(output.stdout, b"c\n");
        assert!(echo.wait().await.unwrap().success());
    });
}

/// Under an executor of another library, and on plain threads.
#[test]
fn without_a_goroutine() {
    let output = futures::executor::block_on(sh("echo here").output()).unwrap();
    assert_eq!(output.stdout, b"here\n");
    let (child, input) = ends_with_its_input();
    let pid = child.id().unwrap();
    drop(child);
    drop(input);
    until(|| !exists(pid));
}

/// A parent that ignores SIGCHLD gets no status. A wait says so and does not hang.
#[test]
fn a_parent_that_ignores_sigchld() {
    let name = "process::a_parent_that_ignores_sigchld";
    if !is_child() {
        let output = child_of(&["env", "--ignore-signal=CHLD"], name);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        return;
    }
    run(async {
        for _ in 0..20 {
            let mut child = Command::new("true").spawn().unwrap();
            let error = child.wait().await.unwrap_err();
            assert_eq!(Errno::from_io_error(&error), Some(Errno::CHILD));
        }
        let (child, input) = ends_with_its_input();
        let pid = child.id().unwrap();
        drop((child, input));
        gone(pid).await;
    });
}

/// A child that cannot be registered is killed, and its start fails.
#[test]
fn no_descriptor_for_a_child() {
    if passed_in_child("process::no_descriptor_for_a_child") {
        return;
    }
    run(async {
        // The runtime has its descriptors.
        assert!(Command::new("true").status().await.unwrap().success());
        let old = rustix::process::getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..old }).unwrap();
        let error = Command::new("sleep").arg("1000").spawn().unwrap_err();
        setrlimit(Resource::Nofile, old).unwrap();
        assert_eq!(Errno::from_io_error(&error), Some(Errno::MFILE));
        let left = rustix::process::wait(rustix::process::WaitOptions::NOHANG);
        assert!(matches!(left, Err(Errno::CHILD)), "a child is left");
        assert!(Command::new("true").status().await.unwrap().success());
    });
}

/// On kernels without pidfds, or with a filter of system calls that refuses them, SIGCHLD reports
/// the end of a child.
#[cfg(target_os = "linux")]
mod without_pidfd {
    use super::*;

    /// Makes `pidfd_open` fail in this process, as an old kernel does.
    #[expect(unsafe_code, reason = "seccomp has no other interface")]
    fn refuse_pidfds() {
        let statement =
            |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
        let is_call = libc::sock_filter {
            jf: 1,
            ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_pidfd_open as u32)
        };
        let mut filter = [
            // The number of the system call.
            statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
            is_call,
            statement(libc::BPF_RET, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
            statement(libc::BPF_RET, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        let all_threads = libc::SECCOMP_FILTER_FLAG_TSYNC;
        // SAFETY: the kernel reads `program` during the call, and checks the filter.
        unsafe {
            assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
            let mode = libc::SECCOMP_SET_MODE_FILTER;
            assert_eq!(libc::syscall(libc::SYS_seccomp, mode, all_threads, &raw const program), 0);
        }
        let own = rustix::process::pidfd_open(
            rustix::process::getpid(),
            rustix::process::PidfdFlags::empty(),
        );
        assert!(matches!(own, Err(Errno::NOSYS)));
    }

    #[test]
    fn sigchld_does_it() {
        if passed_in_child("process::without_pidfd::sigchld_does_it") {
            return;
        }
        refuse_pidfds();
        run(async {
            let child = Command::new("true").spawn().unwrap();
            assert!(format!("{child:?}").contains("Sigchld"), "{child:?}");
            a_lot_through_a_child().await;
            kills().await;
            waits_that_are_given_up().await;
            dropped_children().await;
            many_children_at_once().await;
        });
        children_outlive_their_runtime();
        // Children of other parts of the program keep their status.
        let mut other = std::process::Command::new("false").spawn().unwrap();
        let mut ours = Command::new("true").spawn().unwrap();
        assert!(gmp::block_on(ours.wait()).unwrap().success());
        assert_eq!(other.wait().unwrap().code(), Some(1));
    }

    #[test]
    fn pidfds_are_used_where_they_exist() {
        let child = Command::new("true").spawn().unwrap();
        assert!(format!("{child:?}").contains("Pidfd"), "{child:?}");
    }
}
