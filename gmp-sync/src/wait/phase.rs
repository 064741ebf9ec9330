//! The progress of a future that waits once.

/// Whether a future has returned its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitPhase {
    Waits,
    Done,
}
