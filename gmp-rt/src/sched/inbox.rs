//! The inbox: goroutines made runnable by threads without a P. These are external threads, sysmon,
//! and Ms that have released their P (Tokio: injection queue).
//!
//! Such a thread has no local queue and submits one goroutine at a time. At the global queue's lock
//! many of them would wait for each other. `crossbeam_deque::Injector` has no lock. With eight
//! threads that push it is faster than the locked list (`gmp-bench --bin queues`).

use crate::g::GRef;
use crate::prim::Injector;
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

    /// Takes the first goroutine.
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
