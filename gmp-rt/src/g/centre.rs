//! The slabs of one size class, and the rules by which their memory returns to the OS.
//!
//! A cell comes from the fullest slab that has one. So live goroutines gather in few slabs, and the
//! others empty themselves. "Fullest" is by powers of two of the number of free cells: a slab
//! changes its list a few times during its life, not with every cell.
//!
//! Memory returns in three ways. None of them acts while the class has at most
//! [`KEEP_EMPTY_BYTES`] that no goroutine needs.
//!
//! - A slab whose last cell returns is unmapped.
//! - A slab with [`GIVE_BACK_BYTES`] of spare pages gives these back.
//! - When a runtime is idle, all slabs give back their spare pages ([`Centre::give_back`]).
//!
//! # Invariants
//!
//! - I1: a slab with free cells is in exactly one list of `room`, at its `place`. Other slabs have
//!   no place.
//! - I2: `usage` is the sum of the slabs' usages.

use super::heap::{Magazine, SIZES, SizeClass};
use super::ptr::GPtr;
use super::slab::{SLAB_BYTES, SlabPlace, SlabRef, Usage};
use crate::tuning::{GIVE_BACK_BYTES, KEEP_EMPTY_BYTES};

/// The lists for slabs with 1, 2 to 3, 4 to 7 free cells and so on, and the one for idle slabs.
const LEVELS: usize = SLAB_BYTES.ilog2() as usize + 1;
const IDLE: usize = LEVELS - 1;

/// Whether the OS takes single pages back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pages {
    #[default]
    Accepted,
    /// It has refused once: the memory is locked, or the system has no way to do it.
    Refused,
}

/// The slabs of a class.
#[derive(Default)]
pub(super) struct Centre {
    /// All slabs. The index of a slab does not change while it is mapped.
    pub(super) slabs: Vec<Option<SlabRef>>,
    vacant: Vec<usize>,
    /// The slabs with free cells, the fullest first.
    room: [Vec<SlabRef>; LEVELS],
    usage: Usage,
    pages: Pages,
}

impl Centre {
    /// Adds `want` cells to `magazine`.
    pub(super) fn take(&mut self, class: SizeClass, want: usize, magazine: &mut Magazine) {
        let mut left = want;
        while left > 0 {
            let slab = match self.fullest() {
                Some(slab) => slab,
                None => self.map(class),
            };
            left -= self.change(slab, || slab.take(left, |cell| magazine.push(cell)));
        }
    }

    /// Returns the cells of a magazine to their slabs.
    pub(super) fn give(&mut self, mut magazine: Magazine) {
        let mut next = magazine.pop();
        while let Some(cell) = next {
            let slab = SlabRef::of(cell);
            // Neighbours in a magazine are often from one slab.
            self.change(slab, || {
                while let Some(cell) = next
                    && SlabRef::of(cell) == slab
                {
                    // SAFETY: I1 of the heap — a free cell that the caller gives away. Its address
                    // is in that slab.
                    unsafe { slab.give(cell) };
                    next = magazine.pop();
                }
            });
            self.shrink(slab);
        }
    }

    fn fullest(&self) -> Option<SlabRef> {
        self.room.iter().find_map(|list| list.last().copied())
    }

    /// Changes the cells of `slab`, and then its place and the sums of the class.
    fn change<R>(&mut self, slab: SlabRef, change: impl FnOnce() -> R) -> R {
        let before = slab.usage();
        let result = change();
        let after = slab.usage();
        self.usage.resident += after.resident;
        self.usage.resident -= before.resident;
        self.usage.spare += after.spare;
        self.usage.spare -= before.spare;
        self.place(slab);
        result
    }

