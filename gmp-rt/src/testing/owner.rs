//! The owner's side of a run queue, for tests and models.

use crate::p::runq::{Owner, RunQ};

/// Returns the owner's access to a queue.
pub(crate) fn owner(q: &RunQ) -> Owner<'_> {
    // SAFETY: tests and models use the owner of a queue on one thread only.
    unsafe { q.owner() }
}
