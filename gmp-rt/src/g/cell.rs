//! The cell of a goroutine: the header, then the future, later the output in its place.
//!
//! Everything that depends on the future's type is here, behind a [`GVTable`]. The rest of the
//! runtime sees only [`G`].
//!
//! # Invariants
//!
//! - I1: a cell made by [`spawn`] for `F` and `S` has the vtable of `F` and `S`, so a vtable
//!   function may cast the header back to its `GCell`.
//! - I2: the stage holds the future until [`GVTable::poll`] returns `Done` or [`GVTable::cancel`]
//!   returns; then the output if `Stored`, else nothing.
//! - I3: the stage is touched only by the owner that the status word names: the M that runs the
//!   goroutine; once it is dead, the `JoinHandle`, or the completing M if the handle is gone.
//! - I4: the future does not move from [`spawn`] to its drop: it is pinned by the cell.

use super::heap::{self, CELL_ALIGN, SizeClass};
use super::join::JoinHandle;
use super::join_slot::JoinSlot;
use super::list::Link;
use super::ptr::GPtr;
use super::status::{AfterDone, AfterRef, Cause, Output};
use super::{Birth, G, GRef, Schedule, Wait};
use crate::prim::{AtomicU64, AtomicUsize, UnsafeCell, debug_assert_no_lock_held, drop_payload};
use crate::util::large::BOX_ABOVE;
use crate::wait_reason::WaitReason;
use std::any::Any;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Why a goroutine has no output.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The goroutine was aborted, or its runtime shut down.
    Cancelled,
    /// The goroutine panicked.
    Panic(Box<dyn Any + Send>),
}

/// The result of a goroutine.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// The result of a poll.
#[must_use]
#[derive(Debug)]
pub(crate) enum Polled {
    /// Not yet ready.
    Pending,
    /// The future is dropped. Pass this to `complete` of the status.
    Done(Output),
}

