//! Writes that do not wait, by a flag of the call (Linux).

use super::Way;
use rustix::fs::FileType;
use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

/// The position of the file, as in `write`.
const HERE: u64 = u64::MAX;

/// Returns the way for `fd`. A regular file is written without the flag: a file system may refuse a
/// write for which it would not wait long.
pub(super) fn way(fd: BorrowedFd<'_>) -> Way {
    let kind = rustix::fs::fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
    match kind {
        Ok(FileType::Fifo | FileType::Socket) => Way::Flag,
        _ => Way::Poll,
    }
}

/// Writes `piece`, or a part of it, if that needs no wait.
pub(super) fn write(fd: BorrowedFd<'_>, piece: &[u8]) -> Result<usize, Errno> {
    pwritev2(fd, &[IoSlice::new(piece)], HERE, ReadWriteFlags::NOWAIT)
}
