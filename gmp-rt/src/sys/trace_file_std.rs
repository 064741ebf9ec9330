//! The file of a trace, for systems without FIFOs in the file system.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The file of a trace.
#[derive(Debug)]
pub(crate) struct TraceFile(File);

impl TraceFile {
    /// Creates the file `path`, or empties it.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        File::create(path).map(Self)
    }
}

impl Write for TraceFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