/// The operations on a goroutine that depend on the type of its future.
pub(crate) struct GVTable {
    pub(super) submit: fn(GRef),
    pub(super) cause: fn(&G) -> Cause,
    pub(super) poll_proceed: fn(&Context<'_>) -> Poll<()>,
    /// The name of the future's type, for traces.
    pub(super) type_name: fn() -> &'static str,
    class: SizeClass,
    poll: unsafe fn(GPtr, &mut Context<'_>) -> Polled,
    cancel: unsafe fn(GPtr) -> Output,
    drop_output: unsafe fn(GPtr),
    /// Moves the `Outcome` to the address given.
    take_output: unsafe fn(GPtr, *mut ()),
}

/// The form in which the cell stores an outcome.
trait Keep<T> {
    /// The stored form.
    type Kept;
    /// Converts an outcome to the stored form.
    fn keep(outcome: Outcome<T>) -> Self::Kept;
    /// Converts the stored form back.
    fn give(kept: Self::Kept) -> Outcome<T>;
}

/// The outcome itself.
struct Inline;

/// A box, for an outcome that is too large or too strictly aligned for a cell.
struct Boxed;

impl<T> Keep<T> for Inline {
    type Kept = Outcome<T>;
    fn keep(outcome: Outcome<T>) -> Outcome<T> {
        outcome
    }
    fn give(kept: Outcome<T>) -> Outcome<T> {
        kept
    }
}

impl<T> Keep<T> for Boxed {
    type Kept = Box<Outcome<T>>;
    fn keep(outcome: Outcome<T>) -> Box<Outcome<T>> {
        Box::new(outcome)
    }
    fn give(kept: Box<Outcome<T>>) -> Outcome<T> {
        *kept
    }
}

#[repr(C)]
struct GCell<F: Future, S, K: Keep<F::Output>> {
    header: G,
    stage: UnsafeCell<Stage<F, K>>,
    schedule: PhantomData<fn() -> S>,
}

union Stage<F: Future, K: Keep<F::Output>> {
    future: ManuallyDrop<F>,
    output: ManuallyDrop<K::Kept>,
}

impl<F: Future, S: Schedule, K: Keep<F::Output>> GCell<F, S, K> {
    const CLASS: Option<SizeClass> =
        if align_of::<Self>() <= CELL_ALIGN && size_of::<F>() <= BOX_ABOVE {
            SizeClass::of(size_of::<Self>())
        } else {
            None
        };

    const VTABLE: GVTable = GVTable {
        submit: S::submit,
        cause: S::cause,
        poll_proceed: S::poll_proceed,
        type_name: std::any::type_name::<F>,
        class: match Self::CLASS {
            Some(class) => class,
            // Never used: `spawn` boxes such a future.
            None => match SizeClass::of(0) {
                Some(class) => class,
                None => unreachable!(),
            },
        },
        poll: Self::__rust_begin_short_backtrace,
        cancel: Self::cancel,
        drop_output: Self::drop_output,
        take_output: Self::take_output,
    };

    /// Returns the cell of `g`.
    ///
    /// # Safety
    ///
    /// `g` is a cell of this type (I1), alive.
    unsafe fn of<'a>(g: GPtr) -> &'a Self {
        // SAFETY: I1; the header is the first field of a `repr(C)` struct.
        unsafe { g.cast::<Self>().as_ref() }
    }

    /// Polls the future and catches its panic.
    ///
    /// std ends a short backtrace at a function of this name. So the frames of the scheduler are
    /// not shown. This name covers builds without debug information, in which the function of the
    /// same name below is not seen because it is inlined.
    ///
    /// # Safety
    ///
    /// I1 and I3: the caller runs the goroutine.
    unsafe fn __rust_begin_short_backtrace(g: GPtr, cx: &mut Context<'_>) -> Polled {
        debug_assert_no_lock_held("polls a goroutine");
        // SAFETY: I1, guaranteed by the caller.
        let this = unsafe { Self::of(g) };
        let result = catch_unwind(AssertUnwindSafe(|| {
            this.stage.with_mut(|stage| {
                // SAFETY: I2, I3 — running, so the future exists and this thread owns it.
                let future: &mut F = unsafe { &mut (*stage).future };
                // SAFETY: I4 — the future stays in this cell until it is dropped there.
                __rust_begin_short_backtrace(unsafe { Pin::new_unchecked(future) }, cx)
            })
        }));
        let outcome = match result {
            Ok(Poll::Pending) => return Polled::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(payload) => Err(Failure::Panic(payload)),
        };
        // SAFETY: I2, I3 — the future still exists, and this thread owns it.
        Polled::Done(unsafe { this.finish(outcome) })
    }

    /// Drops the future of an aborted goroutine.
    ///
    /// # Safety
    ///
    /// As for [`GVTable::poll`].
    unsafe fn cancel(g: GPtr) -> Output {
        // SAFETY: I1, guaranteed by the caller.
        let this = unsafe { Self::of(g) };
        // SAFETY: I2, I3, guaranteed by the caller.
        unsafe { this.finish(Err(Failure::Cancelled)) }
    }

    /// Drops the future and stores the outcome in its place if the handle exists.
    ///
    /// # Safety
    ///
    /// I2, I3: the stage holds the future and the caller owns it.
    // Always inlined: a call passes the outcome through memory, written in words and read in pairs
    // of words, which stalls the CPU.
    #[inline(always)]
    unsafe fn finish(&self, outcome: Outcome<F::Output>) -> Output {
        debug_assert_no_lock_held("drops the future of a goroutine");
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: I2 — the future exists, and is dropped exactly once, here.
            self.stage.with_mut(|stage| unsafe { ManuallyDrop::drop(&mut (*stage).future) });
        }));
        let outcome = match dropped {
            Ok(()) => outcome,
            // A panic in the future's drop replaces the outcome.
            Err(payload) => {
                self.discard(outcome);
                Err(Failure::Panic(payload))
            }
        };
        if let Err(Failure::Panic(payload)) = &outcome {
            S::panicked(&self.header, &**payload);
        }
        if self.header.status.is_joinable() {
            let kept = K::keep(outcome);
            // SAFETY: I2, I3 — the future is dropped, and this thread owns the stage.
            self.stage.with_mut(|stage| unsafe { (*stage).output = ManuallyDrop::new(kept) });
            Output::Stored
        } else {
            self.discard(outcome);
            Output::Dropped
        }
    }

    /// Drops an outcome that no handle takes. Reports a panic, also one of this drop.
    fn discard(&self, outcome: Outcome<F::Output>) {
        debug_assert_no_lock_held("drops the output of a goroutine");
        let report = |payload: Box<dyn Any + Send>| {
            S::unjoined_panic(&self.header, &*payload);
            drop_payload(payload);
        };
        match outcome {
            Ok(output) => {
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(output))) {
                    report(payload);
                }
            }
            Err(Failure::Panic(payload)) => report(payload),
            Err(Failure::Cancelled) => {}
        }
    }

    /// Drops the output of a dead goroutine.
    ///
    /// # Safety
    ///
    /// I1, I3: the caller owns the output, and does so once.
    unsafe fn drop_output(g: GPtr) {
        // SAFETY: I1, guaranteed by the caller.
        let this = unsafe { Self::of(g) };
        // SAFETY: I2, I3 — stored, owned by the caller, and read once.
        let outcome =
            this.stage.with(|stage| unsafe { std::ptr::read(&raw const (*stage).output) });
        this.discard(K::give(ManuallyDrop::into_inner(outcome)));
    }

    /// Moves the output of a dead goroutine to `to`.
    ///
    /// # Safety
    ///
    /// I1, I3: the caller owns the output, and does so once; `to` is valid for an
    /// `Outcome<F::Output>`.
    unsafe fn take_output(g: GPtr, to: *mut ()) {
        // SAFETY: I1, guaranteed by the caller.
        let this = unsafe { Self::of(g) };
        // SAFETY: I2, I3 — stored, owned by the caller, and read once.
        let outcome =
            this.stage.with(|stage| unsafe { std::ptr::read(&raw const (*stage).output) });
        // SAFETY: guaranteed by the caller.
        unsafe {
            to.cast::<Outcome<F::Output>>().write(K::give(ManuallyDrop::into_inner(outcome)))
        };
    }
}

