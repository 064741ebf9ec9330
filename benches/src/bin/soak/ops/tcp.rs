//! TCP over loopback: echo servers with deadlines, halves, and closes from other goroutines.

use crate::context::{Cx, join};
use crate::coverage::{End, did, did_io};
use crate::violation::violation;
use futures::StreamExt;
use gmp::net::{TcpListener, TcpSocket, TcpStream};
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The limit of waits for a peer that may be gone.
const LIMIT: Duration = Duration::from_millis(500);

/// Whether a busy machine caused the error: no port or no descriptor is free.
pub(crate) fn out_of_resources(error: &io::Error) -> bool {
    use io::ErrorKind::AddrNotAvailable;
    error.kind() == AddrNotAvailable || matches!(error.raw_os_error(), Some(23 | 24))
}

/// Returns the byte at position `at` of every stream.
pub(crate) fn pattern(at: usize) -> u8 {
    (at % 251) as u8
}

/// Checks that `bytes` are those at position `at`.
pub(crate) fn check(at: usize, bytes: &[u8]) {
    if !(at..).zip(bytes).all(|(at, byte)| *byte == pattern(at)) {
        violation(format!("wrong bytes in a stream behind place {at}"));
    }
}

async fn listen(cx: &mut Cx) -> io::Result<TcpListener> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    if cx.rand.once_in(4) {
        let socket = TcpSocket::for_addr(any)?;
        socket.set_reuseaddr(true)?;
        socket.set_nodelay(true)?;
        socket.set_recv_buffer_size(1 << 14)?;
        socket.set_send_buffer_size(1 << 14)?;
        socket.bind(any)?;
        socket.local_addr()?;
        let listener = socket.listen(16);
        did_io("TcpSocket::listen", &listener);
        return listener;
    }
    let listener = TcpListener::bind(any).await;
    did_io("TcpListener::bind", &listener);
    listener
}

async fn connect(cx: &mut Cx, addr: SocketAddr) -> io::Result<TcpStream> {
    let stream = match cx.rand.below(3) {
        0 => TcpStream::connect_timeout(addr, LIMIT).await,
        1 => TcpSocket::for_addr(addr)?.connect(addr).await,
        _ => TcpStream::connect(addr).await,
    };
    did_io("TcpStream::connect", &stream);
    stream
}

/// A server that echoes, and some clients. Streams are complete unless an end closes them.
pub(crate) async fn echo(mut cx: Cx) {
    let Ok(listener) = listen(&mut cx).await else { return };
    let Ok(addr) = listener.local_addr() else { return };
    let listener = Arc::new(listener);
    let clients = 1 + cx.rand.size(3);
    let (accepting, mut inner) = (listener.clone(), cx.fork());
    let server = cx.spawn(async move {
        let mut serving = Vec::new();
        let mut incoming = accepting.incoming();
        while let Ok(Some(stream)) = gmp::timeout(LIMIT, incoming.next()).await {
            did_io("TcpListener::accept", &stream);
            let Ok(stream) = stream else { break };
            let next = inner.fork();
            serving.push(inner.spawn(serve(next, stream)));
        }
        for child in serving {
            join(child).await;
        }
    });
    let mut visits = Vec::new();
    for _ in 0..clients {
        visits.push(cx.spawn_anywhere(|cx| visit(cx, addr)));
    }
    for child in visits {
        join(child).await;
    }
    listener.close();
    did("TcpListener::close", End::Ok);
    if !listener.is_closed() {
        violation("a listener is open after its close");
    }
    join(server).await;
}

/// Echoes until the end of the stream, or gives up.
async fn serve(mut cx: Cx, stream: TcpStream) {
    let stream = Arc::new(stream);
    let kill = cx.rand.once_in(8).then(|| {
        let (victim, after) = (stream.clone(), cx.rand.micros(1500));
        cx.spawn(async move {
            gmp::sleep(after).await;
            victim.close();
            did("TcpStream::close", End::Ok);
        })
    });
    let (mut at, mut buf) = (0, vec![0; 1 + cx.rand.size(2000)]);
    loop {
        let deadline = cx.rand.once_in(8).then(|| Instant::now() + cx.rand.micros(2000));
        stream.set_deadline(deadline.or(Instant::now().checked_add(LIMIT)));
        let read = match gmp::timeout(cx.rand.micros(2000), stream.read(&mut buf)).await {
            Ok(read) => read,
            Err(_) => continue,
        };
        did_io("TcpStream::read", &read);
        let n = match read {
            Ok(0) | Err(_) => break,
            Ok(n) => n,
        };
        check(at, &buf[..n]);
        at += n;
        let written = stream.write_all(&buf[..n]).await;
        did_io("TcpStream::write_all", &written);
        if written.is_err() {
            break;
        }
    }
    if let Some(kill) = kill {
        join(kill).await;
    }
}

