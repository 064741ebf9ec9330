//! Copies from a reader to a writer (Go: `io.Copy`), in the kernel if possible.
//!
//! There is one function for all readers and writers, as in Go. Go's `io.Copy` asks the values for
//! a faster way; here [`probe`](super::probe) checks their types. So there is no second function to
//! know, and generic code over `AsyncRead` profits too. The alternatives are worse. Traits for
//! sources and sinks would exclude every reader that does not implement them. Methods on the
//! sockets would have to be chosen by hand and are not reachable from generic code.
//!
//! If the kernel refuses a copy, it continues through a buffer, beginning with the bytes that were
//! taken from the reader.
//!
//! A copy in the kernel saves CPU time for bulk data. For small messages there is no gain: a short
//! splice does not mean that the socket is empty, so each message costs one more call.

use super::buffered::Buffered;
use super::direct::{Direct, Outcome};
use super::tally::{Tally, Turns};
use futures::io::{AsyncRead, AsyncWrite};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How the bytes are moved.
#[derive(Debug)]
enum Way {
    Direct(Direct),
    Buffered(Buffered),
}

/// A copy in progress.
#[derive(Debug)]
struct Transfer {
    way: Way,
    tally: Tally,
}

impl Transfer {
    fn new(turns: Turns) -> Self {
        Self { way: Way::Direct(Direct::default()), tally: Tally::new(turns) }
    }

    /// Copies until the end and returns the number of bytes.
    fn poll<R, W>(
        &mut self,
        reader: &mut R,
        writer: &mut W,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncRead + Unpin + ?Sized,
        W: AsyncWrite + Unpin + ?Sized,
    {
        if let Way::Direct(direct) = &mut self.way {
            match ready!(direct.poll(reader, writer, cx, &mut self.tally))? {
                Outcome::AtEnd => return Poll::Ready(Ok(self.tally.moved())),
                Outcome::Cannot(rest) => self.way = Way::Buffered(Buffered::with(rest)),
            }
        }
        if let Way::Buffered(buffered) = &mut self.way {
            let (reader, writer) = (Pin::new(reader), Pin::new(writer));
            ready!(buffered.poll(reader, writer, cx, &mut self.tally))?;
        }
        Poll::Ready(Ok(self.tally.moved()))
    }
}

/// Copies from `reader` to `writer` until the end of `reader` (Go: `io.Copy`).
///
/// Returns the number of bytes. The writer is flushed and stays open.
///
/// On Linux the kernel copies the bytes if both are descriptors: [`TcpStream`](crate::TcpStream),
/// [`UnixStream`](crate::UnixStream) and their halves, the ends of a [`pipe`](super::pipe()),
/// [`Async`](crate::Async) around a pipe, [`fs::File`](crate::fs::File), and
/// [`Blocking`](super::Blocking) around a [`File`](std::fs::File). The deadlines of sockets apply.
///
/// # Errors
///
/// The first error of either. If it is the reader's, all bytes read before it have been written.
///
/// # Cancel safety
///
/// Not cancel-safe. A dropped copy, or an error of the writer, loses the bytes that were read and
/// not yet written. Reader and writer stay usable, and no descriptor leaks.
///
/// # Examples
///
/// ```
/// use gmp_net::UnixStream;
/// use gmp_net::io::{Blocking, copy};
///
/// # gmp_rt::block_on(async {
/// let (mut here, mut there) = UnixStream::pair()?;
/// let sent = gmp_rt::spawn(async move {
///     let mut file = Blocking::new(std::fs::File::open("Cargo.toml")?);
///     copy(&mut file, &mut here).await
/// });
/// let mut text = futures::io::AllowStdIo::new(Vec::new());
/// let received = copy(&mut there, &mut text).await?;
/// assert_eq!(received, sent.await.unwrap()?);
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[doc(alias("sendfile", "splice", "io.Copy"))]
pub async fn copy<R, W>(reader: &mut R, writer: &mut W) -> io::Result<u64>
where
    R: AsyncRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut transfer = Transfer::new(Turns::Alone);
    poll_fn(|cx| transfer.poll(reader, writer, cx)).await
}

/// One of two directions.
#[derive(Debug)]
enum OneWay {
    Copies(Transfer),
    /// The reader is at its end: closes the writer.
    Closes(u64),
    Done(u64),
}

impl OneWay {
    fn new() -> Self {
        Self::Copies(Transfer::new(Turns::Shared))
    }

    fn poll<R, W>(
        &mut self,
        reader: &mut R,
        writer: &mut W,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncRead + Unpin + ?Sized,
        W: AsyncWrite + Unpin + ?Sized,
    {
        loop {
            match self {
                Self::Copies(transfer) => {
                    *self = Self::Closes(ready!(transfer.poll(reader, writer, cx))?);
                }
                Self::Closes(moved) => {
                    ready!(Pin::new(&mut *writer).poll_close(cx))?;
                    *self = Self::Done(*moved);
                }
                Self::Done(moved) => return Poll::Ready(Ok(*moved)),
            }
        }
    }
}

/// Copies in both directions between `a` and `b` until both are at their ends.
///
/// Returns the number of bytes from `a` to `b`, and from `b` to `a`. A proxy does this with its two
/// connections.
///
/// At the end of one stream the other is closed for writing, a *half-close*. The other direction
/// continues. Uses the kernel as [`copy`] does.
///
/// # Errors
///
/// The first error of either, which ends both directions. Both streams stay open until they are
/// dropped.
///
/// # Cancel safety
///
/// As [`copy`].
///
/// # Examples
///
/// ```
/// use gmp_net::UnixStream;
///
/// # gmp_rt::block_on(async {
/// let (client, mut front) = UnixStream::pair()?;
/// let (mut back, server) = UnixStream::pair()?;
/// let proxy =
///     gmp_rt::spawn(async move { gmp_net::io::copy_bidirectional(&mut front, &mut back).await });
/// client.write_all(b"ping").await?;
/// let mut buf = [0; 4];
/// server.read_exact(&mut buf).await?;
/// drop((client, server));
/// assert_eq!(proxy.await.unwrap()?, (4, 0));
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
pub async fn copy_bidirectional<A, B>(a: &mut A, b: &mut B) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let (mut there, mut back) = (OneWay::new(), OneWay::new());
    poll_fn(|cx| {
        let there = there.poll(a, b, cx)?;
        let back = back.poll(b, a, cx)?;
        match (there, back) {
            (Poll::Ready(there), Poll::Ready(back)) => Poll::Ready(Ok((there, back))),
            _ => Poll::Pending,
        }
    })
    .await
}
