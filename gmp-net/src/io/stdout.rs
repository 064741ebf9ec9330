//! Standard output and standard error.
//!
//! Without a buffer, as Go's: what was written is with the OS. A pipe that is writable takes 4096 bytes
//! without waiting (`PIPE_BUF`), so that is offered at a time, to whatever is behind the descriptor; a slow
//! reader then keeps a goroutine waiting, not a thread.

use super::stdio::Stdio;
use crate::fd::Direction;
use futures::io::AsyncWrite;
use rustix::io::Errno;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What a pipe takes at once.
const PART: usize = 4096;

/// Standard output or standard error, for goroutines: a write that waits for a slow reader holds no
/// thread. Made by [`stdout`] and [`stderr`].
///
/// Without a buffer. Lines of [`println!`] and writes here come out in order; what [`print!`] has begun comes
/// when its line is complete.
///
/// # Examples
///
/// ```
/// # gmp_rt::block_on(async {
/// gmp_net::io::stdout().write_all(b"hello\n").await?;
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Stdout {
    io: Stdio,
}

/// A handle to standard output (Go: `os.Stdout`). See [`Stdout`].
#[must_use]
pub const fn stdout() -> Stdout {
    Stdout::new(rustix::stdio::stdout())
}

/// A handle to standard error (Go: `os.Stderr`). See [`Stdout`].
#[must_use]
pub const fn stderr() -> Stdout {
    Stdout::new(rustix::stdio::stderr())
}

impl Stdout {
    const fn new(fd: BorrowedFd<'static>) -> Self {
        Self { io: Stdio::new(fd, Direction::Write) }
    }

    /// Writes some of `buf`, at most 4096 bytes.
    ///
    /// # Cancel safety
    ///
    /// A dropped write has written nothing.
    pub async fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| Pin::new(&mut *self).poll_write(cx, buf)).await
    }

    /// Writes all of `buf`. Up to 4096 bytes come out in one piece, whoever else writes.
    ///
    /// # Cancel safety
    ///
    /// If it is dropped, some of `buf` may have been written.
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

impl AsyncWrite for Stdout {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let part = &buf[..buf.len().min(PART)];
        let n = ready!(self.io.poll(cx, |fd| match rustix::io::write(fd, part) {
            // A closed standard output takes everything, as in std.
            Err(Errno::BADF) => Ok(part.len()),
            written => written,
        }))?;
        Poll::Ready(Ok(n))
    }

    /// Nothing is kept back.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Nothing is kept back; the descriptor stays open.
    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
