//! The goroutine (G).
//!
//! A goroutine is one cell: this header (72 bytes on 64-bit targets), then its future, later its
//! output. Cells come from [`heap`], not from malloc on a warm path. A slab holds nothing but
//! goroutine cells, so a walk over the slabs finds all goroutines. Therefore a spawn takes no
//! registry lock.
//!
//! # Ways to refer to a goroutine
//!
//! | type | counted | meaning |
//! |------|---------|---------|
//! | [`GRef`] | no | the right to run the goroutine; exactly one exists while it is runnable |
//! | `Waker` | yes | wakes the goroutine, also after it died, without effect |
//! | [`JoinHandle`](crate::JoinHandle) | yes | takes its output |
//! | [`AbortHandle`](crate::task::AbortHandle) | yes | aborts |
//! | [`GSight`] | yes | found by a walk over the slabs; reads the header and aborts |
//!
//! # Pointers and references
//!
//! All of them carry a [`GPtr`], which may reach the whole cell. It is copied from the slab to the
//! waker, the queue and the free list. The rules (I1 and I3 of [`ptr`]):
//!
//! - A pointer is never made from a `&G`. A reference covers the header alone. Such a pointer may
//!   not reach the future, the output and the free list.
//! - A `&G` is short-lived: it is not live at a step that gives up a reference or the right to run.
//!   Such a step goes through [`GPtr::status`].
//!
//! # Field access
//!
//! `vtable`, `ids`, `parent` and `origin` are written before [`Status::init`] publishes the cell.
//! They do not change while a reference exists, so any holder of a reference reads them. `link`
//! belongs to the owner of the [`GRef`] (a queue), or to the free list. `wait` and `resource` are
//! hints for dumps. They are atomic because a dump reads them at any time. `join` follows
//! `JOIN_WAKER` of the [status word](status), see [`join_slot`].
//!
//! # Differences from Go
//!
//! A G has no stack, so a dead one keeps nothing but its cell. The start of a wait is recorded when
//! the goroutine parks, not by the next garbage collection. This folder knows the scheduler only as
//! the trait [`Schedule`].

pub(crate) mod abort;
#[expect(unsafe_code, reason = "future and output share memory, I1 to I4 of the module")]
pub(crate) mod cell;
#[expect(unsafe_code, reason = "cells go back to their slabs, I1 and I4 of the slab")]
mod centre;
#[expect(unsafe_code, reason = "free lists through raw cells, I1 to I3 of the module")]
pub(crate) mod heap;
#[expect(unsafe_code, reason = "the output is read through the vtable, I1 of the module")]
pub(crate) mod join;
#[expect(unsafe_code, reason = "a waker in an atomic word, I1 and I2 of the module")]
mod join_slot;
#[expect(unsafe_code, reason = "a list through the cells' own links, I1 of the module")]
pub(crate) mod list;
#[expect(unsafe_code, reason = "a tagged pointer, I1 of the module")]
pub(crate) mod origin;
mod page_map;
#[expect(unsafe_code, reason = "the pointer to a cell, I1 to I3 of the module")]
pub(crate) mod ptr;
#[expect(unsafe_code, reason = "mapped memory cut into cells, I1 to I5 of the module")]
mod slab;
pub(crate) mod status;
#[expect(unsafe_code, reason = "a waker is taken out of its place when it is woken or dropped")]
pub(crate) mod stored;
#[expect(unsafe_code, reason = "the raw waker, I1 to I2 of the module")]
pub(crate) mod waker;

#[cfg(all(test, not(gmp_loom)))]
#[expect(unsafe_code, reason = "tests use cells without goroutines")]
mod centre_tests;
#[cfg(all(test, gmp_loom))]
#[expect(unsafe_code, reason = "models touch cells as the code does")]
mod loom;
#[cfg(all(test, not(gmp_loom)))]
#[expect(unsafe_code, reason = "tests build cells by hand")]
mod tests;

use self::cell::GVTable;
use self::join_slot::JoinSlot;
use self::list::Link;
use self::origin::Origin;
use self::ptr::GPtr;
use self::status::{Cause, Status};
use crate::prim::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use crate::tracer::{Spawn, TracedG};
use crate::wait_reason::WaitReason;
use std::panic::Location;
use std::task::{Context, Poll};

