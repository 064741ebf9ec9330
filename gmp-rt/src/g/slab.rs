//! A slab: one aligned block of mapped memory, cut into cells of one size.
//!
//! A cell finds its slab by masking its address. The header has a bit for each free cell, so a free
//! cell in its slab needs no memory. Its page may go back to the OS alone ([`PageMap`]). A list
//! through the free cells would touch these pages.
//!
//! A slab gives out cells first from pages that are in use, then from pages that hold memory, then
//! from empty pages. So a fresh slab costs address space, not pages, and few live cells do not
//! spread over many pages.
//!
//! The OS zeroes an empty page, and a zero status word is a free cell.
//!
//! # Invariants
//!
//! - I1: a slab is mapped at a multiple of its size, and every cell is wholly inside it.
//! - I2: all fields are touched only under the class's centre lock.
//! - I3: a cell is either *in the slab*: its bit is set, no thread has a pointer to it that it may
//!   use, and its status word is free; or it was *given out*: it belongs to a goroutine, a cache or
//!   a magazine, and the pages that it touches are busy.
//! - I4: a slab is unmapped only when all its cells are in the slab.
//! - I5: only spare pages are given back. A cell that touches one is in the slab (I3).

use super::list::Link;
use super::page_map::{MAX_PAGES, PageMap, PageSet};
use super::ptr::GPtr;
use super::status::Status;
use crate::prim;
use crate::sys::{page_release, pages};
use std::cell::Cell;
use std::ops::Range;
use std::ptr::NonNull;

/// Size and alignment of a slab. A cell finds its slab by masking its address.
pub(super) const SLAB_BYTES: usize = 256 * 1024;

/// The smallest cell: the words of [`Slab::free`] suffice for this size.
const MIN_CELL: usize = 64;
const WORDS: usize = SLAB_BYTES / MIN_CELL / 64;

/// The place of a slab in the lists of its class, by free cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlabPlace {
    /// The number of the list.
    pub(super) level: usize,
    /// The index in the list.
    pub(super) index: usize,
}

/// The memory of a slab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Bytes of pages that hold memory.
    pub(super) resident: usize,
    /// Bytes of those that no cell needs.
    pub(super) spare: usize,
}

/// The OS does not take single pages back.
#[derive(Debug)]
pub(super) struct Refused;

/// The header at the start of a slab.
#[repr(C, align(128))]
pub(super) struct Slab {
    cell_bytes: u32,
    cells: u32,
    page_shift: u32,
    free_len: Cell<u32>,
    /// The pages in which a free cell starts.
    room: Cell<PageSet>,
    /// The slab's index in the list of its class.
    index: Cell<usize>,
    /// The slab's place among the slabs with free cells, if it has one.
    place: Cell<Option<SlabPlace>>,
    pages: PageMap,
    /// A bit for each cell in the slab.
    free: [Cell<u64>; WORDS],
}

const HEADER: usize = size_of::<Slab>();

// The header is in the first page only.
const _: () = assert!(HEADER <= SLAB_BYTES / MAX_PAGES);

impl Slab {
    fn new(cell_bytes: usize) -> Self {
        debug_assert!(cell_bytes >= MIN_CELL);
        let page = page_release::page_bytes().clamp(SLAB_BYTES / MAX_PAGES, SLAB_BYTES);
        let cells = (SLAB_BYTES - HEADER) / cell_bytes;
        let slab = Self {
            cell_bytes: cell_bytes as u32,
            cells: cells as u32,
            page_shift: page.trailing_zeros(),
            free_len: Cell::new(cells as u32),
            room: Cell::default(),
            index: Cell::new(0),
            place: Cell::new(None),
            pages: PageMap::new(),
            free: [const { Cell::new(0) }; WORDS],
        };
        // The page of the header is never given back.
        slab.pages.enter(0, 0);
        for (word, free) in slab.free.iter().enumerate() {
            let len = cells.saturating_sub(64 * word).min(64) as u32;
            free.set(u64::MAX.checked_shr(64 - len).unwrap_or(0));
        }
        for page in 0..SLAB_BYTES >> slab.page_shift {
            if !slab.starts_in(page).is_empty() {
                slab.room.set(slab.room.get().or(PageSet::of(page)));
            }
        }
        slab
    }

    /// Returns the number of the first cell that starts at `offset` or later.
    #[inline]
    fn first_from(&self, offset: usize) -> usize {
        let cell = (offset.saturating_sub(HEADER) as u32).div_ceil(self.cell_bytes);
        cell.min(self.cells) as usize
    }

    /// Returns the cells that start in `page`.
    #[inline]
    fn starts_in(&self, page: usize) -> Range<usize> {
        self.first_from(page << self.page_shift)..self.first_from((page + 1) << self.page_shift)
    }

