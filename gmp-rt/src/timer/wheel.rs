//! A hierarchical timing wheel: it sorts pending timers only as far as needed.
//!
//! It has eight levels of 64 slots. A slot of level 0 spans 65 µs, and a slot of level `n` spans 64
//! times one of level `n - 1`. A timer goes into the level of the highest bit in which its tick
//! differs from the wheel's, and moves down as its deadline approaches. Adding, moving and removing
//! take constant time. Most timeouts are removed long before they are due, and a heap would sort
//! them without need.
//!
//! Slots are coarse, but timers are exact. Each slot has a lower bound of its earliest deadline in
//! nanoseconds, and is opened only when that bound is reached. Then the timers of the current tick
//! go into a small heap, from which they are fired one by one, in order. So a sleep of 100 µs takes
//! 100 µs, and an idle process wakes once for one timer, not once per level. To search the slot
//! itself for each due timer would take quadratic time.
//!
//! Entries are stored in [chunks](super::entries) and identified by [`Key`]. Nothing is intrusive,
//! so a timer may move in memory and there is no unsafe code. Locks and the clock are in
//! [`Timers`](super::Timers).
//!
//! # Differences from Go
//!
//! Go has a 4-ary heap per P with lazy removal. A heap costs `log n` cache misses to fire a timer,
//! and removal must be lazy because an entry is expensive to find. Here only the removal of a timer
//! of the current tick is lazy: its heap item stays.

use super::entries::{Entries, Entry, NIL, NO_SLOT, Released};
use crate::g::stored::StoredWaker;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::task::Waker;

const TICK_BITS: u32 = 16;
const LEVEL_BITS: u32 = 6;
const SLOTS: usize = 1 << LEVEL_BITS;
const LEVELS: usize = ((u64::BITS - TICK_BITS) / LEVEL_BITS) as usize;
/// [`Entry::slot`] of an entry in the heap.
const NEAR: u16 = NO_SLOT - 1;
/// Stale heap items allowed beyond the number of pending timers.
const STALE: usize = 64;

/// The identity of a pending timer. After the timer has fired or was removed, it identifies
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    index: u32,
    generation: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    head: u32,
    /// No timer in the slot is earlier.
    min: u64,
}

const EMPTY_SLOT: Slot = Slot { head: NIL, min: u64::MAX };

/// The wheel. See the [module](self).
#[derive(Debug)]
pub(crate) struct Wheel {
    /// The tick that all levels are relative to: all slots begin after it.
    base: u64,
    /// The timers of that tick and before, the earliest on top. An item whose timer was removed or
    /// moved stays until it would reach the top. The top is never stale.
    near: BinaryHeap<Reverse<(u64, u32)>>,
    slots: [Slot; LEVELS * SLOTS],
    /// Per level, a bit for each slot that is not empty.
    occupied: [u64; LEVELS],
    entries: Entries,
    len: usize,
    /// The generation of the timer added last.
    generation: u32,
}

impl Wheel {
    /// Makes an empty wheel.
    pub(crate) fn new() -> Self {
        Self {
            base: 0,
            near: BinaryHeap::new(),
            slots: [EMPTY_SLOT; LEVELS * SLOTS],
            occupied: [0; LEVELS],
            entries: Entries::new(),
            len: 0,
            generation: 0,
        }
    }

    /// Returns the number of pending timers.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns a time before which no timer is due; `u64::MAX` if there is none.
    pub(crate) fn next_when(&self) -> u64 {
        match self.near.peek() {
            Some(Reverse((when, _))) => *when,
            None => self.first_slot().map_or(u64::MAX, |(slot, _)| self.slots[slot].min),
        }
    }

    /// Adds a timer that wakes `waker` at `when`.
    pub(crate) fn insert(&mut self, now: u64, when: u64, waker: StoredWaker) -> Key {
        self.catch_up(now >> TICK_BITS);
        let index = self.entries.take();
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let entry = self.entry_mut(index);
        entry.when = when;
        entry.generation = generation;
        entry.waker = Some(waker);
        self.link(index);
        self.len += 1;
        Key { index, generation }
    }

    /// Whether the timer `key` is pending.
    pub(crate) fn contains(&self, key: Key) -> bool {
        self.find(key).is_some()
    }

    /// Whether a pending timer wakes the same task as `waker`; `None` if it has fired.
    pub(crate) fn wakes(&self, key: Key, waker: &Waker) -> Option<bool> {
        Some(self.find(key)?.waker.as_ref().is_some_and(|own| own.will_wake(waker)))
    }

    /// Gives a pending timer another waker and returns the old one. Returns the new one as `Err` if
    /// the timer has fired.
    pub(crate) fn replace_waker(
        &mut self,
        key: Key,
        waker: StoredWaker,
    ) -> Result<Option<StoredWaker>, StoredWaker> {
        if !self.contains(key) {
            return Err(waker);
        }
        Ok(self.entry_mut(key.index).waker.replace(waker))
    }

    /// Moves a pending timer. Returns `false` if it has fired.
    pub(crate) fn reset(&mut self, key: Key, when: u64) -> bool {
        if !self.contains(key) {
            return false;
        }
        self.unlink(key.index);
        self.entry_mut(key.index).when = when;
        self.link(key.index);
        true
    }

    /// Removes a pending timer and returns its waker; `None` if it has fired.
    pub(crate) fn remove(&mut self, key: Key) -> Option<StoredWaker> {
        self.find(key)?;
        self.unlink(key.index);
        self.release(key.index)
    }

