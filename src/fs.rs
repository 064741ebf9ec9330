//! Files and directories (Go: `os`). Each function is that of [`std::fs`], and so are its errors.
//!
//! A call runs in place, inside [`block_in_place`](crate::block_in_place): on the thread of the
//! goroutine, without a thread pool and without a copy of the buffer. If the call takes long, the
//! scheduler continues the other goroutines on another thread. So a read of a cached file costs
//! little more than the system call, and a path or buffer need not be `'static`.
//!
//! The other futures that the goroutine polls in the same `join!` or `select!` wait for the call.
//! [`spawn`](crate::spawn) them to run concurrently.
//!
//! Each small read or write of a [`File`] is a system call. [`BufReader`](crate::io::BufReader) and
//! [`BufWriter`](crate::io::BufWriter) make fewer.
//!
//! # Cancel safety
//!
//! A future that is dropped has either made its call or not. No call continues after a drop, and a
//! `timeout` cannot end a call that has begun.
//!
//! # Examples
//!
//! ```no_run
//! use gmp::fs::File;
//! use gmp::io::{AsyncWriteExt, BufWriter};
//!
//! #[gmp::main]
//! async fn main() -> gmp::io::Result<()> {
//!     let names = gmp::fs::read_to_string("names.txt").await?;
//!     let mut greetings = BufWriter::new(File::create("greetings.txt").await?);
//!     for name in names.lines() {
//!         greetings.write_all(format!("hello, {name}\n").as_bytes()).await?;
//!     }
//!     greetings.flush().await
//! }
//! ```

pub use gmp_net::fs::{
    DirEntry, File, OpenOptions, ReadDir, canonicalize, copy, create_dir, create_dir_all, exists,
    hard_link, metadata, read, read_dir, read_link, read_to_string, remove_dir, remove_dir_all,
    remove_file, rename, set_permissions, symlink, symlink_metadata, try_exists, write,
};
#[doc(no_inline)]
pub use gmp_net::fs::{FileTimes, FileType, Metadata, Permissions};
