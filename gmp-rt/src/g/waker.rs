//! The waker of a goroutine: one static vtable, and the cell as data.
//!
//! All goroutines share one vtable. So `Waker::will_wake` is reliable, and [`goroutine_of`] can
//! distinguish a goroutine's waker from a foreign one. [`Schedule`](super::Schedule) handles a
//! goroutine that the status word has made runnable.
//!
//! # Invariants
//!
//! - I1: the data word of a waker with [`VTABLE`] is a [`GPtr`] on which the waker holds one
//!   reference. A borrowed waker ([`borrowed`]) holds none and exists only inside a poll of that G.
//! - I2: a [`TinyWaker`] word is 0, a counted [`GPtr`], or, tagged, a leaked `Box<Waker>`.

use super::ptr::GPtr;
use super::status::{Cause, Wake};
use super::stored::StoredWaker;
use super::{G, GRef, cell};
use crate::prim::debug_assert_no_lock_held;
use crate::tracer::hook;
use crate::wait_reason::WaitReason;
use std::mem::ManuallyDrop;
use std::ptr;
use std::task::{Context, RawWaker, RawWakerVTable, Waker};

/// The vtable of all goroutine wakers.
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// The clone by code that is not gmp's. Primitives of gmp use [`clone_own`].
unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: I1 — the data of a goroutine's waker.
    let g = unsafe { GPtr::from_data(data) };
    // SAFETY: I1 — the waker that is cloned keeps the cell alive.
    unsafe { g.header() }.note_foreign_waker();
    // SAFETY: I1 — the waker that is cloned keeps the cell alive.
    unsafe { g.status() }.add_ref();
    RawWaker::new(data, &VTABLE)
}

