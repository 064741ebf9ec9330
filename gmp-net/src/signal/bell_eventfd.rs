//! Notifies all signal listeners from a handler (Linux): one eventfd that is never read.
//!
//! Every listener registers a duplicate of it, edge-triggered, in the netpoller of its own runtime.
//! As long as the counter is not read, each write is an event for each listener. The 64-bit counter
//! cannot overflow in practice.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use std::os::fd::OwnedFd;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Bell(OwnedFd);

impl Bell {
    pub(super) fn new() -> Result<Self, Errno> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Self)
    }

    /// Returns a descriptor that is readable after a signal.
    pub(super) fn listen(&self) -> Result<OwnedFd, Errno> {
        fcntl_dupfd_cloexec(&self.0, 3)
    }

    /// Wakes all listeners. Safe in a handler: one system call, which does not change `errno`.
    pub(super) fn ring(&self) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Does nothing when a listener has received a signal.
    #[expect(clippy::unused_self, reason = "the same call on all systems")]
    pub(super) fn heard(&self) {}
}
