//! For systems without SIGQUIT.

use std::io;

/// Does nothing.
pub(crate) fn watch(_act: fn()) -> io::Result<()> {
    Ok(())
}
