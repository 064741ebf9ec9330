//! Standard input.
//!
//! Bytes that were read and not returned outlive their [`Stdin`]: its drop stores them for the next
//! handle. So the buffer is in the handle, where [`AsyncBufRead`] can lend it out, and not behind a
//! lock that all handles share.

use super::stdio::Stdio;
use crate::fd::Direction;
use futures::io::{AsyncBufRead, AsyncRead};
use futures::stream::{FusedStream, Stream};
use gmp_rt::prim::fixed::Mutex;
use rustix::io::Errno;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The number of bytes requested in one read. Chosen.
const PART: usize = 8 << 10;

/// Bytes that dropped handles have read and not returned.
static LEFT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Standard input for goroutines. A read that waits blocks no thread. Created by [`stdin`].
///
/// Each handle has a buffer, so one goroutine should read at a time. A handle that is dropped
/// leaves its unread bytes to the next handle. [`std::io::stdin`] and child processes do not see
/// the bytes in the buffer.
///
/// A pending read does not delay the end of the process or of a runtime, and is not reported as a
/// deadlock.
///
/// # Examples
///
/// ```no_run
/// # gmp_rt::block_on(async {
/// let mut lines = gmp_net::io::stdin().lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("{}", line.to_uppercase());
/// }
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Stdin {
    io: Stdio,
    buf: Vec<u8>,
    /// The number of bytes of the buffer that were returned.
    given: usize,
}

/// Returns a handle to standard input (Go: `os.Stdin`). See [`Stdin`].
#[must_use]
pub const fn stdin() -> Stdin {
    let io = Stdio::new(rustix::stdio::stdin(), Direction::Read);
    Stdin { io, buf: Vec::new(), given: 0 }
}

impl Stdin {
    /// Reads at most `buf.len()` bytes. Returns 0 at the end.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped read has taken nothing.
    pub async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| Pin::new(&mut *self).poll_read(cx, buf)).await
    }

    /// Reads a line and appends it to `line`, with its line feed. Returns the number of bytes, 0 at
    /// the end.
    ///
    /// # Errors
    ///
    /// `InvalidData` if the line is not UTF-8. Then it is skipped.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. The next read returns what a dropped read has read of the line.
    pub async fn read_line(&mut self, line: &mut String) -> io::Result<usize> {
        let read = poll_fn(|cx| self.poll_line(cx)).await?.unwrap_or_default();
        line.push_str(&read);
        Ok(read.len())
    }

    /// Returns the lines without their line feeds.
    pub fn lines(self) -> StdinLines {
        StdinLines { stdin: self, state: LinesState::Open }
    }

    fn unread(&self) -> &[u8] {
        &self.buf[self.given..]
    }

    /// Appends bytes to the buffer. Returns 0 at the end.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.given == self.buf.len() {
            self.buf.clear();
            self.given = 0;
        }
        let left = std::mem::take(&mut *LEFT.lock());
        if !left.is_empty() {
            self.buf.extend_from_slice(&left);
            return Poll::Ready(Ok(left.len()));
        }
        let filled = self.buf.len();
        self.buf.resize(filled + PART, 0);
        let read = poll_some(&mut self.io, cx, &mut self.buf[filled..]);
        let n = if let Poll::Ready(Ok(n)) = read { n } else { 0 };
        self.buf.truncate(filled + n);
        read
    }

    /// Takes a line out of the buffer, or the rest at the end. Returns `None` if there is no rest.
    fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<String>>> {
        let mut searched = 0;
        let line = loop {
            let unread = self.unread();
            if let Some(at) = unread[searched..].iter().position(|&byte| byte == b'\n') {
                break unread[..=searched + at].to_vec();
            }
            searched = unread.len();
            if ready!(self.poll_more(cx))? == 0 {
                break self.unread().to_vec();
            }
        };
        self.given += line.len();
        if line.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let not_text = |_| io::Error::new(ErrorKind::InvalidData, "standard input is not UTF-8");
        Poll::Ready(String::from_utf8(line).map(Some).map_err(not_text))
    }
}

/// Makes one read. A closed standard input is empty, as in std.
fn poll_some(io: &mut Stdio, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
    io.poll(cx, |fd| match rustix::io::read(fd, &mut *buf) {
        Err(Errno::BADF) => Ok(0),
        read => read,
    })
}

/// Leaves the unread bytes to the next handle.
impl Drop for Stdin {
    fn drop(&mut self) {
        if !self.unread().is_empty() {
            let mut left = LEFT.lock();
            // Another handle may have left bytes too. Their order is unknown.
            left.extend_from_slice(&self.buf[self.given..]);
        }
    }
}

impl AsyncRead for Stdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let filled = ready!(self.as_mut().poll_fill_buf(cx))?;
        let n = filled.len().min(buf.len());
        buf[..n].copy_from_slice(&filled[..n]);
        self.consume(n);
        Poll::Ready(Ok(n))
    }
}

impl AsyncBufRead for Stdin {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        if this.unread().is_empty() {
            ready!(this.poll_more(cx))?;
        }
        Poll::Ready(Ok(this.unread()))
    }

    fn consume(mut self: Pin<&mut Self>, n: usize) {
        self.given = (self.given + n).min(self.buf.len());
    }
}

impl AsFd for Stdin {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.fd()
    }
}

impl AsRawFd for Stdin {
    fn as_raw_fd(&self) -> RawFd {
        self.io.fd().as_raw_fd()
    }
}

/// The lines of standard input, a [`Stream`]. Created by [`Stdin::lines`].
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct StdinLines {
    stdin: Stdin,
    state: LinesState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinesState {
    Open,
    /// The end was returned. A terminal may have more lines after it.
    AtEnd,
}

impl StdinLines {
    /// Returns the next line without its line feed, `None` at the end.
    ///
    /// # Errors
    ///
    /// `InvalidData` if the line is not UTF-8. Then it is skipped.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. The next read returns what a dropped read has read of the line.
    pub async fn next_line(&mut self) -> io::Result<Option<String>> {
        poll_fn(|cx| self.poll_next_line(cx)).await
    }

    /// Returns the input with its unread bytes.
    #[must_use]
    pub fn into_inner(self) -> Stdin {
        self.stdin
    }

    fn poll_next_line(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<String>>> {
        let Some(mut line) = ready!(self.stdin.poll_line(cx))? else {
            self.state = LinesState::AtEnd;
            return Poll::Ready(Ok(None));
        };
        self.state = LinesState::Open;
        if line.ends_with('\n') {
            line.pop();
            if line.ends_with('\r') {
                line.pop();
            }
        }
        Poll::Ready(Ok(Some(line)))
    }
}

impl Stream for StdinLines {
    type Item = io::Result<String>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_next_line(cx).map(Result::transpose)
    }
}

impl FusedStream for StdinLines {
    fn is_terminated(&self) -> bool {
        self.state == LinesState::AtEnd
    }
}
