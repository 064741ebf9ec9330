//! The inbox: goroutines made runnable by threads without a P. These are external threads, sysmon,
//! and Ms that have released their P (Tokio: injection queue).
//!
//! Such a thread has no local queue and submits one goroutine at a time. At the global queue's lock
//! many of them would wait for each other. `crossbeam_deque::Injector` has no lock. With eight
//! threads that push it is faster than the locked list (`gmp-bench --bin queues`).
//!
//! A P takes its share in batches: one atomic operation on the shared line moves up to half of the
//! queue to a `crossbeam_deque::Worker` of the P.

use crate::g::GRef;
use crate::prim::{BatchQueue, Injector};
use crossbeam_deque::Steal;

/// The inbox. See the [module](self).
#[derive(Debug)]
pub(crate) struct Inbox(Injector<GRef>);

impl Inbox {
    /// Creates an empty inbox.
    pub(crate) fn new() -> Self {
        Self(Injector::new())
    }

    /// Whether the inbox is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of goroutines.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends one goroutine.
    pub(crate) fn put(&self, gp: GRef) {
        self.0.push(gp);
    }

    /// Removes up to `limit` goroutines and passes them to `each` in order. `batch` is empty before
    /// and after the call.
    pub(crate) fn take(&self, limit: usize, batch: &BatchQueue<GRef>, mut each: impl FnMut(GRef)) {
        let mut left = limit;
        while left > 0 {
            match self.0.steal_batch_with_limit(batch, left) {
                Steal::Success(()) => {
                    while let Some(gp) = batch.pop() {
                        left -= 1;
                        each(gp);
                    }
                }
                Steal::Empty => return,
                Steal::Retry => {}
            }
        }
    }
}
