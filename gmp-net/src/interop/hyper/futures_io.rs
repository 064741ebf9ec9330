//! Adapter between the traits of `futures` and those of hyper, in both directions.
//!
//! A wrapper of a socket, such as a TLS stream, implements the traits of `futures`, and hyper needs
//! its own. A connection that hyper hands out after an upgrade implements hyper's traits, and other
//! crates need those of `futures`. The adapter has no buffer.

use futures::io::{AsyncRead, AsyncWrite};
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use pin_project_lite::pin_project;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, ready};

/// Maximum number of bytes initialised for one read. hyper's buffers are uninitialised and can be
/// hundreds of kilobytes, but the traits of `futures` need initialised ones. A TLS record has at
/// most this size.
const MOST_AT_ONCE: usize = 16 * 1024;

pin_project! {
    /// Adapts the traits of `futures` to hyper's, and hyper's to those of `futures`.
    ///
    /// gmp's own sockets need no adapter.
    ///
    /// # Examples
    ///
    /// ```
    /// use gmp_net::hyper::FuturesIo;
    /// # fn encrypted() -> impl futures::AsyncRead + futures::AsyncWrite + Unpin {
    /// #     futures::io::Cursor::new(Vec::new())
    /// # }
    /// # fn serve(_: impl hyper::rt::Read + hyper::rt::Write) {}
    ///
    /// let stream = encrypted(); // a TLS stream over a `TcpStream`, say
    /// serve(FuturesIo::new(stream));
    /// ```
    #[derive(Debug)]
    pub struct FuturesIo<T> {
        #[pin]
        inner: T,
    }
}

impl<T> FuturesIo<T> {
    /// Wraps `inner`.
    pub const fn new(inner: T) -> Self {
        Self { inner }
    }

    /// Returns a reference to the wrapped value.
    pub const fn get_ref(&self) -> &T {
        &self.inner
    }

    /// Returns a mutable reference to the wrapped value.
    pub const fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Returns the wrapped value.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: AsyncRead> Read for FuturesIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buf.remaining().min(MOST_AT_ONCE);
        // SAFETY: it is only written to, and initialised bytes stay initialised.
        let space = zeroed(unsafe { &mut buf.as_mut()[..room] });
        let n = ready!(self.project().inner.poll_read(cx, space))?;
        assert!(n <= room, "a reader says it has read {n} bytes into a buffer of {room}");
        // SAFETY: `room` bytes are initialised, and `n` is at most `room`.
        unsafe { buf.advance(n) };
        Poll::Ready(Ok(()))
    }
}

/// Initialises the buffer, so that code that may read it can borrow it.
fn zeroed(buf: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    buf.fill(MaybeUninit::new(0));
    // SAFETY: a `MaybeUninit<u8>` has the layout of a `u8`, and all are initialised.
    unsafe { &mut *(ptr::from_mut(buf) as *mut [u8]) }
}

/// Not vectored. The traits of `futures` do not report whether a writer uses more than the first
/// buffer, and most wrappers of a socket copy anyway. hyper then joins its buffers before it
/// writes.
impl<T: AsyncWrite> Write for FuturesIo<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_close(cx)
    }
}

impl<T: Read> AsyncRead for FuturesIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(buf);
        ready!(self.project().inner.poll_read(cx, buf.unfilled()))?;
        Poll::Ready(Ok(buf.filled().len()))
    }
}

impl<T: Write> AsyncWrite for FuturesIo<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write_vectored(cx, bufs)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_flush(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_shutdown(cx)
    }
}
