//! Between the traits of `futures` and those of hyper, both ways.
//!
//! What wraps a socket, TLS for one, implements the traits of `futures`, and hyper wants its own; what
//! hyper gives away after an upgrade implements its own, and others want those of `futures`. Nothing is
//! buffered here.

use futures::io::{AsyncRead, AsyncWrite};
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use pin_project_lite::pin_project;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, ready};

/// hyper's buffers are not initialised and can be hundreds of kilobytes, the traits of `futures` want
/// them initialised: no more is, for one read, than a record of TLS can fill.
const MOST_AT_ONCE: usize = 16 * 1024;

pin_project! {
    /// What reads and writes with the traits of `futures`, for hyper; and what does with hyper's, for others.
    ///
    /// Sockets of gmp need it for neither.
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

    /// What it wraps.
    pub const fn get_ref(&self) -> &T {
        &self.inner
    }

    /// What it wraps.
    pub const fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Gives back what it wraps.
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
        // SAFETY: it is only written to, and nothing that was initialised is uninitialised again.
        let space = zeroed(unsafe { &mut buf.as_mut()[..room] });
        let n = ready!(self.project().inner.poll_read(cx, space))?;
        assert!(n <= room, "a reader says it has read {n} bytes into a buffer of {room}");
        // SAFETY: `room` bytes are initialised, and `n` is not more.
        unsafe { buf.advance(n) };
        Poll::Ready(Ok(()))
    }
}

/// The buffer, which now can be lent to those who may read it.
fn zeroed(buf: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    buf.fill(MaybeUninit::new(0));
    // SAFETY: a `MaybeUninit<u8>` is laid out as a `u8`, and all are initialised.
    unsafe { &mut *(ptr::from_mut(buf) as *mut [u8]) }
}

/// Not vectored: the traits of `futures` do not tell whether it would be more than the first buffer, and
/// who wraps a socket mostly copies anyway. hyper then puts its buffers together before it writes.
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
