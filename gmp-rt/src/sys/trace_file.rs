//! The file of a trace, which is opened without waiting for its reader (Unix).
//!
//! The open of a FIFO waits for its first reader, which may never come. So a FIFO without a reader
//! is opened by the thread that writes, at its first write.

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file of a trace. See the [module](self).
#[derive(Debug)]
pub(crate) enum TraceFile {
    Open(File),
    /// A FIFO without a reader.
    Unopened(PathBuf),
}

impl TraceFile {
    /// Creates the file `path`, or empties it.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        match options.custom_flags(OFlags::NONBLOCK.bits() as i32).open(path) {
            Ok(file) => {
                fcntl_setfl(&file, OFlags::empty())?;
                Ok(Self::Open(file))
            }
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                Ok(Self::Unopened(path.to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the file. Waits for the reader of a FIFO.
    fn file(&mut self) -> io::Result<&mut File> {
        if let Self::Unopened(path) = self {
            *self = Self::Open(OpenOptions::new().write(true).open(path)?);
        }
        match self {
            Self::Open(file) => Ok(file),
            Self::Unopened(_) => unreachable!("it was opened"),
        }
    }
}

impl Write for TraceFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.file()?.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file()?.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_file_is_emptied_and_a_fifo_gets_what_is_written_before_its_reader_comes() {
        let folder = std::env::temp_dir().join(format!("gmp-trace-file-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let (plain, fifo) = (folder.join("plain"), folder.join("fifo"));
        std::fs::write(&plain, "what was there before").unwrap();
        let mut file = TraceFile::create(&plain).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&plain).unwrap(), "new");
        let TraceFile::Open(file) = file else { panic!("a plain file has no reader") };
        let flags = rustix::fs::fcntl_getfl(&file).unwrap();
        assert!(!flags.contains(OFlags::NONBLOCK), "{flags:?}");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let mut file = TraceFile::create(&fifo).unwrap();
        let writes = std::thread::spawn(move || file.write_all(b"late"));
        let mut text = String::new();
        File::open(&fifo).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "late");
        writes.join().unwrap().unwrap();
        assert!(TraceFile::create(&folder.join("none/file")).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
