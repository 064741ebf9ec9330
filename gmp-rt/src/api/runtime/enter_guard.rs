//! `EnterGuard`: a thread inside a runtime, without a closure around it.

use super::context::InRuntime;
use crate::sched::Sched;
use crate::sched::guest::InContext;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// The thread is inside a runtime until the guard is dropped. From
/// [`Runtime::enter`](super::Runtime::enter) and [`Handle::enter`](super::Handle::enter).
///
/// It stays on its thread. Guards are dropped in the reverse order in which they were made.
#[must_use = "the thread leaves the runtime when the guard is dropped"]
pub struct EnterGuard<'a> {
    /// Dropped before `inside`, as it was entered after it.
    guest: Option<InContext>,
    /// `None` only after a drop in the wrong order.
    inside: Option<InRuntime>,
    /// Not `Send`: what it restores belongs to the thread.
    on_thread: PhantomData<(&'a Arc<Sched>, *const ())>,
}

impl EnterGuard<'_> {
    #[track_caller]
    pub(super) fn new(sched: &Arc<Sched>) -> Self {
        let inside = InRuntime::enter(sched);
        let guest = sched.guest.get().map(InContext::enter);
        Self { guest, inside: Some(inside), on_thread: PhantomData }
    }
}

impl Drop for EnterGuard<'_> {
    fn drop(&mut self) {
        drop(self.guest.take());
        if self.inside.as_ref().is_some_and(InRuntime::is_innermost) {
            return;
        }
        // The runtime that it would restore is not the one around the innermost guard.
        std::mem::forget(self.inside.take());
        if !std::thread::panicking() {
            panic!("an EnterGuard was dropped before one that was made after it");
        }
    }
}

impl fmt::Debug for EnterGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnterGuard").finish_non_exhaustive()
    }
}
