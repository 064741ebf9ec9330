//! The orders in which the cases of a select are tried and locked.

use super::case::{Kind, Will};
use super::list::List;
#[cfg(all(test, gmp_loom))]
use super::loom::Script as Random;
#[cfg(not(all(test, gmp_loom)))]
use gmp_rt::task::park::Random;

/// Number of cases that need no allocation. Chosen.
const INLINE: usize = 16;

/// Indices of cases in some order.
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

    /// Creates the order in which a select tries the cases of `list`.
    pub(super) fn of<L: List + ?Sized>(list: &L) -> Self {
        if !list.is_biased() {
            return Self::shuffled(list.count());
        }
        let mut order = Self::default();
        (0..list.count() as u32).for_each(|index| order.push(index));
        order
    }

    /// Creates an order of the indices below `len`. All permutations have the same probability.
    pub(super) fn shuffled(len: usize) -> Self {
        let (mut order, mut random) = (Self::default(), Random::new());
        (0..len as u32).for_each(|index| order.push(index));
        let indices = order.as_mut_slice();
        for left in (2..=len).rev() {
            let drawn = random.below(left as u32) as usize;
            (indices[left - 1], indices[drawn]) = (indices[drawn], indices[left - 1]);
        }
        order
    }

    /// Returns the case indices in the drawn order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.as_slice().iter().map(|index| *index as usize)
    }

    pub(super) fn as_slice(&self) -> &[u32] {
        if self.heap.is_empty() { &self.inline[..self.len] } else { &self.heap }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u32] {
        if self.heap.is_empty() { &mut self.inline[..self.len] } else { &mut self.heap }
    }
}

/// The channel cases of a select, in the order in which their channels are locked.
#[derive(Debug, Default)]
pub(super) struct Locks(Order);

/// Marks a case on the same channel as the case before it.
const SAME: u32 = 1 << 31;

impl Locks {
    /// Sorts the channel cases of `list`.
    pub(super) fn of<L: List + ?Sized>(list: &L) -> Self {
        let count = list.count();
        let (mut inline, mut heap) = ([(0, 0); INLINE], Vec::new());
        let cases = match inline.get_mut(..count) {
            Some(cases) => cases,
            None => {
                heap.resize(count, (0, 0));
                &mut heap[..]
            }
        };
        let mut len = 0;
        for index in 0..count {
            if let Kind::Channel(id) = list.look(index).kind() {
                cases[len] = (id, index as u32);
                len += 1;
            }
        }
        let cases = &mut cases[..len];
        cases.sort_unstable();
        let (mut locks, mut last) = (Self::default(), None);
        for (id, index) in cases {
            let same = if last == Some(*id) { SAME } else { 0 };
            locks.0.push(*index | same);
            last = Some(*id);
        }
        locks
    }

    /// Returns the number of cases.
    pub(super) fn len(&self) -> usize {
        self.0.len
    }

    /// Returns all cases.
    pub(super) fn cases(&self) -> impl Iterator<Item = usize> {
        self.0.as_slice().iter().map(|case| (case & !SAME) as usize)
    }

    /// Returns one case for each channel.
    pub(super) fn channels(&self) -> impl DoubleEndedIterator<Item = usize> {
        let firsts = self.0.as_slice().iter().filter(|case| **case & SAME == 0);
        firsts.map(|case| *case as usize)
    }
}

/// The cases that the first pass of a select still has to try. They are drawn in random order: each
/// of those that are left has the same probability. A biased select draws them in their order.
#[derive(Debug)]
pub(super) struct Candidates {
    /// A bit for each case that may be ready, if there are at most 64 cases.
    mask: u64,
    many: Many,
    will: Will,
    random: Random,
}

/// More than 64 cases.
///
/// Whether a case may be ready is read from its channel. So the first case is drawn from all. If
/// most channels are ready, it is the only one that is read. If it fails, all are read once.
#[derive(Debug)]
enum Many {
    /// There are at most 64 cases.
    Few,
    /// No case was drawn yet.
    All,
    /// The flags were not read yet. This case was drawn.
    AllBut(usize),
    /// These are left.
    Some(Bits),
    /// The indices from this one on are left, in their order.
    InOrder(usize),
}

impl Candidates {
    /// Returns the cases of `list` that may be ready. If the select continues without one, a
    /// skipped case would not be checked again, so all are returned.
    #[inline]
    pub(super) fn of<L: List + ?Sized>(list: &L, will: Will) -> Self {
        let count = list.count() as u32;
        let (mask, many) = match (will, u64::BITS.checked_sub(count)) {
            (Will::Wait, Some(_)) => (list.ready_mask(), Many::Few),
            (Will::GoOn, Some(unused)) => (u64::MAX.checked_shr(unused).unwrap_or(0), Many::Few),
            (_, None) if list.is_biased() => (0, Many::InOrder(0)),
            (_, None) => (0, Many::All),
        };
        Self { mask, many, will, random: Random::new() }
    }

