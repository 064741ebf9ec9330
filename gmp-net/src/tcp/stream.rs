//! A TCP connection.

use super::connect;
use super::half::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::fd::{Direction, Fd, Left, Tried, common_calls};
use crate::resolve::addr::{self, ToSocketAddrs};
use crate::stream_macros::{
    futures_read, futures_write, read, read_vectored, stream_calls, write, write_vectored,
};
use crate::sys::Os;
use futures::io::{AsyncRead, AsyncWrite};
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A TCP connection (Go: `net.TCPConn`).
///
/// Reads and writes take `&self`. Share the stream as `&` or `Arc` between goroutines, or
/// [`split`](Self::split) it. Dropping it closes the connection.
///
/// # Examples
///
/// ```
/// use gmp_net::{TcpListener, TcpStream};
///
/// # gmp_rt::block_on(async {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let addr = listener.local_addr()?;
/// gmp_rt::spawn(async move {
///     let (stream, _peer) = listener.accept().await?;
///     stream.write_all(b"hello").await
/// });
/// let stream = TcpStream::connect(addr).await?;
/// let mut greeting = [0; 5];
/// stream.read_exact(&mut greeting).await?;
/// assert_eq!(&greeting, b"hello");
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
pub struct TcpStream {
    pub(super) fd: Fd<std::net::TcpStream>,
}

common_calls!(TcpStream, "Closes the connection, in both directions.");
stream_calls!(TcpStream, std::net::TcpStream, Os::STREAMS);
futures_read!(TcpStream);
futures_write!(TcpStream);
futures_read!(&TcpStream);
futures_write!(&TcpStream);

impl TcpStream {
    /// Connects to an address or a name.
    ///
    /// If a name has several addresses, it follows RFC 8305 ("happy eyeballs"). It tries IPv6 and
    /// IPv4 in alternation. The next attempt starts when one has failed or has not answered for 250
    /// ms. The first connection wins.
    ///
    /// # Errors
    ///
    /// The error of the OS, or [`AddrErrors`](crate::AddrErrors) if the addresses failed with
    /// different errors.
    ///
    /// # Cancel safety
    ///
    /// A dropped connect closes its sockets.
    pub async fn connect(addr: impl ToSocketAddrs) -> io::Result<Self> {
        connect::any(addr::all(addr).await?).await
    }

    /// Connects, as [`connect`](Self::connect), with a time limit, for the resolution of a name as
    /// well.
    ///
    /// # Errors
    ///
    /// The kind is `TimedOut` after `limit`.
    pub async fn connect_timeout(addr: impl ToSocketAddrs, limit: Duration) -> io::Result<Self> {
        match gmp_rt::timeout(limit, Self::connect(addr)).await {
            Ok(connected) => connected,
            Err(_elapsed) => Err(crate::DeadlineExceeded.into()),
        }
    }

    /// Receives without removing the bytes: the next read returns them again.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        let peek = |io: &std::net::TcpStream| io.peek(buf).map(|n| (n, Left::Maybe));
        self.fd.io(Direction::Read, peek).await
    }

    /// Returns the address of this end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.fd.get().local_addr()
    }

    /// Returns the address of the other end.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.fd.get().peer_addr()
    }

    /// Whether small packets are sent at once (`TCP_NODELAY`).
    pub fn nodelay(&self) -> io::Result<bool> {
        self.fd.get().nodelay()
    }

    /// Sends small packets at once instead of combining them (`TCP_NODELAY`).
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.fd.get().set_nodelay(nodelay)
    }

    /// Enables keep-alive probes: the first after `idle` without data, then one every `idle`
    /// (`SO_KEEPALIVE`). `None` disables them.
    pub fn set_keepalive(&self, idle: Option<Duration>) -> io::Result<()> {
        let socket = SockRef::from(&self.fd);
        match idle {
            None => socket.set_keepalive(false),
            Some(idle) => {
                socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(idle).with_interval(idle))
            }
        }
    }

    /// Returns the time without data after which keep-alive probes begin. `None` if they are
    /// disabled.
    pub fn keepalive(&self) -> io::Result<Option<Duration>> {
        let socket = SockRef::from(&self.fd);
        match socket.keepalive()? {
            true => socket.tcp_keepalive_time().map(Some),
            false => Ok(None),
        }
    }

    /// Sets what happens to unsent bytes when the connection is closed (`SO_LINGER`). With `None`,
    /// the default, the OS sends them in the background. A zero duration discards them and resets
    /// the connection.
    ///
    /// With any other duration the close blocks its thread for at most that time.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        SockRef::from(&self.fd).set_linger(linger)
    }

    /// Returns the value of [`set_linger`](Self::set_linger).
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(&self.fd).linger()
    }

    /// Returns the maximum number of routers a packet may pass (`IP_TTL`).
    pub fn ttl(&self) -> io::Result<u32> {
        self.fd.get().ttl()
    }

    /// Sets the maximum number of routers a packet may pass (`IP_TTL`).
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.fd.get().set_ttl(ttl)
    }

    /// Splits the stream into a half to read and a half to write, for concurrent use.
    pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        super::half::borrowed(self)
    }

    /// Splits the stream into halves for different goroutines. Dropping the writing half shuts down
    /// writes.
    #[must_use]
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        super::half::owned(self)
    }
}
