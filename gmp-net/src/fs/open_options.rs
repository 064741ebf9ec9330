//! How a file is opened.

use super::File;
use super::in_place::in_place;
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Options with which a [`File`] is opened, as [`std::fs::OpenOptions`] (Go: `os.OpenFile`).
///
/// # Examples
///
/// ```
/// use gmp_net::fs::{File, OpenOptions};
///
/// # gmp_rt::block_on(async {
/// let path = std::env::temp_dir().join(format!("gmp-new-{}", std::process::id()));
/// let file = OpenOptions::new().write(true).create_new(true).open(&path).await?;
/// // It exists now.
/// assert!(File::options().write(true).create_new(true).open(&path).await.is_err());
/// # drop(file);
/// # gmp_net::fs::remove_file(path).await
/// # }).unwrap();
/// ```
#[doc(alias = "OpenFile")]
#[derive(Clone, Debug)]
pub struct OpenOptions(fs::OpenOptions);

/// Defines the setters of an option.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        pub fn $name(&mut self, $name: $type) -> &mut Self {
            self.0.$name($name);
            self
        }
    )*};
}

impl OpenOptions {
    /// Creates a set of options. All are off.
    #[must_use]
    pub fn new() -> Self {
        Self(fs::OpenOptions::new())
    }

    setters! {
        /// Whether the file can be read.
        read: bool;
        /// Whether the file can be written.
        write: bool;
        /// Whether each write appends to the file.
        append: bool;
        /// Whether an existing file is emptied.
        truncate: bool;
        /// Whether the file is created if it does not exist.
        create: bool;
        /// Whether the file is created, and it is an error if it exists.
        create_new: bool;
        /// The permissions of a new file, before the umask takes some away. 0o666 by default.
        mode: u32;
        /// Further flags for `open(2)`.
        custom_flags: i32;
    }

    /// Opens a file.
    pub async fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        Ok(in_place(|| self.0.open(path)).await?.into())
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl From<fs::OpenOptions> for OpenOptions {
    fn from(options: fs::OpenOptions) -> Self {
        Self(options)
    }
}
