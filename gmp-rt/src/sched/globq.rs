//! The global run queue: lists behind a lock, and their length, which all threads can read.
//!
//! Its entries are goroutines and returning Ms. A returning M is inside a poll and waits for a P
//! ([`way_back`](super::way_back)). In Go the goroutine itself would be here. A P takes goroutines
//! in batches, which end at a returning M, so both leave in the order in which they came.
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
//! | O1 | Release store of `len` in [`GlobQ::change`], then the caller's SeqCst fence | fence, then load in [`GlobQ::len`] | that there is work; the list itself is behind the lock |

use crate::g::GRef;
use crate::g::list::GList;
use crate::m::M;
use crate::prim::Ordering::{Relaxed, Release};
use crate::prim::{AtomicUsize, Mutex};
use crate::tuning::RUNQ_CAP;
use std::collections::VecDeque;
use std::sync::Arc;

/// An M inside a poll that waits for a P: its marked call has returned.
pub(crate) type ReturningM = Arc<M>;

/// The global run queue. See the [module](self).
#[derive(Debug)]
pub(crate) struct GlobQ {
    /// Written under the lock.
    len: AtomicUsize,
    lists: Mutex<Batches>,
}

/// What [`GlobQ::take`] found first.
#[must_use]
#[derive(Debug)]
pub(crate) enum Taken {
    /// Goroutines; at least one.
    Goroutines(GList),
    /// An M, which gets the P of the caller.
    ReturningM(ReturningM),
}

/// A part of the queue.
#[derive(Debug)]
enum GlobalEntry {
    /// At least one goroutine, and about half a ring at most.
    Goroutines(GList),
    ReturningM(ReturningM),
}

/// The entries in order.
#[derive(Debug, Default)]
struct Batches {
    entries: VecDeque<GlobalEntry>,
    /// The number of goroutines and of returning Ms.
    len: usize,
    /// The number of returning Ms.
    returning: usize,
}

impl Batches {
    /// A list of this length or more is not appended to.
    const FULL: usize = RUNQ_CAP / 2;

    fn push(&mut self, gp: GRef) {
        self.len += 1;
        match self.entries.back_mut() {
            Some(GlobalEntry::Goroutines(last)) if last.len() < Self::FULL => last.push_back(gp),
            _ => self.entries.push_back(GlobalEntry::Goroutines(GList::from_iter([gp]))),
        }
    }

    fn append(&mut self, batch: GList) {
        self.len += batch.len();
        match self.entries.back_mut() {
            Some(GlobalEntry::Goroutines(last)) if last.len() + batch.len() <= Self::FULL => {
                last.append(batch);
            }
            _ => self.entries.push_back(GlobalEntry::Goroutines(batch)),
        }
    }

    /// Takes about `n` goroutines from the front: whole lists, if those are at most an eighth more.
    /// Stops at a returning M.
    fn take_goroutines(&mut self, n: usize) -> GList {
        let mut taken = GList::new();
        while let Some(GlobalEntry::Goroutines(first)) = self.entries.front_mut() {
            let left = n - taken.len().min(n);
            if left == 0 {
                break;
            }
            if first.len() > left + left / 8 {
                taken.append(first.split_front(left));
                break;
            }
            taken.append(std::mem::take(first));
            self.entries.pop_front();
        }
        self.len -= taken.len();
        taken
    }

    fn count_returning(&mut self) {
        self.len += 1;
        self.returning += 1;
    }

    /// Takes the first returning M for which `wanted` returns `true` out of any place.
    fn take_returning(&mut self, wanted: impl Fn(&ReturningM) -> bool) -> Option<ReturningM> {
        if self.returning == 0 {
            return None;
        }
        let is_wanted =
            |entry: &GlobalEntry| matches!(entry, GlobalEntry::ReturningM(m) if wanted(m));
        let at = self.entries.iter().position(is_wanted)?;
        let Some(GlobalEntry::ReturningM(m)) = self.entries.remove(at) else { return None };
        self.len -= 1;
        self.returning -= 1;
        Some(m)
    }
}

impl GlobQ {
    /// Creates an empty queue.
    pub(crate) fn new() -> Self {
        Self { len: AtomicUsize::new(0), lists: Mutex::new(Batches::default()) }
    }

