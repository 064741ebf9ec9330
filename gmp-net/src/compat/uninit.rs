//! Reads into uninitialised memory, for the traits of tokio and hyper.

use crate::fd::{Left, Tried};
use rustix::net::RecvFlags;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

/// Tries to read from a stream socket into the beginning of `buf`. Uses `recv`, which is faster
/// than `read` on a socket.
pub(crate) fn read(io: impl AsFd, buf: &mut [MaybeUninit<u8>]) -> Tried<usize> {
    let wanted = buf.len();
    let ((filled, _), _) = rustix::net::recv(io, buf, RecvFlags::empty())?;
    Ok((filled.len(), Left::of(filled.len(), wanted)))
}
