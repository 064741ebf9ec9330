//! A listener on a Unix domain socket.

use super::UnixStream;
use crate::accept::Accepting;
use crate::fd::{Fd, common_calls};
use crate::poll::desc::Trust;
use futures::stream::{FusedStream, Stream};
use socket2::SockAddr;
use std::io;
use std::os::unix::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A socket that accepts connections from processes of this host (Go: `net.UnixListener`).
///
/// # Examples
///
/// ```
/// use gmp_net::{UnixListener, UnixStream};
///
/// # gmp_rt::block_on(async {
/// let path = std::env::temp_dir().join(format!("gmp-doc-{}", std::process::id()));
/// let listener = UnixListener::bind(&path)?;
/// let client = UnixStream::connect(&path).await?;
/// let (server, _) = listener.accept().await?;
/// # std::fs::remove_file(&path)?;
/// client.write_all(b"x").await?;
/// server.read_exact(&mut [0]).await?;
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
pub struct UnixListener {
    fd: Fd<std::os::unix::net::UnixListener>,
}

common_calls!(
    UnixListener,
    "Stops listening. The path stays: remove it if nobody else listens there."
);

impl UnixListener {
    /// Listens at a path, which must not exist yet.
    ///
    /// # Errors
    ///
    /// The error of the OS.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::from_std(std::os::unix::net::UnixListener::bind(path)?)
    }

    /// Listens at an address, which may be an abstract name on Linux.
    pub fn bind_addr(addr: &SocketAddr) -> io::Result<Self> {
        Self::from_std(std::os::unix::net::UnixListener::bind_addr(addr)?)
    }

    /// Wraps a listener of the standard library.
    ///
    /// # Errors
    ///
    /// If it cannot be registered with the netpoller.
    pub fn from_std(listener: std::os::unix::net::UnixListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { fd: Fd::new(listener, Trust::WouldBlock)? })
    }

    /// Returns the listener of the standard library, still non-blocking.
    #[must_use]
    pub fn into_std(self) -> std::os::unix::net::UnixListener {
        self.fd.into_inner()
    }

    /// Accepts the next connection. Recovers from the same errors as
    /// [`TcpListener::accept`](crate::TcpListener::accept).
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped accept has accepted no connection.
    pub fn accept(&self) -> impl Future<Output = io::Result<(UnixStream, SocketAddr)>> + Send + '_ {
        UnixAccept { listener: self, accepting: Accepting::default() }
    }

    /// Returns the connections as a stream, which ends after its first error.
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming {
            accept: UnixAccept { listener: self, accepting: Accepting::default() },
            state: IncomingState::Open,
        }
    }

    /// Returns the address at which it listens.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.fd.get().local_addr()
    }

    /// Refuses further connections after a `close`, even if the descriptor still has owners.
    fn closed(&self) {
        let _ = rustix::net::shutdown(&self.fd, rustix::net::Shutdown::Both);
    }
}

/// Converts an address of std to the type of `socket2`.
pub(super) fn sock_addr(addr: &SocketAddr) -> io::Result<SockAddr> {
    if let Some(path) = addr.as_pathname() {
        return SockAddr::unix(path);
    }
    abstract_name::of(addr).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "an unnamed address cannot be connected to")
    })?
}

#[cfg(target_os = "linux")]
mod abstract_name {
    use super::*;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;

    /// Returns the abstract name of `addr`, if it has one. For the OS it is a path that begins with
    /// a zero.
    pub(super) fn of(addr: &SocketAddr) -> Option<io::Result<SockAddr>> {
        let name = [b"\0", addr.as_abstract_name()?].concat();
        Some(SockAddr::unix(std::ffi::OsStr::from_bytes(&name)))
    }
}

#[cfg(not(target_os = "linux"))]
mod abstract_name {
    use super::*;

    /// Returns `None`: only Linux has abstract names.
    pub(super) fn of(_: &SocketAddr) -> Option<io::Result<SockAddr>> {
        None
    }
}

#[derive(Debug)]
struct UnixAccept<'a> {
    listener: &'a UnixListener,
    accepting: Accepting,
}

impl Future for UnixAccept<'_> {
    type Output = io::Result<(UnixStream, SocketAddr)>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let listener = self.listener;
        let (fd, _) = ready!(self.accepting.poll_accept(&listener.fd, cx))?;
        let stream = std::os::unix::net::UnixStream::from(fd);
        let peer = stream.peer_addr()?;
        Poll::Ready(Ok((UnixStream::accepted(stream)?, peer)))
    }
}

impl Drop for UnixAccept<'_> {
    fn drop(&mut self) {
        self.accepting.leave(&self.listener.fd);
    }
}

/// The stream of [`UnixListener::incoming`].
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct Incoming<'a> {
    accept: UnixAccept<'a>,
    state: IncomingState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IncomingState {
    Open,
    /// An error was returned.
    Over,
}

impl Stream for Incoming<'_> {
    type Item = io::Result<UnixStream>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.state == IncomingState::Over {
            return Poll::Ready(None);
        }
        let accepted = ready!(Pin::new(&mut self.accept).poll(cx));
        if accepted.is_err() {
            self.state = IncomingState::Over;
        }
        Poll::Ready(Some(accepted.map(|(stream, _)| stream)))
    }
}

impl FusedStream for Incoming<'_> {
    fn is_terminated(&self) -> bool {
        self.state == IncomingState::Over
    }
}
