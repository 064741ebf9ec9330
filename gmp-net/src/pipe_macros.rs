//! The methods and traits of the ends of pipes: those of a program, and those of child processes.

/// Defines a type for the end of a pipe that is read.
macro_rules! reading_end {
    ($(#[$docs:meta])* $End:ident) => {
        $(#[$docs])*
        pub struct $End {
            fd: Fd<OwnedFd>,
        }

        impl $End {
            /// Reads at most `buf.len()` bytes. Returns 0 if all writers have closed the pipe.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe. A dropped read has read nothing.
            pub async fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.fd.io(Direction::Read, |fd| pipe_macros::read(fd, &mut *buf)).await
            }

            /// Reads exactly `buf.len()` bytes.
            ///
            /// # Errors
            ///
            /// `UnexpectedEof` if all writers close the pipe before.
            ///
            /// # Cancel safety
            ///
            /// Not cancel-safe. A dropped future loses the bytes that it has read.
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

            /// Reads until all writers have closed the pipe, and appends the bytes to `buf`.
            /// Returns their number.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe. The bytes that a dropped future has read are in `buf`.
            pub async fn read_to_end(&self, buf: &mut Vec<u8>) -> io::Result<usize> {
                let before = buf.len();
                loop {
                    buf.reserve(pipe_macros::PART);
                    let read = self.fd.io(Direction::Read, |fd| pipe_macros::read_more(fd, buf));
                    if read.await? == 0 {
                        return Ok(buf.len() - before);
                    }
                }
            }

            /// Reads without waiting. The error is `WouldBlock` if there is nothing to read.
            pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.fd.try_io(Direction::Read, |fd| pipe_macros::read(fd, &mut *buf))
            }

            /// Waits until a read would not block: there are bytes, or the end.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe.
            pub async fn readable(&self) -> io::Result<()> {
                self.fd.ready(Direction::Read).await
            }

            /// Sets the deadline of reads, waiting ones included. `None` removes it.
            ///
            /// After the deadline they fail with an error of the kind `TimedOut`, until another
            /// deadline is set.
            pub fn set_deadline(&self, deadline: Option<Instant>) {
                self.fd.set_deadline(Direction::Read, deadline);
            }

            /// Returns the descriptor, in blocking mode, as a child process expects it.
            pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
                set_nonblocking(self.fd.as_fd(), false)?;
                Ok(self.fd.into_inner())
            }
        }

        impl AsyncRead for &$End {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                self.fd.poll_once(Direction::Read, cx, |fd| pipe_macros::read(fd, &mut *buf))
            }

            fn poll_read_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                self.fd.poll_once(Direction::Read, cx, |fd| pipe_macros::read_vectored(fd, bufs))
            }
        }

        impl AsyncRead for $End {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                Pin::new(&mut &*self).poll_read(cx, buf)
            }

            fn poll_read_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                Pin::new(&mut &*self).poll_read_vectored(cx, bufs)
            }
        }

        impl AsFd for $End {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.fd.as_fd()
            }
        }

        impl crate::fd::Described for $End {
            fn descriptor(&self) -> &dyn Descriptor {
                &self.fd
            }
        }

        pipe_macros::end_traits!($End);
    };
}

