//! How the netpoller learns that a child has ended.

use super::{kill, pidfd};
use crate::fd::Fd;
use crate::poll::desc::Trust;
use crate::signal::{Signal, SignalKind, signal};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// An event after which the status of a child is asked for.
#[derive(Debug)]
pub(super) enum Exit {
    /// Comes once, at the end of this child.
    Pidfd(Fd<OwnedFd>),
    /// Comes when any child has ended or stopped.
    Sigchld(Signal),
}

impl Exit {
    /// Registers the child `pid` with the caller's runtime.
    ///
    /// An old kernel or a filter of system calls can refuse a pidfd. If the process is out of
    /// descriptors, the listener for SIGCHLD gets none either and returns the error.
    pub(super) fn watch(pid: u32) -> io::Result<Self> {
        match pidfd::open(pid).and_then(|fd| Fd::new(fd, Trust::WouldBlock)) {
            Ok(fd) => Ok(Self::Pidfd(fd)),
            Err(_) => Ok(Self::Sigchld(signal(SignalKind::child())?)),
        }
    }

    /// Returns the descriptor with the event. Call it before the status is asked for: an event that
    /// comes later then makes the wait end.
    pub(super) fn event(&mut self) -> &Fd<OwnedFd> {
        match self {
            Self::Pidfd(fd) => fd,
            Self::Sigchld(signal) => {
                signal.catch_up();
                signal.bell()
            }
        }
    }

    /// Sends a signal to the child `pid`, which was not yet reaped.
    pub(super) fn send(&self, pid: u32, signal: libc::c_int) -> io::Result<()> {
        if let Self::Pidfd(fd) = self {
            let sent = pidfd::send(fd.as_fd(), signal);
            // A filter of system calls may know the one and refuse the other.
            let refused = |error: &io::Error| {
                matches!(Errno::from_io_error(error), Some(Errno::NOSYS | Errno::PERM))
            };
            if !sent.as_ref().is_err_and(refused) {
                return sent;
            }
        }
        kill::kill(pid, signal)
    }
}
