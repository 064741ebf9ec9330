//! Copies in the kernel (Linux), without moving the bytes through this process.
//!
//! | from | to | how |
//! |------|----|-----|
//! | socket, pipe | socket, pipe, file | `splice` into a pipe of the pool, and out of it |
//! | file | socket, pipe | `sendfile` |
//! | file | file | `copy_file_range`, which shares blocks if the file system can |
//!
//! The kernel could splice directly between a pipe and a socket. But then "would block" does not
//! say which of the two is meant, and two more calls would be needed to find out. Through a pipe of
//! the pool, which is empty when it is filled, it always refers to one end. Moving a page from pipe
//! to pipe copies nothing.
//!
//! Operations on files may block, so they run inside [`gmp_rt::block_in_place`].

use super::pipes::Pipe;
use super::probe::{Endpoint, endpoint};
use super::tally::Tally;
use crate::fd::{Descriptor, Direction, Left};
use gmp_rt::block_in_place;
use rustix::fs::{copy_file_range, sendfile};
use rustix::io::{Errno, retry_on_intr};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll, ready};

/// Maximum number of bytes in one call on a file, which cannot be interrupted (Go:
/// `maxSendfileSize`).
const FILE_PART: usize = 4 << 20;

/// The result of a copy in the kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The reader is at its end.
    AtEnd,
    /// The kernel cannot copy between these two. The bytes were read and not written.
    Cannot(Vec<u8>),
}

/// A copy in progress. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Direct {
    /// Holds bytes that were taken from the reader and are not yet written.
    filled: Option<Pipe>,
}

impl Direct {
    /// Copies until the end of `reader`, or until the kernel refuses.
    pub(super) fn poll<R: ?Sized, W: ?Sized>(
        &mut self,
        reader: &R,
        writer: &W,
        cx: &mut Context<'_>,
        tally: &mut Tally,
    ) -> Poll<io::Result<Outcome>> {
        match (endpoint(reader), endpoint(writer)) {
            (Some(Endpoint::Stream(from)), Some(to)) => self.poll_splice(from, to, cx, tally),
            (Some(Endpoint::File(from)), Some(Endpoint::Stream(to))) => {
                poll_sendfile(from, to, cx, tally)
            }
            (Some(Endpoint::File(from)), Some(Endpoint::File(to))) => {
                poll_copy_range(from, to, cx, tally)
            }
            (None, _) | (_, None) => Poll::Ready(Ok(Outcome::Cannot(Vec::new()))),
        }
    }

    fn poll_splice(
        &mut self,
        from: &dyn Descriptor,
        to: Endpoint<'_>,
        cx: &mut Context<'_>,
        tally: &mut Tally,
    ) -> Poll<io::Result<Outcome>> {
        loop {
            if let Some(rest) = ready!(self.poll_empty(to, cx, tally))? {
                return Poll::Ready(Ok(Outcome::Cannot(rest)));
            }
            ready!(tally.poll_proceed(cx));
            // If there are no descriptors for a pipe, the copy continues through a buffer.
            let Ok(mut pipe) = Pipe::take() else {
                return Poll::Ready(Ok(Outcome::Cannot(Vec::new())));
            };
            let filled = from.poll_fd(Direction::Read, cx, &mut |from| {
                // A short splice does not mean that `from` is empty: the capacity is counted in
                // pages.
                Ok((pipe.fill(from)?, Left::Maybe))
            });
            if !matches!(filled, Poll::Ready(Ok(1..))) {
                pipe.give_back();
                return match ready!(filled) {
                    Ok(_) => Poll::Ready(Ok(Outcome::AtEnd)),
                    Err(error) if is_refusal(&error) => {
                        Poll::Ready(Ok(Outcome::Cannot(Vec::new())))
                    }
                    Err(error) => Poll::Ready(Err(error)),
                };
            }
            self.filled = Some(pipe);
        }
    }

