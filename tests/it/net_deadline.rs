//! Deadlines, and closing from another goroutine.

use super::net_tcp::pair;
use super::support::net::own_loopback;
use super::support::until;
use gmp::go;
use gmp::net::{Closed, DeadlineExceeded, TcpListener, TcpStream, UdpSocket, UnixStream};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

fn is_closed(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Closed>())
}

#[gmp::test]
async fn a_read_ends_at_its_deadline() {
    let (client, _server) = pair().await;
    let start = Instant::now();
    client.set_read_deadline(Some(start + 20 * MS));
    let error = client.read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.get_ref().unwrap().is::<DeadlineExceeded>());
    assert_eq!(error.to_string(), "i/o timeout");
    assert!(start.elapsed() >= 20 * MS && start.elapsed() < 2000 * MS, "{:?}", start.elapsed());
    // The deadline stays until another one is set.
    assert_eq!(client.read(&mut [0; 1]).await.unwrap_err().kind(), ErrorKind::TimedOut);
    client.write_all(b"writing is another matter").await.unwrap();
    client.set_read_deadline(None);
    assert_eq!(client.try_read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[gmp::test]
async fn a_deadline_in_the_past_ends_waits_at_once() {
    let (client, server) = pair().await;
    client.set_deadline(Some(Instant::now() - MS));
    assert_eq!(client.read(&mut [0; 1]).await.unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(client.write(b"x").await.unwrap_err().kind(), ErrorKind::TimedOut);
    let server = Arc::new(server);
    let waiting = server.clone();
    let reader = go!(async move { waiting.read(&mut [0; 1]).await });
    until(|| gmp::runtime::dump().contains("[IO wait"));
    server.set_read_deadline(Some(Instant::now()));
    assert_eq!(reader.await.unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
}

#[gmp::test]
async fn a_deadline_moves_both_ways_during_a_wait() {
    let (client, server) = pair().await;
    let client = Arc::new(client);
    let start = Instant::now();
    client.set_read_deadline(Some(start + 3_600_000 * MS));
    let waiting = client.clone();
    let reader = go!(async move { waiting.read(&mut [0; 1]).await });
    until(|| gmp::runtime::dump().contains("[IO wait"));
    // An earlier deadline takes effect.
    client.set_read_deadline(Some(start + 30 * MS));
    assert_eq!(reader.await.unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(start.elapsed() < 10_000 * MS);
    // The deadline is moved later several times. The timer of the first one has no effect.
    let until_later = Instant::now() + 60 * MS;
    client.set_read_deadline(Some(Instant::now() + 5 * MS));
    client.set_read_deadline(Some(until_later));
    assert_eq!(client.read(&mut [0; 1]).await.unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(Instant::now() >= until_later);
    // Without a deadline data arrives.
    client.set_read_deadline(None);
    server.write_all(b"x").await.unwrap();
    assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 1);
}

#[gmp::test]
async fn all_kinds_of_sockets_have_deadlines() {
    let soon = || Some(Instant::now() + 5 * MS);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.set_deadline(soon());
    assert_eq!(listener.accept().await.unwrap_err().kind(), ErrorKind::TimedOut);
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    udp.set_read_deadline(soon());
    assert_eq!(udp.recv_from(&mut [0; 8]).await.unwrap_err().kind(), ErrorKind::TimedOut);
    let (unix, _other) = UnixStream::pair().unwrap();
    unix.set_write_deadline(soon());
    let error = loop {
        if let Err(error) = unix.write(&[0; 4096]).await {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    let (reader, _writer) = io::pipe().unwrap();
    let pipe = gmp::net::Async::new(reader).unwrap();
    pipe.set_read_deadline(soon());
    assert_eq!(pipe.readable().await.unwrap_err().kind(), ErrorKind::TimedOut);
}

/// Deadlines race with data on many connections. Every read ends.
#[gmp::test]
async fn every_read_ends_although_deadlines_race_with_data() {
    let racers: Vec<_> = (0..50u32)
        .map(|n| {
            go!(async move {
                let (client, server) = pair().await;
                let feeder = go!(async move {
                    for round in 0..40 {
                        gmp::sleep(Duration::from_micros(u64::from((n * 7 + round * 13) % 300)))
                            .await;
                        if server.write_all(b"x").await.is_err() {
                            break;
                        }
                    }
                });
                let (mut got, mut late) = (0, 0);
                while got < 40 {
                    client.set_read_deadline(Some(Instant::now() + Duration::from_micros(150)));
                    match client.read(&mut [0; 1]).await {
                        Ok(n) => got += n,
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::TimedOut);
                            late += 1;
                        }
                    }
                }
                feeder.await.unwrap();
                late
            })
        })
        .collect();
    let mut late = 0;
    for racer in racers {
        late += racer.await.unwrap();
    }
    assert!(late > 0, "no deadline ever passed");
}

#[gmp::test]
async fn close_wakes_readers_and_writers() {
    let (client, server) = pair().await;
    let client = Arc::new(client);
    let waits: Vec<_> = (0..4)
        .map(|n| {
            let client = client.clone();
            go!(async move {
                let big = vec![0; 1 << 20];
                loop {
                    let done = if n % 2 == 0 {
                        client.read(&mut [0; 1]).await
                    } else {
                        client.write(&big).await
                    };
                    if let Err(error) = done {
                        return error;
                    }
                }
            })
        })
        .collect();
    until(|| gmp::runtime::dump().matches("[IO wait").count() == 4);
    client.close();
    assert!(client.is_closed());
    for wait in waits {
        let error = wait.await.unwrap();
        assert!(is_closed(&error), "{error}");
        assert_eq!(error.to_string(), "use of closed network connection");
    }
    assert!(is_closed(&client.write(b"x").await.unwrap_err()));
    // The peer sees the end although a handle is still alive.
    let mut rest = vec![0; 1 << 16];
    loop {
        match server.read(&mut rest).await {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                break;
            }
        }
    }
    client.close();
}

#[gmp::test]
async fn a_closed_listener_frees_its_port() {
    let listener = Arc::new(TcpListener::bind((own_loopback(), 0)).await.unwrap());
    let addr = listener.local_addr().unwrap();
    let waiting = listener.clone();
    let accept = go!(async move { waiting.accept().await });
    until(|| gmp::runtime::dump().contains("[IO wait"));
    listener.close();
    assert!(is_closed(&accept.await.unwrap().unwrap_err()));
    let refused = TcpStream::connect(addr).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    // `listener` is still alive.
    let again = TcpListener::bind(addr).await.unwrap();
    TcpStream::connect(addr).await.unwrap();
    drop((listener, again));
}

/// Operations are cancel-safe.
#[gmp::test]
async fn dropped_operations_lose_no_bytes() {
    let (client, server) = pair().await;
    for round in 0..200u32 {
        let late = gmp::timeout(Duration::from_micros(50), server.read(&mut [0; 4])).await;
        assert!(late.is_err());
        client.write_all(&round.to_le_bytes()).await.unwrap();
        let mut buf = [0; 4];
        server.read_exact(&mut buf).await.unwrap();
        assert_eq!(u32::from_le_bytes(buf), round);
    }
}
