//! Datagrams, Unix sockets, other descriptors, foreign executors, several runtimes.

use super::support::{child, is_child, runtime, until, waiting};
use futures::{AsyncReadExt, AsyncWriteExt};
use gmp::go;
use gmp::net::{
    Async, RuntimeEnded, TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream,
};
use std::io::{ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

#[gmp::test]
async fn udp_sends_to_any_address_and_to_a_peer() {
    let server = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let addr = server.local_addr().unwrap();
    // Many goroutines receive on one socket, and no datagram is lost.
    let servers: Vec<_> = (0..4)
        .map(|_| {
            let server = server.clone();
            go!(async move {
                let mut buf = [0; 64];
                while let Ok((n, from)) = server.recv_from(&mut buf).await {
                    server.send_to(&buf[..n], from).await.unwrap();
                }
            })
        })
        .collect();
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    client.connect(addr).await.unwrap();
    assert_eq!(client.peer_addr().unwrap(), addr);
    for n in 0..500u32 {
        client.send(&n.to_le_bytes()).await.unwrap();
        let mut back = [0; 4];
        assert_eq!(client.peek(&mut back).await.unwrap(), 4);
        assert_eq!(client.recv(&mut back).await.unwrap(), 4);
        assert_eq!(u32::from_le_bytes(back), n);
    }
    server.close();
    for server in servers {
        server.await.unwrap();
    }
}

#[gmp::test]
async fn options_of_udp_are_read_as_they_were_set() {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    assert!(!socket.broadcast().unwrap());
    socket.set_broadcast(true).unwrap();
    assert!(socket.broadcast().unwrap());
    socket.set_ttl(9).unwrap();
    assert_eq!(socket.ttl().unwrap(), 9);
    socket.set_multicast_loop_v4(true).unwrap();
    socket.set_multicast_ttl_v4(1).unwrap();
    let group = Ipv4Addr::new(239, 1, 2, 3);
    let member = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    member.join_multicast_v4(group, Ipv4Addr::LOCALHOST).unwrap();
    let to = (group, member.local_addr().unwrap().port());
    socket.send_to(b"all", to).await.unwrap();
    let mut buf = [0; 8];
    let got = gmp::timeout(Duration::from_secs(10), member.recv_from(&mut buf)).await;
    let (n, from) = got.expect("the group's datagram").unwrap();
    assert_eq!((&buf[..n], from), (&b"all"[..], socket.local_addr().unwrap()));
    member.leave_multicast_v4(group, Ipv4Addr::LOCALHOST).unwrap();
    assert_eq!(socket.try_recv_from(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[gmp::test]
async fn unix_sockets_work_by_path() {
    let dir = std::env::temp_dir().join(format!("gmp-unix-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("stream");
    let listener = UnixListener::bind(&path).unwrap();
    let server = go!(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = String::new();
        AsyncReadExt::read_to_string(&mut stream, &mut text).await.unwrap();
        text
    });
    let mut client = UnixStream::connect(&path).await.unwrap();
    assert_eq!(client.peer_addr().unwrap().as_pathname(), Some(&*path));
    AsyncWriteExt::write_all(&mut client, b"by path").await.unwrap();
    client.close();
    drop(client);
    assert_eq!(server.await.unwrap(), "by path");

    let (a, b) = (dir.join("a"), dir.join("b"));
    let (a, b) = (UnixDatagram::bind(&a).unwrap(), (UnixDatagram::bind(&b).unwrap(), b));
    a.send_to(b"datagram", &b.1).await.unwrap();
    let mut buf = [0; 16];
    let (n, from) = b.0.recv_from(&mut buf).await.unwrap();
    assert_eq!(&buf[..n], b"datagram");
    b.0.send_to_addr(b"back", &from).await.unwrap();
    assert_eq!(a.recv(&mut buf).await.unwrap(), 4);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[cfg(target_os = "linux")]
#[gmp::test]
async fn unix_sockets_have_abstract_names_and_peer_credentials() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    let name = format!("gmp-{}", std::process::id());
    let addr = SocketAddr::from_abstract_name(name).unwrap();
    let listener = UnixListener::bind_addr(&addr).unwrap();
    let client = UnixStream::connect_addr(&addr).await.unwrap();
    let (server, _) = listener.accept().await.unwrap();
    let peer = server.peer_cred().unwrap();
    assert_eq!(peer.pid(), Some(std::process::id()));
    assert_eq!(peer.uid(), client.peer_cred().unwrap().uid());
    client.write_all(b"x").await.unwrap();
    server.read_exact(&mut [0]).await.unwrap();
}

/// More clients than the queue of the listener holds. None fails, and all are served.
#[gmp::test]
async fn unix_connect_waits_for_a_full_queue() {
    let path = std::env::temp_dir().join(format!("gmp-full-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let std = {
        use socket2::{Domain, SockAddr, Socket, Type};
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        socket.bind(&SockAddr::unix(&path).unwrap()).unwrap();
        socket.listen(1).unwrap();
        std::os::unix::net::UnixListener::from(socket)
    };
    let listener = UnixListener::from_std(std).unwrap();
    let clients: Vec<_> = (0..20)
        .map(|_| {
            let path = path.clone();
            go!(async move { UnixStream::connect(path).await.unwrap() })
        })
        .collect();
    for _ in 0..20 {
        listener.accept().await.unwrap();
    }
    for client in clients {
        client.await.unwrap();
    }
    std::fs::remove_file(&path).unwrap();
}

#[gmp::test]
async fn pipes_work_and_files_are_refused() {
    let (reader, writer) = std::io::pipe().unwrap();
    let (reader, writer) = (Async::new(reader).unwrap(), Async::new(writer).unwrap());
    let writing = go!(async move {
        let mut left = 1 << 20;
        while left > 0 {
            left -=
                writer.write_with(|mut pipe| pipe.write(&vec![1; left.min(5000)])).await.unwrap();
        }
    });
    let (mut sum, mut buf) = (0, vec![0; 3000]);
    loop {
        match reader.read_with(|mut pipe| pipe.read(&mut buf)).await.unwrap() {
            0 => break,
            n => sum += n,
        }
    }
    assert_eq!(sum, 1 << 20);
    writing.await.unwrap();
    let file = std::fs::File::open("Cargo.toml").unwrap();
    let error = Async::new(file).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

/// Exchanges data between two sockets that it creates.
async fn exchange() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (server, _) = listener.accept().await.unwrap();
    for n in 0..20u8 {
        let mut buf = [0; 1];
        let late = gmp::timeout(Duration::from_millis(1), server.read(&mut buf)).await;
        assert!(late.is_err(), "nothing was sent");
        client.write_all(&[n]).await.unwrap();
        server.read_exact(&mut buf).await.unwrap();
        assert_eq!(buf, [n]);
    }
}

/// A socket works under a foreign executor. The default runtime polls it.
#[test]
fn sockets_work_under_another_executor() {
    futures::executor::block_on(exchange());
    gmp::block_on(exchange());
    let threads: Vec<_> =
        (0..4).map(|_| std::thread::spawn(|| futures::executor::block_on(exchange()))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// A goroutine of another runtime can use a socket while the runtime of the socket lives. After
/// that an operation returns an error instead of a hang.
#[test]
fn a_socket_belongs_to_its_runtime() {
    let (home, other) = (runtime(1), runtime(1));
    let (client, server) = home.block_on(super::net_tcp::pair());
    let (client, server) = (Arc::new(client), Arc::new(server));
    let reading = server.clone();
    let reader = other.spawn(async move { reading.read(&mut [0; 1]).await });
    gmp::block_on(client.write_all(b"x")).unwrap();
    assert_eq!(gmp::block_on(reader).unwrap().unwrap(), 1);

    let reading = server.clone();
    let reader = other.spawn(async move { reading.read(&mut [0; 1]).await });
    until(|| other.block_on(async { gmp::runtime::dump() }).contains("[IO wait"));
    home.shutdown(Duration::from_secs(10)).unwrap();
    let error = gmp::block_on(reader).unwrap().unwrap_err();
    assert!(error.get_ref().unwrap().is::<RuntimeEnded>(), "{error}");
    // Operations that need not wait still work.
    gmp::block_on(client.write_all(b"y")).unwrap();
    assert_eq!(gmp::block_on(server.read(&mut [0; 1])).unwrap(), 1);
    let error = gmp::block_on(server.read(&mut [0; 1])).unwrap_err();
    assert!(error.to_string().contains("has ended"), "{error}");
}

/// Goroutines that wait for the network are dropped with their runtime, and their sockets are
/// closed.
#[test]
fn a_shutdown_closes_sockets_of_waiting_goroutines() {
    let (theirs, ours) = std::os::unix::net::UnixStream::pair().unwrap();
    let runtime = runtime(2);
    let waiting = runtime.spawn(async move {
        let stream = UnixStream::from_std(theirs).unwrap();
        stream.read(&mut [0; 1]).await
    });
    until(|| runtime.block_on(async { gmp::runtime::dump() }).contains("[IO wait"));
    runtime.shutdown(Duration::from_secs(10)).unwrap();
    assert!(gmp::block_on(waiting).unwrap_err().is_cancelled());
    assert_eq!((&ours).read(&mut [0; 1]).unwrap(), 0, "closed by the shutdown");
}

/// If one of the sleeping goroutines waits for the network, there is no deadlock.
#[test]
fn waiting_for_the_network_is_no_deadlock() {
    if !is_child() {
        let name = "net_other::waiting_for_the_network_is_no_deadlock";
        let output = child(name, &[("GMPDEBUG", "deadlock=fatal")]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        assert!(!text.contains("asleep"), "{text}");
        return;
    }
    let (theirs, mut ours) = std::os::unix::net::UnixStream::pair().unwrap();
    let waiting = gmp::spawn(async move {
        let stream = UnixStream::from_std(theirs).unwrap();
        stream.read(&mut [0; 1]).await
    });
    // Longer than sysmon needs to find that no goroutine runs.
    std::thread::sleep(Duration::from_millis(200));
    ours.write_all(b"x").unwrap();
    assert_eq!(gmp::block_on(waiting).unwrap().unwrap(), 1);
}

/// A read stops after bytes that came with a descriptor. The bytes after them must still be read.
#[gmp::test]
async fn bytes_behind_a_passed_descriptor_are_read() {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use std::io::IoSlice;
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;
    for _ in 0..100 {
        let (a, b) = UnixStream::pair().unwrap();
        let reader = go!(async move {
            let (mut all, mut buf) = (Vec::new(), [0; 64]);
            while all.len() < 4 {
                let n = b.read(&mut buf).await.unwrap();
                all.extend_from_slice(&buf[..n]);
            }
            all
        });
        gmp::yield_now().await;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut passed = SendAncillaryBuffer::new(&mut space);
        let fds = [a.as_fd()];
        assert!(passed.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(&a, &[IoSlice::new(b"ab")], &mut passed, SendFlags::empty()).unwrap();
        a.write_all(b"cd").await.unwrap();
        let read = gmp::timeout(Duration::from_secs(30), reader).await;
        assert_eq!(read.expect("the rest is forgotten").unwrap(), b"abcd");
    }
}

/// A type whose `AsFd` later returns another descriptor. This is wrong, but safe code can do it.
struct Swapped {
    own: std::io::PipeReader,
    other: Arc<UnixStream>,
    calls: std::sync::atomic::AtomicUsize,
    names_other: std::sync::atomic::AtomicBool,
}

impl std::os::fd::AsFd for Swapped {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        use std::sync::atomic::Ordering::Relaxed;
        self.calls.fetch_add(1, Relaxed);
        match self.names_other.load(Relaxed) {
            true => self.other.as_fd(),
            false => self.own.as_fd(),
        }
    }
}

/// A swapped descriptor does not remove another socket from the netpoller.
#[gmp::test]
async fn a_swapped_descriptor_leaves_other_sockets_registered() {
    use std::sync::atomic::Ordering::Relaxed;
    enum End {
        Dropped,
        Closed,
        TakenBack,
    }
    for end in [End::Dropped, End::Closed, End::TakenBack] {
        let (victim, peer) = UnixStream::pair().unwrap();
        let victim = Arc::new(victim);
        let (own, _writer) = std::io::pipe().unwrap();
        let swapped = Async::new(Swapped {
            own,
            other: victim.clone(),
            calls: 0.into(),
            names_other: false.into(),
        })
        .unwrap();
        assert_eq!(swapped.get_ref().calls.load(Relaxed), 1, "one descriptor, named once");
        swapped.get_ref().names_other.store(true, Relaxed);
        match end {
            End::Dropped => drop(swapped),
            End::Closed => swapped.close(),
            End::TakenBack => drop(swapped.into_inner()),
        }
        // The victim waits before its data arrives, so only an event wakes it.
        let reader = victim.clone();
        let read = go!(async move { reader.read(&mut [0; 4]).await });
        waiting("IO wait", 1).await;
        peer.write_all(b"ping").await.unwrap();
        let read = gmp::timeout(Duration::from_secs(60), read).await;
        assert_eq!(read.expect("its events still come").unwrap().unwrap(), 4);
    }
}