/// Sends bytes by one half and reads the echo by the other.
async fn visit(mut cx: Cx, addr: SocketAddr) {
    let stream = match connect(&mut cx, addr).await {
        Ok(stream) => stream,
        Err(_) => return,
    };
    stream.set_deadline(Instant::now().checked_add(LIMIT));
    let _ = (stream.set_nodelay(true), stream.peer_addr(), stream.local_addr());
    let all = cx.rand.size(20_000);
    let (reader, writer) = stream.into_split();
    did("TcpStream::into_split", End::Ok);
    let piece = 1 + cx.rand.size(4000);
    let writing = cx.spawn(async move {
        let mut sent = 0;
        while sent < all {
            let bytes: Vec<u8> = (sent..all.min(sent + piece)).map(pattern).collect();
            if writer.write_all(&bytes).await.is_err() {
                return sent;
            }
            sent += bytes.len();
        }
        sent
    });
    let (mut got, mut buf) = (0, [0; 1500]);
    while let Ok(n) = reader.read(&mut buf).await {
        if n == 0 {
            break;
        }
        check(got, &buf[..n]);
        got += n;
    }
    if let Some(sent) = join(writing).await
        && got > sent.max(all)
    {
        violation(format!("{got} bytes came back of {sent}"));
    }
}

/// The calls of a connected pair: vectored, peeking, exact, trying, readiness, shutdown.
pub(crate) async fn pair(mut cx: Cx) {
    if let Err(error) = pair_calls(&mut cx).await
        && !out_of_resources(&error)
        && !error.to_string().contains("runtime")
    {
        violation(format!("a pair of TCP sockets: {error}"));
    }
}

async fn pair_calls(cx: &mut Cx) -> io::Result<()> {
    let listener = listen(cx).await?;
    let addr = listener.local_addr()?;
    let connecting = cx.spawn(async move { TcpStream::connect(addr).await });
    let (server, _) = listener.accept().await?;
    let Some(client) = join(connecting).await else { return Ok(()) };
    let client = client?;
    let bufs = [io::IoSlice::new(b"abc"), io::IoSlice::new(b"def")];
    client.write_vectored(&bufs).await?;
    let (mut one, mut six) = ([0; 1], [0; 6]);
    server.readable().await?;
    if server.peek(&mut one).await? != 1 || &one != b"a" {
        violation("peek gave another byte");
    }
    server.read_exact(&mut six).await?;
    did("TcpStream::peek, read_exact, write_vectored", End::Ok);
    if &six != b"abcdef" {
        violation(format!("{six:?} arrived for abcdef"));
    }
    if let Ok(n) = server.try_read(&mut six) {
        violation(format!("{n} bytes are there that nobody sent"));
    }
    client.writable().await?;
    client.try_write(b"x")?;
    did("TcpStream::try_read, try_write", End::Ok);
    let start = Instant::now();
    let until = start + cx.rand.micros(1500);
    client.set_read_deadline(Some(until));
    let late = client.read(&mut one).await;
    did_io("TcpStream::set_read_deadline", &late);
    match late {
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            crate::world::the_world().lateness.timer("socket deadline", until);
        }
        other => violation(format!("a read with a deadline gave {other:?}")),
    }
    client.shutdown(Shutdown::Write)?;
    if server.read(&mut six).await? != 1 || server.read(&mut six).await? != 0 {
        violation("shutdown does not end the stream");
    }
    did("TcpStream::shutdown", End::Ok);
    let std = server.into_std();
    let back = TcpStream::from_std(std)?;
    did("TcpStream::into_std, from_std", End::Ok);
    back.set_linger(Some(Duration::ZERO))?;
    drop(back);
    Ok(())
}

/// A read that waits ends when another goroutine closes the socket.
pub(crate) async fn close_wakes(mut cx: Cx) {
    let Ok(listener) = listen(&mut cx).await else { return };
    let Ok(addr) = listener.local_addr() else { return };
    let Ok(client) = TcpStream::connect(addr).await else { return };
    let client = Arc::new(client);
    let mut readers = Vec::new();
    for _ in 0..1 + cx.rand.size(3) {
        let client = client.clone();
        readers.push(cx.spawn(async move {
            let read = client.read(&mut [0; 8]).await;
            if let Ok(n @ 1..) = read {
                violation(format!("{n} bytes are there that nobody sent"));
            }
        }));
    }
    cx.pause().await;
    client.close();
    for child in readers {
        join(child).await;
    }
    did("TcpStream::close", End::Closed);
}

/// More readers than a socket has wait slots for.
pub(crate) async fn many_readers(mut cx: Cx) {
    let Ok(listener) = listen(&mut cx).await else { return };
    let Ok(addr) = listener.local_addr() else { return };
    let Ok(client) = TcpStream::connect(addr).await else { return };
    let client = Arc::new(client);
    let polls = cx.home.handle.metrics().total().polls;
    let start = Instant::now();
    let mut readers = Vec::new();
    for _ in 0..16 {
        let client = client.clone();
        readers.push(cx.spawn(async move { client.read(&mut [0; 8]).await.is_ok() }));
    }
    gmp::sleep(Duration::from_millis(20)).await;
    did("16 readers of one socket", End::Ok);
    let (polls, took) = (cx.home.handle.metrics().total().polls - polls, start.elapsed());
    // The rest of the load polls as well, but not a thousand times per reader.
    if polls > 1_000_000 * took.as_millis() as u64 {
        violation(format!("{polls} polls in {took:?} while 16 readers wait"));
    }
    client.close();
    for child in readers {
        join(child).await;
    }
}
