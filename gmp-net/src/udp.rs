//! UDP sockets.

use crate::fd::{Direction, Fd, Left, common_calls};
use crate::poll::desc::Trust;
use crate::resolve::addr::{self, ToSocketAddrs};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll};

/// A UDP socket (Go: `net.UDPConn`).
///
/// All methods take `&self`: any number of goroutines may send and receive at the same time.
///
/// # Examples
///
/// ```
/// use gmp_net::UdpSocket;
///
/// # gmp_rt::block_on(async {
/// let server = UdpSocket::bind("127.0.0.1:0").await?;
/// let client = UdpSocket::bind("127.0.0.1:0").await?;
/// client.send_to(b"ping", server.local_addr()?).await?;
/// let mut buf = [0; 16];
/// let (n, from) = server.recv_from(&mut buf).await?;
/// assert_eq!((&buf[..n], from), (&b"ping"[..], client.local_addr()?));
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
pub struct UdpSocket {
    fd: Fd<std::net::UdpSocket>,
}

common_calls!(UdpSocket, "Closes the socket.");

/// Marks a result as "there may be more": one datagram says nothing about the next.
fn more<R>(done: R) -> (R, Left) {
    (done, Left::Maybe)
}

impl UdpSocket {
    /// Creates a socket at the first address that works. Port 0 lets the OS choose.
    ///
    /// # Errors
    ///
    /// The error of the OS, or [`AddrErrors`](crate::AddrErrors) if the addresses failed with
    /// different errors.
    pub async fn bind(addr: impl ToSocketAddrs) -> io::Result<Self> {
        addr::each(addr, |addr| Self::from_std(std::net::UdpSocket::bind(addr)?)).await
    }

    /// Wraps a socket of the standard library.
    ///
    /// # Errors
    ///
    /// If it cannot be registered with the netpoller.
    pub fn from_std(socket: std::net::UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { fd: Fd::new(socket, Trust::WouldBlock)? })
    }

    /// Returns the socket of the standard library, still non-blocking.
    #[must_use]
    pub fn into_std(self) -> std::net::UdpSocket {
        self.fd.into_inner()
    }

    /// Sets the peer of [`send`](Self::send) and [`recv`](Self::recv) to the first address that
    /// works.
    ///
    /// # Errors
    ///
    /// As for [`bind`](Self::bind).
    pub async fn connect(&self, addr: impl ToSocketAddrs) -> io::Result<()> {
        addr::each(addr, |addr| self.fd.get().connect(addr)).await
    }

    /// Sends a datagram to `addr`, or to the first address if it names several.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped send has sent nothing.
    pub async fn send_to(&self, buf: &[u8], addr: impl ToSocketAddrs) -> io::Result<usize> {
        let addr = addr::all(addr).await?[0];
        self.fd.io(Direction::Write, |io| io.send_to(buf, addr).map(more)).await
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

    /// Receives, as [`recv_from`](Self::recv_from), without removing the datagram.
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.fd.io(Direction::Read, |io| io.peek_from(buf).map(more)).await
    }

    /// Sends a datagram to the peer set by [`connect`](Self::connect).
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped send has sent nothing.
    pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.fd.io(Direction::Write, |io| io.send(buf).map(more)).await
    }

    /// Receives a datagram from the peer set by [`connect`](Self::connect).
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped receive has received nothing.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.fd.io(Direction::Read, |io| io.recv(buf).map(more)).await
    }

    /// Receives, as [`recv`](Self::recv), without removing the datagram.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.fd.io(Direction::Read, |io| io.peek(buf).map(more)).await
    }

    /// Sends a datagram without waiting. The error is `WouldBlock` if the OS does not take it now.
    pub fn try_send_to(&self, buf: &[u8], addr: SocketAddr) -> io::Result<usize> {
        self.fd.try_io(Direction::Write, |io| io.send_to(buf, addr).map(more))
    }

    /// Receives a datagram without waiting. The error is `WouldBlock` if there is none.
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.fd.try_io(Direction::Read, |io| io.recv_from(buf).map(more))
    }

    /// Sends a datagram to the peer set by [`connect`](Self::connect) without waiting. The error is
    /// `WouldBlock` if the OS does not take it now.
    pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.fd.try_io(Direction::Write, |io| io.send(buf).map(more))
    }

    /// Receives a datagram from the peer set by [`connect`](Self::connect) without waiting. The
    /// error is `WouldBlock` if there is none.
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.fd.try_io(Direction::Read, |io| io.recv(buf).map(more))
    }

    /// [`send_to`](Self::send_to) for a hand-written future. Its task is woken when another call
    /// may succeed.
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        addr: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.fd.poll_once(Direction::Write, cx, |io| io.send_to(buf, addr).map(more))
    }

    /// [`recv_from`](Self::recv_from) for a hand-written future. Its task is woken when another
    /// call may succeed.
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        self.fd.poll_once(Direction::Read, cx, |io| io.recv_from(buf).map(more))
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

    /// Returns the address of the peer set by [`connect`](Self::connect).
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.fd.get().peer_addr()
    }

    /// Whether the socket may send to broadcast addresses (`SO_BROADCAST`).
    pub fn broadcast(&self) -> io::Result<bool> {
        self.fd.get().broadcast()
    }

    /// Allows the socket to send to broadcast addresses (`SO_BROADCAST`).
    pub fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        self.fd.get().set_broadcast(broadcast)
    }

    /// Returns the maximum number of routers a packet may pass (`IP_TTL`).
    pub fn ttl(&self) -> io::Result<u32> {
        self.fd.get().ttl()
    }

    /// Sets the maximum number of routers a packet may pass (`IP_TTL`).
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.fd.get().set_ttl(ttl)
    }

    /// Joins a multicast group on the interface with this address.
    pub fn join_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.fd.get().join_multicast_v4(&group, &interface)
    }

    /// Leaves a multicast group.
    pub fn leave_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.fd.get().leave_multicast_v4(&group, &interface)
    }

    /// Joins a multicast group on the interface with this number, or on any interface if it is 0.
    pub fn join_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.fd.get().join_multicast_v6(group, interface)
    }

    /// Leaves a multicast group.
    pub fn leave_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.fd.get().leave_multicast_v6(group, interface)
    }

    /// Sets whether this host receives its own packets to a group (`IP_MULTICAST_LOOP`).
    pub fn set_multicast_loop_v4(&self, on: bool) -> io::Result<()> {
        self.fd.get().set_multicast_loop_v4(on)
    }

    /// Sets whether this host receives its own packets to a group (`IPV6_MULTICAST_LOOP`).
    pub fn set_multicast_loop_v6(&self, on: bool) -> io::Result<()> {
        self.fd.get().set_multicast_loop_v6(on)
    }

    /// Sets the maximum number of routers a packet to a group may pass (`IP_MULTICAST_TTL`).
    pub fn set_multicast_ttl_v4(&self, ttl: u32) -> io::Result<()> {
        self.fd.get().set_multicast_ttl_v4(ttl)
    }

    /// Returns and clears the pending error of the socket (`SO_ERROR`).
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.fd.get().take_error()
    }

    /// Does nothing at a `close`: there is no other end to inform.
    #[expect(clippy::unused_self, reason = "the same call for all sockets")]
    fn closed(&self) {}
}
