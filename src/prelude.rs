//! The names that most programs use, for `use gmp::prelude::*`.
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
#[doc(no_inline)]
pub use crate::time::Duration;
#[doc(no_inline)]
pub use crate::{JoinHandle, WaitGroup, go, select};
