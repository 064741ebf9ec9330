//! Network failures cause no hang, no lost wake-up and no busy loop.

use super::net_tcp::{echo, pair};
use super::support::{cpu_time, passed_in_child, until};
use gmp::go;
use gmp::net::{TcpListener, TcpStream};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

#[gmp::test]
async fn a_reset_ends_pending_reads_and_writes() {
    for _ in 0..20 {
        let (client, server) = pair().await;
        let client = Arc::new(client);
        let (writes, reads) = (client.clone(), client.clone());
        let writer = go!(async move {
            let big = vec![1; 1 << 16];
            loop {
                if let Err(error) = writes.write_all(&big).await {
                    return error.kind();
                }
            }
        });
        let reader = go!(async move { reads.read(&mut [0; 1]).await });
        server.read_exact(&mut vec![0; 1 << 16]).await.unwrap();
        // Discards unread bytes and resets the connection.
        server.set_linger(Some(Duration::ZERO)).unwrap();
        drop(server);
        let kind = writer.await.unwrap();
        assert!(matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{kind:?}");
        // A socket reports its error once. The reader gets the error or the end.
        let read = reader.await.unwrap();
        assert!(read.is_err() || read.is_ok_and(|n| n == 0));
    }
}

/// A peer that does not read. The buffers of the OS bound the bytes in flight, and all bytes arrive
/// when it reads again.
#[gmp::test]
async fn a_slow_reader_holds_its_writer_back() {
    let (client, server) = pair().await;
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    const ALL: usize = 64 << 20;
    let writer = go!(name = "writer", async move {
        let piece = vec![7; 1 << 16];
        for _ in 0..ALL >> 16 {
            client.write_all(&piece).await.unwrap();
            counted.fetch_add(1 << 16, Ordering::Relaxed);
        }
    });
    until(|| gmp::runtime::dump().contains("[IO wait"));
    gmp::sleep(100 * MS).await;
    let held = sent.load(Ordering::Relaxed);
    assert!(held < ALL / 2, "{held} bytes are under way, and nobody reads");
    let (mut got, mut buf) = (0, vec![0; 100_000]);
    loop {
        match server.read(&mut buf).await.unwrap() {
            0 => break,
            n => got += n,
        }
    }
    assert_eq!(got, ALL);
    writer.await.unwrap();
}

/// Without free descriptors a connect fails and an accept waits. Both work again afterwards.
#[test]
fn connects_fail_and_accepts_wait_without_descriptors() {
    if passed_in_child("net_faults::connects_fail_and_accepts_wait_without_descriptors") {
        return;
    }
    let runtime = super::support::runtime(2);
    let work = runtime.spawn(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let server = go!(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                go!(echo(stream));
            }
        });
        // The first connection fills caches.
        ping(TcpStream::connect(addr).await.unwrap()).await;
        // A connection that is made when no descriptor is left for the other end.
        let waiting = std::net::TcpStream::from(
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap(),
        );
        let limit = getrlimit(Resource::Nofile);
        let used = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
        setrlimit(Resource::Nofile, Rlimit { current: Some(used + 8), ..limit }).unwrap();
        let (mut files, mut streams) = (Vec::new(), Vec::new());
        let error = loop {
            while let Ok(file) = std::fs::File::open("/dev/null") {
                files.push(file);
            }
            // Sysmon may have closed a descriptor since, because it opens files to classify a
            // thread.
            match TcpStream::connect(addr).await {
                Ok(stream) => streams.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(error.raw_os_error(), Some(24), "EMFILE: {error}");
        let socket = socket2::SockRef::from(&waiting);
        socket.connect(&addr.into()).unwrap();
        let (start, before) = (Instant::now(), cpu_time());
        gmp::sleep(400 * MS).await;
        let (wall, cpu) = (start.elapsed(), cpu_time() - before);
        assert!(cpu < wall / 4, "{cpu:?} of CPU in {wall:?}: a busy loop");
        drop(files);
        // The accept completes without a new event.
        waiting.set_nonblocking(true).unwrap();
        ping(TcpStream::from_std(waiting).unwrap()).await;
        ping(TcpStream::connect(addr).await.unwrap()).await;
        server.abort();
        setrlimit(Resource::Nofile, limit).unwrap();
    });
    gmp::block_on(work).unwrap();
}

