//! A TCP socket before it listens or connects.

use super::{TcpListener, TcpStream, connect};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// A TCP socket that neither listens nor is connected, for options that must be set before.
///
/// # Examples
///
/// ```
/// use gmp_net::TcpSocket;
///
/// # gmp_rt::block_on(async {
/// let addr = "127.0.0.1:0".parse().unwrap();
/// let socket = TcpSocket::for_addr(addr)?;
/// socket.set_reuseport(true)?;
/// socket.bind(addr)?;
/// let listener = socket.listen(128)?;
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
pub struct TcpSocket {
    socket: Socket,
}

impl fmt::Debug for TcpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.socket.fmt(f)
    }
}

impl AsFd for TcpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for TcpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl From<OwnedFd> for TcpSocket {
    /// Wraps a TCP socket that neither listens nor is connected. Makes it non-blocking.
    fn from(fd: OwnedFd) -> Self {
        let socket = Socket::from(fd);
        // Fails only for what is no descriptor.
        let _ = socket.set_nonblocking(true);
        Self { socket }
    }
}

impl From<TcpSocket> for OwnedFd {
    fn from(socket: TcpSocket) -> Self {
        socket.socket.into()
    }
}

impl TcpSocket {
    /// Wraps a socket of the standard library that is not connected, such as one that `socket2`
    /// made. Makes it non-blocking.
    ///
    /// # Errors
    ///
    /// The error of the OS.
    pub fn from_std(socket: std::net::TcpStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket: socket.into() })
    }

    /// Creates a socket for IPv4.
    pub fn new_v4() -> io::Result<Self> {
        Self::new(Domain::IPV4)
    }

    /// Creates a socket for IPv6.
    pub fn new_v6() -> io::Result<Self> {
        Self::new(Domain::IPV6)
    }

    /// Creates a socket of the family of `addr`.
    pub fn for_addr(addr: SocketAddr) -> io::Result<Self> {
        Self::new(Domain::for_address(addr))
    }

    fn new(domain: Domain) -> io::Result<Self> {
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket })
    }

    /// Allows to bind an address whose previous connections are still in `TIME_WAIT`
    /// (`SO_REUSEADDR`).
    pub fn set_reuseaddr(&self, reuse: bool) -> io::Result<()> {
        self.socket.set_reuse_address(reuse)
    }

    /// Returns the value of [`set_reuseaddr`](Self::set_reuseaddr).
    pub fn reuseaddr(&self) -> io::Result<bool> {
        self.socket.reuse_address()
    }

    /// Lets several sockets listen at the same address. The OS spreads the connections
    /// (`SO_REUSEPORT`).
    pub fn set_reuseport(&self, reuse: bool) -> io::Result<()> {
        self.socket.set_reuse_port(reuse)
    }

    /// Returns the value of [`set_reuseport`](Self::set_reuseport).
    pub fn reuseport(&self) -> io::Result<bool> {
        self.socket.reuse_port()
    }

    /// Restricts an IPv6 socket to IPv6 (`IPV6_V6ONLY`).
    pub fn set_only_v6(&self, only: bool) -> io::Result<()> {
        self.socket.set_only_v6(only)
    }

    /// Returns the value of [`set_only_v6`](Self::set_only_v6).
    pub fn only_v6(&self) -> io::Result<bool> {
        self.socket.only_v6()
    }

    /// Sends small packets at once (`TCP_NODELAY`).
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.socket.set_tcp_nodelay(nodelay)
    }

    /// Returns the value of [`set_nodelay`](Self::set_nodelay).
    pub fn nodelay(&self) -> io::Result<bool> {
        self.socket.tcp_nodelay()
    }

    /// Sets the size of the OS's send buffer (`SO_SNDBUF`; Linux doubles it).
    pub fn set_send_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.socket.set_send_buffer_size(bytes)
    }

    /// Returns the size of the OS's send buffer (`SO_SNDBUF`; on Linux twice what was set).
    pub fn send_buffer_size(&self) -> io::Result<usize> {
        self.socket.send_buffer_size()
    }

    /// Sets the size of the OS's receive buffer (`SO_RCVBUF`; Linux doubles it).
    pub fn set_recv_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.socket.set_recv_buffer_size(bytes)
    }

    /// Returns the size of the OS's receive buffer (`SO_RCVBUF`; on Linux twice what was set).
    pub fn recv_buffer_size(&self) -> io::Result<usize> {
        self.socket.recv_buffer_size()
    }

    /// Binds the socket to a local address.
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        self.socket.bind(&addr.into())
    }

    /// Returns the address of this end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let addr = self.socket.local_addr()?;
        addr.as_socket().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    /// Listens. At most `backlog` connections wait to be accepted, and not more than the OS allows.
    pub fn listen(self, backlog: i32) -> io::Result<TcpListener> {
        self.socket.listen(backlog)?;
        TcpListener::from_std(self.socket.into())
    }

    /// Connects to one address.
    ///
    /// # Cancel safety
    ///
    /// A dropped connect closes the socket.
    pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {
        connect::one(self.socket, addr).await
    }
}
