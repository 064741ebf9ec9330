//! Copying through a buffer: for readers and writers of any kind.
//!
//! All that was read is written before more is read, so an error of the reader is told after everything
//! in front of it has been passed on. The buffer begins small, since most of those who copy are idle
//! connections, and doubles each time a read fills it.
//!
//! A writer that keeps bytes back is flushed before the reader is waited for: whoever is to answer
//! has then seen all there is.

use super::tally::Tally;
use futures::io::{AsyncRead, AsyncWrite};
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Size of the buffer in the beginning.
const FIRST: usize = 8 << 10;

/// Most it grows to. Twice as much gave nothing more between sockets of one host.
const MOST: usize = 128 << 10;

/// Whether the reader has more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Open,
    AtEnd,
}

/// Whether the writer may keep something back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    Flushed,
    Holds,
}

/// A copy under way. See the [module](self).
#[derive(Debug)]
pub(super) struct Buffered {
    buf: Vec<u8>,
    /// What of the buffer is to be written.
    from: usize,
    to: usize,
    reader: Reader,
    writer: Writer,
}

impl Buffered {
    /// A copy that begins with `rest`, which was read already.
    pub(super) fn with(rest: Vec<u8>) -> Self {
        let to = rest.len();
        Self { buf: rest, from: 0, to, reader: Reader::Open, writer: Writer::Flushed }
    }

    /// Goes on until the reader is at its end and all is written and flushed.
    pub(super) fn poll<R, W>(
        &mut self,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
        cx: &mut Context<'_>,
        tally: &mut Tally,
    ) -> Poll<io::Result<()>>
    where
        R: AsyncRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        loop {
            ready!(self.poll_write_out(writer.as_mut(), cx, tally))?;
            if self.reader == Reader::AtEnd {
                return self.poll_flush(writer, cx);
            }
            // Readers and writers that never wait are not to hold the goroutine here.
            ready!(tally.poll_go_on(cx));
            match self.poll_fill(reader.as_mut(), cx)? {
                Poll::Ready(()) => {}
                Poll::Pending => {
                    ready!(self.poll_flush(writer.as_mut(), cx))?;
                    return Poll::Pending;
                }
            }
        }
    }

    /// Reads into the buffer, of which nothing is used.
    fn poll_fill<R>(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<()>>
    where
        R: AsyncRead + ?Sized,
    {
        if self.buf.len() < FIRST {
            self.buf = vec![0; FIRST];
        }
        let n = match ready!(reader.poll_read(cx, &mut self.buf)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Poll::Ready(Ok(())),
            result => result?,
        };
        assert!(n <= self.buf.len(), "a reader says it has read {n} bytes of {}", self.buf.len());
        if n == 0 {
            self.reader = Reader::AtEnd;
        }
        (self.from, self.to) = (0, n);
        Poll::Ready(Ok(()))
    }

    /// Writes what is in the buffer.
    fn poll_write_out<W>(
        &mut self,
        mut writer: Pin<&mut W>,
        cx: &mut Context<'_>,
        tally: &mut Tally,
    ) -> Poll<io::Result<()>>
    where
        W: AsyncWrite + ?Sized,
    {
        while self.from < self.to {
            let written = writer.as_mut().poll_write(cx, &self.buf[self.from..self.to]);
            let n = match ready!(written) {
                Ok(0) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                result => result?,
            };
            let offered = self.to - self.from;
            assert!(n <= offered, "a writer says it has written {n} bytes of {offered}");
            self.from += n;
            self.writer = Writer::Holds;
            tally.add(n);
        }
        let was_full = self.to == self.buf.len() && self.to > 0;
        if was_full && self.buf.len() < MOST {
            // Nothing of it is used, so nothing is copied.
            self.buf = vec![0; (2 * self.buf.len()).clamp(FIRST, MOST)];
        }
        (self.from, self.to) = (0, 0);
        Poll::Ready(Ok(()))
    }

    fn poll_flush<W>(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>>
    where
        W: AsyncWrite + ?Sized,
    {
        if self.writer == Writer::Holds {
            ready!(writer.poll_flush(cx))?;
            self.writer = Writer::Flushed;
        }
        Poll::Ready(Ok(()))
    }
}
