//! For systems without `fork`.

use std::io;

/// Returns 0.
#[inline]
pub(crate) fn forks() -> u32 {
    0
}

/// Does nothing.
pub(crate) fn count() {}

/// Does nothing.
pub(crate) fn in_child(_handler: extern "C" fn()) -> io::Result<()> {
    Ok(())
}

/// Ends the process.
pub(crate) fn exit_child() -> ! {
    std::process::exit(2)
}