/// Polls the future of a goroutine. std ends a short backtrace at a function of this name.
#[inline]
fn __rust_begin_short_backtrace<F: Future>(
    future: Pin<&mut F>,
    cx: &mut Context<'_>,
) -> Poll<F::Output> {
    future.poll(cx)
}

/// A new goroutine.
#[derive(Debug)]
pub(crate) struct Newborn<T> {
    /// The right to run it, for a run queue.
    pub(crate) gp: GRef,
    /// The right to its output.
    pub(crate) handle: JoinHandle<T>,
}

/// Allocates a goroutine that runs `future`. It is runnable, and on no queue yet.
#[inline]
pub(crate) fn spawn<F, S>(future: F, birth: Birth) -> Newborn<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
    S: Schedule,
{
    // The first form that fits a slab: everything inline, the output boxed, both boxed.
    if let Some(class) = const { GCell::<F, S, Inline>::CLASS } {
        return build::<F, S, Inline>(class, future, birth);
    }
    if let Some(class) = const { GCell::<F, S, Boxed>::CLASS } {
        return build::<F, S, Boxed>(class, future, birth);
    }
    match const { GCell::<Pin<Box<F>>, S, Boxed>::CLASS } {
        Some(class) => build::<Pin<Box<F>>, S, Boxed>(class, Box::pin(future), birth),
        None => unreachable!("two pointers fit a cell"),
    }
}

#[inline]
fn build<F: Future, S: Schedule, K: Keep<F::Output>>(
    class: SizeClass,
    future: F,
    birth: Birth,
) -> Newborn<F::Output> {
    let g = heap::alloc(class);
    let cell = g.cast::<GCell<F, S, K>>().as_ptr();
    // The status word stays that of a free cell until all other fields are written: a walker may
    // read it at any time.
    // SAFETY: a free cell of the right class, owned by this thread. All fields but the status are
    // written, and none is read or dropped before.
    unsafe {
        (&raw mut (*cell).header.vtable).write(&GCell::<F, S, K>::VTABLE);
        (&raw mut (*cell).header.link).write(Link::none());
        (&raw mut (*cell).header.ids).write(birth.ids);
        (&raw mut (*cell).header.parent).write(birth.parent);
        (&raw mut (*cell).header.origin).write(birth.origin);
        let wait = Wait::pack(0, WaitReason::Await as u64);
        (&raw mut (*cell).header.wait).write(AtomicU64::new(wait));
        (&raw mut (*cell).header.resource).write(AtomicUsize::new(0));
        (&raw mut (*cell).header.join).write(JoinSlot::new());
        (&raw mut (*cell).stage)
            .write(UnsafeCell::new(Stage { future: ManuallyDrop::new(future) }));
    }
    // SAFETY: a cell from `alloc` is mapped.
    unsafe { g.status() }.init();
    // SAFETY: `init` made it runnable, and this is the one right to run it.
    let gp = unsafe { GRef::from_raw(g) };
    // SAFETY: `init` counted a reference for the handle; the output type is this future's.
    let handle = unsafe { JoinHandle::new(g) };
    Newborn { gp, handle }
}

