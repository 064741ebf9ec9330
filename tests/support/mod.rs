//! Helpers that the test binaries `it` and `timing` share.

// Each binary uses only a part of them.
#![allow(dead_code)]

mod lock;
pub(crate) mod net;
pub(crate) mod talk;

pub(crate) use self::lock::Mutex;

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};
use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::process::{Command, Output};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Set in a child process that a test starts from its own binary.
const CHILD: &str = "GMP_TEST_CHILD";

/// Whether this process was started by [`child`].
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs the test `name` (`module::test`) of this binary in its own process, where [`is_child`] is
/// true, with additional environment variables.
pub(crate) fn child(name: &str, env: &[(&str, &str)]) -> Output {
    child_command(name, env).output().expect("start a child")
}

/// Runs the test `name` in a child process, where this returns `false`. Returns `true` in the
/// parent after the child has passed. Prints lines of the child that begin with `gmp: `.
pub(crate) fn passed_in_child(name: &str) -> bool {
    if is_child() {
        return false;
    }
    let output = child(name, &[]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    printed.lines().filter(|line| line.starts_with("gmp: ")).for_each(|line| println!("{line}"));
    true
}

/// Returns the command that [`child`] runs, for a test that communicates with its child.
pub(crate) fn child_command(name: &str, env: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    command.envs(env.iter().copied());
    command
}

/// Returns [`child_command`] with the usual signals in their default state, as for a program
/// started at a terminal. A shell that starts tests in the background ignores signals, and a child
/// inherits that. Uses GNU `env`.
pub(crate) fn child_with_signals(name: &str, env: &[(&str, &str)]) -> Command {
    let plain = child_command(name, env);
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(plain.get_program());
    command.args(plain.get_args());
    command.envs(plain.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command
}

/// Runs [`child`] through another program: `command` and its arguments precede it.
pub(crate) fn child_of(command: &[&str], name: &str) -> Output {
    let mut start = Command::new(command[0]);
    start.args(&command[1..]).arg(std::env::current_exe().expect("own path"));
    start.args([name, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    start.output().expect("start a child")
}

/// Reports that this machine cannot run a test, and what is therefore untested.
///
/// It does not use a print macro, because the harness shows their output for failed tests only.
pub(crate) fn not_checked(why: &str, what: &str) {
    let _ = writeln!(std::io::stderr(), "\n*** NOT CHECKED: {why}\n*** {what}\n");
}

/// The seed of this run for tests that draw random numbers: `GMP_TEST_SEED`, or the process id.
///
/// Printed, so that the harness shows it when the test fails.
pub(crate) fn test_seed() -> u64 {
    let given = std::env::var("GMP_TEST_SEED").ok();
    let seed = given.map_or(std::process::id().into(), |seed| seed.parse().expect("a number"));
    println!("GMP_TEST_SEED={seed}");
    seed
}

/// The duration of a stress test: `GMP_STRESS_SECONDS`, or the given default.
pub(crate) fn stress_seconds(default: f64) -> Duration {
    let seconds = std::env::var("GMP_STRESS_SECONDS").ok();
    let seconds = seconds.map_or(default, |seconds| seconds.parse().expect("a number"));
    Duration::from_secs_f64(seconds)
}

/// Returns the CPU time of this process.
#[cfg(unix)]
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// A gate at which one future waits until it is opened.
#[derive(Debug, Default)]
pub(crate) struct Gate(Mutex<GateState>);

#[derive(Debug, Default)]
struct GateState {
    open: bool,
    waker: Option<Waker>,
}

impl Gate {
    pub(crate) fn open(&self) {
        let mut state = self.0.lock().unwrap();
        state.open = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn wait(&self) -> impl Future<Output = ()> + Send + '_ {
        struct Wait<'a>(&'a Gate);
        impl Future for Wait<'_> {
            type Output = ();
            fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
                let mut state = self.0.0.lock().unwrap();
                if state.open {
                    return Poll::Ready(());
                }
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
        Wait(self)
    }
}

/// Builds a runtime with `procs` Ps.
pub(crate) fn runtime(procs: usize) -> gmp::Runtime {
    gmp::runtime::Builder::new().max_procs(procs).build().expect("a runtime")
}

/// Blocks the thread in a system call until `condition` holds, which an external thread polls.
///
/// Inside a goroutine this is an unmarked blocking call of exactly the length a test needs.
pub(crate) fn block_thread_until(condition: impl Fn() -> bool + Send + 'static) {
    let (tx, rx) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        while !condition() {
            std::thread::sleep(Duration::from_millis(1));
        }
        tx.send(()).expect("the blocked thread waits");
    });
    rx.recv().expect("the external thread ends the wait");
}

/// Polls `condition` and yields the CPU between polls. If the condition never holds, the test hangs
/// and the harness names it.
pub(crate) fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        std::thread::yield_now();
    }
}

/// Yields until `count` goroutines of this runtime wait for `reason`, according to a dump.
pub(crate) async fn waiting(reason: &str, count: usize) {
    let shown = format!(" [{reason}]");
    while gmp::runtime::dump().matches(&shown).count() < count {
        gmp::yield_now().await;
    }
}