/// The first socket creates the netpoller. If that fails, the next socket tries again.
#[test]
fn the_first_socket_without_descriptors_fails_and_the_next_one_works() {
    if passed_in_child(
        "net_faults::the_first_socket_without_descriptors_fails_and_the_next_one_works",
    ) {
        return;
    }
    let runtime = super::support::runtime(2);
    let work = runtime.spawn(async {
        // Sockets that exist already, so that their registration is what fails.
        let bind = |_| std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sockets: Vec<_> = (0..20).map(bind).collect();
        let limit = getrlimit(Resource::Nofile);
        // For each number of free descriptors, until the netpoller has all that it needs.
        let mut failed = 0;
        let listener = loop {
            let mut files = Vec::new();
            setrlimit(Resource::Nofile, Rlimit { current: Some(64), ..limit }).unwrap();
            while let Ok(file) = std::fs::File::open("/dev/null") {
                files.push(file);
            }
            files.truncate(files.len().saturating_sub(failed));
            match TcpListener::from_std(sockets.pop().unwrap()) {
                Ok(listener) => break listener,
                Err(error) => assert_eq!(error.raw_os_error(), Some(24), "EMFILE: {error}"),
            }
            failed += 1;
            // Goroutines and timers still run.
            go!(gmp::sleep(MS)).await.unwrap();
        };
        assert!(failed > 0);
        setrlimit(Resource::Nofile, limit).unwrap();
        let addr = listener.local_addr().unwrap();
        go!(async move { echo(listener.accept().await.unwrap().0).await });
        ping(TcpStream::connect(addr).await.unwrap()).await;
    });
    gmp::block_on(work).unwrap();
}

/// Closes the descriptors from 3 on whose file has a name that contains `name`.
#[expect(unsafe_code, reason = "closes the descriptors of the runtime")]
fn close_all(name: &str) {
    for fd in 3..256 {
        let file = std::fs::read_link(format!("/proc/self/fd/{fd}"));
        if file.is_ok_and(|file| file.to_string_lossy().contains(name)) {
            // SAFETY: wrong on purpose. Nothing here uses a descriptor after this.
            unsafe { libc::close(fd) };
        }
    }
}

/// The descriptors that the test below closes, by a part of their file's name. `""` means all.
///
/// `polling` ignores the error of the write that ends a wait. So its portable path cannot notice a
/// lost eventfd while a thread sleeps in it, and all descriptors include the eventfd. The systems
/// that ship with this path have kqueue, which needs no such descriptor.
#[cfg(target_os = "linux")]
const LOST_FILES: &[&str] =
    if cfg!(gmp_portable_poll) { &["eventpoll"] } else { &["", "eventpoll", "eventfd"] };

/// A program that closes descriptors which it did not open, as `daemon` does, ends with a message.
#[cfg(target_os = "linux")]
#[test]
fn lost_descriptors_end_the_process_with_a_message() {
    use std::os::unix::process::ExitStatusExt;
    const LOST: &str = "GMP_TEST_LOST";
    let name = "net_faults::lost_descriptors_end_the_process_with_a_message";
    if super::support::is_child() {
        let runtime = super::support::runtime(1);
        let _listener = runtime.block_on(async { TcpListener::bind("127.0.0.1:0").await.unwrap() });
        close_all(&std::env::var(LOST).unwrap());
        for _ in 0..1000 {
            let (tx, rx) = std::sync::mpsc::channel();
            runtime.spawn(async move {
                gmp::sleep(MS).await;
                let _ = tx.send(());
            });
            if rx.recv_timeout(Duration::from_secs(60)).is_err() {
                println!("it hangs");
                break;
            }
            // Usually until the thread sleeps again.
            std::thread::sleep(20 * MS);
        }
        std::process::exit(0);
    }
    for lost in LOST_FILES {
        let output = super::support::child(name, &[(LOST, lost)]);
        let text = String::from_utf8_lossy(&output.stderr);
        const SIGABRT: i32 = 6;
        let status = output.status;
        assert_eq!(status.signal(), Some(SIGABRT), "{lost:?}: {status}\n{text}");
        assert!(text.contains("gmp: fatal error: a descriptor of the runtime is lost"), "{text}");
        assert!(!text.contains("bug in gmp"), "{text}");
    }
}

async fn ping(stream: TcpStream) {
    stream.set_deadline(Some(Instant::now() + Duration::from_secs(60)));
    stream.write_all(b"ping").await.unwrap();
    let mut back = [0; 4];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"ping");
    // When the client sees the end, the server has closed its descriptor.
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut back).await.unwrap(), 0);
}

/// A close ends the sleep of an accept that waits for free descriptors.
#[test]
fn a_close_ends_the_sleep_of_an_accept() {
    if passed_in_child("net_faults::a_close_ends_the_sleep_of_an_accept") {
        return;
    }
    let runtime = super::support::runtime(2);
    let work = runtime.spawn(async {
        // The accept finds a descriptor if sysmon closes one meanwhile. Sysmon opens files to
        // classify a thread.
        loop {
            if let Err(error) = accept_and_close().await {
                return error;
            }
        }
    });
    let error = gmp::block_on(work).unwrap();
    assert_eq!(error.to_string(), "use of closed network connection");
}

/// Returns the result of an accept that waits for free descriptors when its listener is closed.
async fn accept_and_close() -> std::io::Result<()> {
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
    let addr = listener.local_addr().unwrap();
    let accepting = listener.clone();
    let accept = go!(async move { accepting.accept().await.map(drop) });
    let client = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let mut files = Vec::new();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), ..limit }).unwrap();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        files.push(file);
    }
    client.connect(&addr.into()).unwrap();
    // The accept now sleeps for more than 100 ms at a time.
    gmp::sleep(300 * MS).await;
    listener.close();
    let accepted = accept.await.unwrap();
    setrlimit(Resource::Nofile, limit).unwrap();
    accepted
}
