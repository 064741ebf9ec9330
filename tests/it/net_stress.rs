//! All socket operations at random, over real sockets: connect, read, write, close, deadlines,
//! dropped operations.
//!
//! The test checks that every operation ends, that the received bytes are the sent ones, and that
//! no descriptor leaks. `GMP_STRESS_SECONDS=60` makes it run for a minute. CONTRIBUTING describes
//! the sanitizers.

use super::support::{runtime, stress_seconds, test_seed};
use gmp::go;
use gmp::net::{TcpListener, TcpStream};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A small pseudo-random generator.
struct Rand(u64);

impl Rand {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn micros(&mut self, n: u64) -> Duration {
        Duration::from_micros(self.below(n))
    }
}

/// Returns a byte that differs from the bytes next to it.
pub(crate) fn pattern(at: u64) -> u8 {
    (at % 251) as u8
}

/// Serves one connection: checks the bytes that arrive, sends the same number back, and sometimes
/// gives up.
async fn serve(stream: TcpStream, mut rand: Rand) -> io::Result<()> {
    let stream = Arc::new(stream);
    if rand.below(8) == 0 {
        let (killed, after) = (stream.clone(), rand.micros(2000));
        go!(async move {
            gmp::sleep(after).await;
            killed.close();
        });
    }
    let (mut at, mut buf) = (0, vec![0; 1 + rand.below(3000) as usize]);
    loop {
        if rand.below(4) == 0 {
            stream.set_deadline(Some(Instant::now() + rand.micros(3000)));
        }
        let n = match gmp::timeout(rand.micros(1500), stream.read(&mut buf)).await {
            Ok(read) => read?,
            Err(_elapsed) => continue,
        };
        if n == 0 {
            return Ok(());
        }
        assert!((at..).zip(&buf[..n]).all(|(at, byte)| *byte == pattern(at)), "wrong bytes");
        at += n as u64;
        stream.write_all(&buf[..n]).await?;
    }
}

/// Runs the client side of one connection.
async fn visit(addr: SocketAddr, mut rand: Rand) -> io::Result<u64> {
    let limit = Duration::from_secs(30);
    let (reader, writer) = TcpStream::connect_timeout(addr, limit).await?.into_split();
    let all = rand.below(60_000);
    let reset = rand.below(10) == 0;
    let writing = go!(async move {
        let mut sent = 0;
        while sent < all {
            let piece: Vec<u8> =
                (sent..all.min(sent + 1 + rand.below(4000))).map(pattern).collect();
            writer.write_all(&piece).await?;
            sent += piece.len() as u64;
            if rand.below(16) == 0 {
                gmp::sleep(rand.micros(300)).await;
            }
        }
        if reset {
            writer.as_ref().set_linger(Some(Duration::ZERO))?;
            writer.as_ref().close();
        }
        io::Result::Ok(())
    });
    let (mut got, mut buf) = (0, [0; 2048]);
    let read = loop {
        match reader.read(&mut buf).await {
            Ok(0) => break Ok(got),
            Ok(n) => {
                assert!((got..).zip(&buf[..n]).all(|(at, byte)| *byte == pattern(at)));
                got += n as u64;
            }
            Err(error) => break Err(error),
        }
    };
    // Otherwise the writer would wait forever if the server has stopped reading.
    reader.as_ref().close();
    let _ = writing.await.unwrap();
    read
}

#[test]
fn random_operations_on_sockets_lose_no_bytes() {
    let end = Instant::now() + stress_seconds(2.0);
    let first_seed = test_seed();
    let runtime = runtime(3);
    let (whole, broken) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (counted_whole, counted_broken) = (whole.clone(), broken.clone());
    let work = runtime.spawn(async move {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        let addr = listener.local_addr().unwrap();
        let accepting = listener.clone();
        let server = go!(async move {
            let mut seed = first_seed;
            while let Ok((stream, _)) = accepting.accept().await {
                seed += 1;
                go!(async move {
                    // Any error is fine: the connection has ended.
                    let _ = serve(stream, Rand(seed)).await;
                });
            }
        });
        let visitors: Vec<_> = (0..20u64)
            .map(|n| {
                let (whole, broken) = (counted_whole.clone(), counted_broken.clone());
                go!(async move {
                    let mut seed = first_seed.wrapping_add(n << 32);
                    let has_none = |count: &AtomicU64| count.load(Ordering::Relaxed) == 0;
                    while Instant::now() < end || has_none(&whole) || has_none(&broken) {
                        seed += 1;
                        let count =
                            if visit(addr, Rand(seed)).await.is_ok() { &whole } else { &broken };
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for visitor in visitors {
            visitor.await.unwrap();
        }
        listener.close();
        server.await.unwrap();
        // The remaining servers end by themselves, because their clients are gone.
        while gmp::num_goroutine() > 1 {
            gmp::sleep(Duration::from_millis(1)).await;
        }
    });
    gmp::block_on(work).unwrap();
    let (whole, broken) = (whole.load(Ordering::Relaxed), broken.load(Ordering::Relaxed));
    println!("gmp: {whole} connections to their end, {broken} broken off");
    runtime.shutdown(Duration::from_secs(10)).unwrap();
}