    #[inline]
    fn offset(&self, n: usize) -> usize {
        HEADER + n * self.cell_bytes as usize
    }

    /// Returns the first and the last page that cell `n` touches.
    #[inline]
    fn pages_of(&self, n: usize) -> (usize, usize) {
        let start = self.offset(n);
        let last = start + self.cell_bytes as usize - 1;
        (start >> self.page_shift, last >> self.page_shift)
    }

    /// Whether one of `cells` is in the slab.
    #[inline]
    fn has_free(&self, cells: Range<usize>) -> bool {
        masks(cells).any(|(word, mask)| self.free[word].get() & mask != 0)
    }

    /// Returns the best page with a free cell: one in use, or one with memory, or an empty one.
    #[inline]
    fn best_page(&self) -> Option<usize> {
        let room = self.room.get();
        let busy = room.and(self.pages.busy());
        let resident = room.and(self.pages.resident());
        busy.first().or_else(|| resident.first()).or_else(|| room.first())
    }
}

/// Returns the words that contain the bits of `cells`, each with the mask of these bits.
#[inline]
fn masks(cells: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let words = cells.start / 64..cells.end.div_ceil(64);
    words.map(move |word| {
        let low = cells.start.saturating_sub(64 * word);
        let high = (cells.end - 64 * word).min(64);
        (word, (u64::MAX << low) & (u64::MAX >> (64 - high)))
    })
}

/// A mapped slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlabRef(NonNull<Slab>);

// SAFETY: I2 — a slab is used only under its class's lock. Without the lock the fields of `Slab`
// would race.
unsafe impl Send for SlabRef {}

impl SlabRef {
    /// Maps a slab for cells of `cell_bytes`; `None` if the OS has no memory.
    pub(super) fn map(cell_bytes: usize) -> Option<Self> {
        let base = pages::map_aligned(SLAB_BYTES)?.cast::<Slab>();
        // SAFETY: I1 — fresh, aligned, large enough memory that no other thread knows.
        unsafe { base.write(Slab::new(cell_bytes)) };
        let slab = Self(base);
        slab.begin_page(0);
        Some(slab)
    }

    /// Returns the memory to the OS.
    ///
    /// # Safety
    ///
    /// I4: [`is_idle`](Self::is_idle), and no thread walks the slab.
    pub(super) unsafe fn unmap(self) {
        // SAFETY: mapped by `map` with this size, and no cell is in use.
        unsafe { pages::unmap(self.0.cast(), SLAB_BYTES) }
    }

    /// Returns the slab that contains `cell`.
    #[inline]
    pub(super) fn of(cell: GPtr) -> Self {
        let base = cell.as_ptr().map_addr(|addr| addr & !(SLAB_BYTES - 1));
        let Some(base) = NonNull::new(base.cast()) else {
            unreachable!("I1: a slab is not at address 0")
        };
        Self(base)
    }

    fn get(&self) -> &Slab {
        // SAFETY: I4 — mapped while the class lists it.
        unsafe { self.0.as_ref() }
    }

    /// Returns the slab's index in the list of its class.
    pub(super) fn index(&self) -> &Cell<usize> {
        &self.get().index
    }

    /// Returns the slab's place among the slabs with free cells, if it has one.
    pub(super) fn place(&self) -> &Cell<Option<SlabPlace>> {
        &self.get().place
    }

    /// Whether all cells are in the slab.
    pub(super) fn is_idle(&self) -> bool {
        self.get().free_len.get() == self.get().cells
    }

    /// Returns the number of cells in the slab.
    pub(super) fn free_len(&self) -> u32 {
        self.get().free_len.get()
    }

    /// Returns the slab's present memory.
    pub(super) fn usage(&self) -> Usage {
        let Slab { page_shift, pages, .. } = self.get();
        Usage {
            resident: pages.resident().len() << page_shift,
            spare: pages.spare().len() << page_shift,
        }
    }

    /// Takes up to `want` cells out of the slab and passes each to `taker`. Returns their number,
    /// which is less than `want` only if none is left.
    pub(super) fn take(&self, want: usize, mut taker: impl FnMut(GPtr)) -> usize {
        let slab = self.get();
        let mut taken = 0;
        while taken < want
            && let Some(page) = slab.best_page()
        {
            let cells = slab.starts_in(page);
            taken += self.take_from(cells.clone(), want - taken, &mut taker);
            if !slab.has_free(cells) {
                slab.room.set(slab.room.get().without(PageSet::of(page)));
            }
        }
        slab.free_len.set(slab.free_len.get() - taken as u32);
        taken
    }

