//! Connected TCP streams and an echo server.

use gmp::net::{TcpListener, TcpStream};
use std::net::Ipv4Addr;

/// Returns a loopback address that no other test uses. So a port that a test gives back there stays
/// free. Other tests may get the free ports of 127.0.0.1 at any time.
pub(crate) fn own_loopback() -> Ipv4Addr {
    use std::sync::atomic::{AtomicU8, Ordering};
    static USED: AtomicU8 = AtomicU8::new(0);
    if !cfg!(target_os = "linux") {
        return Ipv4Addr::LOCALHOST;
    }
    let [.., high, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 100 + USED.fetch_add(1, Ordering::Relaxed) % 100, high, low)
}

/// Returns both ends of a loopback connection.
pub(crate) async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (server, peer) = listener.accept().await.unwrap();
    assert_eq!(peer, client.local_addr().unwrap());
    (client, server)
}

/// Sends back what it reads until the peer closes the connection.
pub(crate) async fn echo(stream: TcpStream) {
    let mut buf = [0; 4096];
    while let Ok(n @ 1..) = stream.read(&mut buf).await {
        if stream.write_all(&buf[..n]).await.is_err() {
            return;
        }
    }
}
