//! The interface to the OS: events, and the differences between systems.
//!
//! `polling` registers descriptors on all systems. On Linux [`epoll`] waits directly on its epoll
//! descriptor with one system call. `Poller::wait` of polling 3.11 makes five each time
//! (timerfd_settime, epoll_ctl, epoll_pwait, read, epoll_ctl). `--cfg gmp_portable_poll` selects
//! the portable implementation, so that tests cover both.

#[cfg(target_os = "linux")]
#[path = "accept_linux.rs"]
pub(crate) mod accept;
#[cfg(not(target_os = "linux"))]
#[path = "accept_unix.rs"]
pub(crate) mod accept;

#[cfg(all(target_os = "linux", not(gmp_portable_poll)))]
#[expect(unsafe_code, reason = "registration, and a system call that rustix does not offer")]
mod epoll;
#[cfg(not(all(target_os = "linux", not(gmp_portable_poll))))]
#[expect(unsafe_code, reason = "registration")]
mod portable;

#[cfg(all(target_os = "linux", not(gmp_portable_poll)))]
pub(crate) use self::epoll::Os;
#[cfg(not(all(target_os = "linux", not(gmp_portable_poll))))]
pub(crate) use self::portable::Os;

use crate::poll::desc::EdgeKind;
use gmp_rt::task::park::lost_descriptor;
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::io;

/// Makes a send to a socket whose other end is gone return an error instead of raising SIGPIPE. On
/// Apple's systems this is an option of the socket, which std sets.
#[cfg(not(target_vendor = "apple"))]
pub(crate) const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
pub(crate) const NO_SIGNAL: SendFlags = SendFlags::empty();

/// Maximum number of buffers in one call. `IOV_MAX` is 1024 on these systems; POSIX requires 16.
pub(crate) const MOST_BUFFERS: usize = 1024;

/// What an event reports for each direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) key: usize,
    pub(crate) read: Option<EdgeKind>,
    pub(crate) write: Option<EdgeKind>,
}

/// Whether an error says that a descriptor of the poller is closed, or belongs to another file.
fn is_lost(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::BADF | Errno::INVAL))
}

/// Ends the process if `error`, of a system call with the poller's own descriptors, says that they
/// are lost. The poll would fail for ever, and no goroutine would run again.
#[cold]
fn end_if_lost(call: &str, error: &io::Error) {
    if is_lost(error) {
        lost_descriptor(call, error);
    }
}

/// Maximum number of events in one call. Chosen.
const EVENTS: usize = 256;
