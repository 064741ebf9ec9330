//! Unix datagram sockets.

use crate::fd::{Direction, Fd, Left, common_calls};
use crate::poll::desc::Trust;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::SocketAddr;
use std::path::Path;

/// A Unix socket for datagrams within this host (Go: `net.UnixConn` of type `unixgram`).
///
/// # Examples
///
/// ```
/// # gmp_rt::block_on(async {
/// let (a, b) = gmp_net::UnixDatagram::pair()?;
/// a.send(b"ping").await?;
/// let mut buf = [0; 16];
/// assert_eq!(b.recv(&mut buf).await?, 4);
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
pub struct UnixDatagram {
    fd: Fd<std::os::unix::net::UnixDatagram>,
}

common_calls!(UnixDatagram, "Closes the socket.");

/// Marks a result as "there may be more": one datagram says nothing about the next.
fn more<R>(done: R) -> (R, Left) {
    (done, Left::Maybe)
}

impl UnixDatagram {
    /// Creates a socket at a path, which must not exist yet.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::from_std(std::os::unix::net::UnixDatagram::bind(path)?)
    }

    /// Creates a socket at an address, which may be an abstract name on Linux.
    pub fn bind_addr(addr: &SocketAddr) -> io::Result<Self> {
        Self::from_std(std::os::unix::net::UnixDatagram::bind_addr(addr)?)
    }

    /// Creates a socket without a name, which can send.
    pub fn unbound() -> io::Result<Self> {
        Self::from_std(std::os::unix::net::UnixDatagram::unbound()?)
    }

    /// Creates two sockets that are connected to each other.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = std::os::unix::net::UnixDatagram::pair()?;
        Ok((Self::from_std(a)?, Self::from_std(b)?))
    }

    /// Wraps a socket of the standard library.
    ///
    /// # Errors
    ///
    /// If it cannot be registered with the netpoller.
    pub fn from_std(socket: std::os::unix::net::UnixDatagram) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { fd: Fd::new(socket, Trust::WouldBlock)? })
    }

    /// Returns the socket of the standard library, still non-blocking.
    #[must_use]
    pub fn into_std(self) -> std::os::unix::net::UnixDatagram {
        self.fd.into_inner()
    }

    /// Sets the peer of [`send`](Self::send).
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.fd.get().connect(path)
    }

    /// Sets the peer of [`send`](Self::send), which may have an abstract name on Linux.
    pub fn connect_addr(&self, addr: &SocketAddr) -> io::Result<()> {
        self.fd.get().connect_addr(addr)
    }

    /// Sends a datagram to the peer.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped send has sent nothing.
    pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.fd.io(Direction::Write, |io| io.send(buf).map(more)).await
    }

    /// Receives a datagram. Bytes that do not fit into `buf` are lost.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped receive has received nothing.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.fd.io(Direction::Read, |io| io.recv(buf).map(more)).await
    }

    /// Sends a datagram to the socket at `path`.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped send has sent nothing.
    pub async fn send_to(&self, buf: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        let path = path.as_ref();
        self.fd.io(Direction::Write, |io| io.send_to(buf, path).map(more)).await
    }

    /// Sends a datagram to the socket at `addr`, which may be an abstract name on Linux.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped send has sent nothing.
    pub async fn send_to_addr(&self, buf: &[u8], addr: &SocketAddr) -> io::Result<usize> {
        self.fd.io(Direction::Write, |io| io.send_to_addr(buf, addr).map(more)).await
    }

    /// Receives a datagram and the address of its sender. Bytes that do not fit into `buf` are
    /// lost.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped receive has received nothing.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.fd.io(Direction::Read, |io| io.recv_from(buf).map(more)).await
    }

    /// Waits until a receive would not block.
    pub async fn readable(&self) -> io::Result<()> {
        self.fd.ready(Direction::Read).await
    }

    /// Waits until a send would not block.
    pub async fn writable(&self) -> io::Result<()> {
        self.fd.ready(Direction::Write).await
    }

    /// Returns the address of this end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.fd.get().local_addr()
    }

    /// Returns the address of the peer.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.fd.get().peer_addr()
    }

    /// Shuts down one direction or both.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.fd.get().shutdown(how)
    }

    /// Returns and clears the pending error of the socket (`SO_ERROR`).
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.fd.get().take_error()
    }

    /// Stops the socket from receiving at a `close`, even if the descriptor still has owners.
    fn closed(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}
