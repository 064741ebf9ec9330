//! UDP and Unix sockets, names.

use crate::context::{Cx, join};
use crate::coverage::{End, did, did_io};
use crate::ops::tcp::{check, out_of_resources, pattern};
use crate::violation::violation;
use futures::{AsyncReadExt, AsyncWriteExt};
use gmp::net::{UdpSocket, UnixDatagram, UnixListener, UnixStream};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::time::{Duration, Instant};

fn judge(what: &str, result: io::Result<()>) {
    if let Err(error) = result
        && !out_of_resources(&error)
        && !error.to_string().contains("runtime")
    {
        violation(format!("{what}: {error}"));
    }
}

/// UDP datagrams over loopback, which loses none while its buffer is not full.
pub(crate) async fn udp(mut cx: Cx) {
    judge("UDP", udp_calls(&mut cx).await);
}

async fn udp_calls(cx: &mut Cx) -> io::Result<()> {
    let (a, b) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
    let (to_a, to_b) = (a.local_addr()?, b.local_addr()?);
    let mut buf = [0; 64];
    if let Ok((n, _)) = b.try_recv_from(&mut buf) {
        violation(format!("a datagram of {n} bytes that nobody sent"));
    }
    for n in 0..1 + cx.rand.below(5) as u8 {
        match cx.rand.below(2) {
            0 => a.send_to(&[n; 9], to_b).await?,
            _ => a.try_send_to(&[n; 9], to_b)?,
        };
        let peeked = b.peek_from(&mut buf).await?;
        let got = b.recv_from(&mut buf).await?;
        if peeked != got || got != (9, to_a) || buf[..9] != [n; 9] {
            violation(format!("UDP: {got:?} for datagram {n}"));
        }
    }
    did("UdpSocket::send_to, recv_from, peek_from", End::Ok);
    b.connect(to_a).await?;
    b.send(b"hello").await?;
    let n = a.recv(&mut buf).await?;
    if &buf[..n] != b"hello" || b.peer_addr()? != to_a {
        violation("UDP: another datagram than hello");
    }
    did("UdpSocket::connect, send, recv", End::Ok);
    let until = Instant::now() + cx.rand.micros(1000);
    a.set_read_deadline(Some(until));
    let late = a.recv(&mut buf).await;
    did_io("UdpSocket::set_read_deadline", &late);
    match late {
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            crate::world::the_world().lateness.timer("UDP deadline", until);
        }
        other => violation(format!("UDP: a read with a deadline gave {other:?}")),
    }
    Ok(())
}

/// An abstract address that no other operation uses.
fn abstract_addr(cx: &mut Cx) -> io::Result<SocketAddr> {
    let name = format!("gmp-soak-{}-{:x}", std::process::id(), cx.rand.next());
    SocketAddr::from_abstract_name(name)
}

/// Unix streams: a listener, the traits of `futures`, credentials.
pub(crate) async fn unix_stream(mut cx: Cx) {
    judge("Unix streams", unix_stream_calls(&mut cx).await);
}

async fn unix_stream_calls(cx: &mut Cx) -> io::Result<()> {
    let addr = abstract_addr(cx)?;
    let listener = UnixListener::bind_addr(&addr)?;
    let all = cx.rand.size(6000);
    let client = cx.spawn(async move {
        let mut stream = UnixStream::connect_addr(&addr).await?;
        let bytes: Vec<u8> = (0..all).map(pattern).collect();
        AsyncWriteExt::write_all(&mut stream, &bytes).await?;
        AsyncWriteExt::close(&mut stream).await?;
        io::Result::Ok(())
    });
    let (mut server, _) = listener.accept().await?;
    if server.peer_cred()?.pid() != Some(std::process::id()) {
        violation("a Unix socket has the credentials of another process");
    }
    let mut bytes = Vec::new();
    AsyncReadExt::read_to_end(&mut server, &mut bytes).await?;
    did("UnixListener::accept, UnixStream", End::Ok);
    check(0, &bytes);
    if let Some(sent) = join(client).await {
        sent?;
        if bytes.len() != all {
            violation(format!("{} bytes arrived of {all}", bytes.len()));
        }
    }
    Ok(())
}

/// Unix datagrams, also while the receiver's buffer is full.
pub(crate) async fn unix_datagram(mut cx: Cx) {
    judge("Unix datagrams", unix_datagram_calls(&mut cx).await);
}

async fn unix_datagram_calls(cx: &mut Cx) -> io::Result<()> {
    let (a, b) = UnixDatagram::pair()?;
    let count = 1 + cx.rand.below(30) as u8;
    let sender = cx.spawn(async move {
        for n in 0..count {
            if a.send(&[n; 5]).await.is_err() {
                return;
            }
        }
    });
    let mut buf = [0; 16];
    for n in 0..count {
        match gmp::timeout(Duration::from_millis(500), b.recv(&mut buf)).await {
            Ok(got) => match got? {
                5 if buf[..5] == [n; 5] => {}
                // The sender is gone: it was aborted with its runtime.
                0 => break,
                got => violation(format!("a datagram of {got} bytes for number {n}")),
            },
            Err(_) => break,
        }
    }
    join(sender).await;
    did("UnixDatagram::send, recv", End::Ok);
    let addr = abstract_addr(cx)?;
    let bound = UnixDatagram::bind_addr(&addr)?;
    UnixDatagram::unbound()?.send_to_addr(b"one", &addr).await?;
    let (n, _) = bound.recv_from(&mut buf).await?;
    if &buf[..n] != b"one" {
        violation("another datagram than one");
    }
    did("UnixDatagram::send_to_addr, recv_from", End::Ok);
    Ok(())
}

/// Names and addresses of this machine, without a name server.
pub(crate) async fn resolve(mut cx: Cx) {
    let name = *cx.rand.pick(&["127.0.0.1:80", "[::1]:443", "localhost:7"]);
    let resolved = gmp::net::resolve(name).await;
    did_io("resolve", &resolved);
    match resolved {
        Ok(addrs) if !addrs.is_empty() && addrs.iter().all(|a| a.ip().is_loopback()) => {}
        other => violation(format!("{name} resolves to {other:?}")),
    }
}
