//! What a handler rings for all listeners, where there is no eventfd: a pair of sockets.
//!
//! Every listener has the one end in the netpoller of its own runtime, under a number of its own,
//! edge-triggered: each byte written to the other end is an event for each of them. Whoever was told of a
//! signal takes the bytes out, so that there is room for more, and puts one in again: an event that
//! another runtime has not yet fetched stays one only while there is something to read. Since bytes are
//! taken only when there was news, this comes to rest.

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

    /// What a listener waits for, to be readable.
    pub(super) fn listen(&self) -> Result<OwnedFd, Errno> {
        fcntl_dupfd_cloexec(&self.hears, 3)
    }

    /// Tells all listeners. For handlers: one system call, which fails only if hundreds of signals were not
    /// heard, and then one more says nothing new.
    pub(super) fn ring(&self) {
        let _ = (&self.rings).write(&[0]);
    }

    /// A listener was told of a signal.
    pub(super) fn heard(&self) {
        while let Ok(1..) = (&self.hears).read(&mut [0; 256]) {}
        self.ring();
    }
}
