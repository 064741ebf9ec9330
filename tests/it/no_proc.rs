//! A process without `/proc`, as in a sandbox. It is hidden in a mount namespace.

use super::net_namespace::in_child_with_namespaces_and;
use super::support::{is_child, runtime};
use gmp::go;
use gmp::runtime::Event;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;

/// Runs `work` in a process without `/proc` that has this environment variable.
fn without_proc(env: &str, name: &str, work: fn()) {
    if is_child() {
        let hide = Command::new("mount").args(["-t", "tmpfs", "none", "/proc"]).status();
        assert!(hide.unwrap().success() && !Path::new("/proc/self").exists());
        return work();
    }
    let what = "What happens without `/proc` is untested.";
    in_child_with_namespaces_and(&["env", env], "nm", &format!("no_proc::{name}"), what);
}

/// The goroutine that blocks the only P waits for one that has not run yet.
#[test]
fn a_blocked_thread_is_noticed() {
    without_proc("GMPDEBUG=", "a_blocked_thread_is_noticed", || {
        let runtime = runtime(1);
        for _ in 0..20 {
            // It sleeps for a lock, then in a call.
            gmp::block_on(runtime.spawn(async {
                let (tx, rx) = mpsc::channel();
                go!({ tx.send(1).unwrap() });
                assert_eq!(rx.recv().unwrap(), 1);
                let (mut reader, mut writer) = std::io::pipe().unwrap();
                go!({ writer.write_all(&[2]).unwrap() });
                let mut byte = [0];
                reader.read_exact(&mut byte).unwrap();
                assert_eq!(byte, [2]);
            }))
            .unwrap();
        }
    });
}

#[gmp::main]
async fn waits_for_ever() {
    gmp::runtime::on_event(|event| {
        if let Event::Deadlock { .. } = event {
            std::process::exit(0);
        }
    })
    .unwrap();
    // The test harness has threads that are not gmp's, like this one.
    std::thread::spawn(std::thread::park);
    std::future::pending::<()>().await;
}

#[test]
fn deadlock_fatal_only_reports() {
    without_proc("GMPDEBUG=deadlock=fatal", "deadlock_fatal_only_reports", waits_for_ever);
}
