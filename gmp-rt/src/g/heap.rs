//! Memory for goroutine cells: size classes, a cache per P, and a centre for all Ps.
//!
//! ```text
//!  P's cache ──two magazines per class, no atomics──┐
//!      │ full magazine        ▲ magazine             │ warm spawn and exit stay here
//!      ▼                      │                      ┘
//!  transfer queue: whole magazines, lock-free (crossbeam ArrayQueue, bounded)
//!      │ when full            ▲ when empty
//!      ▼                      │
//!  centre: slabs with cells to give, one lock per class ──► OS
//! ```
//!
//! A goroutine is often spawned on one P and ends on another, so cells flow between caches. A
//! magazine crosses in one operation. `ArrayQueue` is a bounded free list with one CAS per
//! operation. An overflow is not an error: the cells then go back to their slabs.
//!
//! The process has one heap, not one per runtime: a waker may outlive its runtime, and its cell
//! must stay valid.
//!
//! After a burst, empty slabs beyond [`KEEP_EMPTY_BYTES`] per class go back to the OS, each when
//! its last cell returns to it. Cells in the transfer queue return when all Ps of a runtime are
//! idle ([`trim`]).
//!
//! # Invariants
//!
//! - I1: a free cell is in exactly one magazine or slab free list, linked through `G::link`, and
//!   its status word is free.
//! - I2: a [`Cache`] is used only by the thread that [`install`]ed it, until it is replaced.
//! - I3: the installed pointer is null or points to a live cache.

use super::GSight;
use super::ptr::GPtr;
use super::slab::{SLAB_BYTES, SlabRef};
use super::waker::CountedG;
use crate::prim::{SleepMutex, process_wide, thread_wide};
use crate::tuning::{CACHE_BATCH, CELL_BATCH_BYTES, KEEP_EMPTY_BYTES, TRANSFER_BATCHES};
use crossbeam_queue::ArrayQueue;
use std::cell::Cell;
use std::ptr;

/// The strictest alignment of a cell. A future that needs more is boxed.
pub(crate) const CELL_ALIGN: usize = 16;

/// Cell sizes: steps of 16 bytes up to 256, then four per doubling.
#[cfg(not(gmp_loom))]
pub(crate) const SIZES: [usize; 37] = [
    80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 320, 384, 448, 512, 640, 768, 896,
    1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288,
    14336, 16384, 20480,
];
/// In the models one size is enough, and a walk over all classes is short.
#[cfg(gmp_loom)]
pub(crate) const SIZES: [usize; 1] = [4096];

/// A size class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SizeClass(u8);

impl SizeClass {
    /// Returns the smallest class for cells of `bytes`; `None` above the largest.
    pub(crate) const fn of(bytes: usize) -> Option<Self> {
        let mut class = 0;
        while class < SIZES.len() {
            if bytes <= SIZES[class] {
                return Some(Self(class as u8));
            }
            class += 1;
        }
        None
    }

    fn index(self) -> usize {
        usize::from(self.0)
    }

    fn batch_len(self) -> usize {
        (CELL_BATCH_BYTES / SIZES[self.index()]).clamp(1, CACHE_BATCH)
    }
}

/// A stack of free cells.
#[derive(Clone, Copy, Default)]
struct Magazine {
    head: Option<GPtr>,
    len: usize,
}

// SAFETY: I1 — the cells are free and in this magazine only, so its owner may use them.
unsafe impl Send for Magazine {}

impl Magazine {
    #[inline]
    fn pop(&mut self) -> Option<GPtr> {
        let cell = self.head?;
        // SAFETY: I1 — a free cell of this magazine.
        self.head = unsafe { cell.link().get() };
        self.len -= 1;
        Some(cell)
    }

    #[inline]
    fn push(&mut self, cell: GPtr) {
        // SAFETY: I1 — a free cell that the caller gives away.
        unsafe { cell.link().set(self.head) };
        self.head = Some(cell);
        self.len += 1;
    }
}

/// The free cells of a P: per class one magazine in use and one in reserve. With two, a P that
/// alternates between spawns and exits at a full magazine does not call the centre each time.
pub(crate) struct Cache {
    slots: [CacheSlot; SIZES.len()],
}

#[derive(Default)]
struct CacheSlot {
    current: Cell<Magazine>,
    reserve: Cell<Magazine>,
}

// SAFETY: I2 — one thread at a time uses it, and it passes to another thread together with the P.
unsafe impl Sync for Cache {}

impl Default for Cache {
    fn default() -> Self {
        Self { slots: std::array::from_fn(|_| CacheSlot::default()) }
    }
}

