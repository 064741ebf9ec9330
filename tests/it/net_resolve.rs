//! Name resolution with a name server that holds its answers back until the test releases them.
//!
//! The server is on the loopback interface of a network namespace of its own. In a mount namespace
//! of its own, `/etc/resolv.conf` names it. So no test asks the name servers of this machine.

use super::net_namespace::{in_child_with_namespaces, run_in_namespace};
use super::support::{Mutex, is_child, waiting};
use futures::FutureExt;
use gmp::net::{RuntimeEnded, TcpStream, resolve};
use gmp::{JoinHandle, go};
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// The answer of the server for each name, except those that begin with `none`.
const ANSWER: Ipv4Addr = Ipv4Addr::new(127, 9, 8, 7);

/// Longer than a test takes. The resolver of the OS gives up and does not ask again.
const RESOLV_CONF: &str = "nameserver 127.0.0.1\noptions timeout:90 attempts:1\n";

/// Runs `work` in a process with its own name server.
fn with_server<F, W>(name: &str, work: W)
where
    F: Future<Output = ()> + Send + 'static,
    W: FnOnce(Server) -> F + Send + 'static,
{
    if is_child() {
        mount("resolv.conf", RESOLV_CONF);
        mount("nsswitch.conf", "hosts: dns\n");
        return run_in_namespace(async { work(Server::new()).await });
    }
    let what = "The wait for a name server is untested.";
    in_child_with_namespaces("nm", &format!("net_resolve::{name}"), what);
}

/// Replaces a file of `/etc` in this mount namespace.
fn mount(file: &str, text: &str) {
    let own = std::env::temp_dir().join(format!("gmp-{file}-{}", std::process::id()));
    std::fs::write(&own, text).unwrap();
    let mount = Command::new("mount").arg("--bind").arg(&own).arg(format!("/etc/{file}")).status();
    assert!(mount.unwrap().success(), "mount /etc/{file}");
    std::fs::remove_file(&own).unwrap();
}

/// A name server that holds its answers back.
#[derive(Clone)]
struct Server(Arc<Mutex<Names>>);

#[derive(Default)]
struct Names {
    /// The names of the queries for an IPv4 address, in the order of their arrival.
    asked: Vec<String>,
    /// The queries without an answer.
    held: Vec<(Query, SocketAddr)>,
    released: Vec<String>,
    releases_all: bool,
    /// The largest number of names that waited for an answer at the same time.
    peak: usize,
}

impl Names {
    /// The names that wait for an answer.
    fn waiting(&self) -> Vec<String> {
        let mut names: Vec<_> = self.held.iter().map(|(query, _)| query.name.clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    fn answer(&mut self, socket: &UdpSocket) {
        let (all, released) = (self.releases_all, &self.released);
        self.held.retain(|(query, from)| {
            let answered = all || released.contains(&query.name);
            if answered {
                socket.send_to(&query.answer(), from).unwrap();
            }
            !answered
        });
    }
}

impl Server {
    /// Starts the server on a thread of its own, which ends with the process.
    fn new() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:53").unwrap();
        socket.set_read_timeout(Some(MS)).unwrap();
        let server = Self(Arc::default());
        let names = server.0.clone();
        std::thread::spawn(move || {
            let mut buf = [0; 512];
            loop {
                let got = socket.recv_from(&mut buf);
                let mut names = names.lock().unwrap();
                if let Ok((n, from)) = got {
                    let query = Query::parse(&buf[..n]);
                    if query.is_ipv4() {
                        names.asked.push(query.name.clone());
                    }
                    names.held.push((query, from));
                }
                names.answer(&socket);
                names.peak = names.peak.max(names.waiting().len());
            }
        });
        server
    }

    fn with<R>(&self, f: impl FnOnce(&mut Names) -> R) -> R {
        f(&mut self.0.lock().unwrap())
    }

    /// Waits until `count` names wait for an answer, and returns them.
    async fn holds(&self, count: usize) -> Vec<String> {
        loop {
            let waiting = self.with(|names| names.waiting());
            if waiting.len() >= count {
                return waiting;
            }
            gmp::sleep(MS).await;
        }
    }

    fn release(&self, name: &str) {
        self.with(|names| names.released.push(name.to_owned()));
    }

    fn release_all(&self) {
        self.with(|names| names.releases_all = true);
    }

    fn times_asked(&self, name: &str) -> usize {
        self.with(|names| names.asked.iter().filter(|asked| *asked == name).count())
    }
}

/// A DNS message with one question.
struct Query {
    bytes: Vec<u8>,
    name: String,
}

impl Query {
    fn parse(message: &[u8]) -> Self {
        let (mut at, mut labels) = (12, Vec::new());
        while message[at] != 0 {
            let end = at + 1 + usize::from(message[at]);
            labels.push(String::from_utf8_lossy(&message[at + 1..end]).into_owned());
            at = end;
        }
        // The name ends with a zero. Type and class follow.
        Self { bytes: message[..at + 5].to_vec(), name: labels.join(".") }
    }

    fn is_ipv4(&self) -> bool {
        self.bytes[self.bytes.len() - 4..][..2] == [0, 1]
    }