    /// Draws the next index of `list`. Returns `None` after the last.
    #[inline]
    pub(super) fn draw<L: List + ?Sized>(&mut self, list: &L) -> Option<usize> {
        if self.mask == 0 {
            return self.draw_many(list);
        }
        let mut rest = self.mask;
        if !rest.is_power_of_two() && !list.is_biased() {
            let rank = self.random.below(rest.count_ones());
            rest = without_lowest(rest, rank);
        }
        let index = rest.trailing_zeros();
        self.mask ^= 1 << index;
        Some(index as usize)
    }

    #[inline]
    fn draw_many<L: List + ?Sized>(&mut self, list: &L) -> Option<usize> {
        let drawn = match &mut self.many {
            Many::Few => return None,
            Many::Some(left) => return left.draw(&mut self.random),
            Many::InOrder(next) => {
                let will_be_tried =
                    |index: &usize| self.will == Will::GoOn || list.may_be_ready(*index);
                let drawn = (*next..list.count()).find(will_be_tried);
                *next = drawn.map_or(list.count(), |drawn| drawn + 1);
                return drawn;
            }
            Many::AllBut(drawn) => *drawn,
            Many::All => {
                let drawn = self.random.below(list.count() as u32) as usize;
                if self.will == Will::GoOn || list.may_be_ready(drawn) {
                    self.many = Many::AllBut(drawn);
                    return Some(drawn);
                }
                drawn
            }
        };
        let mut left = Bits::read(list, self.will);
        left.remove(drawn);
        let next = left.draw(&mut self.random);
        self.many = Many::Some(left);
        next
    }
}

/// Clears the `n` lowest set bits.
#[inline]
fn without_lowest(word: u64, n: u32) -> u64 {
    (0..n).fold(word, |rest, _| rest & (rest - 1))
}

/// Words that need no allocation, for 256 cases. Chosen.
const INLINE_WORDS: usize = 4;

/// A set of indices, as a bit for each.
#[derive(Debug)]
struct Bits {
    inline: [u64; INLINE_WORDS],
    /// All words, if they do not fit inline.
    heap: Vec<u64>,
    /// Number of indices in the set.
    len: u32,
}

impl Bits {
    /// Returns the cases that may be ready. If the select goes on without one, returns all: see
    /// [`Candidates::of`].
    fn read<L: List + ?Sized>(list: &L, will: Will) -> Self {
        let count = list.count();
        let mut bits = Self { inline: [0; INLINE_WORDS], heap: Vec::new(), len: 0 };
        if count > u64::BITS as usize * INLINE_WORDS {
            bits.heap = vec![0; count.div_ceil(u64::BITS as usize)];
        }
        let words = bits.words();
        let mut len = 0;
        for (start, word) in (0..count).step_by(u64::BITS as usize).zip(words) {
            *word = match will {
                Will::Wait => list.ready_word(start),
                Will::GoOn => u64::MAX >> (u64::BITS as usize).saturating_sub(count - start),
            };
            len += word.count_ones();
        }
        bits.len = len;
        bits
    }

    fn words(&mut self) -> &mut [u64] {
        if self.heap.is_empty() { &mut self.inline } else { &mut self.heap }
    }

    /// Removes `index`, if it is in the set.
    fn remove(&mut self, index: usize) {
        let (word, bit) = (index / u64::BITS as usize, index % u64::BITS as usize);
        let word = &mut self.words()[word];
        let was = *word;
        *word &= !(1 << bit);
        self.len -= u32::from(*word != was);
    }

