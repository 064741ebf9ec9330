//! An interface goes down, in a network namespace of its own. Neither end of a connection is
//! notified.
//!
//! Waiting operations must wait without a busy loop. Deadlines and closes must end them. When the
//! interface is up again, the OS retransmits, which must wake the waiting operations. The interface
//! is `lo`, so both ends are in this process. It is down for a few hundred milliseconds only,
//! because the OS waits longer after each attempt.

use super::net_stress::pattern;
use super::net_tcp::{echo, pair};
use super::support::{child_of, cpu_time, is_child, not_checked, runtime, waiting};
use gmp::go;
use gmp::net::{Closed, TcpListener, TcpSocket, TcpStream, UdpSocket};
use gmp::{JoinHandle, sleep};
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// Far longer than a retransmission takes. An operation that still waits then was not woken.
const LOST: Duration = Duration::from_secs(60);

/// More bytes than all buffers of a connection hold.
const MORE_THAN_FITS: u64 = 4000 * PIECE;

/// The pattern repeats after each piece.
const PIECE: u64 = 251 * 64;

fn piece() -> Vec<u8> {
    (0..PIECE).map(pattern).collect()
}

/// Runs `work` in a process with its own network namespace, with `lo` up.
fn apart<F>(name: &str, work: F)
where
    F: Future<Output = ()> + Send + 'static,
{
    if is_child() {
        return run_in_namespace(work);
    }
    let what = "What happens when an interface goes down is untested.";
    in_child_with_namespaces("n", &format!("net_namespace::{name}"), what);
}

/// Runs `work` in a process that has its own network namespace, after `lo` is up there.
pub(super) fn run_in_namespace<F>(work: F)
where
    F: Future<Output = ()> + Send + 'static,
{
    up();
    let runtime = runtime(2);
    let work = runtime.spawn(async { gmp::timeout(LOST, work).await });
    gmp::block_on(work).unwrap().expect("somebody was not woken");
}

/// Runs the test `name` in a child with its own namespaces of these kinds, as letters for
/// `unshare`. If that is not possible here, reports that `what` is untested.
pub(super) fn in_child_with_namespaces(kinds: &str, name: &str, what: &str) {
    in_child_with_namespaces_and(&[], kinds, name, what);
}

/// [`in_child_with_namespaces`] through another command, which follows `unshare`.
pub(super) fn in_child_with_namespaces_and(command: &[&str], kinds: &str, name: &str, what: &str) {
    // As root, or else as root of a user namespace.
    let ways = [format!("-{kinds}"), format!("-r{kinds}")];
    let allowed = |way: &&String| {
        let probe = Command::new("unshare").args([way, "ip", "link", "set", "lo", "up"]).output();
        probe.is_ok_and(|output| output.status.success())
    };
    let Some(way) = ways.iter().find(allowed) else {
        return not_checked(
            "this machine allows no network namespace of one's own, or has no `ip` (`apt-get install \
             iproute2`; in a container it needs the capability SYS_ADMIN).",
            what,
        );
    };
    let output = child_of(&[&["unshare", way], command].concat(), name);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stdout));
}

fn set_lo(state: &str) {
    let set =
        gmp::block_in_place(|| Command::new("ip").args(["link", "set", "lo", state]).status());
    assert!(set.unwrap().success(), "lo {state}");
}

fn up() {
    set_lo("up");
}

fn down() {
    set_lo("down");
}

/// Sleeps for `wall` at a time until the process uses little CPU time meanwhile. Work that is still
/// under way ends soon. A busy loop does not, so the test exceeds its limit.
async fn until_quiet(wall: Duration) {
    loop {
        let (start, before) = (Instant::now(), cpu_time());
        sleep(wall).await;
        let (wall, cpu) = (start.elapsed(), cpu_time() - before);
        if cpu < wall / 4 {
            return;
        }
        eprintln!("{cpu:?} of CPU in {wall:?}");
    }
}

/// A goroutine that reads, one that writes and one that connects. None of them makes progress.
struct Stuck {
    reader: Arc<TcpStream>,
    /// Sends nothing.
    silent: TcpStream,
    reading: JoinHandle<io::Result<[u8; 4]>>,
    writer: Arc<TcpStream>,
    /// Does not read.
    deaf: TcpStream,
    writing: JoinHandle<io::Result<()>>,
    /// Its queue is full.
    listener: TcpListener,
    connecting: JoinHandle<io::Result<TcpStream>>,
}

impl Stuck {
    async fn new() -> Self {
        let (reader, silent) = pair().await;
        let reader = Arc::new(reader);
        let reads = reader.clone();
        let reading = go!(async move {
            let mut buf = [0; 4];
            reads.read_exact(&mut buf).await?;
            Ok(buf)
        });
        let (writer, deaf) = pair().await;
        let writer = Arc::new(writer);
        let writes = writer.clone();
        let writing = go!(async move {
            let piece = piece();
            for _ in 0..MORE_THAN_FITS / PIECE {
                writes.write_all(&piece).await?;
            }
            Ok(())
        });
        let listener = full().await;
        let addr = listener.local_addr().unwrap();
        let connecting = go!(async move { TcpStream::connect(addr).await });
        waiting("IO wait", 3).await;
        Self { reader, silent, reading, writer, deaf, writing, listener, connecting }
    }
}

