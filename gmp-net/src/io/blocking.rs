//! Wraps a reader or writer of the standard library for goroutines.
//!
//! Each call runs in place, inside [`gmp_rt::block_in_place`]. If it takes long, the scheduler
//! hands off the P of its thread. There is no buffer and no other thread. So no call is in progress
//! when a future is dropped, and no bytes are lost.

use futures::io::{AsyncRead, AsyncSeek, AsyncWrite};
use gmp_rt::task::park::poll_proceed;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A blocking reader or writer of the standard library, such as a [`File`](std::fs::File), for use
/// in goroutines.
///
/// Each call runs inside [`gmp::block_in_place`](gmp_rt::block_in_place): other goroutines run
/// meanwhile. A call that has begun cannot be cancelled. So use it for files, whose calls end. Wrap
/// pipes and sockets, which can be waited for, in [`Async`](crate::Async).
///
/// # Examples
///
/// ```
/// use futures::AsyncReadExt;
/// use gmp_net::io::Blocking;
///
/// # gmp_rt::block_on(async {
/// let mut file = Blocking::new(std::fs::File::open("Cargo.toml")?);
/// let mut text = String::new();
/// file.read_to_string(&mut text).await?;
/// assert!(text.contains("[package]"));
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[doc(alias("AllowStdIo", "Unblock"))]
#[derive(Clone, Copy, Debug, Default)]
pub struct Blocking<T>(T);

impl<T> Blocking<T> {
    /// Wraps `io`.
    pub const fn new(io: T) -> Self {
        Self(io)
    }

    /// Returns a reference to the wrapped value.
    pub const fn get_ref(&self) -> &T {
        &self.0
    }

    /// Returns a mutable reference to the wrapped value.
    pub const fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }

    /// Returns the wrapped value.
    pub fn into_inner(self) -> T {
        self.0
    }

    /// Makes a call, and repeats it if a signal interrupted it.
    fn call<R>(
        &mut self,
        cx: &mut Context<'_>,
        mut call: impl FnMut(&mut T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        ready!(poll_proceed(cx));
        loop {
            match gmp_rt::block_in_place(|| call(&mut self.0)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => return Poll::Ready(done),
            }
        }
    }
}

impl<T: Read + Unpin> AsyncRead for Blocking<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.call(cx, |io| io.read(buf))
    }

    fn poll_read_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        self.call(cx, |io| io.read_vectored(bufs))
    }
}

impl<T: Write + Unpin> AsyncWrite for Blocking<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.call(cx, |io| io.write(buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.call(cx, |io| io.write_vectored(bufs))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.call(cx, Write::flush)
    }

    /// Flushes. Only a drop closes it.
    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

impl<T: Seek + Unpin> AsyncSeek for Blocking<T> {
    fn poll_seek(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pos: SeekFrom,
    ) -> Poll<io::Result<u64>> {
        self.call(cx, |io| io.seek(pos))
    }
}