/// Polls a running goroutine once.
#[inline]
pub(crate) fn poll(gp: &GRef, cx: &mut Context<'_>) -> Polled {
    // SAFETY: I1; a `GRef` whose status is running is the owner (I3).
    unsafe { (gp.vtable.poll)(gp.as_raw(), cx) }
}

/// Drops the future of a running goroutine that was aborted.
pub(crate) fn cancel(gp: &GRef) -> Output {
    // SAFETY: I1; a `GRef` whose status is running is the owner (I3).
    unsafe { (gp.vtable.cancel)(gp.as_raw()) }
}

/// Ends a running goroutine whose future is dropped: wakes its joiner, and frees the cell if no
/// reference is left.
#[inline]
pub(crate) fn complete(gp: GRef, output: Output) {
    let g = gp.into_raw();
    // SAFETY: alive until `complete` gives up this M's reference.
    match unsafe { g.status() }.complete(output) {
        AfterDone::Released => {}
        // SAFETY: no reference is left.
        AfterDone::Free => unsafe { free(g) },
        AfterDone::DropOutput => {
            // SAFETY: I3 — dead without a handle, so this M owns the output.
            unsafe { drop_output(g) };
            // SAFETY: this M's reference, given up once.
            unsafe { drop_ref(g) };
        }
        AfterDone::WakeJoiner => {
            // SAFETY: dead with `JOIN_WAKER`, so this M owns the slot.
            let waker = unsafe { g.header().join.take() };
            // SAFETY: this M's reference, given up once.
            unsafe { drop_ref(g) };
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

/// Drops a reference on `g`, and frees the cell if it was the last one.
///
/// # Safety
///
/// The caller has a reference on `g` and gives it up.
pub(super) unsafe fn drop_ref(g: GPtr) {
    // Asserted for every reference: which one is the last depends on the timing.
    debug_assert_no_lock_held("drops a reference on a goroutine");
    // SAFETY: the caller's reference keeps it alive.
    if unsafe { g.status() }.drop_ref() == AfterRef::Free {
        // SAFETY: no reference is left.
        unsafe { free(g) };
    }
}

/// Drops the output of a dead goroutine.
///
/// # Safety
///
/// I3: the caller owns the output of the dead goroutine `g`, and does so once.
pub(super) unsafe fn drop_output(g: GPtr) {
    // SAFETY: guaranteed by the caller.
    unsafe { (g.vtable().drop_output)(g) }
}

/// Takes the output of a dead goroutine.
///
/// # Safety
///
/// I3: the caller owns the output of the dead goroutine `g`, and does so once; `T` is the output
/// type of its future.
pub(super) unsafe fn take_output<T>(g: GPtr) -> Outcome<T> {
    let mut outcome = std::mem::MaybeUninit::<Outcome<T>>::uninit();
    // SAFETY: guaranteed by the caller.
    unsafe { (g.vtable().take_output)(g, outcome.as_mut_ptr().cast()) };
    // SAFETY: `take_output` has written it.
    unsafe { outcome.assume_init() }
}

/// Returns the cell of a dead goroutine to the heap.
///
/// # Safety
///
/// No reference to `g` is left, and its stage is empty.
pub(super) unsafe fn free(g: GPtr) {
    let header = g.as_ptr();
    // SAFETY: dead, and no other thread has it. Each field that needs a drop is dropped once.
    unsafe { std::ptr::drop_in_place(&raw mut (*header).origin) };
    // SAFETY: as above. The slot holds a waker only if a polled handle was leaked (`mem::forget`).
    unsafe { std::ptr::drop_in_place(&raw mut (*header).join) };
    // SAFETY: as above.
    let class = unsafe { g.vtable() }.class;
    // SAFETY: allocated with this class.
    unsafe { heap::free(g, class) };
}
