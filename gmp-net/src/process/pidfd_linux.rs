//! Descriptors of processes (Linux 5.3).
//!
//! # Invariant
//!
//! - I1: the call gets no pointer to memory.

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// Returns a descriptor of the child `pid`, which was not yet reaped.
pub(super) fn open(pid: u32) -> io::Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Sends a signal.
pub(super) fn send(pidfd: BorrowedFd<'_>, signal: libc::c_int) -> io::Result<()> {
    let (fd, no_info) = (pidfd.as_raw_fd(), std::ptr::null::<libc::siginfo_t>());
    // SAFETY: I1.
    match unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, no_info, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
