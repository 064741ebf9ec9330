//! The methods and traits that TCP and Unix streams share.

/// Implements reads and writes for a stream whose `fd` is an `Fd<$std>`, where `&$std` implements
/// `Read` and `Write`. `$trust` says whether a short read or write empties or fills the socket.
macro_rules! stream_calls {
    ($type:ident, $std:ty, $trust:expr) => {
        impl $type {
            /// Receives at most `buf.len()` bytes. Returns 0 if the other end has finished.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe. A dropped read has received nothing.
            pub async fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.fd.io(Direction::Read, |mut io: &$std| read(&mut io, buf)).await
            }

            /// Receives into several buffers, in order.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe. A dropped read has received nothing.
            pub async fn read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                self.fd.io(Direction::Read, |mut io: &$std| read_vectored(&mut io, bufs)).await
            }

            /// Receives exactly `buf.len()` bytes.
            ///
            /// # Errors
            ///
            /// `UnexpectedEof` if the other end finishes before.
            ///
            /// # Cancel safety
            ///
            /// Not cancel-safe. A dropped future loses the bytes that it has received.
            pub async fn read_exact(&self, buf: &mut [u8]) -> io::Result<()> {
                let mut filled = 0;
                while filled < buf.len() {
                    match self.read(&mut buf[filled..]).await? {
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        n => filled += n,
                    }
                }
                Ok(())
            }

            /// Sends a part of `buf`, as much as the OS takes. Waits only if the OS takes nothing.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe. A dropped write has sent nothing.
            pub async fn write(&self, buf: &[u8]) -> io::Result<usize> {
                self.fd.io(Direction::Write, |mut io: &$std| write(&mut io, buf)).await
            }

            /// Sends from several buffers, in order.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe. A dropped write has sent nothing.
            pub async fn write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                self.fd.io(Direction::Write, |io: &$std| write_vectored(io, bufs)).await
            }

            /// Sends all of `buf`.
            ///
            /// # Cancel safety
            ///
            /// Not cancel-safe. A dropped future may have sent a part of `buf`.
            pub async fn write_all(&self, mut buf: &[u8]) -> io::Result<()> {
                while !buf.is_empty() {
                    match self.write(buf).await? {
                        0 => return Err(io::ErrorKind::WriteZero.into()),
                        n => buf = &buf[n..],
                    }
                }
                Ok(())
            }

            /// Receives without waiting. The error is `WouldBlock` if there is nothing to receive.
            pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.fd.try_io(Direction::Read, |mut io: &$std| read(&mut io, buf))
            }

            /// Sends without waiting. The error is `WouldBlock` if the OS takes nothing now.
            pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                self.fd.try_io(Direction::Write, |mut io: &$std| write(&mut io, buf))
            }

            /// Waits until a read would not block: there are bytes, the end, or an error.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe.
            pub async fn readable(&self) -> io::Result<()> {
                self.fd.ready(Direction::Read).await
            }

            /// Waits until a write would not block.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe.
            pub async fn writable(&self) -> io::Result<()> {
                self.fd.ready(Direction::Write).await
            }

            /// Shuts down one direction or both. After a shutdown of writes the other end reads the
            /// end of the stream.
            pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
                self.fd.get().shutdown(how)
            }

            /// Returns and clears the pending error of the socket (`SO_ERROR`).
            pub fn take_error(&self) -> io::Result<Option<io::Error>> {
                self.fd.get().take_error()
            }

            /// Wraps a stream of the standard library.
            ///
            /// # Errors
            ///
            /// If it cannot be registered with the netpoller.
            pub fn from_std(stream: $std) -> io::Result<Self> {
                stream.set_nonblocking(true)?;
                Ok(Self { fd: Fd::new(stream, $trust)? })
            }

            /// Returns the stream of the standard library, still non-blocking.
            #[must_use]
            pub fn into_std(self) -> $std {
                self.fd.into_inner()
            }

            /// Informs the other end of a `close` at once, even if the descriptor still has owners.
            fn closed(&self) {
                // The socket may not be connected.
                let _ = self.fd.get().shutdown(Shutdown::Both);
            }

            pub(crate) fn poll_read_ref(
                &self,
                cx: &mut Context<'_>,
                buf: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                self.poll_op(Direction::Read, cx, |mut io: &$std| read(&mut io, buf))
            }

            /// Tries `op`, and waits while it would block, for a task that keeps nothing between
            /// polls.
            pub(crate) fn poll_op<R>(
                &self,
                direction: Direction,
                cx: &mut Context<'_>,
                op: impl FnMut(&$std) -> Tried<R>,
            ) -> Poll<io::Result<R>> {
                self.fd.poll_once(direction, cx, op)
            }

            pub(crate) fn poll_read_vectored_ref(
                &self,
                cx: &mut Context<'_>,
                bufs: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                self.poll_op(Direction::Read, cx, |mut io: &$std| read_vectored(&mut io, bufs))
            }

            pub(crate) fn poll_write_ref(
                &self,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.poll_op(Direction::Write, cx, |mut io: &$std| write(&mut io, buf))
            }

            pub(crate) fn poll_write_vectored_ref(
                &self,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.fd.poll_once(Direction::Write, cx, |io: &$std| write_vectored(io, bufs))
            }

            /// Shuts down writes. Succeeds also if the connection is gone.
            pub(crate) fn finish(&self) -> io::Result<()> {
                match self.shutdown(Shutdown::Write) {
                    Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
                    done => done,
                }
            }
        }
    };
}

