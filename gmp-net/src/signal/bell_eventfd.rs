//! What a handler rings for all listeners (Linux): one eventfd, never read.
//!
//! Every listener has it in the netpoller of its own runtime, under a number of its own, edge-triggered.
//! So each write is an event for each of them, as long as nobody takes the count out. It would take
//! centuries of signals to overflow.

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

    /// What a listener waits for, to be readable.
    pub(super) fn listen(&self) -> Result<OwnedFd, Errno> {
        fcntl_dupfd_cloexec(&self.0, 3)
    }

    /// Tells all listeners. For handlers: one system call, without `errno`.
    pub(super) fn ring(&self) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// A listener was told of a signal.
    #[expect(clippy::unused_self, reason = "the same call on all systems")]
    pub(super) fn heard(&self) {}
}
