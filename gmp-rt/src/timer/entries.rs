//! The memory of the timers in a wheel: chunks of entries that keep their index.
//!
//! A chunk without a timer is freed, except for [`KEEP_CHUNKS`] of them. So a burst of timers gives
//! its memory back although other timers are pending. A timer cannot move to another chunk, because
//! its key has its index. Therefore a new timer goes into one of the fullest chunks, and the other
//! ones become empty in time.
//!
//! Each chunk has a list of its free entries and the number of its used ones. The chunks with a
//! free entry are in lists by the quarter to which they are full. Adding and removing an entry
//! costs one counter. At a multiple of a quarter the chunk also changes its list, in constant time.
//!
//! The header of a freed chunk (32 bytes for 256 entries) stays until all chunks after it are freed
//! too.

use crate::g::stored::StoredWaker;
use std::ops::{Index, IndexMut};

/// The number of entries of a chunk.
pub(super) const CHUNK: usize = 256;
/// Maximum number of chunks that are kept without a timer. Chosen.
pub(super) const KEEP_CHUNKS: usize = 16;
/// End of a list.
pub(super) const NIL: u32 = u32::MAX;
/// [`Entry::slot`] of a free entry.
pub(super) const NO_SLOT: u16 = u16::MAX;

/// A chunk changes its list when its number of used entries passes a multiple of this.
const QUARTER: u32 = CHUNK as u32 / 4;
/// The list of the chunks without memory.
const FREED: usize = 0;
/// The list of the chunks without a used entry. The lists of the quarters follow.
const EMPTY: usize = 1;
const LISTS: usize = EMPTY + 5;

/// A pending timer, or a free entry.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) when: u64,
    pub(super) prev: u32,
    /// In a free entry: the next free one of the chunk.
    pub(super) next: u32,
    pub(super) generation: u32,
    pub(super) slot: u16,
    pub(super) waker: Option<StoredWaker>,
}

#[derive(Debug)]
struct Chunk {
    /// Has no entries if the chunk is freed.
    entries: Box<[Entry]>,
    used: u32,
    /// Head of the list of its free entries.
    free: u32,
    /// The neighbours in the list of chunks. Without meaning if the chunk is full.
    prev: u32,
    next: u32,
}

impl Chunk {
    fn new(number: usize) -> Self {
        let start = (number * CHUNK) as u32;
        let entry = |n: u32| {
            let next = if n + 1 == CHUNK as u32 { NIL } else { start + n + 1 };
            Entry { when: 0, prev: NIL, next, generation: 0, slot: NO_SLOT, waker: None }
        };
        let entries = (0..CHUNK as u32).map(entry).collect();
        Self { entries, used: 0, free: start, prev: NIL, next: NIL }
    }

    /// Returns the list that the chunk belongs to; `None` if it is full.
    fn list(&self) -> Option<usize> {
        if self.entries.is_empty() { Some(FREED) } else { Self::list_of(self.used) }
    }

    /// Returns the list of a chunk with `used` used entries.
    fn list_of(used: u32) -> Option<usize> {
        match used {
            0 => Some(EMPTY),
            used if used == CHUNK as u32 => None,
            used => Some(EMPTY + 1 + (used / QUARTER) as usize),
        }
    }
}

/// The entries of a wheel. See the [module](self).
#[derive(Debug)]
pub(super) struct Entries {
    chunks: Vec<Chunk>,
    /// The first chunk of each list.
    heads: [u32; LISTS],
    /// The first chunk of the last list that has one: new timers go there.
    fullest: u32,
    /// The number of chunks in the list `EMPTY`.
    empty: usize,
}

impl Entries {
    pub(super) fn new() -> Self {
        Self { chunks: Vec::new(), heads: [NIL; LISTS], fullest: NIL, empty: 0 }
    }

    /// Returns the entry `index`, unless its chunk is freed.
    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&Entry> {
        self.chunks.get(index as usize / CHUNK)?.entries.get(index as usize % CHUNK)
    }

    /// Takes a free entry and returns its index.
    #[inline]
    pub(super) fn take(&mut self) -> u32 {
        if self.fullest == NIL {
            self.grow();
        }
        let number = self.fullest as usize;
        let chunk = &mut self.chunks[number];
        let index = chunk.free;
        chunk.free = chunk.entries[index as usize % CHUNK].next;
        chunk.used += 1;
        if chunk.used == 1 || chunk.used.is_multiple_of(QUARTER) {
            let before = Chunk::list_of(chunk.used - 1);
            self.change_list(number, before);
        }
        index
    }

    /// Gives an entry back whose waker was taken. Returns whether that freed a chunk.
    #[inline]
    pub(super) fn release(&mut self, index: u32) -> Released {
        let number = index as usize / CHUNK;
        let chunk = &mut self.chunks[number];
        let entry = &mut chunk.entries[index as usize % CHUNK];
        (entry.slot, entry.next) = (NO_SLOT, chunk.free);
        chunk.free = index;
        chunk.used -= 1;
        if chunk.used == 0 || (chunk.used + 1).is_multiple_of(QUARTER) {
            let before = Chunk::list_of(chunk.used + 1);
            self.change_list(number, before);
            return self.trim(number);
        }
        Released::Entry
    }

    /// Makes a chunk without a used entry, in the place of a freed one if there is one.
    #[cold]
    fn grow(&mut self) {
        let number = match self.heads[FREED] {
            NIL => self.chunks.len(),
            freed => freed as usize,
        };
        if number == self.chunks.len() {
            self.chunks.push(Chunk::new(number));
        } else {
            // Before its neighbours in the list are overwritten.
            self.unlink(number, FREED);
            self.chunks[number] = Chunk::new(number);
        }
        self.change_list(number, None);
    }

