//! Notifies all signal listeners from a handler, on systems without eventfd: a pair of sockets.
//!
//! Every listener registers a duplicate of one end, edge-triggered, in the netpoller of its own
//! runtime. Each byte written to the other end is an event for each listener.
//!
//! A listener that receives a signal reads all bytes, to make room for more, and writes one again.
//! The reason: another runtime may not have polled the event yet, and the event persists only while
//! there is something to read. A listener does so only after its signal count has changed, so this
//! ends.

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Bell {
    rings: UnixStream,
    hears: UnixStream,
}

impl Bell {
    pub(super) fn new() -> io::Result<Self> {
        let (rings, hears) = UnixStream::pair()?;
        rings.set_nonblocking(true)?;
        hears.set_nonblocking(true)?;
        Ok(Self { rings, hears })
    }

    /// Returns a descriptor that is readable after a signal.
    pub(super) fn listen(&self) -> Result<OwnedFd, Errno> {
        fcntl_dupfd_cloexec(&self.hears, 3)
    }

    /// Wakes all listeners. Safe in a handler: one system call. It fails only if the buffer is
    /// full. Then the listeners have events pending, and one more changes nothing.
    pub(super) fn ring(&self) {
        let _ = (&self.rings).write(&[0]);
    }

    /// Called when a listener has received a signal.
    pub(super) fn heard(&self) {
        while let Ok(1..) = (&self.hears).read(&mut [0; 256]) {}
        self.ring();
    }
}
