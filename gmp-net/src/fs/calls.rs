//! The functions on paths.

use super::in_place::in_place;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix;
use std::path::{Path, PathBuf};

/// Reads a file (Go: `os.ReadFile`).
///
/// # Examples
///
/// ```
/// # gmp_rt::block_on(async {
/// let bytes = gmp_net::fs::read("Cargo.toml").await?;
/// assert!(bytes.starts_with(b"[package]"));
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[doc(alias("ReadFile", "os.ReadFile"))]
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    in_place(|| fs::read(path)).await
}

/// Reads a file that has to be UTF-8. The error is `InvalidData` if it is not.
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    in_place(|| fs::read_to_string(path)).await
}

/// Writes `data` to a file, which is created or replaced (Go: `os.WriteFile`).
#[doc(alias("WriteFile", "os.WriteFile"))]
pub async fn write(path: impl AsRef<Path>, data: impl AsRef<[u8]>) -> io::Result<()> {
    in_place(|| fs::write(path, data)).await
}

/// Returns size, times, kind and permissions of a file (Go: `os.Stat`). Follows symbolic links.
#[doc(alias = "Stat")]
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    in_place(|| fs::metadata(path)).await
}

/// Returns the same for a symbolic link itself (Go: `os.Lstat`).
#[doc(alias = "Lstat")]
pub async fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    in_place(|| fs::symlink_metadata(path)).await
}

/// Whether a file exists. An error is returned, such as a directory that must not be searched.
pub async fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    in_place(|| path.as_ref().try_exists()).await
}

/// Whether a file exists. `false` if an error prevents the answer: see [`try_exists`].
pub async fn exists(path: impl AsRef<Path>) -> bool {
    try_exists(path).await.unwrap_or(false)
}

/// Returns the absolute path of a file, without symbolic links (Go: `filepath.EvalSymlinks`).
#[doc(alias = "EvalSymlinks")]
pub async fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    in_place(|| fs::canonicalize(path)).await
}

/// Copies a file with its permissions, in the kernel if possible. Returns the number of bytes.
///
/// [`io::copy`](crate::io::copy) copies from any reader to any writer.
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    in_place(|| fs::copy(from, to)).await
}

/// Creates a directory in an existing one (Go: `os.Mkdir`).
#[doc(alias = "Mkdir")]
pub async fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    in_place(|| fs::create_dir(path)).await
}

/// Creates a directory and all that lead to it, if they do not exist (Go: `os.MkdirAll`).
#[doc(alias("MkdirAll", "mkdir_all"))]
pub async fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    in_place(|| fs::create_dir_all(path)).await
}

/// Creates another name of a file (Go: `os.Link`).
#[doc(alias = "Link")]
pub async fn hard_link(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    in_place(|| fs::hard_link(original, link)).await
}

/// Creates a symbolic link that contains the path `original` (Go: `os.Symlink`).
#[doc(alias = "Symlink")]
pub async fn symlink(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    in_place(|| unix::fs::symlink(original, link)).await
}

/// Returns the path in a symbolic link (Go: `os.Readlink`).
#[doc(alias = "Readlink")]
pub async fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    in_place(|| fs::read_link(path)).await
}

/// Removes an empty directory.
pub async fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    in_place(|| fs::remove_dir(path)).await
}

/// Removes a directory and everything in it (Go: `os.RemoveAll`). Follows no symbolic links.
#[doc(alias = "RemoveAll")]
pub async fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    in_place(|| fs::remove_dir_all(path)).await
}

/// Removes a file (Go: `os.Remove`).
#[doc(alias("Remove", "unlink"))]
pub async fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    in_place(|| fs::remove_file(path)).await
}

/// Renames or moves a file inside of its file system. Replaces a file at `to`.
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    in_place(|| fs::rename(from, to)).await
}

/// Sets the permissions of a file (Go: `os.Chmod`).
#[doc(alias = "Chmod")]
pub async fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    in_place(|| fs::set_permissions(path, permissions)).await
}