    /// Moves all bytes of the pipe to the writer. Returns them if the kernel refuses to splice to
    /// it.
    fn poll_empty(
        &mut self,
        to: Endpoint<'_>,
        cx: &mut Context<'_>,
        tally: &mut Tally,
    ) -> Poll<io::Result<Option<Vec<u8>>>> {
        let Some(pipe) = &mut self.filled else { return Poll::Ready(Ok(None)) };
        while pipe.bytes() > 0 {
            let emptied = match to {
                Endpoint::Stream(to) => ready!(to.poll_fd(Direction::Write, cx, &mut |to| {
                    // A short splice does not mean that `to` is full: a signal may have come.
                    Ok((pipe.empty(to)?, Left::Maybe))
                })),
                Endpoint::File(to) => fill_file(pipe, to),
            };
            match emptied {
                Ok(0) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Ok(n) => tally.add(n),
                Err(error) if is_refusal(&error) => break,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let Some(pipe) = self.filled.take() else { return Poll::Ready(Ok(None)) };
        if pipe.bytes() > 0 {
            return Poll::Ready(pipe.into_bytes().map(Some));
        }
        pipe.give_back();
        Poll::Ready(Ok(None))
    }
}

/// Moves bytes into a file once. "Would block" means a named pipe or a device: it becomes a
/// refusal, so that the copy continues through a buffer.
fn fill_file(pipe: &mut Pipe, to: &File) -> io::Result<usize> {
    let moved = retry_on_intr(|| block_in_place(|| pipe.empty(to)));
    Ok(moved.map_err(|error| if error == Errno::AGAIN { Errno::INVAL } else { error })?)
}

fn poll_sendfile(
    from: &File,
    to: &dyn Descriptor,
    cx: &mut Context<'_>,
    tally: &mut Tally,
) -> Poll<io::Result<Outcome>> {
    loop {
        ready!(tally.poll_proceed(cx));
        let sent = ready!(to.poll_fd(Direction::Write, cx, &mut |to| {
            let n = block_in_place(|| sendfile(to, from, None, FILE_PART))?;
            Ok((n, Left::Maybe))
        }));
        match sent {
            Ok(0) => return Poll::Ready(Ok(end_of_file(tally))),
            Ok(n) => tally.add(n),
            Err(error) if is_refusal(&error) => {
                return Poll::Ready(Ok(Outcome::Cannot(Vec::new())));
            }
            Err(error) => return Poll::Ready(Err(error)),
        }
    }
}

fn poll_copy_range(
    from: &File,
    to: &File,
    cx: &mut Context<'_>,
    tally: &mut Tally,
) -> Poll<io::Result<Outcome>> {
    loop {
        ready!(tally.poll_proceed(cx));
        let part = || copy_file_range(from, None, to, None, FILE_PART);
        match retry_on_intr(|| block_in_place(part)) {
            Ok(0) => return Poll::Ready(Ok(end_of_file(tally))),
            Ok(n) => tally.add(n),
            // File systems refuse for many reasons. Both positions are right behind the copied
            // bytes, so the copy continues through a buffer. If the error has another cause, reads
            // and writes report it.
            Err(_) => return Poll::Ready(Ok(Outcome::Cannot(Vec::new()))),
        }
    }
}

/// Returns the outcome for an end of file. Some of these calls report a file that the kernel
/// generates on read as empty. So an end before the first byte counts as a refusal.
fn end_of_file(tally: &Tally) -> Outcome {
    if tally.moved() == 0 { Outcome::Cannot(Vec::new()) } else { Outcome::AtEnd }
}

/// Whether an error means that the call does not support these two. Then nothing was moved. A
/// system call filter returns `PERM`.
fn is_refusal(error: &io::Error) -> bool {
    let refusals = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::PERM, Errno::SPIPE];
    Errno::from_io_error(error).is_some_and(|error| refusals.contains(&error))
}
