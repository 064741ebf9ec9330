//! A TCP listener.

use super::{TcpSocket, TcpStream};
use crate::accept::Accepting;
use crate::fd::{Fd, common_calls};
use crate::poll::desc::Trust;
use crate::resolve::addr::{self, ToSocketAddrs};
use crate::sys::Os;
use futures::stream::{FusedStream, Stream};
use rustix::net::SocketAddrAny;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Default maximum of connections that wait to be accepted. Linux reduces it to
/// `net.core.somaxconn`, the value that Go uses.
const BACKLOG: i32 = 4096;

/// A TCP socket that accepts connections (Go: `net.TCPListener`).
///
/// Any number of goroutines may accept on it at the same time.
///
/// # Examples
///
/// ```
/// use gmp_net::TcpListener;
///
/// async fn serve() -> std::io::Result<()> {
///     let listener = TcpListener::bind("127.0.0.1:8080").await?;
///     loop {
///         let (stream, _peer) = listener.accept().await?;
///         gmp_rt::spawn(async move {
///             let mut buf = [0; 1024];
///             while let Ok(n @ 1..) = stream.read(&mut buf).await {
///                 stream.write_all(&buf[..n]).await?;
///             }
///             std::io::Result::Ok(())
///         });
///     }
/// }
/// ```
pub struct TcpListener {
    fd: Fd<std::net::TcpListener>,
}

common_calls!(TcpListener, "Stops listening.");

impl TcpListener {
    /// Listens at the first address that works. Port 0 lets the OS choose.
    ///
    /// The address can be reused at once after the listener is dropped (`SO_REUSEADDR`). For other
    /// options see [`TcpSocket`].
    ///
    /// # Errors
    ///
    /// The error of the OS, or [`AddrErrors`](crate::AddrErrors) if the addresses failed with
    /// different errors.
    pub async fn bind(addr: impl ToSocketAddrs) -> io::Result<Self> {
        addr::each(addr, |addr| {
            let socket = TcpSocket::for_addr(addr)?;
            socket.set_reuseaddr(true)?;
            socket.bind(addr)?;
            socket.listen(BACKLOG)
        })
        .await
    }

    /// Wraps a listener of the standard library.
    ///
    /// # Errors
    ///
    /// If it cannot be registered with the netpoller.
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { fd: Fd::new(listener, Trust::WouldBlock)? })
    }

    /// Returns the listener of the standard library, still non-blocking.
    #[must_use]
    pub fn into_std(self) -> std::net::TcpListener {
        self.fd.into_inner()
    }

    /// Accepts the next connection and returns it with the address of its other end.
    ///
    /// Skips a connection whose client gave up before the accept. If the process is out of
    /// descriptors (see `ulimit -n`), tries again after 5 ms, then 10 ms, up to a second.
    ///
    /// # Errors
    ///
    /// [`Closed`](crate::Closed), an expired deadline, or an error of the OS.
    /// [`WatchLimit`](crate::WatchLimit) if the connection was accepted and cannot be registered.
    /// That connection is closed, and the listener still works.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped accept has accepted no connection.
    pub fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send + '_ {
        TcpAccept { listener: self, accepting: Accepting::default() }
    }

    /// [`accept`](Self::accept) for a hand-written future. Its task is woken when another call may
    /// succeed.
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept), and also if the process is out of descriptors: call it again
    /// after a while.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let (fd, peer) = ready!(Accepting::poll_accept_once(&self.fd, cx))?;
        Poll::Ready(connection(fd, peer))
    }

    /// Returns the connections as a stream, which ends after its first error.
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming {
            accept: TcpAccept { listener: self, accepting: Accepting::default() },
            over: false,
        }
    }

    /// Returns the address at which it listens.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.fd.get().local_addr()
    }

    /// Sets the maximum number of routers a packet may pass (`IP_TTL`), for connections accepted
    /// later.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.fd.get().set_ttl(ttl)
    }

    /// Returns the value of [`set_ttl`](Self::set_ttl).
    pub fn ttl(&self) -> io::Result<u32> {
        self.fd.get().ttl()
    }

    /// Frees the port at a `close` at once, even if the descriptor still has owners.
    fn closed(&self) {
        // Only Linux supports this for listeners. Elsewhere the port is free when the descriptor is
        // closed.
        let _ = rustix::net::shutdown(&self.fd, rustix::net::Shutdown::Both);
    }
}

/// Wraps an accepted connection.
fn connection(fd: OwnedFd, peer: Option<SocketAddrAny>) -> io::Result<(TcpStream, SocketAddr)> {
    let stream = std::net::TcpStream::from(fd);
    let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
    let peer = peer.map_or_else(|| stream.peer_addr(), Ok)?;
    // Not `from_std`: it would make another system call, and the socket is non-blocking already.
    Ok((TcpStream { fd: Fd::new(stream, Os::STREAMS)? }, peer))
}

/// The future of [`TcpListener::accept`].
#[derive(Debug)]
struct TcpAccept<'a> {
    listener: &'a TcpListener,
    accepting: Accepting,
}

impl Future for TcpAccept<'_> {
    type Output = io::Result<(TcpStream, SocketAddr)>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let listener = self.listener;
        let (fd, peer) = ready!(self.accepting.poll_accept(&listener.fd, cx))?;
        Poll::Ready(connection(fd, peer))
    }
}

impl Drop for TcpAccept<'_> {
    fn drop(&mut self) {
        self.accepting.leave(&self.listener.fd);
    }
}

/// The stream of [`TcpListener::incoming`].
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct Incoming<'a> {
    accept: TcpAccept<'a>,
    over: bool,
}

impl Stream for Incoming<'_> {
    type Item = io::Result<TcpStream>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over {
            return Poll::Ready(None);
        }
        let accepted = ready!(Pin::new(&mut self.accept).poll(cx));
        self.over = accepted.is_err();
        Poll::Ready(Some(accepted.map(|(stream, _)| stream)))
    }
}

impl FusedStream for Incoming<'_> {
    fn is_terminated(&self) -> bool {
        self.over
    }
}
