//! Accepts on systems without `accept4`.

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{SocketAddrAny, acceptfrom};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Accepts one connection. Also returns the address of the other end, if it has one.
pub(crate) fn accept(listener: impl AsFd) -> io::Result<(OwnedFd, Option<SocketAddrAny>)> {
    let (fd, peer) = acceptfrom(listener)?;
    fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
    fcntl_setfl(&fd, fcntl_getfl(&fd)? | OFlags::NONBLOCK)?;
    Ok((fd, peer))
}
