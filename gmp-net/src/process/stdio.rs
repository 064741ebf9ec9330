//! The pipes to and from a child.

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

writing_end! {
    /// The pipe to the standard input of a child. [`Child::stdin`](super::Child::stdin) has it.
    ///
    /// Dropping it, or [`close`](futures::io::AsyncWriteExt::close), is the end of the child's
    /// input. If the child has closed its input or has ended, a write returns `BrokenPipe`.
    ChildStdin
}

reading_end! {
    /// The pipe from the standard output of a child. [`Child::stdout`](super::Child::stdout) has
    /// it.
    ///
    /// The end comes when no process has the other end: not the child, and no process that it has
    /// started. `TryFrom<ChildStdout>` for [`Stdio`] makes it the input of another child.
    ChildStdout
}

reading_end! {
    /// The pipe from the standard error of a child. [`Child::stderr`](super::Child::stderr) has it.
    ///
    /// See [`ChildStdout`].
    ChildStderr
}
