//! The memory of a class without caches: which cells it gives out, and which pages it keeps.

use super::centre::Centre;
use super::heap::{Magazine, SIZES, SizeClass};
use super::ptr::GPtr;
use super::slab::{SLAB_BYTES, SlabRef};
use crate::tuning::KEEP_EMPTY_BYTES;
use std::collections::{BTreeMap, BTreeSet};

/// A class for goroutines of a usual size. Some of its cells touch two pages.
const BYTES: usize = 192;

/// A centre of its own, which no other test uses.
struct Heap {
    centre: Centre,
    class: SizeClass,
}

impl Heap {
    fn new(bytes: usize) -> Self {
        Self { centre: Centre::default(), class: SizeClass::of(bytes).unwrap() }
    }

    /// Takes cells and returns them in the order of their addresses.
    fn take(&mut self, n: usize) -> Vec<GPtr> {
        let mut magazine = Magazine::default();
        self.centre.take(self.class, n, &mut magazine);
        let mut cells: Vec<GPtr> = std::iter::from_fn(|| magazine.pop()).collect();
        assert_eq!(cells.len(), n);
        cells.sort_unstable_by_key(|cell| cell.as_ptr().addr());
        // A caller of `alloc` writes the whole cell. Bytes behind the header would do the same.
        for cell in &cells {
            // SAFETY: a cell that was given out to this test has this size.
            unsafe { cell.cast::<u8>().add(SIZES[self.class.index()] - 1).write(0xAA) };
        }
        cells
    }

    fn give(&mut self, cells: impl IntoIterator<Item = GPtr>) {
        let mut magazine = Magazine::default();
        cells.into_iter().for_each(|cell| magazine.push(cell));
        self.centre.give(magazine);
    }

    /// Gives back what an idle runtime gives back if it keeps `keep` bytes.
    fn trim(&mut self, keep: usize) {
        for n in 0.. {
            if self.centre.give_back(n, keep).is_none() {
                break;
            }
        }
    }

    fn resident(&self) -> usize {
        self.centre.usage().resident
    }

    /// Returns all slabs of the class.
    fn slabs(&self) -> impl Iterator<Item = SlabRef> {
        self.centre.slabs.iter().flatten().copied()
    }

    /// Returns the slabs of `cells`, each with the number of these cells in it.
    fn slabs_of(cells: &[GPtr]) -> BTreeMap<usize, usize> {
        let mut slabs = BTreeMap::new();
        for cell in cells {
            *slabs.entry(base(*cell)).or_default() += 1;
        }
        slabs
    }

    /// Checks the sums of the class against its slabs.
    fn check(&self) {
        let (mut resident, mut spare) = (0, 0);
        for slab in self.slabs() {
            resident += slab.usage().resident;
            spare += slab.usage().spare;
            let out = slab.given_out().count();
            assert_eq!(out == 0, slab.is_idle());
            assert_eq!(slab.free_len() > 0, slab.place().get().is_some());
        }
        assert_eq!(self.centre.usage(), super::slab::Usage { resident, spare });
    }
}

/// Returns the address of the slab of `cell`.
fn base(cell: GPtr) -> usize {
    cell.as_ptr().addr() & !(SLAB_BYTES - 1)
}

/// Returns the bytes of a slab that the OS says are in memory.
#[cfg(target_os = "linux")]
fn in_memory(slab: usize) -> usize {
    let page = crate::sys::page_release::page_bytes();
    let mut pages = vec![0u8; SLAB_BYTES / page];
    let start = std::ptr::without_provenance_mut(slab);
    // SAFETY: the vector has a byte for each page. The call reads no memory of the slab.
    assert_eq!(unsafe { libc::mincore(start, SLAB_BYTES, pages.as_mut_ptr()) }, 0);
    pages.iter().filter(|state| **state & 1 != 0).count() * page
}

/// Splits `cells` into every thousandth and the others.
fn stragglers(cells: Vec<GPtr>) -> (Vec<GPtr>, Vec<GPtr>) {
    let (kept, ended): (Vec<_>, Vec<_>) =
        cells.into_iter().enumerate().partition(|(n, _)| n % 1000 == 0);
    let strip = |cells: Vec<(usize, GPtr)>| cells.into_iter().map(|(_, cell)| cell).collect();
    (strip(kept), strip(ended))
}

#[test]
fn one_live_cell_in_a_thousand_keeps_few_pages() {
    let mut heap = Heap::new(BYTES);
    let cells = heap.take(200_000);
    let (before, slabs) = (heap.resident(), Heap::slabs_of(&cells));
    assert!(before > 200_000 * BYTES);
    let (kept, ended) = stragglers(cells);
    heap.give(ended);
    heap.check();
    // At once: all but the spare pages that a class may keep, and less than a quarter of each slab.
    assert!(heap.resident() < before / 4 + before / 10 + KEEP_EMPTY_BYTES, "{}", heap.resident());
    heap.trim(KEEP_EMPTY_BYTES);
    assert!(heap.centre.usage().spare <= KEEP_EMPTY_BYTES);
    heap.trim(0);
    heap.check();
    assert_eq!(heap.centre.usage().spare, 0);
    assert!(heap.resident() < before / 10, "{} of {before} bytes", heap.resident());
    #[cfg(target_os = "linux")]
    {
        let left: usize = Heap::slabs_of(&kept).keys().map(|slab| in_memory(*slab)).sum();
        assert!(left <= heap.resident(), "{left} bytes are in memory");
    }
    heap.give(kept);
    assert!(heap.slabs().count() * SLAB_BYTES <= KEEP_EMPTY_BYTES, "{slabs:?}");
}

