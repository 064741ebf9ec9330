//! The entries of a directory.

use super::in_place::in_place;
use futures::Stream;
use gmp_rt::block_in_place;
use gmp_rt::task::park::poll_proceed;
use std::ffi::OsString;
use std::fs::{self, FileType, Metadata};
use std::future::poll_fn;
use std::io;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The entries of a directory, a [`Stream`]. Created by [`read_dir`].
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct ReadDir {
    entries: fs::ReadDir,
}

/// Reads a directory (Go: `os.ReadDir`). The order of the entries is that of the file system.
///
/// # Examples
///
/// ```
/// # gmp_rt::block_on(async {
/// let mut entries = gmp_net::fs::read_dir("src").await?;
/// let mut names = Vec::new();
/// while let Some(entry) = entries.next_entry().await? {
///     names.push(entry.file_name());
/// }
/// assert!(names.contains(&"lib.rs".into()));
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[doc(alias = "Readdir")]
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    Ok(ReadDir { entries: in_place(|| fs::read_dir(path)).await? })
}

impl ReadDir {
    /// Returns the next entry, `None` at the end. `.` and `..` are left out.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped call has taken no entry.
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        poll_fn(|cx| self.poll_entry(cx)).await.transpose()
    }

    fn poll_entry(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<DirEntry>>> {
        ready!(poll_proceed(cx));
        let entry = block_in_place(|| self.entries.next());
        Poll::Ready(entry.map(|entry| entry.map(DirEntry)))
    }
}

impl Stream for ReadDir {
    type Item = io::Result<DirEntry>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_entry(cx)
    }
}

/// An entry of a directory. Created by [`ReadDir`].
#[derive(Debug)]
pub struct DirEntry(fs::DirEntry);

impl DirEntry {
    /// Returns the path: that of the directory and the name.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.0.path()
    }

    /// Returns the name.
    #[must_use]
    pub fn file_name(&self) -> OsString {
        self.0.file_name()
    }

    /// Returns the number of the file in its file system.
    #[must_use]
    pub fn ino(&self) -> u64 {
        self.0.ino()
    }

    /// Returns the kind of the file. Needs no system call on most file systems.
    pub async fn file_type(&self) -> io::Result<FileType> {
        in_place(|| self.0.file_type()).await
    }

    /// Returns size, times, kind and permissions. Does not follow a symbolic link.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        in_place(|| self.0.metadata()).await
    }
}
