//! The runtime of `#[gmp::main(tokio)]`: the context of external threads, and the report of a
//! deadlock.
//!
//! This test has no harness, because the default runtime of a process is built once. Each case is a
//! child process.

use gmp_rt::runtime::Builder;
use gmp_rt::{block_on, entry, runtime};
use gmp_tokio::BuilderExt;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, Notify, oneshot};

/// Set in the child: which case it is.
const CHILD: &str = "GMP_TEST_CHILD";

/// Many times the time after which sysmon looks for a deadlock.
const MANY_LOOKS: Duration = Duration::from_millis(500);

type Case = (&'static str, fn() -> ExitCode);

const CASES: &[Case] = &[
    ("external_threads", external_threads),
    ("waits_for_tokio", waits_for_tokio),
    ("test_waits_for_tokio", test_waits_for_tokio),
    ("stuck", stuck),
];

fn run(main: impl Future<Output = ()> + Send + 'static) -> ExitCode {
    entry::run_main(Builder::new().max_procs(2).tokio(), main)
}

/// The free `block_on` takes the context of the default runtime, unless the thread has another.
fn external_threads() -> ExitCode {
    let before = block_on(async { Handle::try_current().is_err() });
    assert!(before, "the default runtime does not run yet");
    run(async {
        let here = Handle::current().id();
        let plain = std::thread::spawn(|| {
            block_on(async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Handle::current().id()
            })
        });
        assert_eq!(plain.join().unwrap(), here);
        let tokio = std::thread::spawn(|| {
            let tokio = tokio::runtime::Runtime::new().unwrap();
            let _entered = tokio.enter();
            block_on(async { Handle::current().id() }) == tokio.handle().id()
        });
        assert!(tokio.join().unwrap());
    })
}

/// Waits for a timer, a lock and a notification of Tokio, in goroutines. gmp has no timer and no
/// socket meanwhile.
async fn wait_for_tokio() {
    let (lock, notify) = (Arc::new(Mutex::new(())), Arc::new(Notify::new()));
    let held = lock.clone().lock_owned().await;
    let locks = gmp_rt::spawn(async move { drop(lock.lock().await) });
    let notified = gmp_rt::spawn({
        let notify = notify.clone();
        async move { notify.notified().await }
    });
    let (tx, rx) = oneshot::channel();
    tokio::spawn(async move {
        tokio::time::sleep(MANY_LOOKS).await;
        let dump = runtime::dump();
        notify.notify_one();
        drop(held);
        tx.send(dump).unwrap();
    });
    let dump = rx.await.unwrap();
    assert_eq!(dump.matches(" [await]").count(), 3, "{dump}");
    locks.await.unwrap();
    notified.await.unwrap();
}

fn waits_for_tokio() -> ExitCode {
    run(wait_for_tokio())
}

fn test_waits_for_tokio() -> ExitCode {
    let builder = Builder::new().max_procs(2).tokio();
    entry::run_test(builder, Duration::from_millis(20), wait_for_tokio())
}

fn stuck() -> ExitCode {
    run(async {
        let _ = gmp_rt::spawn(std::future::pending::<()>()).await;
    })
}

fn child(case: &str, settings: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    command.env(CHILD, case).env("GMPDEBUG", settings).stderr(Stdio::piped());
    command
}

fn main() -> ExitCode {
    if let Some(case) = std::env::var_os(CHILD) {
        let (_, run) = CASES.iter().find(|(name, _)| case == *name).expect("a case");
        return run();
    }
    for (case, settings) in [
        ("external_threads", ""),
        ("waits_for_tokio", "deadlock=report"),
        ("waits_for_tokio", "deadlock=fatal"),
        ("test_waits_for_tokio", ""),
    ] {
        let output = child(case, settings).output().expect("a child");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{case} {settings}: {stderr}");
        assert!(!stderr.contains("asleep"), "{case} {settings}: {stderr}");
        println!("{case} {settings}: ok");
    }
    a_real_deadlock_is_reported();
    ExitCode::SUCCESS
}

/// The threads of Tokio do not hide a proven deadlock.
fn a_real_deadlock_is_reported() {
    let mut child = child("stuck", "deadlock=report").spawn().expect("a child");
    let (tx, rx) = mpsc::channel();
    let stderr = BufReader::new(child.stderr.take().expect("piped"));
    let reader = std::thread::spawn(move || {
        let found = stderr.lines().map_while(Result::ok).any(|line| line.contains("asleep"));
        let _ = tx.send(found);
    });
    let found = rx.recv_timeout(Duration::from_secs(60));
    child.kill().expect("the child runs");
    child.wait().expect("its status");
    reader.join().expect("the reader");
    assert_eq!(found, Ok(true));
    println!("a real deadlock is reported: ok");
}
