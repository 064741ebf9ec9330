//! A TCP listener.

use super::{TcpSocket, TcpStream};
use crate::accept::Accepting;
use crate::addr::{self, ToAddrs};
use crate::fd::{Fd, common_calls};
use crate::poll_desc::Trust;
use crate::sys::Os;
use futures::stream::{FusedStream, Stream};
use rustix::net::SocketAddrAny;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Connections that wait to be accepted, at most, if nobody says otherwise. Linux cuts it to
/// `net.core.somaxconn`, which is what Go asks for.
const BACKLOG: i32 = 4096;

/// A TCP socket that accepts connections (Go: `net.TCPListener`).
///
/// Any number of goroutines may accept on it at a time.
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
    /// Listens at an address; at the first that works, if there are several. Port 0 lets the OS choose.
    ///
    /// The address can be used again at once when the listener is gone (`SO_REUSEADDR`). For more say in
    /// the matter see [`TcpSocket`].
    ///
    /// # Errors
    ///
    /// What the OS says; [`AddrErrors`](crate::AddrErrors) if it says different things to different addresses.
    pub async fn bind(addr: impl ToAddrs) -> io::Result<Self> {
        addr::each(addr, |addr| {
            let socket = TcpSocket::for_addr(addr)?;
            socket.set_reuse_addr(true)?;
            socket.bind(addr)?;
            socket.listen(BACKLOG)
        })
        .await
    }

    /// Takes over a listener of the standard library.
    ///
    /// # Errors
    ///
    /// If it cannot be registered with the netpoller.
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { fd: Fd::new(listener, Trust::WouldBlock)? })
    }

    /// Gives it to the standard library, still non-blocking.
    #[must_use]
    pub fn into_std(self) -> std::net::TcpListener {
        self.fd.into_inner()
    }

    /// Takes the next connection, and the address of its other end.
    ///
    /// A connection that was given up before it could be taken is skipped. If the process is out of
    /// descriptors it is tried again after 5 ms, then 10 ms, up to a second (see `ulimit -n`): a listener
    /// survives a flood.
    ///
    /// # Errors
    ///
    /// [`Closed`](crate::Closed), a deadline, or what else the OS says of the listener itself.
    ///
    /// # Cancel safety
    ///
    /// A dropped accept has taken no connection.
    pub fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send + '_ {
        Accept { listener: self, accepting: Accepting::default() }
    }

    /// The connections as they come: a stream without an end, but for errors of the listener itself,
    /// after which it is over.
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming { accept: Accept { listener: self, accepting: Accepting::default() }, over: false }
    }

    /// The address it listens at.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.fd.get().local_addr()
    }

    /// How many routers a packet may pass (`IP_TTL`), for connections taken from now on.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.fd.get().set_ttl(ttl)
    }

    /// What [`set_ttl`](Self::set_ttl) has set.
    pub fn ttl(&self) -> io::Result<u32> {
        self.fd.get().ttl()
    }

    /// Of `close`: the port is to be free at once, also if somebody still owns the descriptor.
    fn closed(&self) {
        // Only Linux has this for listeners; elsewhere the descriptor's end does it.
        let _ = rustix::net::shutdown(&self.fd, rustix::net::Shutdown::Both);
    }
}

/// A connection just taken.
fn connection(fd: OwnedFd, peer: Option<SocketAddrAny>) -> io::Result<(TcpStream, SocketAddr)> {
    let stream = std::net::TcpStream::from(fd);
    let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
    let peer = peer.map_or_else(|| stream.peer_addr(), Ok)?;
    // `from_std` would ask the OS to make it non-blocking, which it is.
    Ok((TcpStream { fd: Fd::new(stream, Os::STREAMS)? }, peer))
}

/// The future of [`TcpListener::accept`].
#[derive(Debug)]
struct Accept<'a> {
    listener: &'a TcpListener,
    accepting: Accepting,
}

impl Future for Accept<'_> {
    type Output = io::Result<(TcpStream, SocketAddr)>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let listener = self.listener;
        let (fd, peer) = ready!(self.accepting.poll_accept(&listener.fd, cx))?;
        Poll::Ready(connection(fd, peer))
    }
}

impl Drop for Accept<'_> {
    fn drop(&mut self) {
        self.accepting.leave(&self.listener.fd);
    }
}

/// The stream of [`TcpListener::incoming`].
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct Incoming<'a> {
    accept: Accept<'a>,
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
