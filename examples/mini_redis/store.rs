//! Keys, values and their expiry.
//!
//! The keys are in shards with a lock each. A lock is held for one lookup or one change, never
//! across an await, so a lock of std is sufficient. An expired key is invisible at once;
//! [`Store::sweep`] frees it later.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const SHARDS: usize = 16;

#[derive(Debug)]
struct Entry {
    value: Box<[u8]>,
    ends: Option<Instant>,
}

impl Entry {
    fn is_over(&self, now: Instant) -> bool {
        self.ends.is_some_and(|ends| ends <= now)
    }
}

type Shard = HashMap<Box<[u8]>, Entry>;

/// All keys.
#[derive(Debug, Default)]
pub(crate) struct Store {
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
}

/// The remaining life of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// There is no such key.
    Gone,
    /// The key does not expire.
    Forever,
    /// The key expires after this time.
    Left(Duration),
}

/// The condition under which a key is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    Always,
    IfAbsent,
    IfPresent,
}

impl Store {
    fn shard(&self, key: &[u8]) -> MutexGuard<'_, Shard> {
        lock(&self.shards[self.hasher.hash_one(key) as usize % SHARDS])
    }

    /// Calls `show` with the value of a key.
    pub(crate) fn get<R>(&self, key: &[u8], show: impl FnOnce(Option<&[u8]>) -> R) -> R {
        let shard = self.shard(key);
        let entry =
            shard.get(key).filter(|entry| entry.ends.is_none() || !entry.is_over(Instant::now()));
        show(entry.map(|entry| &*entry.value))
    }

    /// Sets a key, with or without an expiry. Returns `false` if the condition does not hold.
    pub(crate) fn set(
        &self,
        key: &[u8],
        value: &[u8],
        ends: Option<Instant>,
        when: Condition,
    ) -> bool {
        let mut shard = self.shard(key);
        let entry = Entry { value: value.into(), ends };
        match shard.get_mut(key) {
            Some(old) => {
                let present = !old.is_over(Instant::now());
                let hold = (when == Condition::Always) || (when == Condition::IfPresent) == present;
                if hold {
                    *old = entry;
                }
                hold
            }
            None if when == Condition::IfPresent => false,
            None => {
                shard.insert(key.into(), entry);
                true
            }
        }
    }

    /// Removes a key. Returns `true` if it existed.
    pub(crate) fn remove(&self, key: &[u8]) -> bool {
        let old = self.shard(key).remove(key);
        old.is_some_and(|entry| !entry.is_over(Instant::now()))
    }

    /// Sets or clears the expiry of a key. Returns `false` if there is no such key.
    pub(crate) fn set_end(&self, key: &[u8], ends: Option<Instant>) -> bool {
        let mut shard = self.shard(key);
        let entry = shard.get_mut(key).filter(|entry| !entry.is_over(Instant::now()));
        entry.map(|entry| entry.ends = ends).is_some()
    }

    /// Returns the remaining life of a key.
    pub(crate) fn life(&self, key: &[u8]) -> Life {
        let (shard, now) = (self.shard(key), Instant::now());
        match shard.get(key).filter(|entry| !entry.is_over(now)) {
            None => Life::Gone,
            Some(Entry { ends: None, .. }) => Life::Forever,
            Some(Entry { ends: Some(ends), .. }) => Life::Left(*ends - now),
        }
    }

    /// Returns the number of keys, including expired ones that are not yet swept, as in Redis.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    /// Removes all keys.
    pub(crate) fn clear(&self) {
        self.shards.iter().for_each(|shard| lock(shard).clear());
    }

    /// Frees the expired keys, one shard at a time.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        self.shards.iter().for_each(|shard| lock(shard).retain(|_, entry| !entry.is_over(now)));
    }
}

/// Ignores poisoning: each change is one call, so a panic under the lock leaves the map consistent.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
