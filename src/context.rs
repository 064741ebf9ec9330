//! Cancellation, deadlines and values that pass through calls and goroutines (Go: `context`).
//!
//! [`background`] is the root. Each [`Context`] derives from another and ends with it.
//!
//! # Examples
//!
//! ```
//! use gmp::context::{self, ContextError};
//! use gmp::time::Duration;
//!
//! #[gmp::main]
//! async fn main() {
//!     let (ctx, canceller) = context::background().with_timeout(Duration::from_secs(60));
//!     let worker = gmp::go!({ ctx.done().await });
//!     canceller.cancel();
//!     assert_eq!(worker.await.unwrap(), ContextError::Cancelled);
//! }
//! ```

pub use gmp_sync::context::{
    AfterDone, CancelGuard, Canceller, Cause, Context, ContextError, background,
};
