//! A pointer to a goroutine's cell, and the only ways to look behind it.
//!
//! # Invariants
//!
//! - I1: a [`GPtr`] is derived from the pointer that the OS returned for the slab, never from a
//!   reference. So it may reach everything that its holder may touch: the header, the future
//!   behind the header, and, once the cell is free, the header of the slab before it. A pointer
//!   made from a `&G` covers the bytes of the header alone and may not write most of them.
//! - I2: cells are not unmapped while a goroutine, a free list or a reference count names them.
//! - I3: no `&G` is live when its holder gives up its reference or its right to run. After that
//!   step another thread may free the cell, and a later spawn writes the fields that a `&G`
//!   promises not to change. The functions here hand out single fields for this reason:
//!   [`status`](GPtr::status) and [`link`](GPtr::link) lie wholly in an `UnsafeCell`, so a
//!   reference to one of them may outlive the cell's use, as the counters of `Arc` do.
//!
//! `tests/tidy.rs` forbids the conversions from a reference to a pointer in this folder.

use super::G;
use super::cell::GVTable;
use super::list::Link;
use super::status::Status;
use std::ptr::NonNull;

/// A pointer to a goroutine's cell, with access to the whole slab. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct GPtr(NonNull<G>);

impl GPtr {
    /// The cell at `start`.
    ///
    /// # Safety
    ///
    /// I1: `start` is the first byte of a cell, and comes from the pointer to its slab.
    pub(super) unsafe fn of_cell(start: NonNull<u8>) -> Self {
        Self(start.cast())
    }

    /// The raw form, for a queue slot.
    #[inline]
    pub(crate) fn as_ptr(self) -> *mut G {
        self.0.as_ptr()
    }

    /// The pointer that a queue slot holds; `None` for an empty slot.
    ///
    /// # Safety
    ///
    /// I1: `raw` is null or came from [`as_ptr`](Self::as_ptr).
    #[inline]
    pub(crate) unsafe fn from_ptr(raw: *mut G) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }

    /// The raw form, for the data word of a waker.
    #[inline]
    pub(super) fn as_data(self) -> *const () {
        self.0.as_ptr().cast_const().cast()
    }

    /// The pointer in the data word of a waker.
    ///
    /// # Safety
    ///
    /// I1: `data` came from [`as_data`](Self::as_data).
    #[inline]
    pub(super) unsafe fn from_data(data: *const ()) -> Self {
        // SAFETY: the caller guarantees it, and `as_data` gives no null.
        Self(unsafe { NonNull::new_unchecked(data.cast_mut().cast()) })
    }

    /// The cell as the type that was built in it.
    #[inline]
    pub(super) fn cast<C>(self) -> NonNull<C> {
        self.0.cast()
    }

    /// The status word, which is valid in every cell that was handed out once.
    ///
    /// # Safety
    ///
    /// I2: the cell is mapped when the function is called, and at each use of the result.
    #[inline]
    pub(super) unsafe fn status<'a>(self) -> &'a Status {
        // SAFETY: the caller guarantees that the cell is mapped. Only this field is touched.
        unsafe { &(*self.as_ptr()).status }
    }

    /// The link, of a cell that is free or of a goroutine whose `GRef` the caller has.
    ///
    /// # Safety
    ///
    /// I2: the cell is mapped, and the caller owns its link for `'a`.
    #[inline]
    pub(super) unsafe fn link<'a>(self) -> &'a Link {
        // SAFETY: the caller guarantees it. Only this field is touched: the others of a free cell
        // may hold anything.
        unsafe { &(*self.as_ptr()).link }
    }

    /// The vtable of a goroutine.
    ///
    /// # Safety
    ///
    /// The caller holds a reference on the goroutine, or is about to free its cell.
    #[inline]
    pub(super) unsafe fn vtable(self) -> &'static GVTable {
        // SAFETY: the caller guarantees it; the next spawn in this cell writes the field again.
        unsafe { (*self.as_ptr()).vtable }
    }

    /// The header of a goroutine.
    ///
    /// # Safety
    ///
    /// I3: the caller holds a reference on the goroutine for the whole of `'a`.
    #[inline]
    pub(super) unsafe fn header<'a>(self) -> &'a G {
        // SAFETY: the caller guarantees it.
        unsafe { self.0.as_ref() }
    }
}
