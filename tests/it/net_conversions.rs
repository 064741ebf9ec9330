//! Sockets from and into those of std and descriptors, and what else they have in common with
//! those of std.
#![cfg(unix)]

use futures::{AsyncReadExt, AsyncWriteExt, StreamExt};
use gmp::go;
use gmp::net::{
    Async, TcpListener, TcpSocket, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream,
};
use gmp::signal::SignalKind;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Converts a socket into that of std and back, and into a descriptor and back.
macro_rules! there_and_back {
    ($socket:expr, $type:ident, $std:ty) => {{
        let std = <$std>::from($socket);
        let socket = $type::try_from(std).unwrap();
        let number = socket.as_raw_fd();
        let fd = OwnedFd::from(socket);
        assert_eq!(fd.as_raw_fd(), number, "the same descriptor");
        $type::try_from(fd).unwrap()
    }};
}

/// The descriptor that is converted is blocking at first: the conversion changes that.
#[gmp::test]
async fn streams_work_after_a_conversion() {
    let listener = TcpListener::bind(ANY).await.unwrap();
    let listener = there_and_back!(listener, TcpListener, std::net::TcpListener);
    let std = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let client = TcpStream::try_from(OwnedFd::from(std)).unwrap();
    let client = there_and_back!(client, TcpStream, std::net::TcpStream);
    let (server, _) = listener.accept().await.unwrap();
    let reads = go!({
        let mut text = [0; 4];
        client.read_exact(&mut text).await.unwrap();
        text
    });
    server.write_all(b"ping").await.unwrap();
    assert_eq!(&reads.await.unwrap(), b"ping");
}

#[gmp::test]
async fn unix_streams_work_after_a_conversion() {
    let (a, b) = std::os::unix::net::UnixStream::pair().unwrap();
    let a = UnixStream::try_from(OwnedFd::from(a)).unwrap();
    let a = there_and_back!(a, UnixStream, std::os::unix::net::UnixStream);
    let b = UnixStream::try_from(b).unwrap();
    let reads = go!({
        let mut text = [0; 4];
        a.read_exact(&mut text).await.unwrap();
        text
    });
    b.write_all(b"ping").await.unwrap();
    assert_eq!(&reads.await.unwrap(), b"ping");
}

#[gmp::test]
async fn datagram_sockets_work_after_a_conversion() {
    let socket = UdpSocket::bind(ANY).await.unwrap();
    let socket = there_and_back!(socket, UdpSocket, std::net::UdpSocket);
    let client = UdpSocket::bind(ANY).await.unwrap();
    let to = socket.local_addr().unwrap();
    let receives = go!({
        let mut text = [0; 8];
        let (n, _) = socket.recv_from(&mut text).await.unwrap();
        text[..n].to_vec()
    });
    client.send_to(b"ping", to).await.unwrap();
    assert_eq!(receives.await.unwrap(), b"ping");
    let (a, b) = UnixDatagram::pair().unwrap();
    let a = there_and_back!(a, UnixDatagram, std::os::unix::net::UnixDatagram);
    b.send(b"ping").await.unwrap();
    assert_eq!(a.recv(&mut [0; 8]).await.unwrap(), 4);
}

/// What is no socket that can wait gives an error.
#[gmp::test]
async fn a_file_is_no_socket() {
    let file = std::fs::File::open("Cargo.toml").unwrap();
    assert!(TcpStream::try_from(OwnedFd::from(file)).is_err());
}

#[gmp::test]
async fn a_socket_keeps_its_options_through_a_conversion() {
    let socket = TcpSocket::new_v4().unwrap();
    assert!(!socket.reuseaddr().unwrap() && !socket.reuseport().unwrap());
    socket.set_reuseaddr(true).unwrap();
    socket.set_reuseport(true).unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_send_buffer_size(32 << 10).unwrap();
    socket.set_recv_buffer_size(64 << 10).unwrap();
    let socket = TcpSocket::from(OwnedFd::from(socket));
    assert!(socket.reuseaddr().unwrap() && socket.reuseport().unwrap());
    assert!(socket.nodelay().unwrap());
    assert!(socket.send_buffer_size().unwrap() >= 32 << 10);
    assert!(socket.recv_buffer_size().unwrap() >= 64 << 10);
    socket.bind(ANY).unwrap();
    let listener = socket.listen(8).unwrap();
    // A socket of another library, blocking and not connected.
    let other = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let other = TcpSocket::from_std(other.into()).unwrap();
    let client = other.connect(listener.local_addr().unwrap()).await.unwrap();
    let (server, _) = listener.accept().await.unwrap();
    client.write_all(b"x").await.unwrap();
    server.read_exact(&mut [0]).await.unwrap();
    let v6 = TcpSocket::new_v6();
    // The machine may have no IPv6.
    if let Ok(v6) = v6 {
        v6.set_only_v6(true).unwrap();
        assert!(v6.only_v6().unwrap());
    }
}