/// Returns a listener with one connection in its queue and no room for another.
async fn full() -> TcpListener {
    let addr: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let socket = TcpSocket::for_addr(addr).unwrap();
    socket.bind(addr).unwrap();
    let listener = socket.listen(0).unwrap();
    TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    listener
}

fn assert_timed_out<T>(ended: io::Result<T>) {
    assert_eq!(ended.map(drop).unwrap_err().kind(), ErrorKind::TimedOut);
}

#[test]
fn deadlines_fire() {
    apart("deadlines_fire", async {
        let stuck = Stuck::new().await;
        let addr = stuck.listener.local_addr().unwrap();
        let limited = go!(async move { TcpStream::connect_timeout(addr, 500 * MS).await });
        down();
        until_quiet(200 * MS).await;
        let before = cpu_time();
        let soon = Instant::now() + 100 * MS;
        stuck.reader.set_read_deadline(Some(soon));
        stuck.writer.set_write_deadline(Some(soon));
        assert_timed_out(stuck.reading.await.unwrap());
        assert_timed_out(stuck.writing.await.unwrap());
        assert!(Instant::now() >= soon);
        assert_timed_out(limited.await.unwrap());
        let cpu = cpu_time() - before;
        assert!(cpu < 100 * MS, "{cpu:?} of CPU: a busy loop");
        // Only the deadline has passed. The connection still works.
        up();
        stuck.reader.set_read_deadline(None);
        stuck.silent.write_all(b"late").await.unwrap();
        let mut buf = [0; 4];
        stuck.reader.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"late");
    });
}

