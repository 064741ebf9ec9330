//! Reasons for the end of a context.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The error that a context was ended with, shared by all callers.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// Why a context has ended (Go: `context.Canceled`, `context.DeadlineExceeded`).
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::context::{Context, ContextError};
///
/// let (ctx, canceller) = Context::background().with_cancel();
/// canceller.cancel();
/// assert_eq!(ctx.err(), Some(ContextError::Cancelled));
/// assert_eq!(ContextError::Cancelled.to_string(), "context canceled");
/// assert!(ContextError::DeadlineExceeded.is_timeout());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContextError {
    /// The context was cancelled.
    Cancelled,
    /// The deadline has passed.
    DeadlineExceeded,
}

impl ContextError {
    /// Whether the reason is a deadline that has passed (Go: `Timeout()`).
    #[must_use]
    pub fn is_timeout(self) -> bool {
        self == Self::DeadlineExceeded
    }
}

impl fmt::Display for ContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cancelled => "context canceled",
            Self::DeadlineExceeded => "context deadline exceeded",
        })
    }
}

impl Error for ContextError {}

impl From<ContextError> for io::Error {
    /// Returns an error of the kind [`TimedOut`](io::ErrorKind::TimedOut) after a deadline, and
    /// [`Other`](io::ErrorKind::Other) after a cancellation. Loops that repeat an interrupted
    /// operation must not repeat a cancelled one, so the kind is not `Interrupted`.
    fn from(error: ContextError) -> Self {
        let kind = match error {
            ContextError::Cancelled => io::ErrorKind::Other,
            ContextError::DeadlineExceeded => io::ErrorKind::TimedOut,
        };
        Self::new(kind, error)
    }
}
