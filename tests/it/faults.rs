//! Faults of a process: it is stopped, it is interrupted, the time of day jumps, or its standard
//! descriptors are closed. The program continues. Each test runs in a process of its own.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "handlers of signals, and signals to threads")]

use super::support::talk::Talk;
use super::support::{
    child_command, child_of, is_child, not_checked, passed_in_child, runtime, until,
};
use gmp::context::Context;
use gmp::net::UnixStream;
use gmp::runtime::Event;
use gmp::{chan, go};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, getrlimit, kill_process, setrlimit, waitpid,
};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant, SystemTime};

const MS: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(3600);

/// Uses timers, sockets, channels and blocking calls. No result may change, whatever interrupts it.
async fn round() {
    let start = Instant::now();
    let sleeps = go!({
        gmp::sleep(2 * MS).await;
        assert!(gmp::timeout(MS, std::future::pending::<()>()).await.is_err());
        assert!(Context::background().with_timeout(MS).0.done().await.is_timeout());
    });
    let (near, far) = UnixStream::pair().unwrap();
    near.set_read_deadline(Some(start + LONG));
    let echo = go!({
        let mut byte = [0];
        while far.read(&mut byte).await.unwrap() > 0 {
            far.write_all(&byte).await.unwrap();
        }
    });
    for byte in 0..10 {
        near.write_all(&[byte]).await.unwrap();
        let mut back = [0];
        near.read_exact(&mut back).await.unwrap();
        assert_eq!(back, [byte]);
    }
    near.set_read_deadline(Some(Instant::now() + MS));
    let late = near.read(&mut [0]).await.unwrap_err();
    assert_eq!(late.kind(), std::io::ErrorKind::TimedOut);
    drop(near);
    echo.await.unwrap();
    let (tx, rx) = chan(0);
    let sends = go!({
        gmp::block_in_place(|| std::thread::sleep(MS));
        tx.send(7).await.unwrap();
    });
    assert_eq!(rx.recv().await, Ok(7));
    assert!(rx.recv_timeout(MS).await.is_err());
    assert_eq!(gmp::spawn_blocking(|| 7).await.unwrap(), 7);
    sends.await.unwrap();
    sleeps.await.unwrap();
    assert!(start.elapsed() >= 4 * MS);
}

/// Runs several rounds at a time on `runtime`.
fn rounds(runtime: &gmp::Runtime, count: usize) {
    for _ in 0..count {
        let all: Vec<_> = (0..4).map(|_| runtime.spawn(round())).collect();
        all.into_iter().for_each(|round| gmp::block_on(round).unwrap());
    }
}

/// The parent stops the child at different points of a round.
#[test]
fn a_process_that_is_stopped_and_continued_goes_on() {
    let name = "faults::a_process_that_is_stopped_and_continued_goes_on";
    if is_child() {
        let runtime = runtime(2);
        for line in std::io::stdin().lines() {
            rounds(&runtime, 1);
            eprintln!("done {}", line.unwrap());
        }
        return runtime.shutdown(LONG).unwrap();
    }
    let mut talk = Talk::new(name, &[]);
    let pid = Pid::from_child(&talk.child);
    for n in 0..30 {
        talk.say(&format!("{n}\n"));
        std::thread::sleep(MS * (n % 10));
        kill_process(pid, Signal::STOP).unwrap();
        let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED).unwrap().unwrap();
        assert!(status.stopped(), "{status:?}");
        // Deadlines of the round pass meanwhile.
        std::thread::sleep(20 * MS);
        kill_process(pid, Signal::CONT).unwrap();
        talk.wait_for(&format!("done {n}"));
    }
    talk.end();
}

static INTERRUPTS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count_interrupt(_: libc::c_int) {
    INTERRUPTS.fetch_add(1, Ordering::Relaxed);
}

/// Installs a handler after which the system restarts no call.
fn interrupt_calls(signal: libc::c_int) {
    // SAFETY: the struct consists of integers, and a zeroed mask is empty. The handler only writes
    // an atomic.
    let failed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count_interrupt as *const () as usize;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut())
    };
    assert_eq!(failed, 0);
}