/// Implements `AsyncRead` of `futures` for `$type`. The stream is `self` followed by `$path`.
macro_rules! futures_read {
    ($type:ty $(, $path:tt)*) => {
        impl AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                self$(.$path)*.poll_read_ref(cx, buf)
            }

            fn poll_read_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                self$(.$path)*.poll_read_vectored_ref(cx, bufs)
            }
        }
    };
}

/// Like `futures_read`, for `AsyncWrite`.
macro_rules! futures_write {
    ($type:ty $(, $path:tt)*) => {
        impl AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self$(.$path)*.poll_write_ref(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self$(.$path)*.poll_write_vectored_ref(cx, bufs)
            }

            /// Does nothing: there is no buffer.
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            /// Shuts down writes: the other end reads the end of the stream.
            fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self$(.$path)*.finish())
            }
        }
    };
}

pub(crate) use {futures_read, futures_write, stream_calls};

use crate::fd::{Left, Tried};
use crate::sys;
use rustix::net::{SendAncillaryBuffer, sendmsg};
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::os::fd::AsFd;

/// Tries to read from a stream.
pub(crate) fn read(io: &mut impl Read, buf: &mut [u8]) -> Tried<usize> {
    let n = io.read(buf)?;
    Ok((n, Left::of(n, buf.len())))
}

/// Tries to read from a stream into several buffers.
pub(crate) fn read_vectored(io: &mut impl Read, bufs: &mut [IoSliceMut<'_>]) -> Tried<usize> {
    let n = io.read_vectored(bufs)?;
    // The OS may ignore buffers beyond its limit, so only the length of the first one is a bound.
    Ok((n, Left::of(n, bufs.first().map_or(0, |buf| buf.len()))))
}

/// Tries to write to a stream.
pub(crate) fn write(io: &mut impl Write, buf: &[u8]) -> Tried<usize> {
    let n = io.write(buf)?;
    Ok((n, Left::of(n, buf.len())))
}

/// Tries to write to a stream socket from several buffers. Uses `sendmsg`, which is faster than the
/// `writev` of std and raises no signal.
pub(crate) fn write_vectored(io: impl AsFd, bufs: &[IoSlice<'_>]) -> Tried<usize> {
    // More buffers than the OS takes would be an error.
    let bufs = &bufs[..bufs.len().min(sys::MOST_BUFFERS)];
    let n = sendmsg(io, bufs, &mut SendAncillaryBuffer::default(), sys::NO_SIGNAL)?;
    Ok((n, Left::of(n, bufs.first().map_or(0, |buf| buf.len()))))
}
