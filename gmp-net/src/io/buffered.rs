//! Copies through a buffer, for readers and writers of any kind.
//!
//! All bytes that were read are written before the next read. So an error of the reader is returned
//! after everything before it has been written. The buffer starts small, because most copies are
//! idle connections. It doubles each time a read fills it.
//!
//! A buffering writer is flushed before the copy waits for the reader. So a peer that must answer
//! has received everything.

use super::tally::Tally;
use futures::io::{AsyncRead, AsyncWrite};
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Initial size of the buffer. Chosen.
const FIRST: usize = 8 << 10;

/// Maximum size of the buffer. Measured: twice as much is not faster between sockets of one host.
const MOST: usize = 128 << 10;

/// Whether the reader is at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Open,
    AtEnd,
}

/// Whether the writer may hold unflushed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    Flushed,
    Holds,
}

/// A copy in progress. See the [module](self).
#[derive(Debug)]
pub(super) struct Buffered {
    buf: Vec<u8>,
    /// The part of the buffer that has to be written.
    from: usize,
    to: usize,
    reader: Reader,
    writer: Writer,
}

impl Buffered {
    /// Creates a copy that first writes `rest`, which was read already.
    pub(super) fn with(rest: Vec<u8>) -> Self {
        let to = rest.len();
        Self { buf: rest, from: 0, to, reader: Reader::Open, writer: Writer::Flushed }
    }

    /// Copies until the reader is at its end and everything is written and flushed.
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
            // Readers and writers that never wait must not keep the goroutine here.
            ready!(tally.poll_proceed(cx));
            match self.poll_fill(reader.as_mut(), cx)? {
                Poll::Ready(()) => {}
                Poll::Pending => {
                    ready!(self.poll_flush(writer.as_mut(), cx))?;
                    return Poll::Pending;
                }
            }
        }
    }

    /// Reads into the buffer, which must be empty.
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

    /// Writes the content of the buffer.
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
            // The buffer is empty, so nothing is copied.
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