/// Defines a type for the end of a pipe that is written.
macro_rules! writing_end {
    ($(#[$docs:meta])* $End:ident) => {
        $(#[$docs])*
        pub struct $End {
            /// Taken out by a close.
            fd: Option<Fd<OwnedFd>>,
        }

        impl $End {
            /// Writes a part of `buf`, as much as the pipe takes. Waits only if it takes nothing.
            ///
            /// # Errors
            ///
            /// `BrokenPipe` if the reader has closed the pipe, and after a close of this end.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe. A dropped write has written nothing.
            pub async fn write(&self, buf: &[u8]) -> io::Result<usize> {
                self.open()?.io(Direction::Write, |fd| pipe_macros::write(fd, buf)).await
            }

            /// Writes all of `buf`.
            ///
            /// # Errors
            ///
            /// As [`write`](Self::write).
            ///
            /// # Cancel safety
            ///
            /// Not cancel-safe. A dropped future may have written a part of `buf`.
            pub async fn write_all(&self, mut buf: &[u8]) -> io::Result<()> {
                while !buf.is_empty() {
                    match self.write(buf).await? {
                        0 => return Err(io::ErrorKind::WriteZero.into()),
                        n => buf = &buf[n..],
                    }
                }
                Ok(())
            }

            /// Writes without waiting. The error is `WouldBlock` if the pipe takes nothing now.
            pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                self.open()?.try_io(Direction::Write, |fd| pipe_macros::write(fd, buf))
            }

            /// Waits until a write would not block: there is space, or no reader.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe.
            pub async fn writable(&self) -> io::Result<()> {
                self.open()?.ready(Direction::Write).await
            }

            /// Sets the deadline of writes, waiting ones included. `None` removes it.
            ///
            /// After the deadline they fail with an error of the kind `TimedOut`, until another
            /// deadline is set.
            pub fn set_deadline(&self, deadline: Option<Instant>) {
                if let Some(fd) = &self.fd {
                    fd.set_deadline(Direction::Write, deadline);
                }
            }

            /// Returns the descriptor, in blocking mode, as a child process expects it.
            ///
            /// # Errors
            ///
            /// `BrokenPipe` after a close.
            pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
                set_nonblocking(self.open()?.as_fd(), false)?;
                self.fd.map(Fd::into_inner).ok_or_else(pipe_macros::closed)
            }

            /// Returns the descriptor, unless this end is closed.
            fn open(&self) -> io::Result<&Fd<OwnedFd>> {
                self.fd.as_ref().ok_or_else(pipe_macros::closed)
            }
        }

        impl AsyncWrite for $End {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.open()?.poll_once(Direction::Write, cx, |fd| pipe_macros::write(fd, buf))
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.open()?.poll_once(Direction::Write, cx, |fd| {
                    pipe_macros::write_vectored(fd, bufs)
                })
            }

            /// Does nothing: there is no buffer.
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            /// Closes the pipe: the reader reads its end. Later writes return `BrokenPipe`.
            fn poll_close(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.fd = None;
                Poll::Ready(Ok(()))
            }
        }

        /// Panics after a close.
        impl AsFd for $End {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.open().expect("the pipe is open").as_fd()
            }
        }

        impl crate::fd::Described for $End {
            fn descriptor(&self) -> &dyn Descriptor {
                self
            }
        }

        impl Descriptor for $End {
            fn poll_fd(
                &self,
                direction: Direction,
                cx: &mut Context<'_>,
                op: &mut dyn FnMut(BorrowedFd<'_>) -> Tried<usize>,
            ) -> Poll<io::Result<usize>> {
                self.open()?.poll_fd(direction, cx, op)
            }
        }

        pipe_macros::end_traits!($End, Some);
    };
}

/// Implements the traits that both ends have. `$wrap` wraps the descriptor of a writing end.
macro_rules! end_traits {
    ($End:ident $(, $wrap:path)?) => {
        /// Wraps a descriptor of a pipe and makes it non-blocking.
        impl TryFrom<OwnedFd> for $End {
            type Error = io::Error;

            fn try_from(fd: OwnedFd) -> io::Result<Self> {
                let fd = Fd::prepared(fd, Trust::WouldBlock, |fd| set_nonblocking(fd, true))?;
                Ok(Self { fd: $($wrap)?(fd) })
            }
        }

        /// Makes the descriptor blocking and passes it to a child process.
        impl TryFrom<$End> for Stdio {
            type Error = io::Error;

            fn try_from(end: $End) -> io::Result<Self> {
                end.into_blocking_fd().map(Self::from)
            }
        }

        impl AsRawFd for $End {
            fn as_raw_fd(&self) -> RawFd {
                self.as_fd().as_raw_fd()
            }
        }

        impl fmt::Debug for $End {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($End)).field(&self.fd).finish()
            }
        }
    };
}

pub(crate) use {end_traits, reading_end, writing_end};

use crate::fd::{Left, Tried};
use crate::sys;
use rustix::buffer::spare_capacity;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::AsFd;

/// The minimum number of bytes that a read to the end has space for. Chosen.
pub(crate) const PART: usize = 8 << 10;

/// Returns the error of an operation on an end that was closed.
#[cold]
pub(crate) fn closed() -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, "this end of the pipe is closed")
}

/// Tries to read from a pipe.
pub(crate) fn read(fd: impl AsFd, buf: &mut [u8]) -> Tried<usize> {
    Ok((rustix::io::read(fd, buf)?, Left::Maybe))
}

/// Tries to append bytes of a pipe to `buf`, as many as it has capacity for.
pub(crate) fn read_more(fd: impl AsFd, buf: &mut Vec<u8>) -> Tried<usize> {
    Ok((rustix::io::read(fd, spare_capacity(buf))?, Left::Maybe))
}

/// Tries to read from a pipe into several buffers.
pub(crate) fn read_vectored(fd: impl AsFd, bufs: &mut [IoSliceMut<'_>]) -> Tried<usize> {
    let most = bufs.len().min(sys::MOST_BUFFERS);
    Ok((rustix::io::readv(fd, &mut bufs[..most])?, Left::Maybe))
}

/// Tries to write to a pipe.
pub(crate) fn write(fd: impl AsFd, buf: &[u8]) -> Tried<usize> {
    Ok((rustix::io::write(fd, buf)?, Left::Maybe))
}

/// Tries to write to a pipe from several buffers.
pub(crate) fn write_vectored(fd: impl AsFd, bufs: &[IoSlice<'_>]) -> Tried<usize> {
    let most = bufs.len().min(sys::MOST_BUFFERS);
    Ok((rustix::io::writev(fd, &bufs[..most])?, Left::Maybe))
}