/// The id of a goroutine: never 0, never reused in a process.
pub(crate) type GoId = u64;

/// What goroutines need from the scheduler that runs them.
pub(crate) trait Schedule: 'static {
    /// Puts a goroutine that has just become runnable on a queue, from any thread.
    fn submit(gp: GRef);

    /// Returns the cause of a wake-up of `g` on this thread.
    fn cause(g: &G) -> Cause;

    /// Returns `Pending` if the goroutine must yield before its future may return `Ready`.
    fn poll_proceed(cx: &Context<'_>) -> Poll<()>;

    /// Reports a panic of a goroutine whose output no `JoinHandle` takes.
    fn unjoined_panic(g: &G, payload: &(dyn std::any::Any + Send));

    /// Reports a panic of a goroutine. Called before a joiner can see it.
    fn panicked(g: &G, payload: &(dyn std::any::Any + Send));
}

/// The header of a goroutine. The [module](self) lists the owner of each field.
#[repr(C)]
pub(crate) struct G {
    pub(crate) status: Status,
    vtable: &'static GVTable,
    /// Next in the queue or free list that holds the goroutine.
    link: Link,
    ids: Ids,
    parent: GoId,
    origin: Origin,
    /// Wait reason and start of the wait, see [`Wait`].
    wait: AtomicU64,
    /// The object of the wait: address of a channel, a descriptor, the goid of a goroutine.
    resource: AtomicUsize,
    join: JoinSlot,
}

// Six pointers and three words of 64 bits, which some 32-bit targets align to 8 bytes. The gate
// compiles for no 32-bit target: see CONTRIBUTING.md.
const _: () = assert!(cfg!(gmp_loom) || usize::BITS != 64 || size_of::<G>() == 72);
const _: () = assert!(cfg!(gmp_loom) || usize::BITS != 32 || size_of::<G>() <= 56);

/// A goroutine id and the number of its runtime in one word: `goid << 12 | runtime`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids(u64);

impl Ids {
    const RUNTIME_BITS: u32 = 12;
    /// Maximum number of runtimes that exist at the same time.
    pub(crate) const MAX_RUNTIMES: usize = 1 << Self::RUNTIME_BITS;

    pub(crate) fn new(goid: GoId, runtime: u16) -> Self {
        Self(goid << Self::RUNTIME_BITS | u64::from(runtime))
    }

    pub(crate) fn goid(self) -> GoId {
        self.0 >> Self::RUNTIME_BITS
    }

    pub(crate) fn runtime(self) -> u16 {
        (self.0 & ((1 << Self::RUNTIME_BITS) - 1)) as u16
    }
}

/// The header fields of a new goroutine.
#[derive(Debug)]
pub(crate) struct Birth {
    pub(crate) ids: Ids,
    pub(crate) parent: GoId,
    pub(crate) origin: Origin,
}

/// Reason and start of a goroutine's wait, packed into one word. The lowest byte of the start is
/// replaced by the reason and [`Wait::FOREIGN`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) reason: WaitReason,
    /// Time of [`crate::util::clock`], rounded down to 256 ns; 0 if the wait has not begun.
    pub(crate) since: u64,
}

impl Wait {
    const LOW: u64 = u8::MAX as u64;
    /// Code that is not gmp's has cloned the waker, and may still have the clone. It may then wake
    /// the goroutine, whatever reason the poll recorded last.
    const FOREIGN: u64 = 1 << 7;
    const REASON: u64 = Self::LOW & !Self::FOREIGN;

    /// `low` is a reason, with or without `FOREIGN`.
    fn pack(since: u64, low: u64) -> u64 {
        since & !Self::LOW | low
    }

    fn unpack(word: u64) -> Self {
        let reason = WaitReason::from_u8((word & Self::REASON) as u8);
        Self { reason, since: word & !Self::LOW }
    }
}

impl G {
    /// Returns the goroutine's id.
    #[inline]
    pub(crate) fn goid(&self) -> GoId {
        self.ids.goid()
    }

