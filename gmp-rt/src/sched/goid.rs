//! Goroutine ids: unique in the process, never reused, taken in batches.

use crate::g::GoId;
use crate::p::OwnedP;
use crate::prim::CachePadded;
use crate::prim::fixed::{AtomicU64, Ordering::Relaxed};
use crate::tuning::CACHE_BATCH;

/// The next unused id. The first goroutine of a program is number 1, as in Go.
static NEXT: CachePadded<AtomicU64> = CachePadded(AtomicU64::new(1));

/// Returns an id for a goroutine that is spawned on a thread without a P.
pub(crate) fn single() -> GoId {
    NEXT.fetch_add(1, Relaxed) // Relaxed: only uniqueness matters
}

/// Returns an id from the batch of `p`.
#[inline]
pub(crate) fn from_batch(p: &OwnedP) -> GoId {
    let (mut next, mut end) = p.own().goids.get();
    if next == end {
        next = NEXT.fetch_add(CACHE_BATCH as u64, Relaxed); // Relaxed: only uniqueness matters
        end = next + CACHE_BATCH as u64;
    }
    p.own().goids.set((next + 1, end));
    next
}