impl Cache {
    #[inline]
    fn take(&self, class: SizeClass) -> GPtr {
        let slot = &self.slots[class.index()];
        let mut current = slot.current.get();
        let cell = match current.pop() {
            Some(cell) => cell,
            None => {
                current = slot.reserve.take();
                if current.len == 0 {
                    current = HEAP[class.index()].take_magazine();
                }
                let Some(cell) = current.pop() else {
                    unreachable!("magazines from the centre are not empty")
                };
                cell
            }
        };
        slot.current.set(current);
        cell
    }

    #[inline]
    fn give(&self, cell: GPtr, class: SizeClass) {
        let slot = &self.slots[class.index()];
        let mut current = slot.current.get();
        if current.len == class.batch_len() {
            let old = slot.reserve.replace(current);
            if old.len > 0 {
                HEAP[class.index()].give_magazine(old);
            }
            current = Magazine::default();
        }
        current.push(cell);
        slot.current.set(current);
    }

    /// Returns the number of free cells in the cache.
    pub(crate) fn len(&self) -> usize {
        self.slots.iter().map(|slot| slot.current.get().len + slot.reserve.get().len).sum()
    }

    /// Gives all cells back to the centre.
    pub(crate) fn flush(&self) {
        for (class, slot) in HEAP.iter().zip(&self.slots) {
            class.give_cells(slot.current.take());
            class.give_cells(slot.reserve.take());
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.flush();
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("len", &self.len()).finish()
    }
}

thread_wide! {
    /// The cache of this thread's P, or null.
    static CURRENT: Cell<*const Cache> = Cell::new(ptr::null());
}

/// Makes `cache` this thread's cache until the next call; `None` for no cache.
///
/// # Safety
///
/// I2, I3: no other thread uses `cache` while it is installed, and it stays alive.
pub(crate) unsafe fn install(cache: Option<&Cache>) {
    CURRENT.with(|current| current.set(cache.map_or(ptr::null(), ptr::from_ref)));
}

#[inline]
fn current<'a>() -> Option<&'a Cache> {
    // SAFETY: I3 — null or alive; the reference does not outlive the caller's use.
    unsafe { CURRENT.with(Cell::get).as_ref() }
}

/// Returns a free cell of `class`. All fields but the status hold arbitrary bytes.
#[inline]
pub(super) fn alloc(class: SizeClass) -> GPtr {
    match current() {
        Some(cache) => cache.take(class),
        None => HEAP[class.index()].take_cell(),
    }
}

/// Returns a cell to this thread's cache, or to the centre.
///
/// # Safety
///
/// The cell came from [`alloc`] with the same class, and no reference to it is left.
#[inline]
pub(super) unsafe fn free(cell: GPtr, class: SizeClass) {
    // SAFETY: no other thread refers to the cell.
    unsafe { cell.status() }.reset();
    match current() {
        Some(cache) => cache.give(cell, class),
        None => HEAP[class.index()].give_cell(cell),
    }
}

process_wide! {
    static HEAP: Box<[Class]> =
        (0..SIZES.len()).map(|n| Class::new(SizeClass(n as u8))).collect();
}

struct Class {
    class: SizeClass,
    transfer: ArrayQueue<Magazine>,
    centre: SleepMutex<Centre>,
}

/// The slabs of a class.
#[derive(Default)]
struct Centre {
    /// All slabs. The index of a slab does not change while it is mapped.
    slabs: Vec<Option<SlabRef>>,
    vacant: Vec<usize>,
    /// The slabs with free cells.
    with_room: Vec<SlabRef>,
    /// The number of slabs whose cells are all in the slab.
    idle: usize,
}

impl Class {
    fn new(class: SizeClass) -> Self {
        Self { class, transfer: ArrayQueue::new(TRANSFER_BATCHES), centre: SleepMutex::default() }
    }

    #[cold]
    fn take_magazine(&self) -> Magazine {
        if let Some(magazine) = self.transfer.pop() {
            return magazine;
        }
        let mut magazine = Magazine::default();
        let mut centre = self.centre.lock();
        while magazine.len < self.class.batch_len() {
            magazine.push(centre.take(self.class));
        }
        magazine
    }

    #[cold]
    fn give_magazine(&self, magazine: Magazine) {
        if let Err(magazine) = self.transfer.push(magazine) {
            self.give_cells(magazine);
        }
    }

    fn give_cells(&self, mut magazine: Magazine) {
        if magazine.len == 0 {
            return;
        }
        let mut centre = self.centre.lock();
        while let Some(cell) = magazine.pop() {
            centre.give(cell);
        }
    }

