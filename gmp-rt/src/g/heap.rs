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
//! After a burst, memory beyond [`KEEP_EMPTY_BYTES`] per class goes back to the OS: empty slabs,
//! and empty pages of other slabs ([`centre`](super::centre)). Cells in the transfer queue return
//! to their slabs when all Ps of a runtime are idle ([`trim`]).
//!
//! # Invariants
//!
//! - I1: a free cell is in its slab, or in exactly one magazine, linked through `G::link`. Its
//!   status word is free.
//! - I2: a [`Cache`] is used only by the thread that [`install`]ed it, until it is replaced.
//! - I3: the installed pointer is null or points to a live cache.

use super::centre::Centre;
use super::ptr::GPtr;
use super::waker::CountedG;
use super::{GSight, GoId};
use crate::prim::fixed::AtomicUsize;
use crate::prim::{Ordering, SleepMutex, process_wide, thread_wide};
use crate::tuning::{CACHE_BATCH, CELL_BATCH_BYTES, KEEP_EMPTY_BYTES, TRANSFER_BATCHES};
use crossbeam_queue::ArrayQueue;
use std::cell::Cell;
use std::ops::ControlFlow;
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

    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    fn batch_len(self) -> usize {
        (CELL_BATCH_BYTES / SIZES[self.index()]).clamp(1, CACHE_BATCH)
    }
}

/// A stack of free cells that are given out.
#[derive(Clone, Copy, Default)]
pub(super) struct Magazine {
    head: Option<GPtr>,
    len: usize,
}

// SAFETY: I1 — the cells are free and in this magazine only, so its owner may use them.
unsafe impl Send for Magazine {}

impl Magazine {
    #[inline]
    pub(super) fn pop(&mut self) -> Option<GPtr> {
        let cell = self.head?;
        // SAFETY: I1 — a free cell of this magazine.
        self.head = unsafe { cell.link().get() };
        self.len -= 1;
        Some(cell)
    }

    #[inline]
    pub(super) fn push(&mut self, cell: GPtr) {
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
        None => {
            let Some(cell) = HEAP[class.index()].take_cells(1).pop() else {
                unreachable!("the centre gives as many cells as it is asked for")
            };
            cell
        }
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
        None => {
            let mut magazine = Magazine::default();
            magazine.push(cell);
            HEAP[class.index()].give_cells(magazine);
        }
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
    /// The spare bytes of the centre after its last change. A hint: read without the lock.
    spare: AtomicUsize,
}

impl Class {
    fn new(class: SizeClass) -> Self {
        Self {
            class,
            transfer: ArrayQueue::new(TRANSFER_BATCHES),
            centre: SleepMutex::default(),
            spare: AtomicUsize::new(0),
        }
    }

    /// Runs `f` with the centre locked.
    fn with_centre<R>(&self, f: impl FnOnce(&mut Centre) -> R) -> R {
        let mut centre = self.centre.lock();
        let result = f(&mut centre);
        // Relaxed: a hint, on which no other memory depends.
        self.spare.store(centre.usage().spare, Ordering::Relaxed);
        result
    }

    #[cold]
    fn take_magazine(&self) -> Magazine {
        if let Some(magazine) = self.transfer.pop() {
            return magazine;
        }
        self.take_cells(self.class.batch_len())
    }

    #[cold]
    fn give_magazine(&self, magazine: Magazine) {
        if let Err(magazine) = self.transfer.push(magazine) {
            self.give_cells(magazine);
        }
    }

    fn take_cells(&self, n: usize) -> Magazine {
        let mut magazine = Magazine::default();
        self.with_centre(|centre| centre.take(self.class, n, &mut magazine));
        magazine
    }

    fn give_cells(&self, magazine: Magazine) {
        if magazine.len > 0 {
            self.with_centre(|centre| centre.give(magazine));
        }
    }

