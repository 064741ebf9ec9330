//! `Calls`: the calls in flight, found by the hash of their key.
//!
//! Nothing here runs user code, so all of it may be called under the lock. A call is found by its
//! hash and its address. The caller hashes and compares keys without the lock.

use super::call::Call;
use std::collections::HashMap;
use std::sync::Arc;

/// The calls in flight, by the hash of their key.
pub(super) struct Calls<K, V>(HashMap<u64, Vec<Arc<Call<K, V>>>>);

impl<K, V> Default for Calls<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K, V> Calls<K, V> {
    /// Returns the calls with this hash.
    fn with_hash(&self, hash: u64) -> &[Arc<Call<K, V>>] {
        self.0.get(&hash).map_or(&[], Vec::as_slice)
    }

    /// Clones the calls with this hash that are not among `known`.
    pub(super) fn others(&self, hash: u64, known: &[Arc<Call<K, V>>]) -> Vec<Arc<Call<K, V>>> {
        let calls = self.with_hash(hash).iter();
        calls.filter(|call| !is_among(call, known)).cloned().collect()
    }

    pub(super) fn contains(&self, call: &Arc<Call<K, V>>) -> bool {
        is_among(call, self.with_hash(call.hash()))
    }

    /// Adds `call` if all calls with the same hash are among `known`. Returns whether it did.
    pub(super) fn insert(&mut self, call: &Arc<Call<K, V>>, known: &[Arc<Call<K, V>>]) -> bool {
        let all_known = self.with_hash(call.hash()).iter().all(|other| is_among(other, known));
        if all_known {
            self.0.entry(call.hash()).or_default().push(call.clone());
        }
        all_known
    }

    /// Removes `call` if it is there. The caller drops the result after it has released the lock,
    /// because it may be the last reference to the key.
    pub(super) fn remove(&mut self, call: &Arc<Call<K, V>>) -> Option<Arc<Call<K, V>>> {
        let calls = self.0.get_mut(&call.hash())?;
        let at = calls.iter().position(|other| Arc::ptr_eq(other, call))?;
        let removed = calls.swap_remove(at);
        if calls.is_empty() {
            self.0.remove(&call.hash());
        }
        Some(removed)
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

fn is_among<K, V>(call: &Arc<Call<K, V>>, calls: &[Arc<Call<K, V>>]) -> bool {
    calls.iter().any(|other| Arc::ptr_eq(other, call))
}
