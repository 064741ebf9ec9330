//! A pointer to a goroutine's cell, and the only functions that read behind it.
//!
//! # Invariants
//!
//! - I1: a [`GPtr`] is derived from the pointer that the OS returned for the slab, never from a
//!   reference. So it may reach everything that its holder may touch: the header, the future
//!   behind the header, and, once the cell is free, the header of the slab before it. A pointer
//!   made from a `&G` covers the bytes of the header alone and may not write most of them.
//! - I2: cells are not unmapped while a goroutine, a free list or a reference count names them.
//! - I3: no `&G` is live when its holder gives up its reference or its right to run. After that
//!   step another thread may free the cell, and a later spawn writes fields that a `&G` requires to
//!   be unchanged. For this reason the functions here return single fields.
//!   [`status`](GPtr::status) and [`link`](GPtr::link) lie wholly in an `UnsafeCell`, so a
//!   reference to one of them may outlive the cell's use, as with the counters of `Arc`.
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
    /// Makes the pointer to the cell at `start`.
    ///
    /// # Safety
    ///
    /// I1: `start` is the first byte of a cell, and comes from the pointer to its slab.
    pub(super) unsafe fn of_cell(start: NonNull<u8>) -> Self {
        Self(start.cast())
    }

    /// Returns the raw form, for a queue slot.
    #[inline]
    pub(crate) fn as_ptr(self) -> *mut G {
        self.0.as_ptr()
    }

    /// Returns the pointer that a queue slot holds; `None` for an empty slot.
    ///
    /// # Safety
    ///
    /// I1: `raw` is null or came from [`as_ptr`](Self::as_ptr).
    #[inline]
    pub(crate) unsafe fn from_ptr(raw: *mut G) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }

    /// Returns the raw form, for the data word of a waker.
    #[inline]
    pub(super) fn as_data(self) -> *const () {
        self.0.as_ptr().cast_const().cast()
    }

    /// Returns the pointer in the data word of a waker.
    ///
    /// # Safety
    ///
    /// I1: `data` came from [`as_data`](Self::as_data).
    #[inline]
    pub(super) unsafe fn from_data(data: *const ()) -> Self {
        // SAFETY: guaranteed by the caller, and `as_data` returns no null.
        Self(unsafe { NonNull::new_unchecked(data.cast_mut().cast()) })
    }

    /// Returns the cell as the type that was built in it.
    #[inline]
    pub(super) fn cast<C>(self) -> NonNull<C> {
        self.0.cast()
    }

    /// Returns the status word, which is valid in every cell that was given out once.
    ///
    /// # Safety
    ///
    /// I2: the cell is mapped when the function is called, and at each use of the result.
    #[inline]
    pub(super) unsafe fn status<'a>(self) -> &'a Status {
        // SAFETY: the caller guarantees that the cell is mapped. Only this field is touched.
        unsafe { &(*self.as_ptr()).status }
    }

    /// Returns the link of a free cell, or of a goroutine whose `GRef` the caller has.
    ///
    /// # Safety
    ///
    /// I2: the cell is mapped, and the caller owns its link for `'a`.
    #[inline]
    pub(super) unsafe fn link<'a>(self) -> &'a Link {
        // SAFETY: guaranteed by the caller. Only this field is touched: the others of a free cell
        // may hold arbitrary bytes.
        unsafe { &(*self.as_ptr()).link }
    }

    /// Returns the vtable of a goroutine.
    ///
    /// # Safety
    ///
    /// The caller holds a reference on the goroutine, or is about to free its cell.
    #[inline]
    pub(super) unsafe fn vtable(self) -> &'static GVTable {
        // SAFETY: guaranteed by the caller; only the next spawn in this cell writes the field.
        unsafe { (*self.as_ptr()).vtable }
    }

    /// Returns the header of a goroutine.
    ///
    /// # Safety
    ///
    /// I3: the caller holds a reference on the goroutine for the whole of `'a`.
    #[inline]
    pub(crate) unsafe fn header<'a>(self) -> &'a G {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.as_ref() }
    }
}
