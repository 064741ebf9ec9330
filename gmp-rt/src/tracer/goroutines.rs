//! What the file says about each goroutine.
//!
//! # Invariant
//!
//! - I1: a record changes only under the lock of its shard, by a thread whose stream has reached
//!   the generation of the record. So the events of one goroutine never go back to an older
//!   generation, whichever threads write them.
//!
//! A goroutine that runs belongs to one stream: only a thread that holds that stream's lock changes
//! its record. A goroutine that waits or is queued belongs to the thread that wakes or starts it.
//! The status word of the goroutine allows one such thread at a time.

use crate::prim::fixed::Mutex;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The status of a goroutine in the file, with its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum TracedStatus {
    Runnable = 1,
    Running = 2,
    Call = 3,
    Waiting = 4,
}

/// The record of a goroutine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// The last generation that has its status or its creation.
    pub(super) generation: u64,
    /// The last sequence number in that generation.
    pub(super) seq: u32,
    pub(super) status: TracedStatus,
}

impl Record {
    /// Makes the record of a goroutine that appears in `generation`.
    pub(super) fn new(generation: u64, status: TracedStatus) -> Self {
        Self { generation, seq: 0, status }
    }

    /// Returns the next sequence number.
    pub(super) fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq.into()
    }
}

/// Spreads goroutine ids, which are dense.
#[derive(Debug, Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    #[inline]
    fn write_u64(&mut self, id: u64) {
        // Fibonacci hashing. The map uses the upper bits too.
        self.0 = (self.0 ^ id).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

pub(super) type Shard = HashMap<u64, Record, BuildHasherDefault<IdHasher>>;

const SHARDS: usize = 64;

/// The records of all goroutines. See the [module](self).
#[derive(Debug)]
pub(super) struct Goroutines {
    shards: [Mutex<Shard>; SHARDS],
}

impl Goroutines {
    pub(super) const fn new() -> Self {
        let shards =
            [const { Mutex::new(HashMap::with_hasher(BuildHasherDefault::new())) }; SHARDS];
        Self { shards }
    }

    /// Runs `f` with the shard of the goroutine `id`.
    #[inline]
    pub(super) fn with<R>(&self, id: u64, f: impl FnOnce(&mut Shard) -> R) -> R {
        f(&mut self.shards[id as usize % SHARDS].lock())
    }

    /// Forgets all goroutines.
    pub(super) fn clear(&self) {
        self.shards.iter().for_each(|shard| *shard.lock() = Shard::default());
    }
}
