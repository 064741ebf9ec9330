//! The pages of a slab: how many cells in use touch each, and which of them hold memory.
//!
//! A page is in one of three states:
//!
//! | state | cells in use | memory | left by |
//! |-------|--------------|--------|---------|
//! | empty | none | none: reads as zeros | [`enter`](PageMap::enter) |
//! | busy | some | yes | the last [`leave`](PageMap::leave) |
//! | spare | none | yes | `enter`, or [`give_back`](PageMap::give_back) |
//!
//! All functions take constant time, except for a cell that touches more than two pages.

use std::cell::Cell;

/// Most pages of a slab. One word has a bit for each.
pub(super) const MAX_PAGES: usize = 64;

/// A set of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageSet(u64);

impl PageSet {
    /// Returns the set of `page` alone.
    pub(super) fn of(page: usize) -> Self {
        Self(1 << page)
    }

    /// Returns the number of pages in the set.
    pub(super) fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns the first page of the set.
    pub(super) fn first(self) -> Option<usize> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as usize)
    }

    /// Returns the first run of neighbouring pages: the first page and their number.
    pub(super) fn first_run(self) -> Option<(usize, usize)> {
        let first = self.first()?;
        Some((first, (self.0 >> first).trailing_ones() as usize))
    }

    /// Returns the pages of both sets.
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the pages of either set.
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the pages that are not in `other`.
    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl From<std::ops::Range<usize>> for PageSet {
    fn from(pages: std::ops::Range<usize>) -> Self {
        pages.fold(Self::default(), |set, page| set.or(Self::of(page)))
    }
}

/// The states of the pages of one slab.
#[derive(Debug)]
pub(super) struct PageMap {
    /// The number of cells in use that touch each page.
    in_use: [Cell<u16>; MAX_PAGES],
    /// The pages with a cell in use.
    busy: Cell<PageSet>,
    /// The pages that hold memory: busy and spare ones.
    resident: Cell<PageSet>,
}

impl PageMap {
    /// Returns the map of a new slab, whose pages are empty.
    pub(super) fn new() -> Self {
        Self {
            in_use: [const { Cell::new(0) }; MAX_PAGES],
            busy: Cell::default(),
            resident: Cell::default(),
        }
    }

    /// Counts a cell in use that touches the pages `first..=last`. Returns those that were empty.
    #[inline]
    pub(super) fn enter(&self, first: usize, last: usize) -> PageSet {
        let mut touched = PageSet::default();
        for page in first..=last {
            let in_use = &self.in_use[page];
            in_use.set(in_use.get() + 1);
            touched = touched.or(PageSet::of(page));
        }
        let resident = self.resident.get();
        self.busy.set(self.busy.get().or(touched));
        self.resident.set(resident.or(touched));
        touched.without(resident)
    }

    /// Undoes [`enter`](Self::enter).
    #[inline]
    pub(super) fn leave(&self, first: usize, last: usize) {
        for page in first..=last {
            let in_use = &self.in_use[page];
            in_use.set(in_use.get() - 1);
            if in_use.get() == 0 {
                self.busy.set(self.busy.get().without(PageSet::of(page)));
            }
        }
    }

    /// Returns the pages with a cell in use.
    pub(super) fn busy(&self) -> PageSet {
        self.busy.get()
    }

    /// Returns the pages that hold memory.
    pub(super) fn resident(&self) -> PageSet {
        self.resident.get()
    }

    /// Returns the pages that hold memory for no cell in use.
    pub(super) fn spare(&self) -> PageSet {
        self.resident.get().without(self.busy.get())
    }

    /// Records that spare pages were given back to the OS.
    pub(super) fn give_back(&self, pages: PageSet) {
        debug_assert_eq!(pages.and(self.busy.get()), PageSet::default(), "cells are in use");
        self.resident.set(self.resident.get().without(pages));
    }
}
