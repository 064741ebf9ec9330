//! The names that most programs use, for `use gmp::prelude::*`.
//!
//! The extension traits of readers, writers, streams and sinks are in scope without their names.
//! With them `stream.split()` is the method of `AsyncReadExt`: see [`gmp::io`](crate::io).
//!
//! It hides no name of the standard prelude.
//!
//! # Examples
//!
//! ```
//! use gmp::prelude::*;
//!
//! #[gmp::main]
//! async fn main() {
//!     let (tx, rx) = chan(1);
//!     go!({ tx.send("hello").await.unwrap() });
//!     select! {
//!         text = rx.recv() => assert_eq!(text, Ok("hello")),
//!         _ = gmp::sleep(Duration::from_secs(60)) => unreachable!(),
//!     }
//! }
//! ```

#[doc(no_inline)]
pub use crate::chan;
#[doc(no_inline)]
pub use crate::context::Context;
#[cfg(unix)]
#[doc(no_inline)]
pub use crate::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, LinesExt as _};
#[doc(no_inline)]
pub use crate::time::Duration;
#[doc(no_inline)]
pub use crate::{JoinHandle, WaitGroup, go, select};
#[doc(no_inline)]
pub use futures::{SinkExt as _, StreamExt as _};
