//! Connected TCP streams and an echo server.

use gmp::net::{TcpListener, TcpStream};

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