/// Sends `signal` to every other thread of this process.
fn signal_threads(signal: libc::c_int) {
    // SAFETY: takes no memory.
    let (process, me) = unsafe { (libc::getpid(), libc::gettid()) };
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let thread: libc::pid_t = task.file_name().to_str().unwrap().parse().unwrap();
        if thread != me {
            // SAFETY: takes no memory. The thread may have ended, which is an error.
            unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
        }
    }
}

#[test]
fn calls_that_signals_interrupt_are_repeated() {
    if passed_in_child("faults::calls_that_signals_interrupt_are_repeated") {
        return;
    }
    interrupt_calls(libc::SIGUSR1);
    let over = Arc::new(AtomicBool::new(false));
    let is_over = over.clone();
    let storm = std::thread::spawn(move || {
        while !is_over.load(Ordering::Acquire) {
            signal_threads(libc::SIGUSR1);
            std::thread::sleep(MS / 5);
        }
    });
    for procs in [1, 2, 8] {
        let runtime = runtime(procs);
        rounds(&runtime, 15);
        // The threads are interrupted while all of them sleep.
        let before = INTERRUPTS.load(Ordering::Relaxed);
        until(|| INTERRUPTS.load(Ordering::Relaxed) > before + 100);
        rounds(&runtime, 1);
        runtime.shutdown(LONG).unwrap();
    }
    over.store(true, Ordering::Release);
    storm.join().unwrap();
}

/// The time of day advances by a day each time it is read.
#[test]
fn jumps_of_the_time_of_day_change_nothing() {
    let name = "faults::jumps_of_the_time_of_day_change_nothing";
    let jumps = || {
        let first = SystemTime::now();
        SystemTime::now().duration_since(first).is_ok_and(|jump| jump > LONG)
    };
    if is_child() {
        if !jumps() {
            return println!("the time of day does not jump");
        }
        let start = Instant::now();
        let runtime = runtime(2);
        rounds(&runtime, 5);
        assert!(jumps());
        let waits = runtime.spawn(gmp::sleep(LONG));
        rounds(&runtime, 5);
        assert!(!waits.is_finished() || start.elapsed() > LONG, "an hour has not passed");
        return runtime.shutdown(LONG).unwrap();
    }
    let what = "The effect of a jump of the time of day is untested.";
    let faketime = ["faketime", "-m", "--exclude-monotonic", "-f", "@2020-01-01 00:00:00 i86400"];
    if Command::new(faketime[0]).arg("--version").output().is_err() {
        return not_checked("no `faketime` is here (`apt-get install faketime`).", what);
    }
    let output = child_of(&faketime, name);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    if text.contains("the time of day does not jump") {
        not_checked("`faketime` has no effect here.", what);
    }
}

/// A shell closes the standard descriptors, as for a daemon.
#[test]
fn closed_standard_descriptors_are_no_sockets() {
    let name = "faults::closed_standard_descriptors_are_no_sockets";
    if !is_child() {
        let plain = child_command(name, &[("GMPDEBUG", "stall=1,schedtrace=1")]);
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" <&- >&- 2>&-"]).arg(plain.get_program());
        shell.args(plain.get_args());
        shell.envs(plain.get_envs().filter_map(|(key, value)| Some((key, value?))));
        let status = shell.status().unwrap();
        assert!(status.success(), "{status}");
        return;
    }
    let runtime = runtime(2);
    runtime.block_on(async {
        let (near, far) = UnixStream::pair().unwrap();
        assert!(near.as_raw_fd() > 2 && far.as_raw_fd() > 2);
        go!({ panic!("expected by the test") });
        gmp::io::stdout().write_all(b"nobody reads this").await.unwrap();
        assert_eq!(gmp::io::stdin().read(&mut [0]).await.unwrap(), 0);
    });
    rounds(&runtime, 5);
    runtime.shutdown(LONG).unwrap();
}

