//! A TCP socket before it listens or connects.

use super::{TcpListener, TcpStream, connect};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// A TCP socket that neither listens nor is connected yet: for options that have to be set before.
///
/// # Examples
///
/// ```
/// use gmp_net::TcpSocket;
///
/// # gmp_rt::block_on(async {
/// let addr = "127.0.0.1:0".parse().unwrap();
/// let socket = TcpSocket::for_addr(addr)?;
/// socket.set_reuse_port(true)?;
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

impl TcpSocket {
    /// A socket for IPv4.
    pub fn new_v4() -> io::Result<Self> {
        Self::new(Domain::IPV4)
    }

    /// A socket for IPv6.
    pub fn new_v6() -> io::Result<Self> {
        Self::new(Domain::IPV6)
    }

    /// A socket of the family of `addr`.
    pub fn for_addr(addr: SocketAddr) -> io::Result<Self> {
        Self::new(Domain::for_address(addr))
    }

    fn new(domain: Domain) -> io::Result<Self> {
        // One call makes it non-blocking where the OS can.
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket })
    }

    /// Lets it listen at an address whose last connections still linger (`SO_REUSEADDR`).
    pub fn set_reuse_addr(&self, reuse: bool) -> io::Result<()> {
        self.socket.set_reuse_address(reuse)
    }

    /// Lets several sockets listen at the same address; the OS spreads connections (`SO_REUSEPORT`).
    pub fn set_reuse_port(&self, reuse: bool) -> io::Result<()> {
        self.socket.set_reuse_port(reuse)
    }

    /// Keeps an IPv6 socket from IPv4 (`IPV6_V6ONLY`).
    pub fn set_only_v6(&self, only: bool) -> io::Result<()> {
        self.socket.set_only_v6(only)
    }

    /// Sends small packets at once (`TCP_NODELAY`).
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.socket.set_tcp_nodelay(nodelay)
    }

    /// How much the OS may hold back of what was sent (`SO_SNDBUF`; Linux doubles it).
    pub fn set_send_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.socket.set_send_buffer_size(bytes)
    }

    /// How much the OS keeps of what was received (`SO_RCVBUF`; Linux doubles it).
    pub fn set_recv_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.socket.set_recv_buffer_size(bytes)
    }

    /// Takes the address of this end.
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        self.socket.bind(&addr.into())
    }

    /// The address of this end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let addr = self.socket.local_addr()?;
        addr.as_socket().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    /// Listens; at most `backlog` connections wait to be accepted, and not more than the OS allows.
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
