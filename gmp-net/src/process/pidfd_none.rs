//! Systems without descriptors of processes.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Returns an error.
pub(super) fn open(_pid: u32) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns an error.
pub(super) fn send(_pidfd: BorrowedFd<'_>, _signal: libc::c_int) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
