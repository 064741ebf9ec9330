//! An echo server on the runtime, and clients on plain threads.

use crate::lateness::Lateness;
use gmp::net::TcpListener;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Starts the server. It runs until the runtime ends.
pub(crate) fn serve(runtime: &gmp::Runtime) -> SocketAddr {
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let addr = listener.local_addr().expect("a bound socket");
        gmp::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                gmp::spawn(async move {
                    let mut bytes = [0; 64];
                    while stream.read_exact(&mut bytes).await.is_ok() {
                        if stream.write_all(&bytes).await.is_err() {
                            break;
                        }
                    }
                })
                .detach();
            }
        })
        .detach();
        addr
    })
}

/// A client on a plain thread.
#[derive(Debug)]
pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) fn connect(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).expect("the server listens");
        stream.set_nodelay(true).expect("a connected socket");
        Self(stream)
    }

    /// Sends 64 bytes and waits until they come back.
    pub(crate) fn echo(&mut self) {
        let mut back = [0; 64];
        self.0.write_all(&[7; 64]).expect("the server runs");
        self.0.read_exact(&mut back).expect("the server runs");
        assert_eq!(back, [7; 64]);
    }

    /// Measures echoes at the interval `gap` as long as `goes_on`.
    pub(crate) fn measure(mut self, gap: Duration, goes_on: impl Fn() -> bool) -> Lateness {
        let mut lateness = Lateness::default();
        while goes_on() {
            let start = Instant::now();
            self.echo();
            lateness.push(start.elapsed());
            std::thread::sleep(gap);
        }
        lateness
    }
}
