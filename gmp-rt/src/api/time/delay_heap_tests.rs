//! Random changes of a heap against a sorted map.

use super::*;
use std::collections::BTreeMap;

/// A small random generator (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// A heap, and a map from deadline and turn to key and value.
struct Pair {
    heap: DelayHeap<u64>,
    model: BTreeMap<(u64, u64), (DelayKey, u64)>,
    at: Instant,
    turns: u64,
}

impl Pair {
    fn place(&self, key: DelayKey) -> Option<(u64, u64)> {
        self.model.iter().find(|(_, (other, _))| *other == key).map(|(place, _)| *place)
    }

    fn step(&mut self, random: &mut Random, keys: &mut Vec<DelayKey>) {
        self.turns += 1;
        // Few different deadlines, so that many are equal.
        let when = random.below(20);
        let key = (!keys.is_empty()).then(|| keys[random.below(keys.len() as u64) as usize]);
        match (random.below(10), key) {
            (0..4, _) | (_, None) => {
                let key = self.heap.insert(self.at, when, self.turns);
                self.model.insert((when, self.turns), (key, self.turns));
                keys.push(key);
            }
            (4..6, Some(key)) => {
                let place = self.place(key);
                let expected = place.and_then(|place| self.model.remove(&place));
                let removed = self.heap.remove(key).map(|entry| (entry.key, entry.value));
                assert_eq!(removed, expected);
            }
            (6..8, Some(key)) => {
                let place = self.place(key);
                assert_eq!(self.heap.reset(key, self.at, when), place.is_some());
                if let Some(entry) = place.and_then(|place| self.model.remove(&place)) {
                    self.model.insert((when, self.turns), entry);
                }
            }
            _ => {
                let first = self.heap.first_key().and_then(|key| self.heap.remove(key));
                let expected = self.model.pop_first().map(|(_, (_, value))| value);
                assert_eq!(first.map(|entry| entry.value), expected);
            }
        }
        assert_eq!(self.heap.len(), self.model.len());
        let first = self.model.first_key_value();
        assert_eq!(self.heap.first_when(), first.map(|((when, _), _)| *when));
        assert_eq!(self.heap.first_key(), first.map(|(_, (key, _))| *key));
    }
}

#[test]
fn random_changes_agree_with_a_sorted_map() {
    for seed in 0..50 {
        let (mut random, mut keys) = (Random(seed), Vec::new());
        let heap = DelayHeap::with_capacity(0);
        let mut pair = Pair { heap, model: BTreeMap::new(), at: Instant::now(), turns: 0 };
        for _ in 0..400 {
            pair.step(&mut random, &mut keys);
        }
        drop(pair.heap.clear());
        assert_eq!((pair.heap.len(), pair.heap.first_key()), (0, None));
        assert!(keys.iter().all(|key| pair.heap.get(*key).is_none()));
        let new = pair.heap.insert(pair.at, 1, 1);
        assert!(!keys.contains(&new), "a key is not used again after a clear");
    }
}

/// Slots of removed entries are used again.
#[test]
fn a_queue_of_one_entry_at_a_time_does_not_grow() {
    let mut heap = DelayHeap::with_capacity(1);
    for n in 0..1000 {
        let key = heap.insert(Instant::now(), n, ());
        assert!(heap.remove(key).is_some() && heap.remove(key).is_none());
    }
    assert_eq!(heap.slots.len(), 1);
}
