//! An open file.

use super::OpenOptions;
use super::in_place::{in_place, repeated};
use crate::io::Blocking;
use futures::io::{AsyncRead, AsyncSeek, AsyncWrite};
use std::fmt;
use std::fs::{self, FileTimes, Metadata, Permissions};
use std::io::{self, IoSlice, IoSliceMut, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};

/// An open file (Go: `os.File`).
///
/// It is read and written by the traits of [`gmp::io`](crate::io), and by
/// [`read_at`](Self::read_at) and [`write_at`](Self::write_at), which use no position. The traits
/// are also implemented for `&File`. All references to a file and its clones share one position.
///
/// There is no buffer. A write that has returned is in the OS, and its error is the error of this
/// write. Nothing is lost if a file is dropped without a flush. [`sync_all`](Self::sync_all) waits
/// for the disk.
///
/// # Examples
///
/// ```
/// use gmp_net::fs::File;
/// use gmp_net::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, SeekFrom};
///
/// # gmp_rt::block_on(async {
/// let path = std::env::temp_dir().join(format!("gmp-file-{}", std::process::id()));
/// let mut file = File::options().read(true).write(true).create(true).open(&path).await?;
/// file.write_all(b"hello, world").await?;
/// file.seek(SeekFrom::Start(7)).await?;
/// let mut text = String::new();
/// file.read_to_string(&mut text).await?;
/// assert_eq!(text, "world");
/// # gmp_net::fs::remove_file(path).await
/// # }).unwrap();
/// ```
#[doc(alias = "os.File")]
pub struct File {
    io: Blocking<fs::File>,
}

impl File {
    /// Opens a file to read it (Go: `os.Open`).
    pub async fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(in_place(|| fs::File::open(path)).await?.into())
    }

    /// Opens a file to write it (Go: `os.Create`). Creates it, or empties an existing one.
    pub async fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(in_place(|| fs::File::create(path)).await?.into())
    }

    /// Creates a file to read and write it. The error is `AlreadyExists` if it exists.
    pub async fn create_new(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(in_place(|| fs::File::create_new(path)).await?.into())
    }

    /// Returns options for another way to open a file.
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Reads at most `buf.len()` bytes from the offset `at` (Go: `File.ReadAt`). Returns 0 at the
    /// end of the file.
    #[doc(alias("ReadAt", "pread"))]
    pub async fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        repeated(|| self.as_std().read_at(buf, at)).await
    }

    /// Writes a part of `buf` at the offset `at` (Go: `File.WriteAt`). Returns the number of bytes.
    #[doc(alias("WriteAt", "pwrite"))]
    pub async fn write_at(&self, buf: &[u8], at: u64) -> io::Result<usize> {
        repeated(|| self.as_std().write_at(buf, at)).await
    }

    /// Waits until the disk has the content and the metadata (Go: `File.Sync`).
    #[doc(alias("Sync", "fsync"))]
    pub async fn sync_all(&self) -> io::Result<()> {
        in_place(|| self.as_std().sync_all()).await
    }

    /// Waits until the disk has the content.
    #[doc(alias = "fdatasync")]
    pub async fn sync_data(&self) -> io::Result<()> {
        in_place(|| self.as_std().sync_data()).await
    }

    /// Sets the size (Go: `File.Truncate`). A larger file is filled with zeros.
    #[doc(alias("Truncate", "ftruncate"))]
    pub async fn set_len(&self, size: u64) -> io::Result<()> {
        in_place(|| self.as_std().set_len(size)).await
    }

    /// Returns size, times, kind and permissions (Go: `File.Stat`).
    pub async fn metadata(&self) -> io::Result<Metadata> {
        in_place(|| self.as_std().metadata()).await
    }

    /// Sets the permissions.
    pub async fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        in_place(|| self.as_std().set_permissions(permissions)).await
    }

    /// Sets the times of the last access and change.
    pub async fn set_times(&self, times: FileTimes) -> io::Result<()> {
        in_place(|| self.as_std().set_times(times)).await
    }

    /// Returns another handle to the same open file. Both share one position.
    pub async fn try_clone(&self) -> io::Result<Self> {
        Ok(in_place(|| self.as_std().try_clone()).await?.into())
    }

    /// Wraps a file of the standard library. [`From`] does the same.
    #[must_use]
    pub const fn from_std(file: fs::File) -> Self {
        Self { io: Blocking::new(file) }
    }

    /// Returns the file of the standard library. No call is in progress.
    #[must_use]
    pub fn into_std(self) -> fs::File {
        self.io.into_inner()
    }

    /// Returns the file of the standard library.
    pub(crate) const fn as_std(&self) -> &fs::File {
        self.io.get_ref()
    }

    /// Returns a reader and writer for this reference.
    const fn shared(&self) -> Blocking<&fs::File> {
        Blocking::new(self.as_std())
    }
}

impl AsyncRead for &File {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.shared()).poll_read(cx, buf)
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.shared()).poll_read_vectored(cx, bufs)
    }
}

impl AsyncWrite for &File {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.shared()).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.shared()).poll_write_vectored(cx, bufs)
    }

    /// Does nothing: there is no buffer.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does nothing: there is no buffer, and a drop closes the file.
    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncSeek for &File {
    fn poll_seek(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pos: SeekFrom,
    ) -> Poll<io::Result<u64>> {
        Pin::new(&mut self.shared()).poll_seek(cx, pos)
    }
}

impl AsyncRead for File {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_read(cx, buf)
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_read_vectored(cx, bufs)
    }
}

impl AsyncWrite for File {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_write_vectored(cx, bufs)
    }

    /// Does nothing: there is no buffer.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does nothing: there is no buffer, and a drop closes the file.
    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncSeek for File {
    fn poll_seek(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pos: SeekFrom,
    ) -> Poll<io::Result<u64>> {
        Pin::new(&mut &*self).poll_seek(cx, pos)
    }
}

impl From<fs::File> for File {
    fn from(file: fs::File) -> Self {
        Self::from_std(file)
    }
}

impl From<File> for fs::File {
    fn from(file: File) -> Self {
        file.into_std()
    }
}

impl From<OwnedFd> for File {
    fn from(fd: OwnedFd) -> Self {
        Self::from_std(fd.into())
    }
}

impl From<File> for OwnedFd {
    fn from(file: File) -> Self {
        file.into_std().into()
    }
}

/// Passes the file to a child process.
impl From<File> for Stdio {
    fn from(file: File) -> Self {
        file.into_std().into()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.as_std().as_fd()
    }
}

impl AsRawFd for File {
    fn as_raw_fd(&self) -> RawFd {
        self.as_std().as_raw_fd()
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_std().fmt(f)
    }
}
