//! System calls, counted by `strace`. A wait is one call. Reads and writes need no other call.

use super::net_tcp::{echo, pair};
use super::support::{child_of, is_child, not_checked};
use gmp::go;
use std::process::Command;

const CONNECTIONS: usize = 10;
const ROUNDS: usize = 200;

/// Whether `strace` is installed and may trace. If not, reports that `what` is untested.
pub(crate) fn can_trace(what: &str) -> bool {
    let traced = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    let can_trace = traced.is_ok_and(|output| output.status.success());
    if !can_trace {
        not_checked(
            "no strace that may trace is here (`apt-get install strace`; in a container it needs the \
             capability SYS_PTRACE).",
            what,
        );
    }
    can_trace
}

/// Runs the test `name` in a child and traces its `calls`. Returns the output and the trace. If
/// tracing is not possible here, reports that `what` is untested.
pub(crate) fn traced(calls: &str, name: &str, what: &str) -> Option<(String, String)> {
    if !can_trace(what) {
        return None;
    }
    let file = format!("gmp-{}-{}", name.replace("::", "-"), std::process::id());
    let file = std::env::temp_dir().join(file);
    let (path, calls) = (file.to_str().expect("a path in UTF-8"), format!("trace={calls}"));
    let strace = ["strace", "-f", "-o", path, "-e", &calls, "-e", "signal=none"];
    let output = child_of(&strace, name);
    let trace = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some((String::from_utf8_lossy(&output.stdout).into_owned(), trace))
}

#[cfg(not(gmp_portable_poll))]
#[test]
fn a_poll_costs_one_call_and_reads_and_writes_cost_no_other() {
    if is_child() {
        return echo_rounds();
    }
    let name = "net_strace::a_poll_costs_one_call_and_reads_and_writes_cost_no_other";
    let calls =
        "epoll_wait,epoll_pwait,epoll_pwait2,epoll_ctl,timerfd_settime,recvfrom,sendto,read";
    let what = "The number of system calls of a poll is untested.";
    let Some((printed, text)) = traced(calls, name, what) else { return };
    let count = |call: &str| text.matches(&format!(" {call}(")).count();

    let polls = printed.lines().find_map(|line| line.strip_prefix("polls: ")).expect("a figure");
    let polls: usize = polls.parse().unwrap();
    let waits = count("epoll_wait") + count("epoll_pwait") + count("epoll_pwait2");
    // A few waits come after the figure was printed.
    assert!(polls > 10 && waits <= polls + 10, "{waits} waits for {polls} polls");
    // Not one per wait. Sysmon sets its timer only when all Ps have been idle for a while.
    let alarms = count("timerfd_settime");
    assert!(alarms * 20 <= polls, "{alarms} timers set in {polls} polls");
    // Add and delete for two ends and a listener of each pair, and a dozen for the poller.
    let controls = count("epoll_ctl");
    assert!(controls <= CONNECTIONS * 6 + 12, "{controls} calls of epoll_ctl");
    let bells =
        text.lines().filter(|line| line.contains("read(") && line.contains("eventfd")).count();
    assert_eq!(bells, 0);
    // A read that empties the socket is not followed by a read that finds it empty.
    let messages = 2 * CONNECTIONS * ROUNDS;
    let (reads, sends) = (count("recvfrom"), count("sendto"));
    assert!(sends >= messages && sends <= messages + 100, "{sends} sends of {messages} messages");
    assert!(reads <= messages * 5 / 4 + 100, "{reads} reads of {messages} messages");
}

/// Makes round trips on a few connections at once.
fn echo_rounds() {
    let runtime = super::support::runtime(2);
    let work = runtime.spawn(async {
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                go!(async {
                    let (client, server) = pair().await;
                    go!(echo(server));
                    // Larger than a message. A read that fills its buffer does not show whether
                    // bytes remain.
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
    println!("\npolls: {}", runtime.handle().metrics().net.total_polls());
}

/// The registration of a socket with epoll.
#[cfg(all(target_os = "linux", not(gmp_portable_poll)))]
mod registration {
    use super::super::net_tcp::pair;
    use super::super::support::{child, is_child, runtime};
    use super::traced;
    use gmp::net::{TcpListener, TcpStream};
    use std::os::fd::{AsFd, AsRawFd, RawFd};

    /// Connections of `short_lives`.
    const SHORT_LIVES: usize = 50;

    #[test]
    fn a_connection_costs_two_calls_of_epoll_ctl_at_each_end() {
        if is_child() {
            return runtime(2).block_on(short_lives());
        }
        let name =
            "net_strace::registration::a_connection_costs_two_calls_of_epoll_ctl_at_each_end";
        let what = "The number of epoll_ctl calls of a connection is untested.";
        let Some((_, text)) = traced("epoll_ctl", name, what) else { return };
        let count = |operation: &str| text.matches(operation).count();
        let ends = 2 * SHORT_LIVES;
        // The poller adds and changes its own descriptors. The runtime adds the listener.
        let own = 6;
        let (adds, changes, deletes) =
            (count("EPOLL_CTL_ADD"), count("EPOLL_CTL_MOD"), count("EPOLL_CTL_DEL"));
        assert!((ends..=ends + own).contains(&adds), "{adds} added for {ends} ends");
        assert!(changes <= own, "{changes} changed for {ends} ends");
        assert!((ends..=ends + own).contains(&deletes), "{deletes} deleted for {ends} ends");
    }

    /// Connects, sends one byte in each direction and closes, several times.
    async fn short_lives() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        for _ in 0..SHORT_LIVES {
            let client = TcpStream::connect(addr).await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            let mut byte = [0];
            client.write_all(b"x").await.unwrap();
            server.read_exact(&mut byte).await.unwrap();
            server.write_all(&byte).await.unwrap();
            client.read_exact(&mut byte).await.unwrap();
            assert_eq!(byte, *b"x");
        }
    }

    /// A close alone would leave the registration: epoll tracks an open file, not a descriptor
    /// number.
    #[test]
    fn a_dropped_socket_is_deregistered_although_a_duplicate_lives() {
        if is_child() {
            return runtime(2).block_on(async {
                let (client, _server) = pair().await;
                let number = client.as_raw_fd();
                let duplicate = client.as_fd().try_clone_to_owned().unwrap();
                assert_eq!(registrations(number), 1);
                drop(client);
                assert_eq!(registrations(number), 0);
                drop(duplicate);
            });
        }
        // In its own process, where no other test opens and registers descriptors.
        let name =
            "net_strace::registration::a_dropped_socket_is_deregistered_although_a_duplicate_lives";
        let output = child(name, &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Returns the number of registrations of a descriptor, over all epoll descriptors of this
    /// process.
    fn registrations(number: RawFd) -> usize {
        let infos =
            std::fs::read_dir("/proc/self/fdinfo").unwrap().map(|entry| entry.unwrap().path());
        // A descriptor that closes during the scan has no text.
        let texts = infos.filter_map(|path| std::fs::read_to_string(path).ok());
        let registered = |text: String| {
            let entries = text.lines().filter_map(|line| line.strip_prefix("tfd:"));
            entries
                .filter(|entry| entry.split_whitespace().next() == Some(&number.to_string()))
                .count()
        };
        texts.map(registered).sum()
    }
}
