//! Reading into memory that is not initialised, for the traits of others.

use crate::fd::{Left, Tried};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

/// One try to read from a stream; what was read is at the beginning of `buf`.
pub(crate) fn read(io: impl AsFd, buf: &mut [MaybeUninit<u8>]) -> Tried<usize> {
    let wanted = buf.len();
    let (filled, _) = rustix::io::read(io, buf)?;
    Ok((filled.len(), Left::of(filled.len(), wanted)))
}
