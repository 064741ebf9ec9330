//! A waker that runs a hook when a clone of it is dropped.
//!
//! No two clones are equal, so a future that is polled again replaces its clone. The hook then runs
//! between two steps of one poll, with no lock held.

#![expect(unsafe_code, reason = "a waker of which no two clones are the same")]

use std::cell::RefCell;
use std::task::{RawWaker, RawWakerVTable, Waker};

thread_local! {
    static HOOK: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    |_| raw(),
    free,
    |_| (),
    |waker| {
        free(waker);
        if let Some(hook) = HOOK.take() {
            hook();
        }
    },
);

fn raw() -> RawWaker {
    RawWaker::new(Box::into_raw(Box::new(0_u64)).cast(), &VTABLE)
}

fn free(waker: *const ()) {
    // SAFETY: made by `raw`, and a waker is dropped or woken once.
    drop(unsafe { Box::from_raw(waker.cast_mut().cast::<u64>()) });
}

/// Runs `f` with a waker. Runs `hook` when the first clone of it is dropped.
pub(super) fn with_hook<R>(hook: impl FnOnce() + 'static, f: impl FnOnce(&Waker) -> R) -> R {
    // SAFETY: the functions of the table keep the contract of `RawWaker`.
    let waker = unsafe { Waker::from_raw(raw()) };
    HOOK.set(Some(Box::new(hook)));
    let result = f(&waker);
    HOOK.take();
    result
}
