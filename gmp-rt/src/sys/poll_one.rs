//! `poll` of one descriptor, also without a free descriptor.
//!
//! Linux refuses a `poll` of more descriptors than `RLIMIT_NOFILE` allows. A sandbox sets this
//! limit to 0, and the descriptors that are open stay usable. `select` does not check the limit.
//!
//! # Invariants
//!
//! - I1: `select` accesses no memory but the sets that it gets, and no descriptor but the one in
//!   them, which is borrowed.

use rustix::event::{
    FdSetElement, PollFd, PollFlags, Timespec, fd_set_insert, fd_set_num_elements, poll, select,
};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};

/// What the caller wants to do without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// To read, or to find the end or an error.
    Read,
    /// To write, or to find an error.
    Write,
}

/// A set of this length is not allocated, because the child of a fork must not allocate. It has all
/// descriptors below 64, and so stderr.
const FEW: usize = if size_of::<FdSetElement>() == 8 { 1 } else { 2 };

/// Waits until the operation on `fd` would not wait. Returns `false` if it still would after
/// `wait`. Allocates nothing for a descriptor below 64.
///
/// # Errors
///
/// `INTR` if a signal has ended the wait.
pub fn poll_one(fd: BorrowedFd<'_>, wanted: Wanted, wait: &Timespec) -> Result<bool, Errno> {
    let events = match wanted {
        Wanted::Read => PollFlags::IN,
        Wanted::Write => PollFlags::OUT,
    };
    match poll(&mut [PollFd::from_borrowed_fd(fd, events)], Some(wait)) {
        Err(Errno::INVAL) => select_one(fd, wanted, wait),
        ready => ready.map(|n| n > 0),
    }
}

/// Polls, as [`poll_one`], by `select`.
fn select_one(fd: BorrowedFd<'_>, wanted: Wanted, wait: &Timespec) -> Result<bool, Errno> {
    let fd = fd.as_raw_fd();
    let (mut few, mut many) = ([FdSetElement::default(); FEW], Vec::new());
    let set = match fd_set_num_elements(1, fd + 1) {
        n if n <= FEW => &mut few[..n],
        n => {
            many.resize(n, FdSetElement::default());
            &mut many[..]
        }
    };
    fd_set_insert(set, fd);
    let (read, write) = match wanted {
        Wanted::Read => (Some(set), None),
        Wanted::Write => (None, Some(set)),
    };
    // SAFETY: I1.
    let ready = unsafe { select(fd + 1, read, write, None, Some(wait))? };
    Ok(ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;

    /// Asserts that both ways give the same result without waiting.
    fn is_ready(fd: impl AsFd, wanted: Wanted) -> bool {
        let none = Timespec::default();
        let ready = poll_one(fd.as_fd(), wanted, &none);
        assert_eq!(ready, select_one(fd.as_fd(), wanted, &none));
        ready.unwrap()
    }

    #[test]
    fn select_agrees_with_poll() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        assert!(!is_ready(&reader, Wanted::Read) && is_ready(&writer, Wanted::Write));
        // A pipe is full when less than a page is free.
        while is_ready(&writer, Wanted::Write) {
            writer.write_all(&[b'x'; 4096]).unwrap();
        }
        assert!(is_ready(&reader, Wanted::Read));
        drop(reader);
        assert!(is_ready(&writer, Wanted::Write), "an error");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(writer);
        assert!(is_ready(&reader, Wanted::Read), "the end");
    }
}
