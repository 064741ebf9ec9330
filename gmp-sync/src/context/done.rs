//! `Done`: waits for the end of a context.

use super::error::ContextError;
use super::scope::{Scope, ScopeState};
use crate::wait::queue::Queue;
use crate::wait::waiter::{Abandoned, WaitList, Waiter};
use crate::wait::wakers::Wakers;
use gmp_rt::task::park::{WaitReason, note_wait};
use pin_project_lite::pin_project;
use std::ops::{ControlFlow, Deref};
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::task::Poll;

/// The scope that is waited for. Usually borrowed: otherwise goroutines that wait for one context
/// repeatedly would contend for its reference count.
#[derive(Debug)]
pub(super) enum ScopeRef<'a> {
    Borrowed(&'a Scope),
    Owned(Arc<Scope>),
}

impl Deref for ScopeRef<'_> {
    type Target = Scope;

    fn deref(&self) -> &Scope {
        match self {
            Self::Borrowed(scope) => scope,
            Self::Owned(scope) => scope,
        }
    }
}

// SAFETY: one lock and one queue behind it, both of the scope. The scope is not moved, and lives as
// long as the reference.
unsafe impl WaitList for ScopeRef<'_> {
    type State = ScopeState;
    type Data = ();

    fn with<R>(&self, f: impl FnOnce(&mut ScopeState) -> R) -> R {
        Scope::with(self, f)
    }

    fn queue(state: &mut ScopeState) -> &mut Queue<()> {
        state.waiting()
    }

    fn abandoned(&self, _: &mut ScopeState, (): &mut (), _: Abandoned) -> Wakers {
        Wakers::None
    }
}

pin_project! {
    /// The future of [`Context::done`](super::Context::done). Returns why the context has ended. It
    /// may be awaited again after that.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Done<'a> {
        // `None` for a context that never ends.
        #[pin]
        waiter: Option<Waiter<ScopeRef<'a>>>,
    }
}

impl<'a> Done<'a> {
    pub(super) fn new(scope: Option<ScopeRef<'a>>) -> Self {
        Self { waiter: scope.map(|scope| Waiter::new(scope, ())) }
    }
}

impl Future for Done<'_> {
    type Output = ContextError;

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<ContextError> {
        let Some(mut waiter) = self.project().waiter.as_pin_mut() else {
            note_wait(cx, WaitReason::ContextDone, 0);
            return Poll::Pending;
        };
        if waiter.list().err().is_none() {
            let ended = waiter.as_mut().poll_wait(cx, |state, ()| match state.is_live() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            });
            if ended.is_pending() {
                let scope = ptr::from_ref::<Scope>(waiter.list());
                note_wait(cx, WaitReason::ContextDone, scope.addr());
                return Poll::Pending;
            }
        }
        // No check whether the time slice is over, unlike in other futures: an error always means
        // done, and no goroutine waits for the same end in a loop.
        Poll::Ready(waiter.list().err().expect("not live, so ended"))
    }
}
