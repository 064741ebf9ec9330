//! A signal to a process by its number.
//!
//! # Invariant
//!
//! - I1: the call gets no pointer to memory.

use std::io;

/// Sends a signal to the child `pid`, which was not yet reaped. So the number is still its own.
pub(super) fn kill(pid: u32, signal: libc::c_int) -> io::Result<()> {
    // A process number of 0 or below stands for a group of processes.
    let pid = libc::pid_t::try_from(pid).ok().filter(|&pid| pid > 0);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: I1.
    match unsafe { libc::kill(pid, signal) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
