//! A slab: one aligned block of mapped memory, cut into cells of one size.
//!
//! A cell finds its slab by masking its address. Cells are handed out first from the slab's free
//! list, then by moving a mark, so memory that was never needed is never touched: a fresh slab
//! costs address space, not pages. The mapping is zeroed by the OS, and a zero status word is a
//! free cell, so a walker may look at any cell below the mark.
//!
//! # Invariants
//!
//! - I1: a slab is mapped at a multiple of its size, and every cell lies wholly inside it.
//! - I2: all fields are touched only under the class's centre lock.
//! - I3: cells below the mark have been handed out at least once; a free one is either in the
//!   slab's free list or in a cache or batch, linked through `G::link`.
//! - I4: a slab is unmapped only when all its cells are in its own free list.

use super::list::Link;
use super::ptr::GPtr;
use super::status::Status;
use crate::prim;
use crate::sys::pages;
use crate::tuning::SLAB_BYTES;
use std::cell::Cell;
use std::ptr::NonNull;

/// The header at the start of a slab.
#[repr(C, align(128))]
pub(super) struct Slab {
    cell_bytes: usize,
    cells: usize,
    /// Cells handed out at least once.
    mark: Cell<usize>,
    free: Cell<Option<GPtr>>,
    free_len: Cell<usize>,
    /// Where the slab stands in its class's list.
    index: Cell<usize>,
    /// Where it stands among those with cells to give, if it does.
    room_index: Cell<Option<usize>>,
}

/// A mapped slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlabRef(NonNull<Slab>);

// SAFETY: I2 — a slab is reached only under its class's lock. Without that the cells of `Slab`
// would race.
unsafe impl Send for SlabRef {}

impl SlabRef {
    /// Maps a slab for cells of `cell_bytes`; `None` if the OS has no memory.
    pub(super) fn map(cell_bytes: usize) -> Option<Self> {
        let base = pages::map_aligned(SLAB_BYTES)?.cast::<Slab>();
        let slab = Slab {
            cell_bytes,
            cells: (SLAB_BYTES - size_of::<Slab>()) / cell_bytes,
            mark: Cell::new(0),
            free: Cell::new(None),
            free_len: Cell::new(0),
            index: Cell::new(0),
            room_index: Cell::new(None),
        };
        // SAFETY: I1 — fresh, aligned, large enough memory that is ours alone.
        unsafe { base.write(slab) };
        Some(Self(base))
    }

    /// Gives the memory back to the OS.
    ///
    /// # Safety
    ///
    /// I4: [`is_idle`](Self::is_idle), and nobody walks it.
    pub(super) unsafe fn unmap(self) {
        // SAFETY: mapped by `map` with this size, and no cell is in use.
        unsafe { pages::unmap(self.0.cast(), SLAB_BYTES) }
    }

    /// The slab that `cell` is in.
    #[inline]
    pub(super) fn of(cell: GPtr) -> Self {
        let base = cell.as_ptr().map_addr(|addr| addr & !(SLAB_BYTES - 1));
        let Some(base) = NonNull::new(base.cast()) else {
            unreachable!("I1: a slab is not at address 0")
        };
        Self(base)
    }

    fn get(&self) -> &Slab {
        // SAFETY: I4 — mapped as long as the class lists it.
        unsafe { self.0.as_ref() }
    }

    /// The number of its place in the class's list.
    pub(super) fn index(&self) -> &Cell<usize> {
        &self.get().index
    }

    /// Its place among the slabs with cells to give, if it is one.
    pub(super) fn room_index(&self) -> &Cell<Option<usize>> {
        &self.get().room_index
    }

    /// Whether no cell of it is in use or in a cache.
    pub(super) fn is_idle(&self) -> bool {
        self.get().free_len.get() == self.get().mark.get()
    }

    /// Whether it has cells to give.
    pub(super) fn has_room(&self) -> bool {
        let slab = self.get();
        slab.free_len.get() > 0 || slab.mark.get() < slab.cells
    }

    /// Gives a cell.
    pub(super) fn take(&self) -> Option<GPtr> {
        let slab = self.get();
        if let Some(cell) = slab.free.get() {
            // SAFETY: I3 — a free cell of ours, linked through its own link.
            slab.free.set(unsafe { cell.link().get() });
            slab.free_len.set(slab.free_len.get() - 1);
            return Some(cell);
        }
        let mark = slab.mark.get();
        if mark == slab.cells {
            return None;
        }
        slab.mark.set(mark + 1);
        let cell = self.cell(mark);
        // SAFETY: I3 — fresh zeroed memory. Zeros are a free status word and an empty link.
        unsafe {
            prim::begin_zeroed(&raw mut (*cell.as_ptr()).status, Status::default);
            prim::begin_zeroed(&raw mut (*cell.as_ptr()).link, Link::none);
        }
        Some(cell)
    }

    /// Takes back a cell.
    ///
    /// # Safety
    ///
    /// `cell` is free and of this slab, and no one else has it.
    pub(super) unsafe fn give(&self, cell: GPtr) {
        let slab = self.get();
        // SAFETY: the caller's cell, so its link is ours to set.
        unsafe { cell.link().set(slab.free.get()) };
        slab.free.set(Some(cell));
        slab.free_len.set(slab.free_len.get() + 1);
    }

    fn cell(&self, n: usize) -> GPtr {
        let offset = size_of::<Slab>() + n * self.get().cell_bytes;
        // SAFETY: I1 — `n < cells`, so the offset stays inside the mapping.
        let start = unsafe { self.0.cast::<u8>().add(offset) };
        // SAFETY: the start of cell `n`, derived from the pointer to the whole mapping.
        unsafe { GPtr::of_cell(start) }
    }

    /// All cells that have ever been handed out, free or not.
    pub(super) fn cells(&self) -> impl Iterator<Item = GPtr> {
        (0..self.get().mark.get()).map(|n| self.cell(n))
    }
}
