//! Strips of `for` loops.
//!
//! [`Flagged`] checks the flag before each item. [`Strip`] is a part of an iterator that is known
//! to be cheap. It has no check, so the compiler can vectorize its loop. The macro uses a [`Strip`]
//! if the body of the loop is cheap too. The probe `(&Probe(&iter)).tag()` selects the kind by the
//! type of the iterator: the compiler prefers [`IsSplit::tag`], which needs no further reference.

use super::Watch;
use std::ops::{Range, RangeInclusive};
use std::slice;

/// The maximum number of items of a [`Strip`]. Chosen: a strip costs little compared with as many
/// additions, and ends in less than a millisecond if each item misses the cache.
pub(super) const LOOP_STRIP: u32 = 4096;

/// How a strip ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The body left the loop.
    Left,
    /// The iterator has no more items.
    Exhausted,
    /// There may be more items.
    Paused,
}

impl End {
    /// Whether the loop has ended.
    #[inline(always)]
    #[must_use]
    pub fn is_final(self) -> bool {
        self != Self::Paused
    }
}

/// The items of an iterator until the flag is raised.
#[derive(Debug)]
pub struct Flagged<'a, I> {
    iter: &'a mut I,
    end: &'a mut End,
    watch: Watch,
}

impl<'a, I> Flagged<'a, I> {
    /// Begins a strip.
    #[inline(always)]
    pub fn new(iter: &'a mut I, end: &'a mut End, watch: Watch) -> Self {
        Self { iter, end, watch }
    }
}

impl<I: Iterator> Iterator for Flagged<'_, I> {
    type Item = I::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        if self.watch.is_over() {
            *self.end = End::Paused;
            return None;
        }
        let item = self.iter.next();
        if item.is_none() {
            *self.end = End::Exhausted;
        }
        item
    }
}

/// Some items of an iterator, without a check.
#[derive(Debug)]
pub struct Strip<'a, I> {
    items: I,
    end: &'a mut End,
    last: End,
}

impl<I: Iterator> Iterator for Strip<'_, I> {
    type Item = I::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        let item = self.items.next();
        if item.is_none() {
            *self.end = self.last;
        }
        item
    }
}

/// An iterator that can be split and whose items cost a few instructions each.
pub trait Split: Iterator + Sized {
    /// Removes and returns the first `LOOP_STRIP` items, and whether more may be left.
    ///
    /// If not, it returns all items that are left, at most one more than `LOOP_STRIP`.
    fn split(&mut self) -> (Self, bool);
}

/// An integer of a range.
pub trait Int: Copy + PartialOrd {
    /// Returns `self` plus `LOOP_STRIP`, if that is below `end`.
    fn strip_end(self, end: Self) -> Option<Self>;

    /// Returns the number before this one, which is not the smallest.
    fn before(self) -> Self;
}

macro_rules! int {
    ($($int:ty),+) => {$(
        impl Int for $int {
            #[inline(always)]
            fn strip_end(self, end: Self) -> Option<Self> {
                let strip_end = <$int>::try_from(LOOP_STRIP).ok().and_then(|n| self.checked_add(n));
                strip_end.filter(|strip_end| *strip_end < end)
            }

            #[inline(always)]
            fn before(self) -> Self {
                self - 1
            }
        }
    )+};
}

int!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);

impl<T: Int> Split for Range<T>
where
    Self: Iterator<Item = T>,
{
    #[inline(always)]
    fn split(&mut self) -> (Self, bool) {
        let strip_end = self.start.strip_end(self.end);
        let strip = self.start..strip_end.unwrap_or(self.end);
        self.start = strip.end;
        (strip, strip_end.is_some())
    }
}

impl<T: Int> Split for RangeInclusive<T>
where
    Self: Iterator<Item = T>,
{
    #[inline(always)]
    fn split(&mut self) -> (Self, bool) {
        match self.start().strip_end(*self.end()) {
            Some(strip_end) => {
                let strip = *self.start()..=strip_end.before();
                *self = strip_end..=*self.end();
                (strip, true)
            }
            // The clone keeps the state of a range that was iterated to its end.
            None => (self.clone(), false),
        }
    }
}

impl<T> Split for slice::Iter<'_, T> {
    #[inline(always)]
    fn split(&mut self) -> (Self, bool) {
        match self.as_slice().split_at_checked(LOOP_STRIP as usize) {
            Some((strip, rest)) => {
                *self = rest.iter();
                (strip.iter(), true)
            }
            None => (std::mem::take(self), false),
        }
    }
}

impl<T> Split for slice::IterMut<'_, T> {
    #[inline(always)]
    fn split(&mut self) -> (Self, bool) {
        if self.len() < LOOP_STRIP as usize {
            return (std::mem::take(self), false);
        }
        let (strip, rest) = std::mem::take(self).into_slice().split_at_mut(LOOP_STRIP as usize);
        *self = rest.iter_mut();
        (strip.iter_mut(), true)
    }
}

