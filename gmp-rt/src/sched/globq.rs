//! The global run queue: a locked list and its length where all can read it.
//!
//! Batches come here: half of a full ring, the goroutines of a retired P, those whose slice is
//! over. They move as whole lists under one lock. By `gmp-bench --bin queues`, a batch of 129 in and
//! out costs 3.3 ns per goroutine here, 13.1 ns in crossbeam's `Injector` and 14.6 ns in its
//! `SegQueue`, which know no batches. Singles from outside threads are another matter, see
//! [`Inbox`](super::inbox::Inbox).
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store of `len` in [`GlobQ::put_batch`], then the caller's SeqCst fence | fence, then load in [`GlobQ::len`] | that there is work; the list itself is behind the lock |

use crate::g::GRef;
use crate::g::list::GList;
use crate::prim::Ordering::{Relaxed, Release};
use crate::prim::{AtomicUsize, Mutex};

/// The global run queue. See the [module](self).
#[derive(Debug)]
pub(crate) struct GlobQ {
    /// Written under the lock.
    len: AtomicUsize,
    list: Mutex<GList>,
}

impl GlobQ {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Self { len: AtomicUsize::new(0), list: Mutex::new(GList::new()) }
    }

    /// How many wait here just now.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed) // O1: the fence is the caller's
    }

    /// Appends one.
    pub(crate) fn put(&self, gp: GRef) {
        let mut list = self.list.lock();
        list.push_back(gp);
        self.len.store(list.len(), Release); // O1
    }

    /// Appends all of `batch`.
    pub(crate) fn put_batch(&self, batch: GList) {
        if batch.is_empty() {
            return;
        }
        let mut list = self.list.lock();
        list.append(batch);
        self.len.store(list.len(), Release); // O1
    }

    /// Takes the first.
    pub(crate) fn get(&self) -> Option<GRef> {
        self.get_batch(|_| 1).pop_front()
    }

    /// Takes as many from the front as `share` says of the length.
    pub(crate) fn get_batch(&self, share: impl FnOnce(usize) -> usize) -> GList {
        if self.len() == 0 {
            return GList::new();
        }
        let mut list = self.list.lock();
        let n = share(list.len());
        let batch = list.split_front(n);
        self.len.store(list.len(), Release); // O1
        batch
    }
}
