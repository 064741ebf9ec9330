//! Keys, values and when they end.
//!
//! Shards with a lock each, held for one look or one change and never across an await, so a plain lock
//! is right. A key whose time is over is gone for every look at it; [`Store::sweep`] frees what nobody looks at.

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

/// Whether a key has an end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// There is no such key.
    Gone,
    /// It stays.
    Forever,
    /// It goes after this time.
    Left(Duration),
}

/// When a key may be set.
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

    /// Shows the value of a key.
    pub(crate) fn get<R>(&self, key: &[u8], show: impl FnOnce(Option<&[u8]>) -> R) -> R {
        let shard = self.shard(key);
        let entry =
            shard.get(key).filter(|entry| entry.ends.is_none() || !entry.is_over(Instant::now()));
        show(entry.map(|entry| &*entry.value))
    }

    /// Sets a key, with an end or none; `false` if the condition does not hold.
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

    /// Removes a key; `true` if there was one.
    pub(crate) fn remove(&self, key: &[u8]) -> bool {
        let old = self.shard(key).remove(key);
        old.is_some_and(|entry| !entry.is_over(Instant::now()))
    }

    /// Gives a key an end, or none; `false` if there is no such key.
    pub(crate) fn set_end(&self, key: &[u8], ends: Option<Instant>) -> bool {
        let mut shard = self.shard(key);
        let entry = shard.get_mut(key).filter(|entry| !entry.is_over(Instant::now()));
        entry.map(|entry| entry.ends = ends).is_some()
    }

    /// How long a key has.
    pub(crate) fn life(&self, key: &[u8]) -> Life {
        let (shard, now) = (self.shard(key), Instant::now());
        match shard.get(key).filter(|entry| !entry.is_over(now)) {
            None => Life::Gone,
            Some(Entry { ends: None, .. }) => Life::Forever,
            Some(Entry { ends: Some(ends), .. }) => Life::Left(*ends - now),
        }
    }

    /// How many keys there are, those that are over and not swept yet included, as in Redis.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    /// Removes all.
    pub(crate) fn clear(&self) {
        self.shards.iter().for_each(|shard| lock(shard).clear());
    }

    /// Frees the keys whose time is over, a shard at a time.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        self.shards.iter().for_each(|shard| lock(shard).retain(|_, entry| !entry.is_over(now)));
    }
}

/// A panic under the lock leaves a map whole: each change is one call.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
