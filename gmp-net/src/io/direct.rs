//! Copying in the kernel (Linux): bytes that never come to this process.
//!
//! | from | to | how |
//! |------|----|-----|
//! | socket, pipe | socket, pipe, file | `splice` into a pipe of ours, and out of it |
//! | file | socket, pipe | `sendfile` |
//! | file | file | `copy_file_range`, which shares the blocks where the file system can |
//!
//! A pipe on one end could be spliced with the socket on the other directly. But then the kernel's "would
//! block" does not say which of them is meant, and finding out takes two more calls; through a pipe of
//! ours, which is empty when it is filled, it always means one end. Moving a page from pipe to pipe
//! copies nothing.
//!
//! What touches a file may block: it runs inside [`gmp_rt::blocking`].

use super::pipes::Pipe;
use super::probe::{Endpoint, endpoint};
use super::tally::Tally;
use crate::fd::{Descriptor, Direction, Left};
use gmp_rt::blocking;
use rustix::fs::{copy_file_range, sendfile};
use rustix::io::{Errno, retry_on_intr};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll, ready};

/// Most that one call reads of a file (Go: `maxSendfileSize`): it is not interrupted.
const FILE_PART: usize = 4 << 20;

/// How a copy in the kernel ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// At the end of the reader.
    AtEnd,
    /// These two cannot be joined in the kernel; these bytes were read and not written.
    Cannot(Vec<u8>),
}

/// A copy under way. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Direct {
    /// What was taken from the reader, and is not yet with the writer.
    filled: Option<Pipe>,
}

impl Direct {
    /// Goes on until the end of `reader`, or until the kernel cannot.
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
            ready!(tally.poll_go_on(cx));
            // Without descriptors for one it goes on through a buffer.
            let Ok(mut pipe) = Pipe::take() else {
                return Poll::Ready(Ok(Outcome::Cannot(Vec::new())));
            };
            let filled = from.poll_fd(Direction::Read, cx, &mut |from| {
                // Less than there is room for says nothing: room is counted in pages.
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

    /// Moves all that was taken to the writer; gives it back if that cannot be spliced to.
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
                    // Less than was offered says nothing: a signal may have come.
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

/// One move into a file. One that would block is a named pipe or a device: it is to be written to.
fn fill_file(pipe: &mut Pipe, to: &File) -> io::Result<usize> {
    let moved = retry_on_intr(|| blocking(|| pipe.empty(to)));
    Ok(moved.map_err(|error| if error == Errno::AGAIN { Errno::INVAL } else { error })?)
}

fn poll_sendfile(
    from: &File,
    to: &dyn Descriptor,
    cx: &mut Context<'_>,
    tally: &mut Tally,
) -> Poll<io::Result<Outcome>> {
    loop {
        ready!(tally.poll_go_on(cx));
        let sent = ready!(to.poll_fd(Direction::Write, cx, &mut |to| {
            let n = blocking(|| sendfile(to, from, None, FILE_PART))?;
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
        ready!(tally.poll_go_on(cx));
        let part = || copy_file_range(from, None, to, None, FILE_PART);
        match retry_on_intr(|| blocking(part)) {
            Ok(0) => return Poll::Ready(Ok(end_of_file(tally))),
            Ok(n) => tally.add(n),
            // File systems have reasons of all kinds. Both positions are right behind what was copied, so
            // reading and writing can go on there; and they say what is wrong, if it is not the call.
            Err(_) => return Poll::Ready(Ok(Outcome::Cannot(Vec::new()))),
        }
    }
}

/// An end that comes first of all may be a file that the kernel makes up as it is read, which some of
/// these calls take for an empty one.
fn end_of_file(tally: &Tally) -> Outcome {
    if tally.moved() == 0 { Outcome::Cannot(Vec::new()) } else { Outcome::AtEnd }
}

/// Whether an error says that the call is not for these two: then nothing was moved. `PERM` is what a
/// filter of system calls says.
fn is_refusal(error: &io::Error) -> bool {
    let refusals = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::PERM, Errno::SPIPE];
    Errno::from_io_error(error).is_some_and(|error| refusals.contains(&error))
}
