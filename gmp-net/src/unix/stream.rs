//! A stream over a Unix domain socket.

use super::half::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::fd::{Direction, Fd, Tried, common_calls};
use crate::poll::desc::Trust;
use crate::stream_macros::{
    futures_read, futures_write, read, read_vectored, stream_calls, write, write_vectored,
};
use futures::io::{AsyncRead, AsyncWrite};
use rustix::io::Errno;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::os::unix::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A read stops behind bytes that came with descriptors, even if there are more. So a short read
/// does not mean that the socket is empty.
const TRUST: Trust = Trust::WouldBlock;

/// A stream to another process of this host (Go: `net.UnixConn`).
///
/// # Examples
///
/// ```
/// # gmp_rt::block_on(async {
/// let (a, b) = gmp_net::UnixStream::pair()?;
/// a.write_all(b"ping").await?;
/// let mut buf = [0; 4];
/// b.read_exact(&mut buf).await?;
/// assert_eq!(&buf, b"ping");
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
pub struct UnixStream {
    fd: Fd<std::os::unix::net::UnixStream>,
}

common_calls!(UnixStream, "Closes the stream, in both directions.");
stream_calls!(UnixStream, std::os::unix::net::UnixStream, TRUST);
futures_read!(UnixStream);
futures_write!(UnixStream);
futures_read!(&UnixStream);
futures_write!(&UnixStream);

impl UnixStream {
    /// Connects to a listener by its path.
    ///
    /// # Errors
    ///
    /// The error of the OS.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::connect_to(SockAddr::unix(path)?).await
    }

    /// Connects to a listener by its address, which may be an abstract name on Linux.
    pub async fn connect_addr(addr: &SocketAddr) -> io::Result<Self> {
        Self::connect_to(super::listener::sock_addr(addr)?).await
    }

    async fn connect_to(addr: SockAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        let mut nap = Duration::from_millis(1);
        // `AGAIN`: the listener's queue is full. The OS has no event for that, so the loop sleeps
        // and retries.
        while let Err(error) = socket.connect(&addr) {
            match Errno::from_io_error(&error) {
                Some(Errno::AGAIN) => gmp_rt::sleep(nap).await,
                Some(Errno::INTR) => {}
                _ => return Err(error),
            }
            nap = (2 * nap).min(Duration::from_millis(50));
        }
        Ok(Self { fd: Fd::new(socket.into(), TRUST)? })
    }

    /// Creates two streams that are connected to each other.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = std::os::unix::net::UnixStream::pair()?;
        Ok((Self::from_std(a)?, Self::from_std(b)?))
    }

    /// Wraps a stream that is non-blocking already.
    pub(super) fn accepted(stream: std::os::unix::net::UnixStream) -> io::Result<Self> {
        Ok(Self { fd: Fd::new(stream, TRUST)? })
    }

    /// Returns the address of this end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.fd.get().local_addr()
    }

    /// Returns the address of the other end.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.fd.get().peer_addr()
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