    /// Frees a chunk that has just become empty, if enough others are.
    fn trim(&mut self, number: usize) -> Released {
        if self.empty <= KEEP_CHUNKS || self.chunks[number].used > 0 {
            return Released::Entry;
        }
        self.chunks[number].entries = Box::default();
        self.change_list(number, Some(EMPTY));
        while self.chunks.last().is_some_and(|last| last.entries.is_empty()) {
            self.unlink(self.chunks.len() - 1, FREED);
            self.chunks.pop();
        }
        if self.chunks.len() < self.chunks.capacity() / 4 {
            self.chunks.shrink_to(2 * self.chunks.len());
        }
        Released::Chunk
    }

    /// Moves a chunk from the list `before` to its own one.
    #[cold]
    fn change_list(&mut self, number: usize, before: Option<usize>) {
        if let Some(before) = before {
            self.unlink(number, before);
        }
        if let Some(list) = self.chunks[number].list() {
            let next = std::mem::replace(&mut self.heads[list], number as u32);
            (self.chunks[number].prev, self.chunks[number].next) = (NIL, next);
            if next != NIL {
                self.chunks[next as usize].prev = number as u32;
            }
            self.empty += usize::from(list == EMPTY);
        }
        let with_room = self.heads[EMPTY..].iter().rev();
        self.fullest = with_room.copied().find(|head| *head != NIL).unwrap_or(NIL);
    }

    fn unlink(&mut self, number: usize, list: usize) {
        let (prev, next) = (self.chunks[number].prev, self.chunks[number].next);
        match prev {
            NIL => self.heads[list] = next,
            prev => self.chunks[prev as usize].next = next,
        }
        if next != NIL {
            self.chunks[next as usize].prev = prev;
        }
        self.empty -= usize::from(list == EMPTY);
    }
}

/// What [`Entries::release`] has freed.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Released {
    /// Only the entry.
    Entry,
    /// Also the memory of its chunk.
    Chunk,
}

impl Index<u32> for Entries {
    type Output = Entry;
    #[inline]
    fn index(&self, index: u32) -> &Entry {
        &self.chunks[index as usize / CHUNK].entries[index as usize % CHUNK]
    }
}

impl IndexMut<u32> for Entries {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Entry {
        &mut self.chunks[index as usize / CHUNK].entries[index as usize % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::rand::Rand;
    use std::collections::HashSet;

    impl Entries {
        /// Returns the number of chunks that have memory.
        pub(in crate::timer) fn chunks(&self) -> usize {
            self.chunks.iter().filter(|chunk| !chunk.entries.is_empty()).count()
        }

        /// Asserts what is always true of the lists and counters.
        fn assert_consistent(&self) {
            let mut listed = 0;
            for (list, head) in self.heads.iter().enumerate() {
                let (mut prev, mut number) = (NIL, *head);
                while number != NIL {
                    let chunk = &self.chunks[number as usize];
                    assert_eq!((chunk.prev, chunk.list()), (prev, Some(list)));
                    listed += 1;
                    (prev, number) = (number, chunk.next);
                }
            }
            let full = self.chunks.iter().filter(|chunk| chunk.list().is_none()).count();
            assert_eq!(listed + full, self.chunks.len());
            let in_list = |list| self.chunks.iter().filter(|c| c.list() == Some(list)).count();
            assert_eq!(in_list(EMPTY), self.empty);
            assert!(self.empty <= KEEP_CHUNKS);
        }
    }

    #[test]
    fn an_index_is_taken_once_and_chunks_are_in_their_lists() {
        let (mut entries, rand) = (Entries::new(), Rand::new(3));
        let mut taken = Vec::new();
        let mut is_taken = HashSet::new();
        let mut most = 0;
        for round in 0..20 {
            // Grows in even rounds, and shrinks in odd ones.
            let grows = round % 2 == 0;
            for _ in 0..64 * CHUNK {
                let is_against = rand.next_u32() % 8 == 0;
                if grows != is_against || taken.is_empty() {
                    let index = entries.take();
                    assert!(is_taken.insert(index), "{index} is used");
                    taken.push(index);
                } else {
                    let index = taken.swap_remove(rand.next_u32() as usize % taken.len());
                    is_taken.remove(&index);
                    let _ = entries.release(index);
                }
            }
            entries.assert_consistent();
            most = most.max(entries.chunks());
            let used: u32 = entries.chunks.iter().map(|chunk| chunk.used).sum();
            assert_eq!(used as usize, taken.len());
        }
        for index in taken {
            let _ = entries.release(index);
        }
        entries.assert_consistent();
        assert!(most > 2 * KEEP_CHUNKS);
        assert_eq!(entries.chunks(), KEEP_CHUNKS);
    }

    #[test]
    fn new_entries_go_to_the_fullest_chunk() {
        let mut entries = Entries::new();
        let all: Vec<u32> = (0..4 * CHUNK).map(|_| entries.take()).collect();
        // Three quarters of the first chunk stay, a quarter of the second, and one of the third.
        for (n, index) in all.iter().enumerate() {
            let (chunk, at) = (n / CHUNK, n % CHUNK);
            if at >= [192, 64, 1, CHUNK][chunk] {
                let _ = entries.release(*index);
            }
        }
        entries.assert_consistent();
        let mut numbers: Vec<usize> =
            (0..64 + 192 + 255).map(|_| entries.take() as usize / CHUNK).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
        numbers.dedup();
        assert_eq!(numbers, [0, 1, 2]);
    }
}
