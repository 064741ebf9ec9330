//! The waker of a goroutine: one static vtable, data = the cell.
//!
//! One vtable for all goroutines, so that `Waker::will_wake` is reliable and a waker of ours can
//! be told from a stranger's ([`goroutine_of`]). What happens after the status word says
//! "submit" is behind [`Schedule`](super::Schedule).
//!
//! # Invariants
//!
//! - I1: the data word of a waker with [`VTABLE`] is a [`GPtr`] on which the waker holds one
//!   reference; a borrowed waker ([`borrowed`]) holds none and lives inside a poll of that G.
//! - I2: a [`TinyWaker`] word is 0, a counted [`GPtr`], or, tagged, a leaked `Box<Waker>`.

use super::ptr::GPtr;
use super::status::Wake;
use super::stored::StoredWaker;
use super::{G, GRef, cell};
use crate::prim::debug_assert_no_lock_held;
use crate::wait_reason::WaitReason;
use std::mem::ManuallyDrop;
use std::ptr;
use std::task::{Context, RawWaker, RawWakerVTable, Waker};

/// The vtable of all goroutine wakers.
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: I1 — the data of a waker of ours.
    let g = unsafe { GPtr::from_data(data) };
    // SAFETY: I1 — the waker that is cloned keeps it alive.
    unsafe { g.status() }.add_ref();
    RawWaker::new(data, &VTABLE)
}

#[inline]
unsafe fn wake(data: *const ()) {
    debug_assert_no_lock_held("wakes a goroutine");
    // SAFETY: I1 — the data of a waker of ours.
    let g = unsafe { GPtr::from_data(data) };
    // SAFETY: I1 — the waker keeps it alive until its reference is given up, in there.
    match unsafe { g.status() }.wake_and_drop_ref() {
        // SAFETY: the transition to runnable gave this thread the one right to run it.
        Ok(Wake::Submit) => unsafe { submit(g) },
        Ok(Wake::Nothing) => {}
        // SAFETY: I1 — the waker still has its reference, and gives it up here.
        Err(_dead) => unsafe { cell::drop_ref(g) },
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    debug_assert_no_lock_held("wakes a goroutine");
    // SAFETY: I1 — the data of a waker of ours.
    let g = unsafe { GPtr::from_data(data) };
    // SAFETY: I1 — the waker keeps it alive.
    if unsafe { g.status() }.wake() == Wake::Submit {
        // SAFETY: the transition to runnable gave this thread the one right to run it.
        unsafe { submit(g) };
    }
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: I1 — the data of a waker of ours.
    let g = unsafe { GPtr::from_data(data) };
    // SAFETY: I1 — the waker gives up its reference.
    unsafe { cell::drop_ref(g) };
}

/// Passes a goroutine that the status word has just made runnable to its scheduler.
///
/// # Safety
///
/// The caller made the transition to runnable, which gave it the one right to run the goroutine.
#[inline]
pub(super) unsafe fn submit(g: GPtr) {
    // SAFETY: a runnable goroutine holds a reference of its own.
    let submit = unsafe { g.vtable() }.submit;
    // SAFETY: guaranteed by the caller.
    submit(unsafe { GRef::from_raw(g) });
}

/// A waker for the poll of `g`, without a reference of its own.
#[inline]
pub(crate) fn borrowed(g: &GRef) -> ManuallyDrop<Waker> {
    // SAFETY: I1 — never dropped, and used only inside the poll of `g`.
    ManuallyDrop::new(unsafe { Waker::new(g.as_raw().as_data(), &VTABLE) })
}

/// The cell of the goroutine that `waker` wakes. Returns `None` for a foreign waker.
#[inline]
fn cell_of(waker: &Waker) -> Option<GPtr> {
    // SAFETY: I1 — our vtable, so our data.
    ptr::eq(waker.vtable(), &VTABLE).then(|| unsafe { GPtr::from_data(waker.data()) })
}

/// The goroutine that `waker` wakes. Returns `None` for a foreign waker, also for one that wraps
/// a waker of ours.
#[inline]
pub(crate) fn goroutine_of(waker: &Waker) -> Option<&G> {
    // SAFETY: I1 — alive as long as the waker is borrowed.
    cell_of(waker).map(|g| unsafe { g.header() })
}

/// A goroutine's own waker: waking and dropping it are direct calls, which run no user code.
pub(crate) struct GoroutineWaker(*const ());

/// `waker` as a goroutine's own, or back if it is foreign.
#[inline]
pub(crate) fn into_goroutine(waker: Waker) -> Result<GoroutineWaker, Waker> {
    if goroutine_of(&waker).is_none() {
        return Err(waker);
    }
    // The reference moves with the data pointer (I1).
    Ok(GoroutineWaker(ManuallyDrop::new(waker).data()))
}

impl GoroutineWaker {
    /// Wakes the goroutine.
    #[inline]
    pub(crate) fn wake(self) {
        let data = ManuallyDrop::new(self).0;
        // SAFETY: I1 — the data of a waker of ours, whose reference is given up here.
        unsafe { wake(data) };
    }
}

impl Drop for GoroutineWaker {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: I1 — the data of a waker of ours, whose reference is given up here.
        unsafe { drop_waker(self.0) };
    }
}

