//! The inbox: goroutines made runnable by threads that are not of this runtime.
//!
//! Such a thread has no local queue, and comes with one goroutine at a time. Many of them at
//! once would line up at the global queue's lock; here they do not wait for each other. This is
//! the job at which `crossbeam_deque::Injector` is best: by `gmp-bench --bin queues`, eight threads
//! that push and one that takes need 148 ns per goroutine with it, 214 ns with the locked list
//! (`SegQueue`: 141 ns, the same within noise).

use crate::g::GRef;
use crate::prim::Injector;
use crossbeam_deque::Steal;

/// The inbox. See the [module](self).
#[derive(Debug)]
pub(crate) struct Inbox(Injector<GRef>);

impl Inbox {
    /// An empty inbox.
    pub(crate) fn new() -> Self {
        Self(Injector::new())
    }

    /// Whether nothing is there just now.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many are there just now.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends one.
    pub(crate) fn put(&self, gp: GRef) {
        self.0.push(gp);
    }

    /// Takes the first.
    pub(crate) fn get(&self) -> Option<GRef> {
        loop {
            match self.0.steal() {
                Steal::Success(gp) => return Some(gp),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }
}