    /// Moves a slab to the list of its number of free cells.
    fn place(&mut self, slab: SlabRef) {
        let level = match slab.free_len() {
            0 => None,
            _ if slab.is_idle() => Some(IDLE),
            free => Some(free.ilog2() as usize),
        };
        if slab.place().get().map(|place| place.level) != level {
            self.unlist(slab);
            if let Some(level) = level {
                let index = self.room[level].len();
                self.room[level].push(slab);
                slab.place().set(Some(SlabPlace { level, index }));
            }
        }
    }

    fn unlist(&mut self, slab: SlabRef) {
        if let Some(place) = slab.place().take() {
            let list = &mut self.room[place.level];
            list.swap_remove(place.index);
            if let Some(moved) = list.get(place.index) {
                moved.place().set(Some(place));
            }
        }
    }

    fn map(&mut self, class: SizeClass) -> SlabRef {
        let Some(slab) = SlabRef::map(SIZES[class.index()]) else {
            let layout = std::alloc::Layout::from_size_align(SLAB_BYTES, SLAB_BYTES);
            std::alloc::handle_alloc_error(layout.expect("a small power of two"));
        };
        let index = self.vacant.pop().unwrap_or(self.slabs.len());
        if index == self.slabs.len() {
            self.slabs.push(None);
        }
        self.slabs[index] = Some(slab);
        slab.index().set(index);
        self.usage.resident += slab.usage().resident;
        self.place(slab);
        slab
    }

    /// Returns memory of a slab that has received cells.
    fn shrink(&mut self, slab: SlabRef) {
        let has_spare = self.usage.spare > KEEP_EMPTY_BYTES;
        if slab.is_idle() {
            if has_spare || self.room[IDLE].len() * SLAB_BYTES > KEEP_EMPTY_BYTES {
                self.unmap(slab);
            }
        } else if has_spare && slab.usage().spare >= GIVE_BACK_BYTES {
            self.give_back_pages(slab);
        }
    }

    fn unmap(&mut self, slab: SlabRef) {
        self.unlist(slab);
        let Usage { resident, spare } = slab.usage();
        self.usage.resident -= resident;
        self.usage.spare -= spare;
        let index = slab.index().get();
        self.slabs[index] = None;
        self.vacant.push(index);
        // SAFETY: idle, and unlisted under the lock that walkers also take.
        unsafe { slab.unmap() };
    }

    fn give_back_pages(&mut self, slab: SlabRef) {
        if self.pages == Pages::Accepted && self.change(slab, || slab.give_back()).is_err() {
            self.pages = Pages::Refused;
        }
    }

    /// Gives back the spare pages of slab number `n`. Returns `None` past the last slab, or if the
    /// class has at most `keep` bytes of them, or if the OS refuses.
    pub(super) fn give_back(&mut self, n: usize, keep: usize) -> Option<()> {
        let slab = *self.slabs.get(n)?;
        if self.usage.spare <= keep || self.pages == Pages::Refused {
            return None;
        }
        if let Some(slab) = slab
            && slab.usage().spare > 0
        {
            self.give_back_pages(slab);
        }
        Some(())
    }

    /// Returns the memory of all slabs.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the cells of slab number `n` that are given out; `None` past the last slab.
    pub(super) fn given_out(&self, n: usize) -> Option<impl Iterator<Item = GPtr>> {
        let slab = self.slabs.get(n)?;
        Some(slab.iter().flat_map(SlabRef::given_out))
    }

    /// Returns the cell at `address`, if it is given out. It may be free, in a cache or a magazine.
    pub(super) fn cell_at(&self, address: usize) -> Option<GPtr> {
        self.slabs.iter().flatten().find_map(|slab| slab.cell_at(address))
    }
}

#[cfg(gmp_loom)]
mod model_end {
    //! Each execution of a model has its own heap, which ends with it.

    impl Drop for super::Centre {
        fn drop(&mut self) {
            for slab in self.slabs.drain(..).flatten() {
                // SAFETY: the execution is over: nothing refers to a cell.
                unsafe { slab.unmap() };
            }
        }
    }
}