/// A sandbox sets the limit of descriptors to 0, and `poll` fails from then on.
#[test]
fn messages_are_written_with_a_limit_of_no_descriptors() {
    let name = "faults::messages_are_written_with_a_limit_of_no_descriptors";
    if !is_child() {
        let path = std::env::temp_dir().join(format!("gmp-stderr-{}", std::process::id()));
        let mut command = child_command(name, &[]);
        let status = command.stderr(std::fs::File::create(&path).unwrap()).status().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(status.success(), "{status}: {text}");
        assert!(text.contains("goroutine 1 \"bad\" panicked and nobody joined it: why"), "{text}");
        return;
    }
    let runtime = runtime(2);
    allow_no_descriptors();
    let bad =
        gmp::task::Builder::new().name("bad").on(runtime.handle()).spawn(async { panic!("why") });
    until(|| bad.is_finished());
    drop(bad);
    runtime.shutdown(LONG).unwrap();
}

fn allow_no_descriptors() {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::setrlimit(Resource::Nofile, none).unwrap();
}

#[test]
fn open_sockets_work_with_a_limit_of_no_descriptors() {
    if passed_in_child("faults::open_sockets_work_with_a_limit_of_no_descriptors") {
        return;
    }
    let runtime = runtime(2);
    runtime.block_on(async {
        let (near, far) = UnixStream::pair().unwrap();
        allow_no_descriptors();
        let reader = go!({
            far.readable().await.unwrap();
            let mut byte = [0];
            far.read_exact(&mut byte).await.unwrap();
            byte
        });
        gmp::sleep(MS).await;
        near.writable().await.unwrap();
        near.write_all(&[7]).await.unwrap();
        assert_eq!(reader.await.unwrap(), [7]);
    });
    runtime.shutdown(LONG).unwrap();
}

/// A panic by `println!` ends its goroutine only.
#[test]
fn a_closed_stdout_ends_only_goroutines_that_print() {
    let name = "faults::a_closed_stdout_ends_only_goroutines_that_print";
    if !is_child() {
        let Talk { mut child, input, mut said } = Talk::new(name, &[]);
        // The test harness prints to stdout before the test begins.
        while !said.next().unwrap().unwrap().contains("ready") {}
        drop(child.stdout.take());
        drop(input);
        let rest: Vec<_> = said.map_while(Result::ok).collect();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(7), "{}", rest.join("\n"));
        return;
    }
    eprintln!("ready");
    std::io::stdin().lines().for_each(drop);
    let runtime = runtime(2);
    // More than a buffer holds.
    let prints = runtime.spawn(async { (0..1000).for_each(|_| println!("{:100}", "x")) });
    let writes = runtime.spawn(async { gmp::io::stdout().write_all(b"x").await });
    assert!(gmp::block_on(prints).unwrap_err().is_panic());
    let error = gmp::block_on(writes).unwrap().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    rounds(&runtime, 5);
    runtime.shutdown(LONG).unwrap();
    // Not by a return: the test harness would fail to print.
    std::process::exit(7);
}

/// Makes this process that of a user without privileges, whose threads the OS limits. Returns
/// `false` if that is not possible.
fn drop_privileges() -> bool {
    // No other process has this user, so only threads of this one count.
    let user = 100_000 + std::process::id();
    // SAFETY: takes no memory. std has no such call.
    unsafe { libc::getuid() != 0 || libc::setresuid(user, user, user) == 0 }
}

/// The OS refuses new threads until this is dropped.
struct NoThreads(Rlimit);

impl NoThreads {
    fn begin() -> Self {
        let before = getrlimit(Resource::Nproc);
        setrlimit(Resource::Nproc, Rlimit { current: Some(0), ..before }).unwrap();
        Self(before)
    }
}

impl Drop for NoThreads {
    fn drop(&mut self) {
        setrlimit(Resource::Nproc, self.0).unwrap();
    }
}

