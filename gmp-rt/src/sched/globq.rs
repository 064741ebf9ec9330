//! The global run queue: lists behind a lock, and their length, which all threads can read.
//!
//! It receives batches: half of a full ring, the queue of a retired P, goroutines whose slice is
//! over. It keeps the batches as lists, so that a P takes a whole list. Walking a list costs a
//! cache miss per goroutine, and other threads would wait for the lock meanwhile. Crossbeam's
//! `Injector` and `SegQueue` have no batches and are slower here (`gmp-bench --bin queues`).
//! External threads submit single goroutines, which the [`Inbox`](super::inbox::Inbox) serves
//! better.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store of `len` in [`GlobQ::put`], [`GlobQ::put_batch`] and [`GlobQ::get_batch`], then the caller's SeqCst fence | fence, then load in [`GlobQ::len`] | that there is work; the list itself is behind the lock |

use crate::g::GRef;
use crate::g::list::GList;
use crate::prim::Ordering::{Relaxed, Release};
use crate::prim::{AtomicUsize, Mutex};
use crate::tuning::RUNQ_CAP;
use std::collections::VecDeque;

/// The global run queue. See the [module](self).
#[derive(Debug)]
pub(crate) struct GlobQ {
    /// Written under the lock.
    len: AtomicUsize,
    lists: Mutex<Batches>,
}

/// Goroutines in order, in lists of about half a ring.
#[derive(Debug, Default)]
struct Batches {
    lists: VecDeque<GList>,
    len: usize,
}

impl Batches {
    /// A list of this length or more is not appended to.
    const FULL: usize = RUNQ_CAP / 2;

    fn push(&mut self, gp: GRef) {
        self.len += 1;
        match self.lists.back_mut().filter(|last| last.len() < Self::FULL) {
            Some(last) => last.push_back(gp),
            None => self.lists.push_back(GList::from_iter([gp])),
        }
    }

    fn append(&mut self, batch: GList) {
        self.len += batch.len();
        match self.lists.back_mut().filter(|last| last.len() + batch.len() <= Self::FULL) {
            Some(last) => last.append(batch),
            None => self.lists.push_back(batch),
        }
    }

    /// Takes about `n` goroutines from the front: whole lists, if those are at most an eighth more.
    fn take(&mut self, n: usize) -> GList {
        let mut taken = GList::new();
        while let Some(first) = self.lists.front_mut() {
            let left = n - taken.len().min(n);
            if left == 0 {
                break;
            }
            if first.len() > left + left / 8 {
                taken.append(first.split_front(left));
                break;
            }
            taken.append(std::mem::take(first));
            self.lists.pop_front();
        }
        self.len -= taken.len();
        taken
    }
}

impl GlobQ {
    /// Creates an empty queue.
    pub(crate) fn new() -> Self {
        Self { len: AtomicUsize::new(0), lists: Mutex::new(Batches::default()) }
    }

    /// Returns the number of queued goroutines.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed) // O1: the fence is the caller's
    }

    /// Appends one goroutine.
    pub(crate) fn put(&self, gp: GRef) {
        let mut lists = self.lists.lock();
        lists.push(gp);
        self.len.store(lists.len, Release); // O1
    }

    /// Appends all of `batch`.
    pub(crate) fn put_batch(&self, batch: GList) {
        if batch.is_empty() {
            return;
        }
        let mut lists = self.lists.lock();
        lists.append(batch);
        self.len.store(lists.len, Release); // O1
    }

    /// Takes the first goroutine.
    pub(crate) fn get(&self) -> Option<GRef> {
        self.get_batch(|_| 1).pop_front()
    }

    /// Takes about `share(len)` goroutines from the front, at most an eighth more.
    pub(crate) fn get_batch(&self, share: impl FnOnce(usize) -> usize) -> GList {
        if self.len() == 0 {
            return GList::new();
        }
        let mut lists = self.lists.lock();
        let n = share(lists.len);
        let batch = lists.take(n);
        self.len.store(lists.len, Release); // O1
        batch
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::GlobQ;
    use crate::g::GoId;
    use crate::g::list::GList;
    use crate::testing::goroutine::unqueued;
    use crate::util::rand::Rand;

    /// Returns the ids in order.
    fn ids(mut list: GList) -> Vec<GoId> {
        std::iter::from_fn(|| list.pop_front()).map(|gp| gp.goid()).collect()
    }

    /// Singles and batches of any size leave in arrival order, and at most an eighth more than
    /// requested.
    #[test]
    fn in_order_whatever_the_sizes() {
        let (queue, rand) = (GlobQ::new(), Rand::new(7));
        let (mut put, mut got) = (Vec::new(), Vec::new());
        for _ in 0..2_000 {
            match rand.next_u32() % 4 {
                0 => {
                    let gp = unqueued();
                    put.push(gp.goid());
                    queue.put(gp);
                }
                1 => {
                    let n = rand.next_u32() % 200;
                    let batch: GList =
                        (0..n).map(|_| unqueued()).inspect(|gp| put.push(gp.goid())).collect();
                    queue.put_batch(batch);
                }
                _ => {
                    let n = rand.next_u32() as usize % 160;
                    let taken = ids(queue.get_batch(|_| n));
                    assert!(taken.len() <= n + n / 8, "{} for {n}", taken.len());
                    got.extend(taken);
                }
            }
            assert_eq!(queue.len(), put.len() - got.len());
        }
        got.extend(ids(queue.get_batch(|len| len)));
        assert_eq!(queue.len(), 0);
        assert_eq!(put, got);
    }
}