    /// Takes up to `want` of `cells`. Returns their number.
    #[inline]
    fn take_from(&self, cells: Range<usize>, want: usize, mut taker: impl FnMut(GPtr)) -> usize {
        let slab = self.get();
        let mut taken = 0;
        for (word, mask) in masks(cells) {
            let word_bits = slab.free[word].get();
            let mut bits = word_bits & mask;
            let mut out = 0;
            while bits != 0 && taken < want {
                let lowest = bits & bits.wrapping_neg();
                taker(self.give_out(64 * word + bits.trailing_zeros() as usize));
                out |= lowest;
                bits ^= lowest;
                taken += 1;
            }
            slab.free[word].set(word_bits & !out);
        }
        taken
    }

    /// Counts cell `n`, whose bit the caller clears.
    #[inline]
    fn give_out(&self, n: usize) -> GPtr {
        let slab = self.get();
        let (first, last) = slab.pages_of(n);
        let mut fresh = slab.pages.enter(first, last);
        while let Some(page) = fresh.first() {
            self.begin_page(page);
            fresh = fresh.without(PageSet::of(page));
        }
        self.cell(n)
    }

    /// Begins the use of the cells that touch `page`, which reads as zeros. They are in the slab,
    /// except for one that is just given out.
    #[inline]
    fn begin_page(&self, page: usize) {
        let slab = self.get();
        let starts = slab.starts_in(page);
        // The cell before them may touch the page too.
        for n in starts.start.saturating_sub(1)..starts.end {
            let (first, last) = slab.pages_of(n);
            if first > page || last < page {
                continue;
            }
            let cell = self.cell(n).as_ptr();
            // SAFETY: I5 — no thread uses the cell. Zeros are a free status word and an empty link.
            unsafe {
                prim::begin_zeroed(&raw mut (*cell).status, Status::default);
                prim::begin_zeroed(&raw mut (*cell).link, Link::none);
            }
        }
    }

    /// Returns a cell to the slab.
    ///
    /// # Safety
    ///
    /// `cell` is free and of this slab, and no other thread has it.
    #[inline]
    pub(super) unsafe fn give(&self, cell: GPtr) {
        let slab = self.get();
        let offset = cell.as_ptr().addr() - self.0.addr().get();
        let n = ((offset - HEADER) as u32 / slab.cell_bytes) as usize;
        let (word, bit) = (&slab.free[n / 64], 1 << (n % 64));
        debug_assert_eq!(word.get() & bit, 0, "freed twice");
        word.set(word.get() | bit);
        slab.free_len.set(slab.free_len.get() + 1);
        let (first, last) = slab.pages_of(n);
        slab.room.set(slab.room.get().or(PageSet::of(first)));
        slab.pages.leave(first, last);
    }

    /// Gives the spare pages back to the OS. Returns `Err` at the first refusal.
    pub(super) fn give_back(&self) -> Result<(), Refused> {
        let slab = self.get();
        while let Some((first, len)) = slab.pages.spare().first_run() {
            // SAFETY: I1 — the pages are inside the mapping.
            let start = unsafe { self.0.cast().byte_add(first << slab.page_shift) };
            // SAFETY: I5 — whole pages of the slab's mapping. All cells that touch them are in the
            // slab, and zeros are a free cell.
            if !unsafe { page_release::give_back(start, len << slab.page_shift) } {
                return Err(Refused);
            }
            slab.pages.give_back(PageSet::from(first..first + len));
        }
        Ok(())
    }

    #[inline]
    fn cell(&self, n: usize) -> GPtr {
        // SAFETY: I1 — `n < cells`, so the offset stays inside the mapping.
        let start = unsafe { self.0.cast::<u8>().add(self.get().offset(n)) };
        // SAFETY: the start of cell `n`, derived from the pointer to the whole mapping.
        unsafe { GPtr::of_cell(start) }
    }

    /// Returns all cells that are given out. Some of them are free, in a cache or a magazine.
    pub(super) fn given_out(&self) -> impl Iterator<Item = GPtr> {
        (0..self.get().cells as usize).filter(|n| self.is_given_out(*n)).map(|n| self.cell(n))
    }

    /// Returns the cell at `address`, if it is one of this slab that is given out.
    pub(super) fn cell_at(&self, address: usize) -> Option<GPtr> {
        let start = self.0.as_ptr().addr() + HEADER;
        let (offset, bytes) = (address.checked_sub(start)?, self.get().cell_bytes as usize);
        let n = offset / bytes;
        let is_cell = offset % bytes == 0 && n < self.get().cells as usize;
        (is_cell && self.is_given_out(n)).then(|| self.cell(n))
    }

    fn is_given_out(&self, n: usize) -> bool {
        self.get().free[n / 64].get() >> (n % 64) & 1 == 0
    }
}