/// An iterator whose kind of strip the compiler selects.
#[derive(Debug)]
pub struct Probe<'a, I>(pub &'a I);

/// The tag of any iterator.
#[derive(Clone, Copy, Debug)]
pub struct FlaggedTag;

/// The tag of an iterator that can be split.
#[derive(Clone, Copy, Debug)]
pub struct SplitTag;

/// Recognizes an iterator that can be split.
pub trait IsSplit {
    /// Returns its tag.
    #[inline(always)]
    fn tag(&self) -> SplitTag {
        SplitTag
    }
}

/// Recognizes any iterator.
pub trait IsFlagged {
    /// Returns its tag.
    #[inline(always)]
    fn tag(&self) -> FlaggedTag {
        FlaggedTag
    }
}

impl<T: Int> IsSplit for Probe<'_, Range<T>> {}
impl<T: Int> IsSplit for Probe<'_, RangeInclusive<T>> {}
impl<T> IsSplit for Probe<'_, slice::Iter<'_, T>> {}
impl<T> IsSplit for Probe<'_, slice::IterMut<'_, T>> {}
impl<I> IsFlagged for &Probe<'_, I> {}

impl FlaggedTag {
    /// Begins a strip.
    #[inline(always)]
    pub fn strip<'a, I>(self, iter: &'a mut I, end: &'a mut End) -> Flagged<'a, I> {
        Flagged::new(iter, end, super::watch())
    }
}

impl SplitTag {
    /// Begins a strip. It does not read the flag. The loop does when the strip has ended.
    #[inline(always)]
    pub fn strip<'a, I: Split>(self, iter: &mut I, end: &'a mut End) -> Strip<'a, I> {
        let (items, has_more) = iter.split();
        Strip { items, end, last: if has_more { End::Paused } else { End::Exhausted } }
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::super::{AtomicBool, Flag, NEVER};
    use super::*;
    use std::fmt::Debug;

    /// Iterates over `iter` in strips, and returns the items.
    fn items<I: Split>(mut iter: I) -> Vec<I::Item> {
        let mut items = Vec::new();
        loop {
            let (strip, has_more) = iter.split();
            let before = items.len();
            items.extend(strip);
            assert!(items.len() - before <= LOOP_STRIP as usize + 1);
            if !has_more {
                return items;
            }
        }
    }

    fn check<I: Split<Item: PartialEq + Debug> + Clone>(iter: I) {
        assert_eq!(items(iter.clone()), iter.collect::<Vec<_>>());
    }

    /// Lengths around the limit of a strip, and 0.
    fn lengths() -> impl Iterator<Item = u32> {
        [0, 1, 2, LOOP_STRIP - 1, LOOP_STRIP, LOOP_STRIP + 1, 2 * LOOP_STRIP, 3 * LOOP_STRIP + 7]
            .into_iter()
    }

    #[test]
    fn strips_of_a_range_have_its_items_in_order() {
        for len in lengths() {
            check(0..len);
            check(u32::MAX - len..u32::MAX);
            check(-5..i64::from(len) - 5);
            check(i32::MIN..i32::MIN + len as i32);
        }
        check(0..u8::MAX);
        check(i8::MIN..i8::MAX);
        let (start, end) = (5, 3);
        check(start..end);
    }

    #[test]
    fn strips_of_an_inclusive_range_have_its_items_in_order() {
        for len in lengths() {
            check(1..=len);
            check(u32::MAX - len..=u32::MAX);
            check(i64::MIN..=i64::MIN + i64::from(len));
        }
        check(0..=u8::MAX);
        check(i8::MIN..=i8::MAX);
        let (mut used, start, end) = (1..=2, 5, 3);
        assert_eq!(used.by_ref().count(), 2);
        check(used);
        check(start..=end);
    }

    #[test]
    fn strips_of_a_slice_have_its_items_in_order() {
        for len in lengths() {
            let mut numbers: Vec<u32> = (0..len).collect();
            check(numbers.iter());
            for number in items(numbers.iter_mut()) {
                *number += 1;
            }
            assert!(numbers.into_iter().eq(1..=len));
        }
    }

    #[test]
    fn a_flagged_iterator_pauses_between_two_items() {
        static RAISED: AtomicBool = AtomicBool::new(true);
        let (mut numbers, mut seen) = (0..3, Vec::new());
        let mut take_strip = || {
            let (mut end, watch) = (End::Left, Watch { next: Flag(&NEVER), flag: Flag(&RAISED) });
            seen.extend(Flagged::new(&mut numbers, &mut end, watch));
            end
        };
        assert_eq!([(); 3].map(|()| take_strip()), [End::Paused; 3]);
        assert_eq!(take_strip(), End::Exhausted);
        assert_eq!(seen, [0, 1, 2]);
    }
}
