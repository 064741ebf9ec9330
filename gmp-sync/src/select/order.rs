//! The orders in which the cases of a select are tried and locked.

use super::case::Will;
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

    /// Returns the indices in order.
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

/// More than 64 cases. Whether a case may be ready is checked when it is drawn: the first one
/// usually is, and a check of all would read many cache lines.
#[derive(Debug)]
enum Many {
    /// All indices below this are left.
    All(u32),
    /// All indices below `count` but `first` are left.
    AllBut { first: u32, count: u32 },
    /// These are left.
    Some(Vec<u32>),
    /// The indices from `next` to `count` are left, in their order.
    InOrder { next: u32, count: u32 },
}

impl Candidates {
    /// Returns the cases of `list` that may be ready. If the select goes on without one, a skipped
    /// case would not be checked again, so all are returned.
    #[inline]
    pub(super) fn of<L: List + ?Sized>(list: &L, will: Will) -> Self {
        let count = list.count() as u32;
        let (mask, many) = match (will, u64::BITS.checked_sub(count)) {
            (Will::Wait, Some(_)) => (list.ready_mask(), Many::All(0)),
            (Will::GoOn, Some(unused)) => (u64::MAX.checked_shr(unused).unwrap_or(0), Many::All(0)),
            (_, None) if list.is_biased() => (0, Many::InOrder { next: 0, count }),
            (_, None) => (0, Many::All(count)),
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
            for _ in 0..self.random.below(rest.count_ones()) {
                rest &= rest - 1;
            }
        }
        let index = rest.trailing_zeros();
        self.mask ^= 1 << index;
        Some(index as usize)
    }

    #[inline]
    fn draw_many<L: List + ?Sized>(&mut self, list: &L) -> Option<usize> {
        loop {
            let index = self.many.take(&mut self.random)?;
            if self.will == Will::GoOn || list.may_be_ready(index) {
                return Some(index);
            }
        }
    }
}

impl Many {
    #[inline]
    fn take(&mut self, random: &mut Random) -> Option<usize> {
        let index = match self {
            Self::All(0) => return None,
            Self::All(count) => {
                let (count, first) = (*count, random.below(*count));
                *self = Self::AllBut { first, count };
                first
            }
            Self::AllBut { first, count } => {
                let left = (0..*count).filter(|index| index != first).collect();
                *self = Self::Some(left);
                return self.take(random);
            }
            Self::InOrder { next, count } if next == count => return None,
            Self::InOrder { next, .. } => {
                *next += 1;
                *next - 1
            }
            Self::Some(left) => match left.len() as u32 {
                0 => return None,
                1 => left.swap_remove(0),
                len => left.swap_remove(random.below(len) as usize),
            },
        };
        Some(index as usize)
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
        for len in [0, 1, 2, 3, 16, 63, 64, 65, 100] {
            let every_third = Flags((0..len).map(|n| n % 3 == 0).collect());
            let drawn = draw_all(&every_third, Will::Wait);
            assert_eq!(drawn, (0..len).step_by(3).collect::<Vec<_>>());
            let drawn = draw_all(&every_third, Will::GoOn);
            assert_eq!(drawn, (0..len).collect::<Vec<_>>());
        }
    }

    /// Of few and of many candidates, each is drawn first equally often.
    #[test]
    fn each_candidate_is_first_equally_often() {
        for len in [10, 100] {
            let list = Flags((0..len).map(|n| n != 3).collect());
            let mut seen = vec![0u32; len];
            for _ in 0..2_000 * (len - 1) {
                let first = Candidates::of(&list, Will::Wait).draw(&list);
                seen[first.expect("a candidate")] += 1;
            }
            assert_eq!(seen.remove(3), 0);
            // The expected count is 2000, its standard deviation 45.
            assert!(seen.iter().all(|count| (1_700..2_300).contains(count)), "{seen:?}");
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
