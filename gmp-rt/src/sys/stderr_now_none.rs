//! For systems without a flag for writes that do not wait.

use super::Way;
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Returns the only way.
pub(super) fn way(_fd: BorrowedFd<'_>) -> Way {
    Way::Poll
}

/// Returns an error: there is no flag.
pub(super) fn write(_fd: BorrowedFd<'_>, _piece: &[u8]) -> Result<usize, Errno> {
    Err(Errno::OPNOTSUPP)
}
