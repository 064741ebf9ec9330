//! The entries of a delay queue, ordered by their deadlines: a binary heap whose entries know their
//! places, so that any of them can be moved or removed in logarithmic time.

use super::delay_queue::DelayKey;
use std::time::Instant;

/// The place of an entry in the order: by its deadline, then by the time of its insertion or reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    when: u64,
    turn: u64,
    slot: usize,
}

/// An entry of the queue.
pub(super) struct DelayEntry<T> {
    pub(super) key: DelayKey,
    pub(super) at: Instant,
    pub(super) value: T,
    /// Its index in `heap`.
    place: usize,
}

enum DelaySlot<T> {
    Used(DelayEntry<T>),
    Free,
}

/// A heap of entries.
pub(super) struct DelayHeap<T> {
    /// The rank of each child is greater than that of its parent.
    heap: Vec<Rank>,
    slots: Vec<DelaySlot<T>>,
    /// The indices of the free slots.
    free: Vec<usize>,
    /// Number of insertions and resets. It never falls, so no two keys are equal.
    turns: u64,
}

impl<T> DelayHeap<T> {
    pub(super) fn with_capacity(n: usize) -> Self {
        let (heap, slots) = (Vec::with_capacity(n), Vec::with_capacity(n));
        Self { heap, slots, free: Vec::new(), turns: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Returns the time of the next entry.
    pub(super) fn first_when(&self) -> Option<u64> {
        self.heap.first().map(|rank| rank.when)
    }

    /// Returns the key of the next entry.
    pub(super) fn first_key(&self) -> Option<DelayKey> {
        match &self.slots[self.heap.first()?.slot] {
            DelaySlot::Used(entry) => Some(entry.key),
            DelaySlot::Free => None,
        }
    }

    /// Returns the entry of `key`.
    pub(super) fn get(&self, key: DelayKey) -> Option<&DelayEntry<T>> {
        match self.slots.get(key.slot) {
            Some(DelaySlot::Used(entry)) if entry.key == key => Some(entry),
            _ => None,
        }
    }

    fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    pub(super) fn insert(&mut self, at: Instant, when: u64, value: T) -> DelayKey {
        let turn = self.next_turn();
        let slot = self.free.pop().unwrap_or(self.slots.len());
        let (key, place) = (DelayKey { slot, id: turn }, self.heap.len());
        let used = DelaySlot::Used(DelayEntry { key, at, value, place });
        match self.slots.get_mut(slot) {
            Some(free) => *free = used,
            None => self.slots.push(used),
        }
        self.heap.push(Rank { when, turn, slot });
        self.sift_up(place);
        key
    }

    /// Removes the entry of `key`.
    pub(super) fn remove(&mut self, key: DelayKey) -> Option<DelayEntry<T>> {
        let place = self.get(key)?.place;
        let last = self.heap.len() - 1;
        self.exchange(place, last);
        self.heap.pop();
        if place < last {
            self.settle(place);
        }
        self.free.push(key.slot);
        match std::mem::replace(&mut self.slots[key.slot], DelaySlot::Free) {
            DelaySlot::Used(entry) => Some(entry),
            DelaySlot::Free => None,
        }
    }

    /// Moves the entry of `key`. Returns `false` if there is none.
    pub(super) fn reset(&mut self, key: DelayKey, at: Instant, when: u64) -> bool {
        let turn = self.next_turn();
        let Some(DelaySlot::Used(entry)) = self.slots.get_mut(key.slot) else { return false };
        if entry.key != key {
            return false;
        }
        entry.at = at;
        let place = entry.place;
        self.heap[place] = Rank { when, turn, slot: key.slot };
        self.settle(place);
        true
    }

    /// Removes all entries, and returns them to be dropped.
    pub(super) fn clear(&mut self) -> impl Sized + use<T> {
        self.heap.clear();
        self.free.clear();
        std::mem::take(&mut self.slots)
    }

    /// Moves a changed entry up or down.
    fn settle(&mut self, place: usize) {
        self.sift_up(place);
        self.sift_down(place);
    }

    fn sift_up(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent] < self.heap[place] {
                return;
            }
            self.exchange(place, parent);
            place = parent;
        }
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let left = 2 * place + 1;
            let least = (left..self.heap.len().min(left + 2)).min_by_key(|child| self.heap[*child]);
            match least {
                Some(child) if self.heap[child] < self.heap[place] => {
                    self.exchange(place, child);
                    place = child;
                }
                _ => return,
            }
        }
    }

    /// Exchanges two places.
    fn exchange(&mut self, a: usize, b: usize) {
        (self.heap[a], self.heap[b]) = (self.heap[b], self.heap[a]);
        for place in [a, b] {
            if let DelaySlot::Used(entry) = &mut self.slots[self.heap[place].slot] {
                entry.place = place;
            }
        }
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "delay_heap_tests.rs"]
mod tests;
