//! System calls, counted by `strace`: waiting is one call, and reading and writing need none beside
//! themselves.

use super::net_tcp::{echo, pair};
use super::support::{child_of, is_child, not_checked};
use gmp::go;
use std::process::Command;

const CONNECTIONS: usize = 10;
const ROUNDS: usize = 200;

/// Whether there is a `strace` that may trace.
pub(crate) fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    traced.is_ok_and(|output| output.status.success())
}

#[cfg(not(gmp_portable_poll))]
#[test]
fn one_call_for_a_poll_and_none_beside_reads_and_writes() {
    if is_child() {
        return echo_rounds();
    }
    if !can_trace() {
        return not_checked(
            "no strace that may trace is here (`apt-get install strace`; in a container it needs the \
             capability SYS_PTRACE).",
            "The number of system calls of a poll is untested.",
        );
    }
    let name = "net_strace::one_call_for_a_poll_and_none_beside_reads_and_writes";
    let file = std::env::temp_dir().join(format!("gmp-strace-{}", std::process::id()));
    let trace =
        "trace=epoll_wait,epoll_pwait,epoll_pwait2,epoll_ctl,timerfd_settime,recvfrom,sendto,read";
    let strace = [
        "strace",
        "-f",
        "-o",
        file.to_str().expect("a path in UTF-8"),
        "-e",
        trace,
        "-e",
        "signal=none",
    ];
    let output = child_of(&strace, name);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let count = |call: &str| text.matches(&format!(" {call}(")).count();

    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let polls = told.lines().find_map(|line| line.strip_prefix("polls: ")).expect("a figure");
    let polls: usize = polls.parse().unwrap();
    let waits = count("epoll_wait") + count("epoll_pwait") + count("epoll_pwait2");
    // A few come after the figure was printed.
    assert!(polls > 10 && waits <= polls + 10, "{waits} waits for {polls} polls");
    assert_eq!(count("timerfd_settime"), 0);
    // Add and widen for each of two ends, delete, and a listener for each pair; a dozen for the poller.
    let controls = count("epoll_ctl");
    assert!(controls <= CONNECTIONS * 8 + 12, "{controls} calls of epoll_ctl");
    let bells =
        text.lines().filter(|line| line.contains("read(") && line.contains("eventfd")).count();
    assert_eq!(bells, 0);
    // A read that empties the socket is not followed by one that finds it empty.
    let messages = 2 * CONNECTIONS * ROUNDS;
    let (reads, sends) = (count("recvfrom"), count("sendto"));
    assert!(sends >= messages && sends <= messages + 100, "{sends} sends of {messages} messages");
    assert!(reads <= messages * 5 / 4 + 100, "{reads} reads of {messages} messages");
}

/// Round trips on a few connections at once.
fn echo_rounds() {
    let runtime = super::support::runtime(2);
    let work = runtime.spawn(async {
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                go!(async {
                    let (client, server) = pair().await;
                    go!(echo(server));
                    // Room for more than comes: a read that fills it says nothing of what is left.
                    let mut buf = [0; 128];
                    for _ in 0..ROUNDS {
                        client.write_all(&[7; 64]).await.unwrap();
                        assert_eq!(client.read(&mut buf).await.unwrap(), 64);
                    }
                })
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
    });
    gmp::block_on(work).unwrap();
    println!("\npolls: {}", runtime.handle().stats().netpolls);
}
