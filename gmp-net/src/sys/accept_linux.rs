//! Accepts with one system call: the new descriptor is non-blocking from the start.

use rustix::net::{SocketAddrAny, SocketFlags, acceptfrom_with};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Accepts one connection. Also returns the address of the other end, if it has one.
pub(crate) fn accept(listener: impl AsFd) -> io::Result<(OwnedFd, Option<SocketAddrAny>)> {
    Ok(acceptfrom_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?)
}
