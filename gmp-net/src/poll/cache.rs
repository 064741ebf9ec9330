//! Storage of descriptors (Go: `pollCache`).
//!
//! Descriptors are *type-stable*: they are allocated in growing chunks, reused, and never freed
//! while the poller lives. So an event, which carries only a number, finds its descriptor without a
//! lock and without a reference count. A late event, whose number belongs to another socket by now,
//! causes one spurious try. That is why events carry no generation as Go's do.

use crate::poll::desc::{Fault, PollDesc, Trust};
use gmp_rt::prim::Ordering::Relaxed;
use gmp_rt::prim::SleepMutex;
use gmp_rt::prim::fixed::AtomicU64;
use gmp_rt::prim::fixed::OnceLock;
use gmp_rt::task::park::StoredWaker;

/// Descriptors in the first chunk. Each further chunk has twice as many as the one before.
#[cfg(not(gmp_loom))]
pub(crate) const FIRST: usize = 64;
/// One descriptor is enough for the models.
#[cfg(gmp_loom)]
pub(crate) const FIRST: usize = 1;

/// Enough chunks for every number that fits an `i32`, as a file descriptor does.
const CHUNKS: usize = 26;

/// The number of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Index(u32);

impl Index {
    /// Returns the number as an event carries it.
    pub(crate) fn key(self) -> usize {
        self.0 as usize
    }
}

/// Whether the cache still gives out descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DescLife {
    #[default]
    Open,
    /// The runtime has ended.
    Ended,
}

#[derive(Debug, Default)]
struct Free {
    /// Descriptors that are free again. The last one freed is taken first, because it is still in
    /// the CPU cache.
    list: Vec<u32>,
    /// The number of descriptors ever given out.
    made: u32,
    life: DescLife,
}

/// Type-stable descriptors. See the [module](self).
#[derive(Debug)]
pub(crate) struct PollCache {
    chunks: [OnceLock<Box<[PollDesc]>>; CHUNKS],
    free: SleepMutex<Free>,
    /// The number of descriptors in use. Written under the lock.
    used: AtomicU64,
}

impl PollCache {
    pub(crate) fn new() -> Self {
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
            free: SleepMutex::new(Free::default()),
            used: AtomicU64::new(0),
        }
    }

    /// Whether a descriptor is in use.
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Relaxed) > 0 // Relaxed: a hint
    }

    /// Returns the descriptor with this number, if its chunk exists.
    #[inline]
    pub(crate) fn get(&self, key: usize) -> Option<&PollDesc> {
        let (chunk, at) = place(key);
        self.chunks.get(chunk)?.get()?.get(at)
    }

    /// Takes a descriptor into use. Returns `None` after [`end`](Self::end).
    pub(crate) fn take(&self, trust: Trust) -> Option<Index> {
        let mut free = self.free.lock();
        if free.life == DescLife::Ended {
            return None;
        }
        let index = free.list.pop().unwrap_or_else(|| {
            free.made += 1;
            free.made - 1
        });
        let (chunk, at) = place(index as usize);
        let chunk = self.chunks[chunk]
            .get_or_init(|| (0..FIRST << chunk).map(|_| PollDesc::new()).collect());
        chunk[at].reset(trust);
        self.count(&free);
        Some(Index(index))
    }

    /// Gives a descriptor back. No task waits on it any more.
    pub(crate) fn give_back(&self, index: Index) {
        let mut free = self.free.lock();
        free.list.push(index.0);
        self.count(&free);
    }

    fn count(&self, free: &Free) {
        let used = u64::from(free.made) - free.list.len() as u64;
        self.used.store(used, Relaxed); // Relaxed: a hint, written under the lock
    }

    /// Iterates over all descriptors that were ever given out.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &PollDesc> {
        let made = self.free.lock().made as usize;
        (0..made).filter_map(|key| self.get(key))
    }

    /// Stops giving out descriptors, and makes every operation fail that waits or will wait.
    pub(crate) fn end(&self, mut each: impl FnMut(StoredWaker)) {
        // Comes first, so that a descriptor that was taken before is among those that fail.
        self.free.lock().life = DescLife::Ended;
        for desc in self.iter() {
            desc.fail(Fault::Ended, &mut each);
        }
    }
}

/// Returns the chunk of a number and the position in that chunk.
fn place(key: usize) -> (usize, usize) {
    let chunk = (key / FIRST + 1).ilog2() as usize;
    (chunk, key - FIRST * ((1 << chunk) - 1))
}

#[cfg(all(test, gmp_loom))]
#[path = "cache_loom.rs"]
mod loom;

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::*;

    #[test]
    fn places_have_no_gaps_and_no_overlaps() {
        let mut expected = (0, 0);
        for key in 0..100_000 {
            assert_eq!(place(key), expected, "{key}");
            expected.1 += 1;
            if expected.1 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert!(place(i32::MAX as usize).0 < CHUNKS);
    }

    #[test]
    fn numbers_of_removed_entries_are_used_again() {
        let cache = PollCache::new();
        let taken: Vec<Index> = (0..200).map(|_| cache.take(Trust::WouldBlock).unwrap()).collect();
        assert!(cache.is_used());
        taken.into_iter().for_each(|index| cache.give_back(index));
        assert!(!cache.is_used());
        assert!(cache.take(Trust::Short).unwrap().key() < 200);
        cache.end(drop);
        assert_eq!(cache.take(Trust::Short), None);
    }
}
