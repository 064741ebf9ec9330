//! How the OS is asked for events, and where systems differ in sockets.
//!
//! `polling` registers descriptors everywhere. On Linux the waiting is done directly on its epoll
//! descriptor: `Poller::wait` of polling 3.11 makes five system calls each time (timerfd_settime, epoll_ctl,
//! epoll_pwait, read, epoll_ctl), [`epoll`] makes one. `--cfg gmp_portable_poll` forces the portable way, so
//! that tests run both.

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

use crate::poll_desc::Tells;
use rustix::net::SendFlags;

/// Sending to a socket whose other end is gone is an error, not a signal. On Apple's systems that is
/// an option of the socket, which std sets.
#[cfg(not(target_vendor = "apple"))]
pub(crate) const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
pub(crate) const NO_SIGNAL: SendFlags = SendFlags::empty();

/// Most buffers the OS takes in one call (`IOV_MAX`: 1024 on all, and at least 16 by POSIX).
pub(crate) const MOST_BUFFERS: usize = 1024;

/// What an event tells of each direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) key: usize,
    pub(crate) read: Option<Tells>,
    pub(crate) write: Option<Tells>,
}

/// Most events taken in one call.
const EVENTS: usize = 256;