/// Runs the test `name` in a child. Returns `false` in the child.
fn passed_without_threads(name: &str) -> bool {
    if is_child() {
        return false;
    }
    let output = child_command(name, &[]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    if text.contains("threads are not limited") {
        not_checked("the OS does not limit the threads here.", "Refused threads are untested.");
    }
    true
}

/// CPU-bound goroutines lose their Ps while the OS refuses the thread that pauses them.
#[test]
fn hogs_are_paused_when_the_os_allows_threads_again() {
    if passed_without_threads("faults::hogs_are_paused_when_the_os_allows_threads_again") {
        return;
    }
    const HOGS: usize = 4;
    let runtime = runtime(1);
    // Makes a thread for each hog. They stay for some seconds.
    let all = Arc::new(std::sync::Barrier::new(HOGS + 2));
    let meet = |_| {
        let all = all.clone();
        runtime.spawn(async move { _ = gmp::block_in_place(|| all.wait()) })
    };
    let met: Vec<_> = (0..HOGS + 2).map(meet).collect();
    met.into_iter().for_each(|goroutine| gmp::block_on(goroutine).unwrap());
    if !drop_privileges() {
        return println!("threads are not limited");
    }
    let no_threads = NoThreads::begin();
    if std::thread::Builder::new().spawn(|| {}).is_ok() {
        return println!("threads are not limited");
    }
    let stop = Arc::new(AtomicBool::new(false));
    let compute = |stop: Arc<AtomicBool>| async move { while !stop.load(Ordering::Relaxed) {} };
    let hogs: Vec<_> = (0..HOGS).map(|_| runtime.spawn(compute(stop.clone()))).collect();
    // The last one may keep its P: no other goroutine waits for one.
    until(|| runtime.handle().metrics().threads.cpu_bound >= HOGS - 1);
    assert_eq!(runtime.handle().metrics().threads.paused, 0);
    drop(no_threads);
    until(|| runtime.handle().metrics().threads.paused >= HOGS - 2);
    stop.store(true, Ordering::Relaxed);
    hogs.into_iter().for_each(|hog| gmp::block_on(hog).unwrap());
    runtime.shutdown(LONG).unwrap();
}

/// Goroutines block all threads until another goroutine runs, and the OS refuses one more thread
/// for that one.
#[test]
fn a_goroutine_runs_when_the_os_allows_threads_again() {
    if passed_without_threads("faults::a_goroutine_runs_when_the_os_allows_threads_again") {
        return;
    }
    let (tx, refused) = mpsc::channel();
    gmp::runtime::on_event(move |event| match event {
        Event::ThreadRefused { .. } => tx.send(event.to_string()).unwrap(),
        other => panic!("{other}"),
    })
    .unwrap();
    let runtime = runtime(1);
    gmp::block_on(runtime.spawn(async {})).unwrap();
    if !drop_privileges() {
        return println!("threads are not limited");
    }
    // Each round needs one thread more than there are.
    for blocked in 1..=3 {
        let no_threads = NoThreads::begin();
        if std::thread::Builder::new().spawn(|| {}).is_ok() {
            return println!("threads are not limited");
        }
        let before = runtime.handle().metrics().handoffs.total();
        let (txs, rxs): (Vec<_>, Vec<_>) = (0..blocked).map(|_| mpsc::channel()).unzip();
        let blocks = |rx: mpsc::Receiver<()>| runtime.spawn(async move { rx.recv().unwrap() });
        let mut all: Vec<_> = rxs.into_iter().map(blocks).collect();
        all.push(runtime.spawn(async move {
            txs.iter().for_each(|tx| tx.send(()).unwrap());
        }));
        until(|| runtime.handle().metrics().handoffs.total() >= before + blocked);
        if blocked == 1 {
            let text = refused.recv().unwrap();
            assert!(text.contains("thread"), "{text}");
        }
        // Nothing happens for longer than sysmon waits before its deep sleep.
        std::thread::sleep(50 * MS);
        drop(no_threads);
        all.into_iter().for_each(|goroutine| gmp::block_on(goroutine).unwrap());
    }
    assert!(refused.try_recv().is_err(), "reported once");
    runtime.shutdown(LONG).unwrap();
}