    /// Moves the wakers of timers due at `now` to `due`, in the order of their deadlines, until
    /// `due` holds `most`.
    pub(crate) fn expire(
        &mut self,
        now: u64,
        due: &mut Vec<StoredWaker>,
        most: usize,
    ) -> Option<u64> {
        let mut first = None;
        while due.len() < most {
            if let Some(Reverse((when, index))) = self.near.peek() {
                if *when > now {
                    break;
                }
                let (when, index) = (*when, *index);
                first = first.or(Some(when));
                self.unlink(index);
                due.extend(self.release(index));
                continue;
            }
            let Some((slot, start)) = self.first_slot() else {
                break;
            };
            if self.slots[slot].min > now {
                break;
            }
            self.base = self.base.max(start);
            self.spread(slot);
        }
        first
    }

    /// Distributes the timers of a slot over the lower levels and the heap.
    fn spread(&mut self, slot: usize) {
        let mut index = self.slots[slot].head;
        self.slots[slot] = EMPTY_SLOT;
        self.occupied[slot / SLOTS] &= !(1 << (slot % SLOTS));
        while index != NIL {
            let next = self.entry(index).next;
            self.link(index);
            index = next;
        }
    }

    /// Moves the base to `tick` if no occupied slot begins at or before it. After a long pause the
    /// wheel then files new timers by their distance from now.
    fn catch_up(&mut self, tick: u64) {
        if tick > self.base && self.first_slot().is_none_or(|(_, start)| start > tick) {
            self.base = tick;
        }
    }

    /// Returns the first occupied slot, and the tick at which it begins.
    ///
    /// All timers of a level are in slots after the base's, and before all those of the next level.
    /// So the first bit of the lowest occupied level is the earliest slot.
    fn first_slot(&self) -> Option<(usize, u64)> {
        let level = self.occupied.iter().position(|&bits| bits != 0)?;
        let at = self.occupied[level].trailing_zeros() as usize;
        let shift = LEVEL_BITS * level as u32;
        let above = self.base >> shift >> LEVEL_BITS << LEVEL_BITS << shift;
        Some((level * SLOTS + at, above | (at as u64) << shift))
    }

    /// Returns the slot for a timer at `tick`, which is after the base.
    fn slot_of(&self, tick: u64) -> usize {
        let differ = (tick ^ self.base) | (SLOTS as u64 - 1);
        let level = (differ.ilog2() / LEVEL_BITS) as usize;
        let at = tick >> (LEVEL_BITS * level as u32) & (SLOTS as u64 - 1);
        level * SLOTS + at as usize
    }

    fn link(&mut self, index: u32) {
        let when = self.entry(index).when;
        let tick = when >> TICK_BITS;
        if tick <= self.base {
            return self.link_near(index, when);
        }
        let slot = self.slot_of(tick);
        let head = self.slots[slot].head;
        let entry = self.entry_mut(index);
        entry.prev = NIL;
        entry.next = head;
        entry.slot = slot as u16;
        if head != NIL {
            self.entry_mut(head).prev = index;
        }
        self.slots[slot] = Slot { head: index, min: self.slots[slot].min.min(when) };
        self.occupied[slot / SLOTS] |= 1 << (slot % SLOTS);
    }

    fn link_near(&mut self, index: u32, when: u64) {
        self.entry_mut(index).slot = NEAR;
        self.near.push(Reverse((when, index)));
        if self.near.len() > 2 * self.len + STALE {
            let mut near = std::mem::take(&mut self.near).into_vec();
            near.retain(|item| self.is_near(item));
            // Duplicates: timers that were moved away and back again.
            near.sort_unstable();
            near.dedup();
            self.near = near.into();
        }
    }

    /// Whether this item belongs to a pending timer in the heap. The entry may be reused by another
    /// timer with the same deadline, which makes no difference.
    fn is_near(&self, &Reverse((when, index)): &Reverse<(u64, u32)>) -> bool {
        // The chunk of an item whose timer was removed may be freed.
        self.entries.get(index).is_some_and(|entry| entry.slot == NEAR && entry.when == when)
    }

    fn unlink_near(&mut self, index: u32) {
        self.entry_mut(index).slot = NO_SLOT;
        while self.near.peek().is_some_and(|item| !self.is_near(item)) {
            self.near.pop();
        }
    }

    fn unlink(&mut self, index: u32) {
        let entry = self.entry(index);
        if entry.slot == NEAR {
            return self.unlink_near(index);
        }
        let (prev, next, slot) = (entry.prev, entry.next, usize::from(entry.slot));
        match prev {
            NIL => self.slots[slot].head = next,
            prev => self.entry_mut(prev).next = next,
        }
        if next != NIL {
            self.entry_mut(next).prev = prev;
        }
        if self.slots[slot].head == NIL {
            self.slots[slot] = EMPTY_SLOT;
            self.occupied[slot / SLOTS] &= !(1 << (slot % SLOTS));
        }
    }

    fn find(&self, key: Key) -> Option<&Entry> {
        let entry = self.entries.get(key.index)?;
        (entry.generation == key.generation && entry.slot != NO_SLOT).then_some(entry)
    }

    fn entry(&self, index: u32) -> &Entry {
        &self.entries[index]
    }

    fn entry_mut(&mut self, index: u32) -> &mut Entry {
        &mut self.entries[index]
    }

    /// Frees an unlinked entry. Stale keys stay stale: generations continue.
    fn release(&mut self, index: u32) -> Option<StoredWaker> {
        let waker = self.entry_mut(index).waker.take();
        self.len -= 1;
        if self.entries.release(index) == Released::Chunk {
            self.shrink_near();
        }
        waker
    }

    /// Gives the memory of the heap back after a burst of timers of the same tick.
    fn shrink_near(&mut self) {
        if self.near.capacity() > 4 * (self.near.len() + STALE) {
            self.near.shrink_to(2 * (self.near.len() + STALE));
        }
    }
}

#[cfg(test)]
#[path = "wheel_tests.rs"]
mod tests;
