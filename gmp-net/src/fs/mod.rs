//! Files and directories (Go: `os`). Each function is that of [`std::fs`], and so are its errors.
//!
//! A call runs in place, inside [`gmp::block_in_place`](gmp_rt::block_in_place): on the thread of
//! the goroutine, without a thread pool and without a copy of the buffer. If the call takes long,
//! the scheduler continues the other goroutines on another thread. So a read of a cached file costs
//! little more than the system call, and a path or buffer need not be `'static`.
//!
//! The future that makes the call waits for nothing but the time slice of its goroutine. The other
//! futures that the goroutine polls in the same `join!` or `select!` wait for the call.
//! [`spawn`](gmp_rt::spawn) them to run concurrently.
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
//! ```
//! use gmp_net::fs;
//!
//! # gmp_rt::block_on(async {
//! let dir = std::env::temp_dir().join(format!("gmp-fs-{}", std::process::id()));
//! fs::create_dir_all(&dir).await?;
//! fs::write(dir.join("greeting"), "hello").await?;
//! assert_eq!(fs::read_to_string(dir.join("greeting")).await?, "hello");
//! fs::remove_dir_all(&dir).await?;
//! # std::io::Result::Ok(())
//! # }).unwrap();
//! ```

mod calls;
mod dir;
mod file;
mod in_place;
mod open_options;

pub use self::calls::{
    canonicalize, copy, create_dir, create_dir_all, exists, hard_link, metadata, read, read_link,
    read_to_string, remove_dir, remove_dir_all, remove_file, rename, set_permissions, symlink,
    symlink_metadata, try_exists, write,
};
pub use self::dir::{DirEntry, ReadDir, read_dir};
pub use self::file::File;
pub use self::open_options::OpenOptions;
#[doc(no_inline)]
pub use std::fs::{FileTimes, FileType, Metadata, Permissions};