#[test]
fn new_cells_fill_the_holes_between_old_ones() {
    let mut heap = Heap::new(BYTES);
    let cells = heap.take(100_000);
    let (resident, slabs) = (heap.resident(), Heap::slabs_of(&cells));
    let (kept, ended) = stragglers(cells);
    let refill = ended.len();
    heap.give(ended);
    heap.trim(0);
    let survivors = heap.slabs().count();
    // The holes of one slab are filled before those of the next one.
    let some = heap.take(1000);
    assert!(Heap::slabs_of(&some).len() <= 2, "{:?}", Heap::slabs_of(&some));
    let others = heap.take(refill - 1000);
    heap.check();
    assert!(survivors <= slabs.len());
    assert_eq!(heap.slabs().count(), slabs.len());
    assert!(heap.resident() <= resident, "{} bytes, then {}", resident, heap.resident());
    heap.give(kept.into_iter().chain(some).chain(others));
}

#[test]
fn a_cell_comes_from_the_fullest_slab() {
    let mut heap = Heap::new(BYTES);
    let cells = heap.take(5000);
    let slabs: Vec<usize> = Heap::slabs_of(&cells).into_keys().collect();
    let of = |slab: usize| cells.iter().copied().filter(move |cell| base(*cell) == slab);
    let (emptied, holed) = (slabs[0], slabs[1]);
    heap.give(of(holed).take(3));
    heap.give(of(emptied).skip(1));
    for _ in 0..3 {
        assert_eq!(base(heap.take(1)[0]), holed);
    }
    heap.check();
}

#[test]
fn cells_come_from_a_page_in_use_before_an_empty_one() {
    // Cells of this size touch one page each.
    let mut heap = Heap::new(256);
    let cells = heap.take(1000);
    let page = crate::sys::page_release::page_bytes();
    let page_of = |cell: &GPtr| cell.as_ptr().addr() / page;
    let (first, last) = (page_of(&cells[0]), page_of(&cells[999]));
    // The first page stays full. The last one keeps a cell.
    let (kept, ended): (Vec<GPtr>, Vec<GPtr>) =
        cells.iter().partition(|cell| page_of(cell) == first || **cell == cells[999]);
    heap.give(ended);
    heap.trim(0);
    let resident = heap.resident();
    let again = heap.take(2);
    assert_eq!(again.iter().map(page_of).collect::<Vec<_>>(), [last; 2]);
    assert_eq!(heap.resident(), resident);
    heap.give(again.into_iter().chain(kept));
}

#[test]
fn pages_given_back_to_the_os_hold_free_cells_that_are_used_again() {
    let mut heap = Heap::new(BYTES);
    let mut cells = heap.take(1000);
    let kept = [cells.remove(0)];
    let addresses: BTreeSet<usize> = cells.iter().map(|cell| cell.as_ptr().addr()).collect();
    heap.give(cells);
    heap.trim(0);
    // A walk passes over the cells in the slab.
    let slab = SlabRef::of(kept[0]);
    assert_eq!(slab.given_out().collect::<Vec<_>>(), kept);
    let again = heap.take(999);
    assert!(again.iter().all(|cell| addresses.contains(&cell.as_ptr().addr())));
    for cell in &again {
        // SAFETY: the cell is mapped.
        assert!(!unsafe { cell.status() }.try_ref(), "a free cell passes for a goroutine");
    }
    heap.give(again.into_iter().chain(kept));
}

#[test]
fn random_takes_and_gives_keep_the_counts_right() {
    for bytes in [80, BYTES, 3072, 20480] {
        let mut heap = Heap::new(bytes);
        let (mut out, mut addresses) = (Vec::new(), BTreeSet::new());
        let mut seed = bytes as u64;
        let mut random = move |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        for round in 0..600 {
            // Grows first, then shrinks, and so on.
            let (more, less) = if round / 100 % 2 == 0 { (100, 60) } else { (30, 100) };
            for cell in heap.take(1 + random(more)) {
                assert!(addresses.insert(cell.as_ptr().addr()), "given out twice");
                out.push(cell);
            }
            let ended = random(less).min(out.len());
            let ended: Vec<GPtr> = (0..ended).map(|_| out.swap_remove(random(out.len()))).collect();
            ended.iter().for_each(|cell| assert!(addresses.remove(&cell.as_ptr().addr())));
            heap.give(ended);
            if random(10) == 0 {
                heap.trim(random(2 * SLAB_BYTES));
            }
            heap.check();
            let found: usize = heap.slabs().map(|slab| slab.given_out().count()).sum();
            assert_eq!(found, out.len());
        }
        heap.give(out);
    }
}

/// The OS refuses to take back locked pages. The class then keeps them, and does not ask again.
#[cfg(target_os = "linux")]
#[test]
fn pages_that_the_os_does_not_take_back_stay_usable() {
    let mut heap = Heap::new(BYTES);
    let mut cells = heap.take(1000);
    let kept = [cells.remove(0)];
    let addresses: BTreeSet<usize> = cells.iter().map(|cell| cell.as_ptr().addr()).collect();
    let page = crate::sys::page_release::page_bytes();
    let locked = std::ptr::without_provenance_mut(base(kept[0]) + page);
    // SAFETY: a page of the slab. The lock changes no memory.
    assert_eq!(unsafe { libc::mlock(locked, page) }, 0, "{}", std::io::Error::last_os_error());
    heap.give(cells);
    let resident = heap.resident();
    heap.trim(0);
    heap.check();
    assert_eq!(heap.resident(), resident, "counted as given back");
    // SAFETY: as above.
    assert_eq!(unsafe { libc::munlock(locked, page) }, 0);
    heap.trim(0);
    assert_eq!(heap.resident(), resident, "asked again");
    let again = heap.take(999);
    assert!(again.iter().all(|cell| addresses.contains(&cell.as_ptr().addr())));
    heap.give(again.into_iter().chain(kept));
}