/// Notes why the goroutine behind `cx` is about to wait, if there is one.
#[inline]
pub(crate) fn note_wait(cx: &Context<'_>, reason: WaitReason, resource: usize) {
    if let Some(g) = goroutine_of(cx.waker()) {
        g.set_wait(reason, resource);
    }
}

/// A waker in one word: as it lies in the header of a goroutine.
///
/// Ours is the bare cell address; a stranger's is boxed, which costs an allocation only for
/// those who join a goroutine from `join!`, `FuturesUnordered` or another executor.
pub(crate) struct TinyWaker(*const ());

const TAG: usize = 1;

impl TinyWaker {
    /// No waker.
    pub(crate) const EMPTY: Self = Self(ptr::null());

    /// Keeps a clone of `waker`.
    pub(crate) fn new(waker: &Waker) -> Self {
        if let Some(g) = cell_of(waker) {
            // SAFETY: I1 — the borrowed waker keeps it alive.
            unsafe { g.status() }.add_ref();
            return Self(g.as_data());
        }
        let boxed = Box::into_raw(Box::new(waker.clone()));
        Self(boxed.map_addr(|addr| addr | TAG).cast())
    }

    fn boxed(&self) -> Option<*mut Waker> {
        let tagged = self.0.addr() & TAG != 0;
        tagged.then(|| self.0.map_addr(|addr| addr & !TAG).cast_mut().cast())
    }

    /// Whether waking this wakes what `waker` wakes.
    pub(crate) fn will_wake(&self, waker: &Waker) -> bool {
        match self.boxed() {
            // SAFETY: I2 — tagged, so our box.
            Some(boxed) => unsafe { &*boxed }.will_wake(waker),
            None => cell_of(waker).is_some_and(|g| g.as_data() == self.0),
        }
    }

    /// The waker, leaving nothing behind.
    pub(crate) fn take(&mut self) -> Option<StoredWaker> {
        let this = ManuallyDrop::new(std::mem::replace(self, Self::EMPTY));
        if let Some(boxed) = this.boxed() {
            // SAFETY: I2 — tagged, so our box, taken once.
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

/// A counted reference to a goroutine that is no waker: for walkers.
#[derive(Debug)]
pub(crate) struct CountedG(GPtr);

impl CountedG {
    /// # Safety
    ///
    /// The caller has taken a reference (`try_ref`) on `g` and gives it to this value.
    pub(super) unsafe fn from_counted(g: GPtr) -> Self {
        Self(g)
    }

    /// Aborts it: see [`Status::abort`](super::status::Status::abort). `true` if that made it
    /// runnable.
    pub(super) fn abort(&self) -> bool {
        let submitted = self.status.abort() == Wake::Submit;
        if submitted {
            // SAFETY: the transition to runnable gave this thread the one right to run it.
            unsafe { submit(self.0) };
        }
        submitted
    }
}

impl std::ops::Deref for CountedG {
    type Target = G;
    fn deref(&self) -> &G {
        // SAFETY: this reference keeps it alive.
        unsafe { self.0.header() }
    }
}

impl Drop for CountedG {
    fn drop(&mut self) {
        // SAFETY: gives up this reference, once.
        unsafe { cell::drop_ref(self.0) }
    }
}

// SAFETY: what can be done with it (read the header, abort) is atomic; the future itself is out
// of reach. Would it hand out the future, a `!Sync` one could be shared.
unsafe impl Send for CountedG {}
// SAFETY: as above.
unsafe impl Sync for CountedG {}
