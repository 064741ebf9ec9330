//! Standard input.
//!
//! Bytes that were read and not given out outlive their [`Stdin`]: it puts them back for the next one as it
//! is dropped. So they are in the handle that reads, where [`AsyncBufRead`] can lend them out, and not
//! behind a lock that all share.

use super::stdio::Stdio;
use crate::fd::Direction;
use futures::Stream;
use futures::io::{AsyncBufRead, AsyncRead};
use gmp_rt::prim::fixed::Mutex;
use rustix::io::Errno;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How much is read at a time.
const PART: usize = 8 << 10;

/// What was read by handles that are gone.
static LEFT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Standard input, for goroutines: a read that waits holds no thread. Made by [`stdin`].
///
/// With a buffer. One goroutine should read at a time, since each handle has a buffer of its own; a handle
/// that is dropped leaves what it has not given out to the next. What is in the buffer is not seen by
/// [`std::io::stdin`], nor by child processes.
///
/// A pending read does not hold up the end of the process or of a runtime, and is no deadlock.
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
    /// What of the buffer was given out.
    given: usize,
}

/// A handle to standard input (Go: `os.Stdin`). See [`Stdin`].
#[must_use]
pub const fn stdin() -> Stdin {
    let io = Stdio::new(rustix::stdio::stdin(), Direction::Read);
    Stdin { io, buf: Vec::new(), given: 0 }
}

impl Stdin {
    /// Reads up to as many bytes as `buf` has room for; 0 at the end.
    ///
    /// # Cancel safety
    ///
    /// A dropped read has taken nothing.
    pub async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| Pin::new(&mut *self).poll_read(cx, buf)).await
    }

    /// Reads a line and appends it to `line`, with its line feed; returns how many bytes that are, 0 at
    /// the end.
    ///
    /// # Errors
    ///
    /// `InvalidData` if it is not UTF-8; the line is skipped then.
    ///
    /// # Cancel safety
    ///
    /// If it is dropped, what it has read of the line is there for the next read.
    pub async fn read_line(&mut self, line: &mut String) -> io::Result<usize> {
        let read = poll_fn(|cx| self.poll_line(cx)).await?.unwrap_or_default();
        line.push_str(&read);
        Ok(read.len())
    }

    /// The lines, without their line feeds.
    pub fn lines(self) -> Lines {
        Lines { stdin: self }
    }

    fn unread(&self) -> &[u8] {
        &self.buf[self.given..]
    }

    /// Reads more behind what is in the buffer; 0 at the end.
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

    /// Takes a line out of the buffer, or what is left at the end; `None` if that is nothing.
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

/// One read. A closed standard input is an empty one, as in std.
fn poll_some(io: &mut Stdio, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
    io.poll(cx, |fd| match rustix::io::read(fd, &mut *buf) {
        Err(Errno::BADF) => Ok(0),
        read => read,
    })
}

/// What it has not given out is the next one's.
impl Drop for Stdin {
    fn drop(&mut self) {
        if !self.unread().is_empty() {
            let mut left = LEFT.lock();
            // Read before what another may have left meanwhile, or after: only the readers know.
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

/// The lines of standard input, a [`Stream`] of them. Made by [`Stdin::lines`].
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct Lines {
    stdin: Stdin,
}

impl Lines {
    /// The next line, without its line feed; `None` at the end.
    ///
    /// # Errors
    ///
    /// `InvalidData` if it is not UTF-8; the line is skipped then.
    ///
    /// # Cancel safety
    ///
    /// If it is dropped, what it has read of the line is there for the next read.
    pub async fn next_line(&mut self) -> io::Result<Option<String>> {
        poll_fn(|cx| self.poll_next_line(cx)).await
    }

    /// The input, with what was not given out.
    #[must_use]
    pub fn into_inner(self) -> Stdin {
        self.stdin
    }

    fn poll_next_line(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<String>>> {
        let Some(mut line) = ready!(self.stdin.poll_line(cx))? else {
            return Poll::Ready(Ok(None));
        };
        if line.ends_with('\n') {
            line.pop();
            if line.ends_with('\r') {
                line.pop();
            }
        }
        Poll::Ready(Ok(Some(line)))
    }
}

impl Stream for Lines {
    type Item = io::Result<String>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_next_line(cx).map(Result::transpose)
    }
}