    /// Gives back the spare pages beyond `keep` bytes while `go_on` returns true.
    fn give_back(&self, keep: usize, go_on: &impl Fn() -> bool) {
        // Relaxed: a hint. The lock is taken if it exceeds the limit only.
        if self.spare.load(Ordering::Relaxed) <= keep {
            return;
        }
        for n in 0.. {
            // One slab at a time, so that a refill never waits for all of them.
            if !go_on() || self.with_centre(|centre| centre.give_back(n, keep)).is_none() {
                break;
            }
        }
    }

    /// Returns references to the goroutines in slab number `n` that are alive; `None` past the last
    /// slab.
    fn sights(&self, n: usize) -> Option<Vec<GSight>> {
        let centre = self.centre.lock();
        // SAFETY: given-out cells of a slab that the lock keeps mapped.
        let living = |cell: &GPtr| unsafe { cell.status() }.try_ref();
        let living = centre.given_out(n)?.filter(living);
        // SAFETY: `try_ref` has taken the reference.
        Some(living.map(|cell| GSight(unsafe { CountedG::from_counted(cell) })).collect())
    }

    /// Returns a reference to the goroutine whose cell is at `address`, if it is alive.
    fn sight_at(&self, address: usize) -> Option<GSight> {
        let centre = self.centre.lock();
        let cell = centre.cell_at(address)?;
        // SAFETY: a given-out cell of a slab that the lock keeps mapped.
        if !unsafe { cell.status() }.try_ref() {
            return None;
        }
        // SAFETY: `try_ref` has taken the reference.
        Some(GSight(unsafe { CountedG::from_counted(cell) }))
    }
}

/// Returns the goroutine with the id `goid`, if it is alive and its cell is at `address`.
///
/// It reads the list of slabs, not all cells.
pub(crate) fn find(address: usize, goid: GoId) -> Option<GSight> {
    HEAP.iter().find_map(|class| {
        // The lock is released before the goroutine is dropped, as in `for_each`.
        class.sight_at(address).filter(|g| g.goid() == goid)
    })
}

/// Calls `f` for every goroutine of the process that is alive, without stopping any thread.
///
/// A goroutine that is alive during the whole call is visited exactly once. One that starts or ends
/// meanwhile may be missed.
pub(crate) fn for_each(mut f: impl FnMut(&GSight)) {
    let _ = try_for_each_slab(|sights| {
        sights.iter().for_each(&mut f);
        ControlFlow::Continue(())
    });
}

/// Visits all goroutines, as [`for_each`], slab by slab, until `f` returns `Break`. `f` gets the
/// goroutines of a slab.
pub(crate) fn try_for_each_slab(
    mut f: impl FnMut(&[GSight]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for class in HEAP.iter() {
        for n in 0.. {
            // One slab at a time, so that a refill never waits for the whole walk. The sights are
            // dropped after the lock: the last reference returns its cell, which takes the lock.
            let Some(sights) = class.sights(n) else { break };
            f(&sights)?;
        }
    }
    ControlFlow::Continue(())
}

/// Returns the number of the runtime of the goroutine whose cell is at `address`, if it is alive.
pub(crate) fn runtime_at(address: usize) -> Option<u16> {
    HEAP.iter().find_map(|class| class.sight_at(address)).map(|g| g.runtime())
}

/// Returns the magazines of the transfer queue to their slabs, and spare pages to the OS. Called
/// when a runtime is idle. Returns early if `go_on` returns false.
pub(crate) fn trim(go_on: impl Fn() -> bool) {
    trim_to(KEEP_EMPTY_BYTES, go_on);
}

/// Trims each class to `keep` bytes of spare pages.
pub(super) fn trim_to(keep: usize, go_on: impl Fn() -> bool) {
    for class in HEAP.iter() {
        // A magazine may keep many pages in use.
        while let Some(magazine) = class.transfer.pop() {
            class.give_cells(magazine);
            if !go_on() {
                return;
            }
        }
        class.give_back(keep, &go_on);
    }
}

/// Returns the bytes of the heap's pages that hold memory. Pages that were never used, or that were
/// given back, do not count.
pub(crate) fn resident_bytes() -> usize {
    HEAP.iter().map(|class| class.centre.lock().usage().resident).sum()
}