    fn take_cell(&self) -> GPtr {
        self.centre.lock().take(self.class)
    }

    fn give_cell(&self, cell: GPtr) {
        self.centre.lock().give(cell);
    }
}

impl Centre {
    fn take(&mut self, class: SizeClass) -> GPtr {
        let slab = match self.with_room.last() {
            Some(slab) => *slab,
            None => self.map(class),
        };
        if slab.is_idle() {
            self.idle -= 1;
        }
        let Some(cell) = slab.take() else { unreachable!("listed slabs have room") };
        if !slab.has_room() {
            self.with_room.pop();
            slab.room_index().set(None);
        }
        cell
    }

    fn map(&mut self, class: SizeClass) -> SlabRef {
        let bytes = SIZES[class.index()];
        let Some(slab) = SlabRef::map(bytes) else {
            let layout = std::alloc::Layout::from_size_align(SLAB_BYTES, CELL_ALIGN);
            std::alloc::handle_alloc_error(layout.expect("a small power of two"));
        };
        let index = self.vacant.pop().unwrap_or(self.slabs.len());
        if index == self.slabs.len() {
            self.slabs.push(None);
        }
        self.slabs[index] = Some(slab);
        slab.index().set(index);
        self.list(slab);
        self.idle += 1;
        slab
    }

    fn list(&mut self, slab: SlabRef) {
        slab.room_index().set(Some(self.with_room.len()));
        self.with_room.push(slab);
    }

    fn unlist(&mut self, slab: SlabRef) {
        if let Some(at) = slab.room_index().take() {
            self.with_room.swap_remove(at);
            if let Some(moved) = self.with_room.get(at) {
                moved.room_index().set(Some(at));
            }
        }
    }

    fn give(&mut self, cell: GPtr) {
        let slab = SlabRef::of(cell);
        // SAFETY: I1 — a free cell that the caller gives away; its address is in that slab.
        unsafe { slab.give(cell) };
        if slab.room_index().get().is_none() {
            self.list(slab);
        }
        if slab.is_idle() {
            self.idle += 1;
            if self.idle * SLAB_BYTES > KEEP_EMPTY_BYTES {
                self.unmap(slab);
            }
        }
    }

    fn unmap(&mut self, slab: SlabRef) {
        self.unlist(slab);
        self.idle -= 1;
        let index = slab.index().get();
        self.slabs[index] = None;
        self.vacant.push(index);
        // SAFETY: idle, and unlisted under the lock that walkers also take.
        unsafe { slab.unmap() };
    }

    /// Returns references to the goroutines in slab number `n` that are alive; `None` past the last
    /// slab.
    fn sights(&self, n: usize) -> Option<Vec<GSight>> {
        let slab = *self.slabs.get(n)?;
        // SAFETY: cells below the mark of a slab that the lock keeps mapped.
        let living = |cell: &GPtr| unsafe { cell.status() }.try_ref();
        let living = slab.iter().flat_map(SlabRef::cells).filter(living);
        // SAFETY: `try_ref` has taken the reference.
        Some(living.map(|cell| GSight(unsafe { CountedG::from_counted(cell) })).collect())
    }
}

/// Calls `f` for every goroutine of the process that is alive, without stopping any thread.
///
/// A goroutine that is alive during the whole call is visited exactly once. One that starts or ends
/// meanwhile may be missed.
pub(crate) fn for_each(mut f: impl FnMut(&GSight)) {
    for class in HEAP.iter() {
        for n in 0.. {
            // One slab at a time, so that a refill never waits for the whole walk. The sights are
            // dropped after the lock: the last reference returns its cell, which takes the lock.
            let Some(sights) = class.centre.lock().sights(n) else {
                break;
            };
            sights.iter().for_each(&mut f);
        }
    }
}

/// Returns the magazines of the transfer queue to their slabs. Each cell in them may keep a slab
/// from going back to the OS. Called when a runtime is idle.
pub(crate) fn trim() {
    for class in HEAP.iter() {
        while let Some(magazine) = class.transfer.pop() {
            class.give_cells(magazine);
        }
    }
}

/// Memory of the heap, for statistics and tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeapStats {
    /// Bytes mapped from the OS.
    pub(crate) mapped_bytes: usize,
    /// Slabs mapped.
    pub(crate) slabs: usize,
}

/// Returns the current memory of the heap.
pub(crate) fn stats() -> HeapStats {
    let slabs = HEAP.iter().map(|class| class.centre.lock().slabs.iter().flatten().count()).sum();
    HeapStats { mapped_bytes: slabs * SLAB_BYTES, slabs }
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