    /// Returns the number of the runtime that the goroutine belongs to.
    #[inline]
    pub(crate) fn runtime(&self) -> u16 {
        self.ids.runtime()
    }

    /// Returns the id of the goroutine that spawned it; 0 for an external thread.
    pub(crate) fn parent(&self) -> GoId {
        self.parent
    }

    /// Returns the name, if the goroutine has one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.origin.name()
    }

    /// Returns the place in the source that spawned the goroutine.
    pub(crate) fn site(&self) -> &'static Location<'static> {
        self.origin.site()
    }

    /// Returns what a trace shows of the goroutine.
    pub(crate) fn traced(&self) -> TracedG<'_> {
        let spawn = Spawn { site: self.site(), future: self.vtable.type_name };
        TracedG { id: self.goid(), spawn: Some(spawn), name: self.name() }
    }

    /// Records that the goroutine became runnable at the time `now`, for the statistics. Only for
    /// the thread that is about to put it on a queue.
    #[cold]
    pub(crate) fn time_ready(&self, now: u64) {
        // Relaxed: `set_timed` publishes it. A runnable goroutine has no wait.
        self.wait.store(Wait::pack(now, WaitReason::Await as u64), Relaxed);
        self.status.set_timed();
    }

    /// Returns the time that [`time_ready`](Self::time_ready) recorded. Only for the M that is
    /// about to poll the goroutine.
    pub(crate) fn ready_since(&self) -> u64 {
        Wait::unpack(self.wait.load(Relaxed)).since // Relaxed: see `time_ready`
    }

    /// Records the reason of the next wait. Only inside the goroutine's poll.
    #[inline]
    pub(crate) fn set_wait(&self, reason: WaitReason, resource: usize) {
        // Relaxed: both are hints, and a dump may read a new reason beside an old resource.
        let foreign = self.wait.load(Relaxed) & Wait::FOREIGN;
        self.wait.store(Wait::pack(0, reason as u64 | foreign), Relaxed);
        self.resource.store(resource, Relaxed);
    }

    /// Records the start of the wait as the goroutine parks.
    ///
    /// If the poll recorded no reason, the goroutine waits for a foreign future: `Await`. A reason
    /// of this poll has no start yet.
    #[inline]
    pub(crate) fn stamp_wait(&self, since: u64) {
        // Relaxed: only the M that runs the goroutine writes.
        let noted = self.wait.load(Relaxed); // Relaxed: see above
        let low = Self::noted_reason(noted) | noted & Wait::FOREIGN;
        self.wait.store(Wait::pack(since, low), Relaxed);
    }

    #[inline(always)]
    fn noted_reason(noted: u64) -> u64 {
        if noted <= Wait::LOW { noted & Wait::REASON } else { WaitReason::Await as u64 }
    }

    /// Returns the reason of the wait that begins when this poll ends. Only inside the goroutine's
    /// poll, or at its end before [`stamp_wait`](Self::stamp_wait).
    pub(crate) fn next_wait(&self) -> WaitReason {
        let noted = self.wait.load(Relaxed); // Relaxed: see `stamp_wait`
        WaitReason::from_u8(Self::noted_reason(noted) as u8)
    }

    /// Records that code that is not gmp's clones the waker.
    ///
    /// The first clone is made inside the poll, on the thread that runs the goroutine. Other
    /// threads clone a clone, and find this recorded until that one is dropped.
    #[inline]
    fn note_foreign_waker(&self) {
        let word = self.wait.load(Relaxed); // Relaxed: a hint
        if word & Wait::FOREIGN == 0 {
            // Relaxed: a hint, which only the M that runs the goroutine writes.
            self.wait.store(word | Wait::FOREIGN, Relaxed);
        }
    }

    /// Forgets that there were foreign wakers, if no waker is left besides that of the poll. Called
    /// before a primitive of gmp keeps a waker.
    ///
    /// If another thread calls it, that thread has a waker, so there is one.
    #[inline(always)]
    fn forget_foreign_wakers(&self) {
        let word = self.wait.load(Relaxed); // Relaxed: a hint
        if word & Wait::FOREIGN != 0 {
            self.forget_dropped_wakers(word);
        }
    }

    #[cold]
    fn forget_dropped_wakers(&self, word: u64) {
        if !self.status.has_wakers() {
            // Relaxed: a hint. Without a waker no other thread writes it.
            self.wait.store(word & !Wait::FOREIGN, Relaxed);
        }
    }

    /// Adds a reference for a waker that a primitive of gmp keeps.
    #[inline]
    fn add_own_waker(&self) {
        self.forget_foreign_wakers();
        self.status.add_ref();
    }

    /// Whether code that is not gmp's may have a waker of the goroutine: a foreign future, or a
    /// combinator with wakers of its own.
    pub(crate) fn has_foreign_wakers(&self) -> bool {
        self.wait.load(Relaxed) & Wait::FOREIGN != 0 // Relaxed: a hint
    }

    /// Returns the current wait, or the last one.
    pub(crate) fn wait(&self) -> (Wait, usize) {
        // Relaxed: see `set_wait`.
        (Wait::unpack(self.wait.load(Relaxed)), self.resource.load(Relaxed))
    }
}

