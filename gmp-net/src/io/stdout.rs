//! Standard output and standard error.
//!
//! There is no buffer, as in Go: a finished write has passed its bytes to the OS. A writable pipe
//! takes 4096 bytes without waiting (`PIPE_BUF`). So at most that many are offered at a time, for
//! any kind of descriptor. A slow reader then makes a goroutine wait, not a thread.

use super::stdio::Stdio;
use crate::fd::Direction;
use futures::io::AsyncWrite;
use rustix::io::Errno;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The number of bytes that a writable pipe takes without waiting (`PIPE_BUF`).
const PART: usize = 4096;

/// Defines a handle to a standard descriptor that takes output.
macro_rules! output {
    ($(#[$docs:meta])* $Handle:ident) => {
        $(#[$docs])*
        #[derive(Debug)]
        pub struct $Handle {
            io: Stdio,
        }

        impl $Handle {
            const fn new(fd: BorrowedFd<'static>) -> Self {
                Self { io: Stdio::new(fd, Direction::Write) }
            }

            /// Writes a part of `buf`, at most 4096 bytes.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe. A dropped write has written nothing.
            pub async fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
                poll_fn(|cx| Pin::new(&mut *self).poll_write(cx, buf)).await
            }

            /// Writes all of `buf`. Up to 4096 bytes are one call of the OS, which a pipe does not
            /// mix with others.
            ///
            /// # Cancel safety
            ///
            /// Not cancel-safe. A dropped future may have written a part of `buf`.
            pub async fn write_all(&mut self, mut buf: &[u8]) -> io::Result<()> {
                while !buf.is_empty() {
                    match self.write(buf).await? {
                        0 => return Err(ErrorKind::WriteZero.into()),
                        n => buf = &buf[n..],
                    }
                }
                Ok(())
            }
        }

        impl AsFd for $Handle {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.io.fd()
            }
        }

        impl AsRawFd for $Handle {
            fn as_raw_fd(&self) -> RawFd {
                self.io.fd().as_raw_fd()
            }
        }

        impl AsyncWrite for $Handle {
            fn poll_write(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                poll_part(&mut self.io, cx, buf)
            }

            /// Does nothing: there is no buffer.
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            /// Does nothing: there is no buffer, and the descriptor stays open.
            fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }
        }
    };
}

output! {
    /// Standard output for goroutines. A write that waits for a slow reader blocks no thread.
    /// Created by [`stdout`].
    ///
    /// There is no buffer. Lines of [`println!`] and writes to this handle appear in order. A part
    /// of a line that [`print!`] has written appears when the line is complete.
    ///
    /// # Examples
    ///
    /// ```
    /// # gmp_rt::block_on(async {
    /// gmp_net::io::stdout().write_all(b"hello\n").await?;
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    Stdout
}

output! {
    /// Standard error for goroutines. A write that waits for a slow reader blocks no thread.
    /// Created by [`stderr`].
    ///
    /// There is no buffer. Lines of [`eprintln!`] and writes to this handle appear in order.
    ///
    /// # Examples
    ///
    /// ```
    /// # gmp_rt::block_on(async {
    /// gmp_net::io::stderr().write_all(b"warning\n").await?;
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    Stderr
}

/// Returns a handle to standard output (Go: `os.Stdout`). See [`Stdout`].
#[must_use]
pub const fn stdout() -> Stdout {
    Stdout::new(rustix::stdio::stdout())
}

/// Returns a handle to standard error (Go: `os.Stderr`). See [`Stderr`].
#[must_use]
pub const fn stderr() -> Stderr {
    Stderr::new(rustix::stdio::stderr())
}

/// Writes a part of `buf` that a writable pipe takes without waiting.
fn poll_part(io: &mut Stdio, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
    let part = &buf[..buf.len().min(PART)];
    let n = ready!(io.poll(cx, |fd| match rustix::io::write(fd, part) {
        // A write to a closed standard output succeeds, as in std.
        Err(Errno::BADF) => Ok(part.len()),
        written => written,
    }))?;
    Poll::Ready(Ok(n))
}
