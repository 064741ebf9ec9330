//! What several tests need.

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};
use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
#[cfg(unix)]
use std::time::Duration;

/// Set in a child process that a test starts from its own binary.
const CHILD: &str = "GMP_TEST_CHILD";

/// Whether this process was started by [`child`].
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs the test `name` (`module::test`) of this binary in a process of its own, where
/// [`is_child`] is true, with more environment variables.
pub(crate) fn child(name: &str, env: &[(&str, &str)]) -> Output {
    child_command(name, env).output().expect("start a child")
}

/// What [`child`] runs, for who wants to talk to it meanwhile.
pub(crate) fn child_command(name: &str, env: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    command.envs(env.iter().copied());
    command
}

/// [`child_command`], with the usual signals as a program finds them that is started at a terminal: a shell
/// that starts tests in the background has them ignored, and that is inherited. By GNU's `env`.
pub(crate) fn child_with_signals(name: &str, env: &[(&str, &str)]) -> Command {
    let plain = child_command(name, env);
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(plain.get_program());
    command.args(plain.get_args());
    command.envs(plain.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command
}

/// [`child`], started by another program: `command` and its arguments come before it.
pub(crate) fn child_of(command: &[&str], name: &str) -> Output {
    let mut start = Command::new(command[0]);
    start.args(&command[1..]).arg(std::env::current_exe().expect("own path"));
    start.args([name, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    start.output().expect("start a child")
}

/// Says that this machine cannot run a test, and what is therefore untested.
///
/// Not by a macro: what those print is shown for tests that fail only.
pub(crate) fn not_checked(why: &str, what: &str) {
    let _ = writeln!(std::io::stderr(), "\n*** NOT CHECKED: {why}\n*** {what}\n");
}

/// CPU time of this process.
#[cfg(unix)]
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// A gate that one future waits at until somebody opens it.
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

/// A runtime with `procs` Ps.
pub(crate) fn runtime(procs: usize) -> gmp::Runtime {
    gmp::Builder::new().max_procs(procs).build().expect("a runtime")
}

/// Asks again and again, giving others time, until `condition` holds; the caller's test hangs,
/// and names itself, if it never does.
pub(crate) fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        std::thread::yield_now();
    }
}

/// Gives way until `count` goroutines of this runtime wait for `reason`, as a dump shows it.
pub(crate) async fn waiting(reason: &str, count: usize) {
    let shown = format!(" [{reason}]");
    while gmp::runtime::dump().matches(&shown).count() < count {
        gmp::yield_now().await;
    }
}
