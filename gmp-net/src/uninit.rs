//! Reading into memory that is not initialised, for the traits of others.

use crate::fd::{Left, Tried};
use rustix::net::RecvFlags;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

/// One try to read from a stream socket; what was read is at the beginning of `buf`. By `recv`, which is one
/// twelfth faster than `read` on a socket.
pub(crate) fn read(io: impl AsFd, buf: &mut [MaybeUninit<u8>]) -> Tried<usize> {
    let wanted = buf.len();
    let ((filled, _), _) = rustix::net::recv(io, buf, RecvFlags::empty())?;
    Ok((filled.len(), Left::of(filled.len(), wanted)))
}
