//! Orders in which the cases of a select are looked at and locked.

#[cfg(all(test, gmp_loom))]
use super::loom::choose_below as random_below;
#[cfg(not(all(test, gmp_loom)))]
use gmp_rt::park::random_below;

/// So many cases need no allocation.
const INLINE: usize = 8;

/// Indices of cases, in the order in which they are to be locked.
#[derive(Debug, Default)]
pub(super) struct Order {
    inline: [u32; INLINE],
    len: usize,
    /// All of them, if they are too many to lie inline.
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

/// The indices of cases in a random order, each permutation as likely as the others.
///
/// Up to 16 are the digits of one word: almost every select has a few cases, and is done after the first try.
#[derive(Debug)]
pub(super) struct Shuffle {
    len: usize,
    digits: u64,
    /// All of them, if they are more than there are digits.
    heap: Vec<u32>,
}

impl Shuffle {
    const DIGITS: usize = 16;

    /// The indices below `len`.
    #[inline]
    pub(super) fn new(len: usize) -> Self {
        if len > Self::DIGITS {
            return Self::large(len);
        }
        let mut digits: u64 = 0xFEDC_BA98_7654_3210;
        for last in (1..len as u32).rev() {
            let other = random_below(last + 1);
            let (last, other) = (4 * last, 4 * other);
            let differs = (digits >> last ^ digits >> other) & 15;
            digits ^= differs << last ^ differs << other;
        }
        Self { len, digits, heap: Vec::new() }
    }

    #[cold]
    fn large(len: usize) -> Self {
        let mut heap: Vec<u32> = (0..len as u32).collect();
        for last in (1..len).rev() {
            let other = random_below(last as u32 + 1) as usize;
            (heap[last], heap[other]) = (heap[other], heap[last]);
        }
        Self { len, digits: 0, heap }
    }

    /// The indices, in the order.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        let digit = |n: usize| (self.digits >> (4 * n) & 15) as usize;
        let large = self.len > Self::DIGITS;
        (0..self.len).map(move |n| if large { self.heap[n] as usize } else { digit(n) })
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::Shuffle;
    use std::collections::HashMap;

    /// Each index once, for few and for many.
    #[test]
    fn a_shuffle_is_a_permutation() {
        for len in [0, 1, 2, 3, 15, 16, 17, 100] {
            let mut indices: Vec<usize> = Shuffle::new(len).iter().collect();
            indices.sort_unstable();
            assert_eq!(indices, (0..len).collect::<Vec<_>>());
        }
    }

    /// All permutations of four, about as often.
    #[test]
    fn all_are_as_likely() {
        let mut seen: HashMap<Vec<usize>, u32> = HashMap::new();
        for _ in 0..48_000 {
            *seen.entry(Shuffle::new(4).iter().collect()).or_default() += 1;
        }
        assert_eq!(seen.len(), 24);
        // 2000 each; the deviation of a count is 44.
        assert!(seen.values().all(|count| (1_700..2_300).contains(count)), "{seen:?}");
    }
}
