//! The guest of a runtime: another runtime whose context the threads of this one are in.
//!
//! Libraries for that other runtime find it by a thread-local *context*. A thread that polls or
//! drops futures of this runtime enters the context once, so a poll costs nothing more:
//!
//! | thread | enters |
//! |---|---|
//! | worker thread (M) | from its start to its end |
//! | caller of `Runtime::block_on`, `Handle::block_on` | for the call, also for the drop of the future |
//! | caller of `Runtime::enter`, `Handle::enter` | until it drops the guard |
//! | external thread in the free `block_on` | for the call, if the default runtime has a guest |
//! | external thread that spawns on a runtime that has ended | while it drops the future |
//!
//! A worker thread keeps the guest alive, because its hooks and its last destructors run in the
//! context. So the guest ends after the goroutines. If a thread waits for the end of the runtime,
//! it joins the worker threads, and then ends the guest within the rest of its limit. Otherwise the
//! last worker thread ends the guest without waiting for it.
//!
//! # Invariants
//!
//! - I1: [`InContext`] drops the entered context before its reference on the guest, which the
//!   context borrows from. An `Arc` does not move what it refers to.

use super::Sched;
use crate::prim::debug_assert_no_lock_held;
use crate::prim::fixed::{Mutex, OnceLock};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Another runtime. Its drop ends it without waiting.
pub trait Guest: fmt::Debug + Send + Sync + 'static {
    /// Enters the context on this thread until the result is dropped.
    fn enter(&self) -> Box<dyn Entered + '_>;

    /// Whether this thread is in a context of this kind, be it that of this guest or of another
    /// one.
    fn is_entered(&self) -> bool;

    /// Ends the guest. Waits for that at most for `limit`.
    fn shutdown(&self, limit: Duration);
}

/// A context that a thread has entered. Its drop leaves the context.
pub trait Entered {}

impl<T> Entered for T {}

/// The guest of a runtime, until one of them ends.
#[derive(Debug, Default)]
pub(crate) struct GuestSlot(OnceLock<Mutex<Option<Arc<dyn Guest>>>>);

impl GuestSlot {
    /// Installs the guest, before the threads of the runtime start.
    pub(crate) fn put(&self, guest: Arc<dyn Guest>) {
        let put = self.0.set(Mutex::new(Some(guest)));
        debug_assert!(put.is_ok(), "a runtime with two guests");
    }

    /// Returns the guest, if the runtime has one and it has not ended.
    #[inline]
    pub(crate) fn get(&self) -> Option<Arc<dyn Guest>> {
        self.0.get()?.lock().clone()
    }

    /// Takes the guest out. Its drop runs code of the guest, so the caller holds no lock.
    pub(crate) fn take(&self) -> Option<Arc<dyn Guest>> {
        debug_assert_no_lock_held("ends the guest of a runtime");
        self.0.get()?.lock().take()
    }
}

impl Sched {
    /// Runs `f` in the context of the guest, if there is one.
    pub(crate) fn in_guest<R>(&self, f: impl FnOnce() -> R) -> R {
        in_context(self.guest.get().as_deref(), f)
    }
}

/// The context of a guest, entered by the thread that made it until this is dropped.
pub(crate) struct InContext {
    /// Borrows from `guest`, so it is the first field (I1).
    _entered: Box<dyn Entered>,
    _guest: Arc<dyn Guest>,
}

impl InContext {
    /// Enters the context of `guest` on this thread.
    pub(crate) fn enter(guest: Arc<dyn Guest>) -> Self {
        let borrowed: *const dyn Guest = &*guest;
        // SAFETY: I1 — the guest outlives the reference, which only `_entered` has.
        let entered = unsafe { &*borrowed }.enter();
        Self { _entered: entered, _guest: guest }
    }
}

/// Runs `f` in the context of `guest`, if there is one.
pub(crate) fn in_context<R>(guest: Option<&dyn Guest>, f: impl FnOnce() -> R) -> R {
    let _entered = guest.map(Guest::enter);
    f()
}