#[gmp::test]
async fn a_reference_to_a_descriptor_reads_and_writes() {
    let (echo, client) = std::os::unix::net::UnixStream::pair().unwrap();
    let (echo, client) = (Async::new(echo).unwrap(), Async::new(client).unwrap());
    // Go: `io.Copy(c, c)`.
    let copies = go!({ futures::io::copy(&echo, &mut &echo).await.unwrap() });
    let mut both = &client;
    both.write_all(b"ping").await.unwrap();
    both.flush().await.unwrap();
    let mut text = [0; 4];
    both.read_exact(&mut text).await.unwrap();
    assert_eq!(&text, b"ping");
    drop(client);
    assert_eq!(copies.await.unwrap(), 4);
}

#[gmp::test]
async fn datagrams_without_waiting() {
    let (a, b) = (UdpSocket::bind(ANY).await.unwrap(), UdpSocket::bind(ANY).await.unwrap());
    a.connect(b.local_addr().unwrap()).await.unwrap();
    b.connect(a.local_addr().unwrap()).await.unwrap();
    let mut text = [0; 8];
    assert_eq!(b.try_recv(&mut text).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(a.try_send(b"ping").unwrap(), 4);
    b.readable().await.unwrap();
    assert_eq!(b.try_recv(&mut text).unwrap(), 4);
    assert_eq!(&text[..4], b"ping");
}

#[gmp::test]
async fn hand_written_futures_of_datagrams() {
    let (a, b) = (UdpSocket::bind(ANY).await.unwrap(), UdpSocket::bind(ANY).await.unwrap());
    let (from, to) = (a.local_addr().unwrap(), b.local_addr().unwrap());
    let receives = go!({
        let mut text = [0; 8];
        let (n, from) = poll_fn(|cx| b.poll_recv_from(cx, &mut text)).await.unwrap();
        (text[..n].to_vec(), from)
    });
    gmp::yield_now().await;
    assert_eq!(poll_fn(|cx| a.poll_send_to(cx, b"ping", to)).await.unwrap(), 4);
    assert_eq!(receives.await.unwrap(), (b"ping".to_vec(), from));
}

#[gmp::test]
async fn a_hand_written_future_of_a_listener() {
    let listener = TcpListener::bind(ANY).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let accepts = go!({ poll_fn(|cx| listener.poll_accept(cx)).await.unwrap().1 });
    gmp::yield_now().await;
    let client = TcpStream::connect(addr).await.unwrap();
    assert_eq!(accepts.await.unwrap(), client.local_addr().unwrap());
    let listener = TcpListener::bind(ANY).await.unwrap();
    listener.close();
    assert!(poll_fn(|cx| listener.poll_accept(cx)).await.is_err());
}

#[gmp::test]
async fn the_connections_of_a_unix_listener_are_a_stream() {
    let path = std::env::temp_dir().join(format!("gmp-incoming-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    let listener = there_and_back!(listener, UnixListener, std::os::unix::net::UnixListener);
    let mut incoming = listener.incoming();
    for text in [b"one", b"two"] {
        let client = UnixStream::connect(&path).await.unwrap();
        client.write_all(text).await.unwrap();
        let server = incoming.next().await.unwrap().unwrap();
        let mut read = [0; 3];
        server.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, text);
    }
    std::fs::remove_file(&path).unwrap();
    listener.close();
    assert!(incoming.next().await.unwrap().is_err());
    assert!(incoming.next().await.is_none(), "it ends after its first error");
}

#[test]
fn standard_descriptors_have_their_numbers() {
    assert_eq!((gmp::io::stdin().as_raw_fd(), gmp::io::stdin().as_fd().as_raw_fd()), (0, 0));
    assert_eq!((gmp::io::stdout().as_raw_fd(), gmp::io::stdout().as_fd().as_raw_fd()), (1, 1));
    assert_eq!((gmp::io::stderr().as_raw_fd(), gmp::io::stderr().as_fd().as_raw_fd()), (2, 2));
}

#[test]
fn a_signal_is_its_number() {
    assert_eq!(SignalKind::from(15), SignalKind::terminate());
    assert_eq!(i32::from(SignalKind::interrupt()), 2);
}

#[gmp::test]
async fn keep_alive_probes_have_a_time() {
    let listener = TcpListener::bind(ANY).await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    assert_eq!(client.keepalive().unwrap(), None);
    client.set_keepalive(Some(Duration::from_secs(77))).unwrap();
    assert_eq!(client.keepalive().unwrap(), Some(Duration::from_secs(77)));
}