    /// Returns the answer: [`ANSWER`], no address of this type, or no such name.
    fn answer(&self) -> Vec<u8> {
        let (code, answers) = match (self.name.starts_with("none"), self.is_ipv4()) {
            (true, _) => (3, 0),
            (false, is_ipv4) => (0, u8::from(is_ipv4)),
        };
        let mut answer = self.bytes.clone();
        answer[2..12].copy_from_slice(&[0x81, 0x80 | code, 0, 1, 0, answers, 0, 0, 0, 0]);
        if answers == 1 {
            // The name of the question, type A, class IN, a minute, four bytes.
            answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
            answer.extend(ANSWER.octets());
        }
        answer
    }
}

type Resolving = JoinHandle<io::Result<Vec<SocketAddr>>>;

/// Resolves `name` in a goroutine.
fn resolving(name: impl Into<String>, port: u16) -> Resolving {
    let name = format!("{}:{port}", name.into());
    go!(async move { resolve(&name).await })
}

fn runtime(lookups: usize) -> gmp::Runtime {
    gmp::runtime::Builder::new().max_procs(2).max_lookups(lookups).build().unwrap()
}

#[test]
fn time_limits_end_a_wait_for_a_name_server() {
    with_server("time_limits_end_a_wait_for_a_name_server", |server| async move {
        let error = TcpStream::connect_timeout("slow.test:80", 50 * MS).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "i/o timeout");
        assert!(gmp::timeout(50 * MS, resolve("slow.test:80")).await.is_err());
        assert!(gmp::timeout(50 * MS, TcpStream::connect(("slow.test", 80))).await.is_err());
        // The call of the first lookup still runs, and a new lookup joins it.
        let waits = resolving("slow.test", 81);
        waiting("name lookup", 1).await;
        server.release_all();
        assert_eq!(waits.await.unwrap().unwrap(), [(ANSWER, 81).into()]);
        assert_eq!(server.times_asked("slow.test"), 1);
    });
}

#[test]
fn no_more_lookups_run_than_the_limit() {
    with_server("no_more_lookups_run_than_the_limit", |server| async move {
        const ALL: usize = 30;
        let runtime = runtime(4);
        let work = runtime.spawn(async move {
            let all: Vec<_> = (0..ALL).map(|n| resolving(format!("name{n}.test"), 80)).collect();
            waiting("name lookup", ALL).await;
            server.holds(4).await;
            // Time for more queries to arrive.
            gmp::sleep(200 * MS).await;
            for _ in 0..ALL {
                let name = server.holds(1).await.remove(0);
                server.release(&name);
                while server.with(|names| names.waiting().contains(&name)) {
                    gmp::sleep(MS).await;
                }
            }
            for one in all {
                assert_eq!(one.await.unwrap().unwrap(), [(ANSWER, 80).into()]);
            }
            assert_eq!(server.with(|names| names.peak), 4);
        });
        work.await.unwrap();
    });
}

#[test]
fn equal_lookups_share_one_call() {
    with_server("equal_lookups_share_one_call", |server| async move {
        let all: Vec<_> = (0..50).map(|port| resolving("same.test", port)).collect();
        let none: Vec<_> = (0..2).map(|port| resolving("none.test", port)).collect();
        waiting("name lookup", 52).await;
        server.release_all();
        for (port, one) in (0..).zip(all) {
            assert_eq!(one.await.unwrap().unwrap(), [(ANSWER, port).into()]);
        }
        assert_eq!(server.times_asked("same.test"), 1);
        for (port, one) in (0..2).zip(none) {
            let error = one.await.unwrap().unwrap_err().to_string();
            assert!(error.starts_with(&format!("none.test:{port}: ")), "{error}");
        }
        // A lookup after the end of the others makes a new call.
        resolve("same.test:1").await.unwrap();
        assert_eq!(server.times_asked("same.test"), 2);
    });
}

#[test]
fn a_dropped_lookup_that_is_queued_makes_no_call() {
    with_server("a_dropped_lookup_that_is_queued_makes_no_call", |server| async move {
        let runtime = runtime(1);
        let work = runtime.spawn(async move {
            let first = resolving("first.test", 1);
            server.holds(1).await;
            let second = resolving("second.test", 1);
            waiting("name lookup", 2).await;
            let third = resolving("third.test", 1);
            waiting("name lookup", 3).await;
            second.abort();
            assert!(second.await.unwrap_err().is_cancelled());
            server.release_all();
            first.await.unwrap().unwrap();
            third.await.unwrap().unwrap();
            assert_eq!(server.times_asked("second.test"), 0);
        });
        work.await.unwrap();
    });
}

/// The threads of calls stay behind, as those of `spawn_blocking` do.
#[test]
fn a_shutdown_does_not_wait_for_a_name_server() {
    with_server("a_shutdown_does_not_wait_for_a_name_server", |server| async move {
        let runtime = runtime(1);
        let (mut runs, mut queued) =
            (Box::pin(resolve("runs.test:1")), Box::pin(resolve("queued.test:1")));
        gmp::block_in_place(|| {
            runtime.block_on(async {
                assert!((&mut runs).now_or_never().is_none());
                assert!((&mut queued).now_or_never().is_none());
                server.holds(1).await;
            });
        });
        let waits = runtime.spawn(async { resolve("runs.test:2").await });
        assert!(gmp::block_in_place(|| runtime.shutdown(50 * MS)).is_err());
        assert!(waits.await.unwrap_err().is_cancelled());
        server.release_all();
        // The call ends in the background. No other call starts.
        assert_eq!(runs.await.unwrap(), [(ANSWER, 1).into()]);
        let error = queued.await.unwrap_err();
        assert!(error.get_ref().unwrap().is::<RuntimeEnded>(), "{error}");
        assert_eq!(server.times_asked("queued.test"), 0);
    });
}
