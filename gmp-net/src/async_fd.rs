//! A wrapper for any descriptor that the OS can wait for.

use crate::fd::{Direction, Fd, Left, common_calls, set_nonblocking};
use crate::poll::desc::Trust;
use futures::io::{AsyncRead, AsyncWrite};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Any descriptor that the OS can wait for: a pipe, an eventfd, a timerfd, inotify, or a socket of
/// a kind that has no type here.
///
/// The descriptor becomes non-blocking. `T` must not swap its descriptor for another while it is
/// wrapped: an operation on the other one would not be woken.
///
/// # Examples
///
/// ```
/// use gmp_net::Async;
/// use std::io::{Read, Write};
///
/// # gmp_rt::block_on(async {
/// let (reader, writer) = std::io::pipe()?;
/// let (reader, writer) = (Async::new(reader)?, Async::new(writer)?);
/// writer.write_with(|mut pipe| pipe.write(b"ping")).await?;
/// let mut buf = [0; 16];
/// let n = reader.read_with(|mut pipe| pipe.read(&mut buf)).await?;
/// assert_eq!(&buf[..n], b"ping");
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[doc(alias("AsyncFd", "PollFd"))]
pub struct Async<T: AsFd> {
    fd: Fd<T>,
}

common_calls!(
    Async<T>,
    "Ends all operations on it. The descriptor itself is dropped with its owner."
);

impl<T: AsFd> Async<T> {
    /// Makes `io` non-blocking and registers it.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the OS cannot wait for it: regular files and directories.
    pub fn new(io: T) -> io::Result<Self> {
        Ok(Self { fd: Fd::prepared(io, Trust::WouldBlock, |fd| set_nonblocking(fd, true))? })
    }

    /// Returns a reference to the wrapped value.
    pub fn get_ref(&self) -> &T {
        self.fd.get()
    }

    /// Returns the wrapped value, still non-blocking.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.fd.into_inner()
    }

    /// Calls `op` until it returns anything but `WouldBlock`. Waits between two calls until the
    /// descriptor is readable.
    ///
    /// # Cancel safety
    ///
    /// As cancel-safe as `op`. The future is dropped only between two calls.
    pub async fn read_with<R>(
        &self,
        mut op: impl FnMut(&T) -> io::Result<R> + Unpin,
    ) -> io::Result<R> {
        self.fd.io(Direction::Read, |io| op(io).map(more)).await
    }

    /// Runs an operation that writes, as [`read_with`](Self::read_with).
    ///
    /// # Cancel safety
    ///
    /// As cancel-safe as `op`. The future is dropped only between two calls.
    pub async fn write_with<R>(
        &self,
        mut op: impl FnMut(&T) -> io::Result<R> + Unpin,
    ) -> io::Result<R> {
        self.fd.io(Direction::Write, |io| op(io).map(more)).await
    }

    /// Waits until the descriptor is readable.
    pub async fn readable(&self) -> io::Result<()> {
        self.fd.ready(Direction::Read).await
    }

    /// Waits until the descriptor is writable.
    pub async fn writable(&self) -> io::Result<()> {
        self.fd.ready(Direction::Write).await
    }

    /// Polls an operation that reads, as [`read_with`](Self::read_with). For a hand-written future.
    /// Its task is woken when another call may succeed.
    pub fn poll_read_with<R>(
        &self,
        cx: &mut Context<'_>,
        mut op: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.fd.poll_once(Direction::Read, cx, |io| op(io).map(more))
    }

    /// Polls an operation that writes, as [`write_with`](Self::write_with). For a hand-written
    /// future.
    pub fn poll_write_with<R>(
        &self,
        cx: &mut Context<'_>,
        mut op: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.fd.poll_once(Direction::Write, cx, |io| op(io).map(more))
    }

    /// Does nothing at a `close`, because the kind of the descriptor is unknown.
    #[expect(clippy::unused_self, reason = "the same call for all sockets")]
    fn closed(&self) {}
}

/// Marks a result as "there may be more": for an unknown kind of descriptor, one success says
/// nothing about the next call.
fn more<R>(done: R) -> (R, Left) {
    (done, Left::Maybe)
}

impl<T: AsFd> AsyncRead for Async<T>
where
    for<'a> &'a T: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_read_with(cx, |mut io| io.read(buf))
    }
}

impl<T: AsFd> AsyncWrite for Async<T>
where
    for<'a> &'a T: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |mut io| io.write(buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_write_with(cx, |mut io| io.flush())
    }

    /// Flushes. Only a drop closes a descriptor of an unknown kind.
    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

impl<T: AsFd> AsyncRead for &Async<T>
where
    for<'a> &'a T: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_read_with(cx, |mut io| io.read(buf))
    }
}

impl<T: AsFd> AsyncWrite for &Async<T>
where
    for<'a> &'a T: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |mut io| io.write(buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_write_with(cx, |mut io| io.flush())
    }

    /// Flushes. Only a drop closes a descriptor of an unknown kind.
    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
