//! Lines of a reader, one after the other.

use futures::stream::{Stream, StreamExt};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Reads the lines of a stream in a loop.
///
/// [`AsyncBufReadExt::lines`](futures::io::AsyncBufReadExt::lines) turns a reader into a stream of
/// lines.
///
/// # Examples
///
/// ```
/// use gmp_net::io::{AsyncBufReadExt, Cursor, LinesExt};
///
/// # gmp_rt::block_on(async {
/// let mut lines = Cursor::new("one\ntwo\r\n").lines();
/// assert_eq!(lines.next_line().await?.as_deref(), Some("one"));
/// assert_eq!(lines.next_line().await?.as_deref(), Some("two"));
/// assert_eq!(lines.next_line().await?, None);
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[doc(alias("Scanner", "bufio.Scanner"))]
pub trait LinesExt: Stream<Item = io::Result<String>> + Unpin {
    /// Returns the next line without its line ending, `None` at the end.
    ///
    /// # Errors
    ///
    /// The error of the reader, and `InvalidData` if a line is not UTF-8. That line is skipped.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. The next call returns what a dropped one has read of the line.
    fn next_line(&mut self) -> NextLine<'_, Self> {
        NextLine { lines: self }
    }
}

impl<S: Stream<Item = io::Result<String>> + Unpin + ?Sized> LinesExt for S {}

/// The future of [`LinesExt::next_line`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct NextLine<'a, S: ?Sized> {
    lines: &'a mut S,
}

impl<S: LinesExt + ?Sized> Future for NextLine<'_, S> {
    type Output = io::Result<Option<String>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.lines.poll_next_unpin(cx).map(Option::transpose)
    }
}
