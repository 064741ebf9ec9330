//! For systems without SIGQUIT.

use std::io;

/// Does nothing.
pub(crate) fn watch(_act: fn()) -> io::Result<()> {
    Ok(())
}

/// Writes to stderr.
pub(crate) fn write_stderr(text: &str) {
    use std::io::Write;
    let _ = io::stderr().write_all(text.as_bytes());
}