    /// Returns the number of queued goroutines, also of those whose M waits here for a P.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed) // O1: the fence is the caller's
    }

    /// Whether an M waits here for a P.
    pub(crate) fn has_returning(&self) -> bool {
        self.len() > 0 && self.lists.lock().returning > 0
    }

    fn change<R>(&self, f: impl FnOnce(&mut Batches) -> R) -> R {
        let mut lists = self.lists.lock();
        let result = f(&mut lists);
        self.len.store(lists.len, Release); // O1
        result
    }

    /// Appends one goroutine.
    pub(crate) fn put(&self, gp: GRef) {
        self.change(|lists| lists.push(gp));
    }

    /// Appends an M that waits for a P.
    pub(crate) fn put_returning(&self, m: ReturningM) {
        self.change(|lists| {
            lists.count_returning();
            lists.entries.push_back(GlobalEntry::ReturningM(m));
        });
    }

    /// Puts an M back that was taken from the front and got no P.
    pub(crate) fn put_back(&self, m: ReturningM) {
        self.change(|lists| {
            lists.count_returning();
            lists.entries.push_front(GlobalEntry::ReturningM(m));
        });
    }

    /// Appends all of `batch`.
    pub(crate) fn put_batch(&self, batch: GList) {
        if batch.is_empty() {
            return;
        }
        self.change(|lists| lists.append(batch));
    }

    /// Takes the first goroutine. Returns `None` also if a returning M comes before it.
    pub(crate) fn get(&self) -> Option<GRef> {
        if self.len() == 0 {
            return None;
        }
        self.change(|lists| lists.take_goroutines(1)).pop_front()
    }

    /// Takes the first M if it comes before all goroutines. Otherwise takes about `share(len)`
    /// goroutines from the front, at most an eighth more.
    pub(crate) fn take(&self, share: impl FnOnce(usize) -> usize) -> Option<Taken> {
        if self.len() == 0 {
            return None;
        }
        self.change(|lists| match lists.entries.front()? {
            GlobalEntry::ReturningM(_) => lists.take_returning(|_| true).map(Taken::ReturningM),
            GlobalEntry::Goroutines(_) => {
                let n = share(lists.len);
                Some(Taken::Goroutines(lists.take_goroutines(n)))
            }
        })
    }

    /// Takes the first M if it comes before all goroutines.
    pub(crate) fn take_first_returning(&self) -> Option<ReturningM> {
        if self.len() == 0 {
            return None;
        }
        self.change(|lists| match lists.entries.front()? {
            GlobalEntry::ReturningM(_) => lists.take_returning(|_| true),
            GlobalEntry::Goroutines(_) => None,
        })
    }

    /// Takes the returning M that has waited longest, even if goroutines are queued before it.
    pub(crate) fn take_any_returning(&self) -> Option<ReturningM> {
        if self.len() == 0 {
            return None;
        }
        self.change(|lists| lists.take_returning(|_| true))
    }

    /// Removes `m`. Returns `false` if another thread took it before: that thread gives it a P.
    pub(crate) fn remove_returning(&self, m: &ReturningM) -> bool {
        self.change(|lists| lists.take_returning(|other| Arc::ptr_eq(other, m))).is_some()
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::{GlobQ, Taken};
    use crate::g::GoId;
    use crate::g::list::GList;
    use crate::testing::goroutine::unqueued;
    use crate::util::rand::Rand;

    fn take(queue: &GlobQ, n: usize) -> GList {
        match queue.take(|_| n) {
            None => GList::new(),
            Some(Taken::Goroutines(batch)) => batch,
            Some(Taken::ReturningM(m)) => panic!("no M waits: {m:?}"),
        }
    }

    /// Returns the ids in order.
    fn ids(mut list: GList) -> Vec<GoId> {
        std::iter::from_fn(|| list.pop_front()).map(|gp| gp.goid()).collect()
    }

    /// Singles and batches of any size leave in arrival order, and at most an eighth more than
    /// requested.
    #[test]
    fn goroutines_leave_in_arrival_order_for_all_batch_sizes() {
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
                    let taken = ids(take(&queue, n));
                    assert!(taken.len() <= n + n / 8, "{} for {n}", taken.len());
                    got.extend(taken);
                }
            }
            assert_eq!(queue.len(), put.len() - got.len());
        }
        got.extend(ids(take(&queue, queue.len())));
        assert_eq!(queue.len(), 0);
        assert_eq!(put, got);
    }
}
