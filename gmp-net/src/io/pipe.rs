//! Pipes of the OS, which the netpoller waits for.

use crate::fd::{Descriptor, Direction, Fd, Tried, set_nonblocking};
use crate::pipe_macros::{self, reading_end, writing_end};
use crate::poll::desc::Trust;
use futures::io::{AsyncRead, AsyncWrite};
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};
use std::time::Instant;

reading_end! {
    /// The end of a pipe of the OS that is read. Created by [`pipe`].
    ///
    /// `TryFrom<OwnedFd>` wraps another pipe, such as a FIFO. `TryFrom<PipeReader>` for [`Stdio`]
    /// passes the end to a child process.
    PipeReader
}

writing_end! {
    /// The end of a pipe of the OS that is written. Created by [`pipe`].
    ///
    /// Dropping it, or [`close`](futures::io::AsyncWriteExt::close), closes the pipe: the reader
    /// reads its end. `TryFrom<PipeWriter>` for [`Stdio`] passes the end to a child process.
    PipeWriter
}

/// Creates a pipe of the OS (Go: `os.Pipe`). A goroutine that waits for it holds no thread.
///
/// A pipe inside of the program is rarely the fastest way: [`duplex`](super::duplex()) needs no
/// system calls.
///
/// # Errors
///
/// If there are no descriptors left.
///
/// # Examples
///
/// ```
/// # gmp_rt::block_on(async {
/// let (reader, writer) = gmp_net::io::pipe()?;
/// gmp_rt::spawn(async move { writer.write_all(b"ping").await });
/// let mut text = Vec::new();
/// reader.read_to_end(&mut text).await?;
/// assert_eq!(text, b"ping");
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[doc(alias = "os.Pipe")]
pub fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    Ok((OwnedFd::from(reader).try_into()?, OwnedFd::from(writer).try_into()?))
}
