//! Writes of messages to stderr, for systems without `poll`. A full stderr may block the caller.

use std::io::Write;
use std::time::Duration;

/// Writes `message` and a line feed.
pub(crate) fn write_line(message: &str, _patience: Duration) {
    // One write, so that lines of several threads do not mix. A closed stderr is no error.
    let _ = std::io::stderr().write_all(format!("{message}\n").as_bytes());
}

/// Writes `text` as it is.
pub(crate) fn write_raw(text: &str, _patience: Duration) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
