//! Errors of broadcast channels.

use std::error::Error;
use std::fmt;

/// A receiver was too slow: this number of values was dropped before it received them.
///
/// The receiver is still subscribed, and continues with the oldest value that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lagged(pub u64);

impl fmt::Display for Lagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "receiver lagged behind by {} values", self.0)
    }
}

impl Error for Lagged {}

/// Why [`Receiver::recv`](super::Receiver::recv) returned no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecvError {
    /// All senders are dropped, and all values have been received.
    Closed,
    /// This number of values was dropped before the receiver received them. The next receive
    /// returns the oldest value that is kept.
    Lagged(u64),
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("receive on closed and empty channel"),
            Self::Lagged(missed) => Lagged(*missed).fmt(f),
        }
    }
}

impl Error for RecvError {}

/// Why [`Receiver::try_recv`](super::Receiver::try_recv) returned no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TryRecvError {
    /// All values have been received.
    Empty,
    /// As for [`RecvError::Closed`].
    Closed,
    /// As for [`RecvError::Lagged`].
    Lagged(u64),
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("receive on empty channel"),
            Self::Closed => RecvError::Closed.fmt(f),
            Self::Lagged(missed) => Lagged(*missed).fmt(f),
        }
    }
}

impl Error for TryRecvError {}

impl From<Lagged> for RecvError {
    fn from(Lagged(missed): Lagged) -> Self {
        Self::Lagged(missed)
    }
}

impl From<RecvError> for TryRecvError {
    fn from(error: RecvError) -> Self {
        match error {
            RecvError::Closed => Self::Closed,
            RecvError::Lagged(missed) => Self::Lagged(missed),
        }
    }
}
