//! TCP: every way to read and write transfers the same bytes.

use super::support::net::own_loopback;
pub(crate) use super::support::net::{echo, pair};
use super::support::{runtime, until};
use futures::{AsyncRead, AsyncReadExt, AsyncWriteExt, StreamExt};
use gmp::go;
use gmp::net::{TcpListener, TcpSocket, TcpStream, UnixStream};
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[gmp::test]
async fn a_megabyte_is_echoed() {
    let (client, server) = pair().await;
    go!(echo(server));
    let data: Vec<u8> = (0..1 << 20).map(|n: u32| (n % 251) as u8).collect();
    let (reader, writer) = client.into_split();
    let sent = data.clone();
    let writing = go!(async move { writer.write_all(&sent).await });
    let mut back = vec![0; data.len()];
    reader.read_exact(&mut back).await.unwrap();
    writing.await.unwrap().unwrap();
    assert!(back == data);
    // The writer is dropped, so the echo ends and closes the connection.
    assert_eq!(reader.read(&mut back).await.unwrap(), 0);
}

/// The end follows the data, perhaps in the same event. A read that took the data must not wait for
/// another event.
#[gmp::test]
async fn the_end_right_behind_the_data_is_seen() {
    for round in 0..2000 {
        let (client, server) = pair().await;
        let reader = go!(async move {
            let (mut buf, mut got) = ([0; 64], 0);
            loop {
                match server.read(&mut buf).await.unwrap() {
                    0 => return got,
                    n => got += n,
                }
            }
        });
        if round % 2 == 0 {
            gmp::yield_now().await;
        }
        client.write_all(b"the last words").await.unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(reader.await.unwrap(), 14);
    }
}

#[gmp::test]
async fn streams_and_halves_implement_the_traits_of_futures() {
    let (mut client, mut server) = pair().await;
    AsyncWriteExt::write_all(&mut client, b"ping").await.unwrap();
    let mut buf = [0; 4];
    AsyncReadExt::read_exact(&mut server, &mut buf).await.unwrap();
    assert_eq!(&buf, b"ping");
    {
        let (mut r, mut w) = TcpStream::split(&mut server);
        let mut other = &client;
        futures::AsyncWriteExt::write_all(&mut w, b"pong").await.unwrap();
        futures::AsyncReadExt::read_exact(&mut other, &mut buf).await.unwrap();
        assert_eq!(&buf, b"pong");
        AsyncWriteExt::close(&mut client).await.unwrap();
        assert_eq!(AsyncReadExt::read(&mut r, &mut buf).await.unwrap(), 0);
    }
    let (r, w) = server.into_split();
    let (other_r, other_w) = pair().await.0.into_split();
    let error = r.reunite(other_w).unwrap_err();
    let server = w.reunite(error.0).unwrap();
    drop((other_r, server));
}

/// The OS accepts about a thousand buffers per call. More are no error.
#[gmp::test]
async fn vectored_writes_take_more_buffers_than_the_os() {
    let (client, server) = pair().await;
    let byte = [7];
    let bufs = vec![IoSlice::new(&byte); 5_000];
    let sent = client.write_vectored(&bufs).await.unwrap();
    assert!(sent > 0 && sent <= 5_000);
    let mut got = vec![0; sent];
    server.read_exact(&mut got).await.unwrap();
    assert!(got.iter().all(|byte| *byte == 7));
}

#[gmp::test]
async fn vectored_calls_and_peek_work() {
    let (client, server) = pair().await;
    let bufs = [IoSlice::new(b"one "), IoSlice::new(b"two")];
    assert_eq!(client.write_vectored(&bufs).await.unwrap(), 7);
    let mut peeked = [0; 3];
    assert_eq!(server.peek(&mut peeked).await.unwrap(), 3);
    assert_eq!(&peeked, b"one");
    let (mut a, mut b) = ([0; 4], [0; 16]);
    let mut bufs = [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)];
    assert_eq!(server.read_vectored(&mut bufs).await.unwrap(), 7);
    assert_eq!((&a, &b[..3]), (b"one ", &b"two"[..]));
    assert_eq!(server.try_read(&mut a).unwrap_err().kind(), ErrorKind::WouldBlock);
    client.try_write(b"x").unwrap();
    server.readable().await.unwrap();
    assert_eq!(server.try_read(&mut a).unwrap(), 1);
    server.writable().await.unwrap();
}