impl G {
    /// Returns the address of the goroutine whose waker is in the join slot. A hint.
    pub(crate) fn joiner(&self) -> Option<usize> {
        self.join.goroutine()
    }
}

impl std::fmt::Debug for G {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("G").field("goid", &self.goid()).field("status", &self.status).finish()
    }
}

/// The right to run a goroutine. Exactly one exists for each runnable goroutine. It must end in a
/// queue, in a poll, or in [`cell`]'s cancellation. A lost `GRef` is a lost goroutine.
#[must_use]
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct GRef(GPtr);

#[expect(unsafe_code, reason = "I1 of the module: a runnable goroutine is alive")]
mod gref {
    //! # Invariants
    //!
    //! - I1: a `GRef` exists only while its goroutine is runnable or running, and such a
    //!   goroutine holds a reference on its cell.

    use super::{G, GPtr, GRef};

    // SAFETY: all shared access to a header follows the rules in the module's header: atomics,
    // fields that do not change, or cells that the status word gives to one thread.
    unsafe impl Sync for G {}

    // SAFETY: the goroutine's future is `Send` (asserted where cells are made), and the status word
    // passes it from thread to thread. Without that bound a queue could carry an `Rc`.
    unsafe impl Send for GRef {}

    impl GRef {
        /// Returns the pointer to the cell, with the right to run, for a queue slot.
        #[inline]
        pub(crate) fn into_raw(self) -> GPtr {
            self.0
        }

        /// Returns the pointer to the cell, without the right to run.
        #[inline]
        pub(crate) fn as_raw(&self) -> GPtr {
            self.0
        }

        /// Returns the address of the cell, for [`find`](super::heap::find).
        #[inline]
        pub(crate) fn address(&self) -> usize {
            self.0.as_ptr().addr()
        }

        /// Makes a `GRef` of the pointer in a queue slot.
        ///
        /// # Safety
        ///
        /// `raw` came from [`into_raw`](Self::into_raw), and its right to run is taken once.
        #[inline]
        pub(crate) unsafe fn from_raw(raw: GPtr) -> Self {
            Self(raw)
        }
    }

    impl std::ops::Deref for GRef {
        type Target = G;
        #[inline]
        fn deref(&self) -> &G {
            // SAFETY: I1 — a runnable or running goroutine holds a reference on its own cell, and
            // this `GRef` exists only in these two phases.
            unsafe { self.0.header() }
        }
    }
}

/// A goroutine found by a walk over the slabs. It holds a reference, so the cell stays.
#[derive(Debug)]
pub(crate) struct GSight(waker::CountedG);

impl GSight {
    /// Returns the address of the cell, which no other goroutine has while this value exists.
    pub(crate) fn address(&self) -> usize {
        self.0.address()
    }

    /// Ends the goroutine at its next await. Returns `true` if that made it runnable.
    pub(crate) fn abort(&self) -> bool {
        self.0.abort()
    }
}

impl std::ops::Deref for GSight {
    type Target = G;
    fn deref(&self) -> &G {
        &self.0
    }
}
