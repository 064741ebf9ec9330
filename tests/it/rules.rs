//! Rules of Go's scheduler that a program can observe. `../rules.md` lists all rules.

use super::support::net::own_loopback;
use super::support::{runtime, waiting};
use gmp::go;
use gmp::net::{TcpListener, TcpStream};

/// More than a runtime with two Ps could serve if each wait held a thread.
const WAITING: usize = 200;

#[test]
fn goroutines_that_wait_for_sockets_hold_no_thread() {
    runtime(2).block_on(async {
        let listener = TcpListener::bind((own_loopback(), 0)).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (mut clients, mut readers) = (Vec::new(), Vec::new());
        for _ in 0..WAITING {
            let client = TcpStream::connect(addr).await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            clients.push(client);
            readers.push(go!(async move { server.read(&mut [0; 1]).await }));
        }
        waiting("IO wait", WAITING).await;
        // Two for the Ps. The others are of hand-offs during the connects, on a slow machine.
        let threads = gmp::runtime::metrics().threads.total;
        assert!(threads < WAITING / 4, "{threads} threads");
        for client in &clients {
            client.write_all(b"x").await.unwrap();
        }
        for reader in readers {
            assert_eq!(reader.await.unwrap().unwrap(), 1);
        }
    });
}