    /// Removes an index and returns it. Each index has the same probability.
    fn draw(&mut self, random: &mut Random) -> Option<usize> {
        let mut rank = match self.len {
            0 => return None,
            1 => 0,
            len => random.below(len),
        };
        self.len -= 1;
        for (place, word) in self.words().iter_mut().enumerate() {
            let ones = word.count_ones();
            if rank < ones {
                let bit = without_lowest(*word, rank).trailing_zeros();
                *word ^= 1 << bit;
                return Some(place * u64::BITS as usize + bit as usize);
            }
            rank -= ones;
        }
        unreachable!("the words have fewer bits than counted")
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::super::case::{Arm, Attempt};
    use super::*;
    use std::collections::HashMap;
    use std::pin::Pin;
    use std::task::Context;

    /// A list whose cases are only asked whether they may be ready.
    struct Flags(Vec<bool>);

    // SAFETY: there is no arm.
    unsafe impl List for Flags {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn arm(self: Pin<&mut Self>, _: usize) -> Pin<&mut dyn Arm> {
            unreachable!("no arm")
        }

        fn look(&self, _: usize) -> &dyn Arm {
            unreachable!("no arm")
        }

        fn may_be_ready(&self, index: usize) -> bool {
            self.0[index]
        }

        fn try_alone(self: Pin<&mut Self>, _: usize, _: Will, _: &mut Context<'_>) -> Attempt {
            unreachable!("no arm")
        }
    }

    fn draw_all(list: &Flags, will: Will) -> Vec<usize> {
        let mut candidates = Candidates::of(list, will);
        let mut indices: Vec<usize> = std::iter::from_fn(|| candidates.draw(list)).collect();
        indices.sort_unstable();
        indices
    }

    /// A select that waits draws the cases that may be ready, one with a default draws all.
    #[test]
    fn candidates_are_drawn_once_each() {
        for len in [0, 1, 2, 3, 16, 63, 64, 65, 100, 128, 255, 256, 257, 1000] {
            let every_third = Flags((0..len).map(|n| n % 3 == 0).collect());
            let drawn = draw_all(&every_third, Will::Wait);
            assert_eq!(drawn, (0..len).step_by(3).collect::<Vec<_>>());
            let drawn = draw_all(&every_third, Will::GoOn);
            assert_eq!(drawn, (0..len).collect::<Vec<_>>());
        }
    }

    /// Of few and of many candidates, each is drawn first equally often, and so is each of the rest
    /// after it.
    #[test]
    fn each_candidate_is_drawn_equally_often() {
        for (len, every) in [(10, 1), (100, 1), (100, 10), (300, 10)] {
            let list = Flags((0..len).map(|n| n != 30 && n % every == 0).collect());
            let count = list.0.iter().filter(|ready| **ready).count();
            let mut seen = [vec![0u32; len], vec![0u32; len]];
            for _ in 0..2_000 * count {
                let mut candidates = Candidates::of(&list, Will::Wait);
                for seen in &mut seen {
                    seen[candidates.draw(&list).expect("a candidate")] += 1;
                }
            }
            for seen in seen {
                let wrong = seen.iter().zip(&list.0).filter(|(count, ready)| match ready {
                    // The expected count is 2000, its standard deviation 45.
                    true => !(1_700..2_300).contains(*count),
                    false => **count != 0,
                });
                assert_eq!(wrong.count(), 0, "{len} {every}: {seen:?}");
            }
        }
    }

    /// A biased list of one kind of case.
    struct InOrder(Flags);

    // SAFETY: there is no arm.
    unsafe impl List for InOrder {
        fn count(&self) -> usize {
            self.0.count()
        }

        fn is_biased(&self) -> bool {
            true
        }

        fn arm(self: Pin<&mut Self>, _: usize) -> Pin<&mut dyn Arm> {
            unreachable!("no arm")
        }

        fn look(&self, _: usize) -> &dyn Arm {
            unreachable!("no arm")
        }

        fn may_be_ready(&self, index: usize) -> bool {
            self.0.may_be_ready(index)
        }

        fn try_alone(self: Pin<&mut Self>, _: usize, _: Will, _: &mut Context<'_>) -> Attempt {
            unreachable!("no arm")
        }
    }

    /// Few and many cases of a biased select are tried in their order, in each pass.
    #[test]
    fn a_biased_select_tries_its_cases_in_their_order() {
        for len in [0, 1, 2, 16, 17, 64, 65, 100] {
            let list = InOrder(Flags((0..len).map(|n| n % 3 == 0).collect()));
            for (will, step) in [(Will::Wait, 3), (Will::GoOn, 1)] {
                let mut candidates = Candidates::of(&list, will);
                let drawn: Vec<usize> = std::iter::from_fn(|| candidates.draw(&list)).collect();
                assert!(drawn.iter().copied().eq((0..len).step_by(step)), "{drawn:?}");
            }
            assert!(Order::of(&list).iter().eq(0..len));
        }
    }

    #[test]
    fn a_shuffled_order_has_each_index_once() {
        for len in [0, 1, 2, 15, 16, 17, 100] {
            let mut indices: Vec<usize> = Order::shuffled(len).iter().collect();
            indices.sort_unstable();
            assert_eq!(indices, (0..len).collect::<Vec<_>>());
        }
    }

    #[test]
    fn all_permutations_are_equally_frequent() {
        let mut seen: HashMap<Vec<usize>, u32> = HashMap::new();
        for _ in 0..48_000 {
            *seen.entry(Order::shuffled(4).iter().collect()).or_default() += 1;
        }
        assert_eq!(seen.len(), 24);
        // The expected count is 2000, its standard deviation 44.
        assert!(seen.values().all(|count| (1_700..2_300).contains(count)), "{seen:?}");
    }
}
