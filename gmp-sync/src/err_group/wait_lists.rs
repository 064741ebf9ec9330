//! The two queues of an `ErrGroup`, each as a [`WaitList`] of waiters. One lock guards both.

use super::ErrGroupShared;
use super::state::ErrGroupState;
use crate::wait::queue::Queue;
use crate::wait::waiter::{Abandoned, WaitList};
use crate::wait::wakers::Wakers;
use std::sync::Arc;

/// The queue of waits for the end of all members.
pub(super) struct Waiting<E>(pub(super) Arc<ErrGroupShared<E>>);

/// The queue of waits for a place below the limit.
pub(super) struct Starting<E>(pub(super) Arc<ErrGroupShared<E>>);

// SAFETY: one lock, and always the same of the two queues behind it; both live in the `Arc`.
unsafe impl<E> WaitList for Waiting<E> {
    type State = ErrGroupState<E>;
    type Data = ();

    fn with<R>(&self, f: impl FnOnce(&mut ErrGroupState<E>) -> R) -> R {
        self.0.with(f)
    }

    fn queue(state: &mut ErrGroupState<E>) -> &mut Queue<()> {
        &mut state.waiting
    }

    fn abandoned(&self, _: &mut ErrGroupState<E>, (): &mut (), _: Abandoned) -> Wakers {
        Wakers::None
    }
}

// SAFETY: as above, with the other queue.
unsafe impl<E> WaitList for Starting<E> {
    type State = ErrGroupState<E>;
    type Data = ();

    fn with<R>(&self, f: impl FnOnce(&mut ErrGroupState<E>) -> R) -> R {
        self.0.with(f)
    }

    fn queue(state: &mut ErrGroupState<E>) -> &mut Queue<()> {
        &mut state.starting
    }

    fn abandoned(&self, state: &mut ErrGroupState<E>, (): &mut (), how: Abandoned) -> Wakers {
        match how {
            Abandoned::Queued => Wakers::None,
            // It was given a place.
            Abandoned::Fired => state.leave(),
        }
    }
}
