//! The orders in which the cases of a select are tried and locked.

#[cfg(all(test, gmp_loom))]
use super::loom::Script as Random;
#[cfg(not(all(test, gmp_loom)))]
use gmp_rt::park::Random;

/// Number of cases that need no allocation. Chosen.
const INLINE: usize = 16;

/// Indices of cases, in the order in which they are locked.
#[derive(Debug, Default)]
pub(super) struct Order {
    inline: [u32; INLINE],
    len: usize,
    /// All indices, if they do not fit inline.
    heap: Vec<u32>,
}

impl Order {
    pub(super) fn push(&mut self, index: u32) {
        if self.len < INLINE {
            self.inline[self.len] = index;
        } else {
            if self.heap.is_empty() {
                self.heap.extend_from_slice(&self.inline);
            }
            self.heap.push(index);
        }
        self.len += 1;
    }

    pub(super) fn as_slice(&self) -> &[u32] {
        if self.heap.is_empty() { &self.inline[..self.len] } else { &self.heap }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u32] {
        if self.heap.is_empty() { &mut self.inline[..self.len] } else { &mut self.heap }
    }
}

/// The indices of cases in a random order. All permutations have the same probability.
///
/// The order is drawn step by step: a select whose first case is ready draws one number. Up to 16
/// indices are the digits of one word, and more are on the heap from the second step on.
#[derive(Debug)]
pub(super) struct Shuffle {
    len: usize,
    /// Number of drawn indices. They are the first ones.
    drawn: usize,
    digits: u64,
    /// All indices, if there are more than `DIGITS` and more than one is drawn.
    heap: Vec<u32>,
    /// The first index, while the heap is empty.
    first: u32,
    random: Random,
}

impl Shuffle {
    const DIGITS: usize = 16;

    /// Creates an order of the indices below `len`, none of them drawn.
    #[inline]
    pub(super) fn new(len: usize) -> Self {
        let (digits, heap, random) = (0xFEDC_BA98_7654_3210, Vec::new(), Random::new());
        Self { len, drawn: 0, digits, heap, first: 0, random }
    }

    /// Draws the next index. Returns `None` after the last.
    #[inline]
    pub(super) fn draw(&mut self) -> Option<usize> {
        let left = self.len - self.drawn;
        let skip = match left {
            0 => return None,
            1 => 0,
            left => self.random.below(left as u32) as usize,
        };
        let (at, other) = (self.drawn, self.drawn + skip);
        self.drawn += 1;
        if self.len > Self::DIGITS {
            return Some(self.draw_large(at, other));
        }
        let differs = (self.digits >> (4 * at) ^ self.digits >> (4 * other)) & 15;
        self.digits ^= differs << (4 * at) ^ differs << (4 * other);
        Some(self.digit(at))
    }

    #[inline]
    fn digit(&self, at: usize) -> usize {
        (self.digits >> (4 * at) & 15) as usize
    }

    fn draw_large(&mut self, at: usize, other: usize) -> usize {
        if at == 0 {
            self.first = other as u32;
            return other;
        }
        if self.heap.is_empty() {
            self.heap.extend(0..self.len as u32);
            self.exchange(0, self.first as usize);
        }
        self.exchange(at, other);
        self.heap[at] as usize
    }

    fn exchange(&mut self, at: usize, other: usize) {
        (self.heap[at], self.heap[other]) = (self.heap[other], self.heap[at]);
    }

    /// Creates an order of the indices below `len`, all of them drawn.
    pub(super) fn drawn(len: usize) -> Self {
        let mut order = Self::new(len);
        while order.draw().is_some() {}
        order
    }

    /// Returns all indices in order. The caller has drawn all of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        debug_assert_eq!(self.drawn, self.len, "an order that is not drawn");
        let is_large = self.len > Self::DIGITS;
        (0..self.len).map(move |n| if is_large { self.heap[n] as usize } else { self.digit(n) })
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::Shuffle;
    use std::collections::HashMap;

    /// Each index occurs once, for few and for many indices.
    #[test]
    fn a_shuffle_is_a_permutation() {
        for len in [0, 1, 2, 3, 15, 16, 17, 100] {
            let mut order = Shuffle::new(len);
            let mut indices: Vec<usize> = std::iter::from_fn(|| order.draw()).collect();
            assert_eq!(order.iter().collect::<Vec<_>>(), indices);
            indices.sort_unstable();
            assert_eq!(indices, (0..len).collect::<Vec<_>>());
        }
    }

    /// Of many indices, each is first equally often.
    #[test]
    fn all_of_many_are_as_likely_to_be_first() {
        let mut seen = [0u32; 100];
        for _ in 0..200_000 {
            seen[Shuffle::new(100).draw().expect("an index")] += 1;
        }
        // The expected count is 2000, its standard deviation 44.
        assert!(seen.iter().all(|count| (1_700..2_300).contains(count)), "{seen:?}");
    }

    /// All permutations of four indices are equally frequent.
    #[test]
    fn all_are_as_likely() {
        let mut seen: HashMap<Vec<usize>, u32> = HashMap::new();
        for _ in 0..48_000 {
            *seen.entry(Shuffle::drawn(4).iter().collect()).or_default() += 1;
        }
        assert_eq!(seen.len(), 24);
        // The expected count is 2000, its standard deviation 44.
        assert!(seen.values().all(|count| (1_700..2_300).contains(count)), "{seen:?}");
    }
}