#[inline]
unsafe fn wake(data: *const ()) {
    debug_assert_no_lock_held("wakes a goroutine");
    // SAFETY: I1 — the data of a goroutine's waker.
    let g = unsafe { GPtr::from_data(data) };
    // SAFETY: I1 — the waker keeps the cell alive until the call gives up its reference.
    match unsafe { g.status() }.wake_and_drop_ref(|| unsafe { cause(g) }) {
        // SAFETY: the transition to runnable gave this thread the one right to run it.
        Ok(Wake::Submit) => unsafe { submit(g) },
        Ok(Wake::Nothing) => {}
        // SAFETY: I1 — the waker still has its reference, and gives it up here.
        Err(_dead) => unsafe { cell::drop_ref(g) },
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    debug_assert_no_lock_held("wakes a goroutine");
    // SAFETY: I1 — the data of a goroutine's waker.
    let g = unsafe { GPtr::from_data(data) };
    // SAFETY: I1 — the waker keeps the cell alive.
    if unsafe { g.status() }.wake(|| unsafe { cause(g) }) == Wake::Submit {
        // SAFETY: the transition to runnable gave this thread the one right to run it.
        unsafe { submit(g) };
    }
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: I1 — the data of a goroutine's waker.
    let g = unsafe { GPtr::from_data(data) };
    // SAFETY: I1 — the waker gives up its reference.
    unsafe { cell::drop_ref(g) };
}

/// Returns the cause of a wake-up of `g` on this thread.
///
/// # Safety
///
/// The caller has a reference on `g`.
#[cold]
unsafe fn cause(g: GPtr) -> Cause {
    // SAFETY: guaranteed by the caller.
    let header = unsafe { g.header() };
    (header.vtable.cause)(header)
}

/// Passes a goroutine that the status word has just made runnable to its scheduler.
///
/// # Safety
///
/// The caller made the transition to runnable, which gave it the one right to run the goroutine.
#[inline]
pub(super) unsafe fn submit(g: GPtr) {
    // SAFETY: a runnable goroutine holds a reference on its own cell.
    hook::unblocked(move || unsafe { g.header() }.traced());
    // SAFETY: a runnable goroutine holds a reference on its own cell.
    let submit = unsafe { g.vtable() }.submit;
    // SAFETY: guaranteed by the caller.
    submit(unsafe { GRef::from_raw(g) });
}

/// Returns a waker for the poll of `g`. It holds no reference.
#[inline]
pub(crate) fn borrowed(g: &GRef) -> ManuallyDrop<Waker> {
    // SAFETY: I1 — never dropped, and used only inside the poll of `g`.
    ManuallyDrop::new(unsafe { Waker::new(g.as_raw().as_data(), &VTABLE) })
}

/// Returns the cell of the goroutine that `waker` wakes; `None` for a foreign waker.
#[inline]
fn cell_of(waker: &Waker) -> Option<GPtr> {
    // SAFETY: I1 — the vtable is `VTABLE`, so the data is a cell.
    ptr::eq(waker.vtable(), &VTABLE).then(|| unsafe { GPtr::from_data(waker.data()) })
}

/// Returns the goroutine that `waker` wakes; `None` for a foreign waker, also for one that wraps a
/// goroutine's waker.
#[inline]
pub(crate) fn goroutine_of(waker: &Waker) -> Option<&G> {
    // SAFETY: I1 — alive while the waker is borrowed.
    cell_of(waker).map(|g| unsafe { g.header() })
}

/// Clones `waker` for a primitive of gmp; `None` if it is foreign. The clone does not count as one
/// [by foreign code](G::has_foreign_wakers).
#[inline]
pub(super) fn clone_own(waker: &Waker) -> Option<Waker> {
    let g = cell_of(waker)?;
    // SAFETY: I1 — the waker that is cloned keeps the cell alive.
    unsafe { g.header() }.add_own_waker();
    // SAFETY: I1 — the reference was added above.
    Some(unsafe { Waker::new(g.as_data(), &VTABLE) })
}

/// Wakes by `waker`, if it is a goroutine's: a direct call, which runs no user code. Returns it as
/// `Err` if it is foreign.
#[inline]
pub(crate) fn wake_own(waker: Waker) -> Result<(), Waker> {
    let data = own_data(waker)?;
    // SAFETY: I1 — the data of a goroutine's waker, whose reference is given up here.
    unsafe { wake(data) };
    Ok(())
}

/// Drops `waker`, if it is a goroutine's, as [`wake_own`] does.
#[inline]
pub(crate) fn drop_own(waker: Waker) -> Result<(), Waker> {
    let data = own_data(waker)?;
    // SAFETY: I1 — the data of a goroutine's waker, whose reference is given up here.
    unsafe { drop_waker(data) };
    Ok(())
}

/// Returns the data of a goroutine's waker. The reference moves with it (I1).
#[inline]
fn own_data(waker: Waker) -> Result<*const (), Waker> {
    match goroutine_of(&waker) {
        Some(_) => Ok(ManuallyDrop::new(waker).data()),
        None => Err(waker),
    }
}

/// Records why the goroutine behind `cx` is about to wait, if there is one.
#[inline]
pub(crate) fn note_wait(cx: &Context<'_>, reason: WaitReason, resource: usize) {
    if let Some(g) = goroutine_of(cx.waker()) {
        g.set_wait(reason, resource);
    }
}

/// A waker in one word, for the header of a goroutine.
///
/// A goroutine's waker is the bare cell address. A foreign waker is boxed. This costs an allocation
/// only if a goroutine is joined from `join!`, `FuturesUnordered` or a foreign executor.
pub(crate) struct TinyWaker(*const ());

const TAG: usize = 1;

impl TinyWaker {
    /// No waker.
    pub(crate) const EMPTY: Self = Self(ptr::null());

    /// Keeps a clone of `waker`.
    pub(crate) fn new(waker: &Waker) -> Self {
        if let Some(g) = cell_of(waker) {
            // SAFETY: I1 — the borrowed waker keeps the cell alive.
            unsafe { g.header() }.add_own_waker();
            return Self(g.as_data());
        }
        let boxed = Box::into_raw(Box::new(waker.clone()));
        Self(boxed.map_addr(|addr| addr | TAG).cast())
    }

    /// Returns the word, which owns the waker from then on.
    #[inline]
    pub(super) fn into_raw(self) -> *const () {
        ManuallyDrop::new(self).0
    }

    /// Makes the owner of a waker again.
    ///
    /// # Safety
    ///
    /// `word` came from [`into_raw`](Self::into_raw), and this is its only owner.
    #[inline]
    pub(super) unsafe fn from_raw(word: *const ()) -> Self {
        Self(word)
    }

    /// Returns the address of the goroutine that the waker `word` wakes, if it is one.
    pub(super) fn goroutine_in(word: *const ()) -> Option<usize> {
        let addr = word.addr();
        (addr != 0 && addr & TAG == 0).then_some(addr)
    }

    fn boxed(&self) -> Option<*mut Waker> {
        let tagged = self.0.addr() & TAG != 0;
        tagged.then(|| self.0.map_addr(|addr| addr & !TAG).cast_mut().cast())
    }

    /// Whether this waker and `waker` wake the same task.
    pub(crate) fn will_wake(&self, waker: &Waker) -> bool {
        match self.boxed() {
            // SAFETY: I2 — tagged, so the box of this value.
            Some(boxed) => unsafe { &*boxed }.will_wake(waker),
            None => cell_of(waker).is_some_and(|g| g.as_data() == self.0),
        }
    }

    /// Takes the waker and leaves `EMPTY`.
    pub(crate) fn take(&mut self) -> Option<StoredWaker> {
        let this = ManuallyDrop::new(std::mem::replace(self, Self::EMPTY));
        if let Some(boxed) = this.boxed() {
            // SAFETY: I2 — tagged, so the box of this value, taken once.
            let waker = *unsafe { Box::from_raw(boxed) };
            return Some(waker.into());
        }
        // SAFETY: I1, I2 — a counted `G`; the reference moves into the waker.
        (!this.0.is_null()).then(|| unsafe { Waker::new(this.0, &VTABLE) }.into())
    }
}

impl Drop for TinyWaker {
    #[inline]
    fn drop(&mut self) {
        if !self.0.is_null() {
            drop(self.take());
        }
    }
}

// SAFETY: I2 — a counted goroutine or a boxed `Waker`, both of which may move between threads.
unsafe impl Send for TinyWaker {}

/// A counted reference to a goroutine that cannot wake it: for walkers and abort handles.
#[derive(Debug)]
pub(crate) struct CountedG(GPtr);

impl CountedG {
    /// Makes the owner of a reference that was taken before.
    ///
    /// # Safety
    ///
    /// The caller has taken a reference (`try_ref`, `add_ref`) on `g` and gives it to this value.
    pub(super) unsafe fn from_counted(g: GPtr) -> Self {
        Self(g)
    }

    /// Returns the address of the cell, which no other goroutine has while this value exists.
    pub(super) fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }

    /// Aborts the goroutine, see [`Status::abort`](super::status::Status::abort). Returns `true` if
    /// that made it runnable.
    pub(super) fn abort(&self) -> bool {
        let submitted = self.status.abort() == Wake::Submit;
        if submitted {
            // SAFETY: the transition to runnable gave this thread the one right to run it.
            unsafe { submit(self.0) };
        }
        submitted
    }
}

impl Clone for CountedG {
    fn clone(&self) -> Self {
        self.status.add_ref();
        Self(self.0)
    }
}

impl std::ops::Deref for CountedG {
    type Target = G;
    fn deref(&self) -> &G {
        // SAFETY: this reference keeps the cell alive.
        unsafe { self.0.header() }
    }
}

impl Drop for CountedG {
    fn drop(&mut self) {
        // SAFETY: gives up this reference, once.
        unsafe { cell::drop_ref(self.0) }
    }
}

// SAFETY: its operations (read the header, abort) are atomic, and it gives no access to the future.
// With such access a `!Sync` future could be shared.
unsafe impl Send for CountedG {}
// SAFETY: as above.
unsafe impl Sync for CountedG {}