#[gmp::test]
async fn options_are_read_as_they_were_set() {
    let (client, _server) = pair().await;
    client.set_nodelay(true).unwrap();
    assert!(client.nodelay().unwrap());
    client.set_keepalive(Some(Duration::from_secs(30))).unwrap();
    assert_eq!(client.keepalive().unwrap(), Some(Duration::from_secs(30)));
    client.set_keepalive(None).unwrap();
    assert_eq!(client.keepalive().unwrap(), None);
    client.set_linger(Some(Duration::from_secs(1))).unwrap();
    assert_eq!(client.linger().unwrap(), Some(Duration::from_secs(1)));
    client.set_linger(None).unwrap();
    client.set_ttl(17).unwrap();
    assert_eq!(client.ttl().unwrap(), 17);
    assert!(client.take_error().unwrap().is_none());
    let std = client.into_std();
    assert_eq!(std.ttl().unwrap(), 17);
    assert_eq!(TcpStream::from_std(std).unwrap().ttl().unwrap(), 17);
}

#[gmp::test]
async fn half_close_leaves_the_other_half() {
    let (client, server) = pair().await;
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0);
    server.write_all(b"still here").await.unwrap();
    let mut buf = [0; 10];
    client.read_exact(&mut buf).await.unwrap();
    assert_eq!(client.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    drop(server);
    assert_eq!(client.read_exact(&mut [0; 1]).await.unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[gmp::test]
async fn many_goroutines_accept_on_one_listener() {
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
    let addr = listener.local_addr().unwrap();
    for _ in 0..8 {
        let listener = listener.clone();
        go!(async move {
            while let Ok((stream, _)) = listener.accept().await {
                go!(echo(stream));
            }
        });
    }
    let clients: Vec<_> = (0..200u32)
        .map(|n| {
            go!(async move {
                let stream = TcpStream::connect(addr).await.unwrap();
                let mut back = [0; 4];
                stream.write_all(&n.to_le_bytes()).await.unwrap();
                stream.read_exact(&mut back).await.unwrap();
                assert_eq!(u32::from_le_bytes(back), n);
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    listener.close();
}

#[gmp::test]
async fn incoming_is_a_stream_that_ends() {
    let listener = TcpListener::bind(("localhost", 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let clients = go!(async move {
        for _ in 0..3 {
            TcpStream::connect(addr).await.unwrap();
        }
    });
    let mut incoming = listener.incoming();
    for _ in 0..3 {
        incoming.next().await.unwrap().unwrap();
    }
    clients.await.unwrap();
    listener.close();
    assert!(incoming.next().await.unwrap().is_err());
    assert!(incoming.next().await.is_none());
}

/// A name resolves to several addresses, and only the last one has a listener.
#[gmp::test]
async fn connect_tries_the_next_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let good = listener.local_addr().unwrap();
    let refused = {
        let gone = TcpListener::bind((own_loopback(), 0)).await.unwrap();
        gone.local_addr().unwrap()
    };
    let stream = TcpStream::connect(&[refused, refused, good][..]).await.unwrap();
    assert_eq!(stream.peer_addr().unwrap(), good);
    let error = TcpStream::connect("no such host.invalid:1").await.unwrap_err();
    assert!(error.to_string().contains("no such host"), "{error}");
}

/// A connect does not wait for a silent address when there is another one. The silent address is a
/// listener whose queue is full, so the test needs no special route.
#[gmp::test]
async fn connect_does_not_wait_for_a_silent_address() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(0).unwrap();
    let silent = full.local_addr().unwrap();
    let mut stuffing = Vec::new();
    let waits = loop {
        let connect = TcpStream::connect_timeout(silent, Duration::from_millis(300)).await;
        match connect {
            Ok(stream) => stuffing.push(stream),
            Err(error) => break error,
        }
    };
    assert_eq!(waits.kind(), ErrorKind::TimedOut);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let good = listener.local_addr().unwrap();
    // A connect also times out if the thread rests for long. Then the queue may still have room.
    loop {
        let start = std::time::Instant::now();
        let stream = TcpStream::connect(&[silent, good][..]).await.unwrap();
        if stream.peer_addr().unwrap() == silent {
            stuffing.push(stream);
            continue;
        }
        assert_eq!(stream.peer_addr().unwrap(), good);
        assert!(start.elapsed() >= Duration::from_millis(250), "the first has a head start");
        assert!(start.elapsed() < Duration::from_secs(5));
        break;
    }
}

/// On one P other goroutines run beside a connection that always has data.
#[test]
fn a_busy_connection_yields() {
    let runtime = runtime(1);
    let busy = runtime.spawn(async {
        let (client, server) = pair().await;
        let mut buf = [0; 1];
        loop {
            client.write_all(b"x").await.unwrap();
            server.read_exact(&mut buf).await.unwrap();
        }
    });
    until(|| runtime.handle().metrics().total().polls > 5);
    gmp::block_on(runtime.spawn(async {})).unwrap();
    busy.abort();
    assert!(gmp::block_on(busy).is_err());
}

#[gmp::test]
async fn a_dump_names_the_goroutines_that_wait_for_io() {
    let (client, server) = pair().await;
    let reader = gmp::task::Builder::new()
        .name("reader")
        .spawn(async move { server.read(&mut [0; 1]).await });
    let shown = || {
        let dump = gmp::runtime::dump();
        dump.contains("[IO wait") && dump.contains("{name: reader}")
    };
    until(shown);
    client.write_all(b"x").await.unwrap();
    assert_eq!(reader.await.unwrap().unwrap(), 1);
}

/// A read stops at urgent data. The bytes after it must still be read.
#[gmp::test]
async fn bytes_behind_urgent_ones_are_read() {
    for _ in 0..100 {
        let (client, server) = pair().await;
        let reader = go!(async move {
            let (mut all, mut buf) = (Vec::new(), [0; 64]);
            while all.len() < 4 {
                let n = server.read(&mut buf).await.unwrap();
                all.extend_from_slice(&buf[..n]);
            }
            all
        });
        gmp::yield_now().await;
        client.write_all(b"ab").await.unwrap();
        socket2::SockRef::from(&client).send_out_of_band(b"!").unwrap();
        client.write_all(b"cd").await.unwrap();
        let read = gmp::timeout(Duration::from_secs(30), reader).await;
        assert_eq!(read.expect("the rest is forgotten").unwrap(), b"abcd");
    }
}

/// The halves of a Unix stream work as those of TCP do.
#[gmp::test]
async fn unix_halves_read_write_finish_and_reunite() {
    let (mut a, b) = UnixStream::pair().unwrap();
    let mut buf = [0; 4];
    {
        let (reader, writer) = UnixStream::split(&mut a);
        writer.write_all(b"ping").await.unwrap();
        b.read_exact(&mut buf).await.unwrap();
        b.write_all(&buf).await.unwrap();
        reader.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"ping");
    }
    let (reader, writer) = a.into_split();
    let a = reader.reunite(writer).unwrap();
    let (reader, writer) = a.into_split();
    let (other, _) = UnixStream::pair().unwrap().0.into_split();
    let error = writer.reunite(other).unwrap_err();
    drop(error.1);
    assert_eq!(b.read(&mut buf).await.unwrap(), 0, "a dropped writing half finishes");
    b.write_all(b"late").await.unwrap();
    reader.read_exact(&mut buf).await.unwrap();
    assert_eq!(&buf, b"late");
}

/// A half has the addresses and the deadline of its direction. `as_ref` gives the rest.
#[gmp::test]
async fn halves_have_addresses_and_deadlines_of_their_direction() {
    let (client, server) = pair().await;
    let here = server.local_addr().unwrap();
    let (reader, writer) = server.into_split();
    assert_eq!((reader.local_addr().unwrap(), writer.local_addr().unwrap()), (here, here));
    assert_eq!(writer.peer_addr().unwrap(), client.local_addr().unwrap());
    reader.set_read_deadline(Some(std::time::Instant::now()));
    assert_eq!(reader.read(&mut [0]).await.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    writer.write_all(b"x").await.unwrap();
    writer.set_write_deadline(Some(std::time::Instant::now()));
    assert_eq!(writer.write(b"x").await.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    writer.as_ref().close();
    assert!(reader.is_closed() && writer.is_closed());
}

/// Tasks that read through the traits of `futures` leave no entry behind that a drop could remove.
/// So the list of such tasks is bounded, which must not make them wake each other without an event.
#[gmp::test]
async fn many_idle_readers_of_one_stream_are_not_polled() {
    const READERS: usize = 20;
    let (stream, peer) = pair().await;
    let stream = Arc::new(stream);
    let polls = Arc::new(AtomicUsize::new(0));
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let (stream, polls) = (stream.clone(), polls.clone());
            go!(async move {
                let (mut reader, mut buf) = (&*stream, [0]);
                std::future::poll_fn(|cx| {
                    polls.fetch_add(1, Ordering::Relaxed);
                    std::pin::Pin::new(&mut reader).poll_read(cx, &mut buf)
                })
                .await
                .map(|_| ())
            })
        })
        .collect();
    while polls.load(Ordering::Relaxed) < READERS {
        gmp::yield_now().await;
    }
    let (start, before) = (Instant::now(), polls.load(Ordering::Relaxed));
    gmp::sleep(Duration::from_millis(300)).await;
    let polled = polls.load(Ordering::Relaxed) - before;
    // The list may wake its tasks once in a second.
    let allowed = READERS * (start.elapsed().as_secs() as usize + 2);
    assert!(polled <= allowed, "{polled} polls without an event");
    // One event reaches every reader.
    drop(peer);
    for reader in readers {
        reader.await.unwrap().unwrap();
    }
}
