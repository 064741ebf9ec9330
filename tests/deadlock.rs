//! `GMPDEBUG=deadlock=fatal` ends a program in which nothing can ever run again.
//!
//! This test has no harness: a process with the threads of the harness is not ended.

use std::process::{Command, Output};
use std::time::Duration;

/// Set in the child.
const CHILD: &str = "GMP_TEST_CHILD";

#[gmp::main(max_procs = 2)]
async fn joins_stuck() {
    // A timer and a blocking call are no deadlock.
    gmp::sleep(Duration::from_millis(100)).await;
    gmp::block_in_place(|| std::thread::sleep(Duration::from_millis(100)));
    println!("not dead yet");
    let _ = gmp::go!(name = "stuck", std::future::pending::<()>()).await;
}

fn child(settings: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    command.env(CHILD, "1").env("GMPDEBUG", settings).output().expect("a child")
}

fn main() {
    if std::env::var_os(CHILD).is_some() {
        return joins_stuck();
    }
    for settings in ["deadlock=fatal", "deadlock=fatal,schedtrace=100"] {
        let output = child(settings);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{settings}: {text}");
        let start = "fatal error: all goroutines are asleep - deadlock!\n\n\
                     goroutine 1 [goroutine join] {name: main}:\n\
                     waits for goroutine 2\ncreated by goroutine 0\n\t";
        assert!(text.contains(start), "{settings}: {text}");
        assert!(text.contains("\n\ngoroutine 2 [await] {name: stuck}:\n"), "{settings}: {text}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("not dead yet"));
    }
    println!("deadlock=fatal ends a program in which nothing can run: ok");
}