#[test]
fn a_close_ends_waits_while_the_interface_is_down() {
    apart("a_close_ends_waits_while_the_interface_is_down", async {
        let stuck = Stuck::new().await;
        down();
        until_quiet(100 * MS).await;
        stuck.reader.close();
        stuck.writer.close();
        let errors = [stuck.reading.await.unwrap().map(drop), stuck.writing.await.unwrap()];
        for error in errors.map(Result::unwrap_err) {
            assert!(error.get_ref().unwrap().is::<Closed>(), "{error}");
        }
        // A connect has no socket to close yet. Dropping it ends it.
        assert!(!stuck.connecting.is_finished());
        stuck.connecting.abort();
        assert!(stuck.connecting.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn waits_continue_when_the_interface_is_up_again() {
    apart("waits_continue_when_the_interface_is_up_again", async {
        let stuck = Stuck::new().await;
        down();
        until_quiet(200 * MS).await;
        // Lost are the bytes, the window update, and the notice of room in the queue.
        stuck.silent.write_all(b"lost").await.unwrap();
        let drained = drain(&stuck.deaf, 0);
        assert!(drained > 0 && drained < MORE_THAN_FITS);
        stuck.listener.accept().await.unwrap();
        assert!(!stuck.reading.is_finished() && !stuck.writing.is_finished());
        assert!(!stuck.connecting.is_finished());
        up();
        assert_eq!(&stuck.reading.await.unwrap().unwrap(), b"lost");
        let connected = stuck.connecting.await.unwrap().unwrap();
        let (accepted, _) = stuck.listener.accept().await.unwrap();
        go!(echo(accepted));
        connected.write_all(b"ping").await.unwrap();
        connected.read_exact(&mut [0; 4]).await.unwrap();
        let rest = go!(async move {
            read_exactly(&stuck.deaf, drained..MORE_THAN_FITS).await;
        });
        stuck.writing.await.unwrap().unwrap();
        rest.await.unwrap();
    });
}

/// Reads the bytes that have arrived. The interface is down, so no more arrive. The stream begins
/// at position `at` of the pattern. Returns the position after the last byte.
fn drain(stream: &TcpStream, mut at: u64) -> u64 {
    let mut buf = vec![0; 1 << 16];
    loop {
        match stream.try_read(&mut buf) {
            Ok(n) => at = checked(&buf[..n], at),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                return at;
            }
        }
    }
}

async fn read_exactly(stream: &TcpStream, range: std::ops::Range<u64>) {
    let (mut at, mut buf) = (range.start, vec![0; 1 << 16]);
    while at < range.end {
        let n = stream.read(&mut buf).await.unwrap();
        assert_ne!(n, 0, "ends at {at}");
        at = checked(&buf[..n], at);
    }
    assert_eq!(at, range.end);
}

/// Checks bytes that begin at position `at` of the pattern. Returns the position after them.
fn checked(bytes: &[u8], at: u64) -> u64 {
    assert!((at..).zip(bytes).all(|(at, byte)| *byte == pattern(at)), "wrong bytes");
    at + bytes.len() as u64
}

/// One direction of a connection that sends all the time.
struct Flow {
    /// Number of writes in the lower half, number of reads in the upper half.
    moved: Arc<AtomicU64>,
    sending: JoinHandle<u64>,
    receiving: JoinHandle<u64>,
}

impl Flow {
    fn new(from: Arc<TcpStream>, to: Arc<TcpStream>, over: Arc<AtomicBool>) -> Self {
        let moved = Arc::new(AtomicU64::new(0));
        let (out, into) = (moved.clone(), moved.clone());
        let sending = go!(async move {
            let (piece, mut sent) = (piece(), 0);
            while !over.load(Ordering::Relaxed) {
                from.write_all(&piece).await.unwrap();
                sent += piece.len() as u64;
                out.fetch_add(1, Ordering::Relaxed);
            }
            from.shutdown(Shutdown::Write).unwrap();
            sent
        });
        let receiving = go!(async move {
            let (mut at, mut buf) = (0, vec![0; 1 << 16]);
            loop {
                match to.read(&mut buf).await.unwrap() {
                    0 => return at,
                    n => at = checked(&buf[..n], at),
                }
                into.fetch_add(1 << 32, Ordering::Relaxed);
            }
        });
        Self { moved, sending, receiving }
    }

    /// Returns the number of reads.
    fn reads(&self) -> u64 {
        self.moved.load(Ordering::Relaxed) >> 32
    }
}

/// Four connections transfer in both directions while the interface goes down several times. Each
/// continues every time, and all bytes arrive.
#[test]
fn transfers_continue_after_each_interruption() {
    apart("transfers_continue_after_each_interruption", async {
        let over = Arc::new(AtomicBool::new(false));
        let mut flows = Vec::new();
        for _ in 0..4 {
            let (a, b) = pair().await;
            let (a, b) = (Arc::new(a), Arc::new(b));
            flows.push(Flow::new(a.clone(), b.clone(), over.clone()));
            flows.push(Flow::new(b, a, over.clone()));
        }
        for _ in 0..4 {
            down();
            // Buffers are still emptied and filled. Then nothing moves.
            while {
                let moved = || flows.iter().map(|flow| flow.moved.load(Ordering::Relaxed));
                let before: Vec<_> = moved().collect();
                sleep(50 * MS).await;
                !moved().eq(before)
            } {}
            let before: Vec<_> = flows.iter().map(Flow::reads).collect();
            until_quiet(50 * MS).await;
            up();
            for (flow, before) in flows.iter().zip(before) {
                while flow.reads() == before {
                    sleep(MS).await;
                }
            }
        }
        over.store(true, Ordering::Relaxed);
        for flow in flows {
            assert_eq!(flow.sending.await.unwrap(), flow.receiving.await.unwrap());
        }
    });
}

/// Operations that begin while the interface is down. A connect waits, and a datagram is lost
/// without an error.
#[test]
fn operations_may_begin_while_the_interface_is_down() {
    apart("operations_may_begin_while_the_interface_is_down", async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let here = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let there = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let to = there.local_addr().unwrap();
        down();
        assert_timed_out(TcpStream::connect_timeout(addr, 50 * MS).await);
        let connecting = go!(async move { TcpStream::connect(addr).await });
        here.send_to(b"lost", to).await.unwrap();
        there.set_read_deadline(Some(Instant::now() + 50 * MS));
        assert_timed_out(there.recv_from(&mut [0; 8]).await);
        there.set_read_deadline(None);
        let receiving = go!(async move {
            let mut buf = [0; 8];
            let (n, from) = there.recv_from(&mut buf).await.unwrap();
            (buf[..n].to_vec(), from)
        });
        waiting("IO wait", 2).await;
        until_quiet(100 * MS).await;
        up();
        here.send_to(b"arrives", to).await.unwrap();
        let from = here.local_addr().unwrap();
        assert_eq!(receiving.await.unwrap(), (b"arrives".to_vec(), from));
        let connected = connecting.await.unwrap().unwrap();
        let (_, from) = listener.accept().await.unwrap();
        assert_eq!(from, connected.local_addr().unwrap());
    });
}

/// The interface stays down. After its timeout the OS gives up, and the read returns an error.
#[test]
fn a_read_fails_when_the_os_gives_up() {
    apart("a_read_fails_when_the_os_gives_up", async {
        let (client, _server) = pair().await;
        socket2::SockRef::from(&client).set_tcp_user_timeout(Some(300 * MS)).unwrap();
        down();
        client.write_all(b"gone").await.unwrap();
        let (before, error) = (cpu_time(), client.read(&mut [0; 4]).await.unwrap_err());
        let cpu = cpu_time() - before;
        assert!(
            matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::HostUnreachable),
            "{error}"
        );
        assert!(error.raw_os_error().is_some(), "not by a deadline of ours");
        assert!(cpu < 100 * MS, "{cpu:?} of CPU: a busy loop");
    });
}
