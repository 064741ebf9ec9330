//! A slab: one aligned block of mapped memory, cut into cells of one size.
//!
//! A cell finds its slab by masking its address. A slab gives out cells first from its free list,
//! then by moving a mark. So a cell that was never needed is never touched, and a fresh slab costs
//! address space, not pages. The OS zeroes the mapping, and a zero status word is a free cell, so a
//! walker may read any cell below the mark.
//!
//! # Invariants
//!
//! - I1: a slab is mapped at a multiple of its size, and every cell is wholly inside it.
//! - I2: all fields are touched only under the class's centre lock.
//! - I3: cells below the mark have been given out at least once. A free one is either in the slab's
//!   free list, or in a cache or magazine, linked through `G::link`.
//! - I4: a slab is unmapped only when all its cells are in its own free list.

use super::list::Link;
use super::ptr::GPtr;
use super::status::Status;
use crate::prim;
use crate::sys::pages;
use std::cell::Cell;
use std::ptr::NonNull;

/// Size and alignment of a slab. A cell finds its slab by masking its address.
pub(super) const SLAB_BYTES: usize = 256 * 1024;

/// The header at the start of a slab.
#[repr(C, align(128))]
pub(super) struct Slab {
    cell_bytes: usize,
    cells: usize,
    /// The number of cells given out at least once.
    mark: Cell<usize>,
    free: Cell<Option<GPtr>>,
    free_len: Cell<usize>,
    /// The slab's index in the list of its class.
    index: Cell<usize>,
    /// The slab's index among the slabs with free cells, if it is there.
    room_index: Cell<Option<usize>>,
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
        let slab = Slab {
            cell_bytes,
            cells: (SLAB_BYTES - size_of::<Slab>()) / cell_bytes,
            mark: Cell::new(0),
            free: Cell::new(None),
            free_len: Cell::new(0),
            index: Cell::new(0),
            room_index: Cell::new(None),
        };
        // SAFETY: I1 — fresh, aligned, large enough memory that no other thread knows.
        unsafe { base.write(slab) };
        Some(Self(base))
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

    /// Returns the slab's index among the slabs with free cells, if it is there.
    pub(super) fn room_index(&self) -> &Cell<Option<usize>> {
        &self.get().room_index
    }

    /// Whether none of its cells is in use or in a cache.
    pub(super) fn is_idle(&self) -> bool {
        self.get().free_len.get() == self.get().mark.get()
    }

    /// Whether the slab has free cells.
    pub(super) fn has_room(&self) -> bool {
        let slab = self.get();
        slab.free_len.get() > 0 || slab.mark.get() < slab.cells
    }

    /// Takes a free cell out of the slab.
    pub(super) fn take(&self) -> Option<GPtr> {
        let slab = self.get();
        if let Some(cell) = slab.free.get() {
            // SAFETY: I3 — a free cell of this slab, linked through its link.
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

    /// Returns a cell to the slab.
    ///
    /// # Safety
    ///
    /// `cell` is free and of this slab, and no other thread has it.
    pub(super) unsafe fn give(&self, cell: GPtr) {
        let slab = self.get();
        // SAFETY: the caller gives the cell to the slab, which so owns its link.
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

    /// Returns all cells that were ever given out, free or not.
    pub(super) fn cells(&self) -> impl Iterator<Item = GPtr> {
        (0..self.get().mark.get()).map(|n| self.cell(n))
    }
}
