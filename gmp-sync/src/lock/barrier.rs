//! `Barrier`: a meeting point for a fixed number of goroutines.
//!
//! One lock guards the number of arrived goroutines and the queue of waiters. The last goroutine to
//! arrive fires all others and begins the next round. It does not wait itself.

use crate::const_fn::const_fn;
use crate::wait::phase::WaitPhase;
use crate::wait::queue::Queue;
use crate::wait::waiter::{Abandoned, Ended, WaitList, Waiter};
use crate::wait::wakers::Wakers;
use futures::future::FusedFuture;
use gmp_rt::prim::Mutex;
use gmp_rt::task::park::{WaitReason, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, ready};

/// A point that a fixed number of goroutines reach together. It can be used again after each round.
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use sync::Barrier;
/// use std::sync::Arc;
///
/// gmp_rt::block_on(async {
///     let barrier = Arc::new(Barrier::new(3));
///     let handles: Vec<_> = (0..3)
///         .map(|_| {
///             let barrier = barrier.clone();
///             gmp_rt::spawn(async move { barrier.wait().await.is_leader() })
///         })
///         .collect();
///     let mut leaders = 0;
///     for handle in handles {
///         leaders += u32::from(handle.await.unwrap());
///     }
///     assert_eq!(leaders, 1);
/// });
/// ```
pub struct Barrier {
    size: usize,
    state: Mutex<BarrierState>,
}

#[derive(Debug)]
pub(crate) struct BarrierState {
    /// Goroutines that have arrived in this round. All of them are in the queue.
    come: usize,
    waiting: Queue<()>,
}

impl Barrier {
    const_fn! {
        /// Creates a barrier for `size` goroutines. With 0 or 1 no goroutine waits.
        #[must_use]
        pub const fn new(size: usize) -> Self {
            Self { size, state: Mutex::new(BarrierState { come: 0, waiting: Queue::new() }) }
        }
    }

    /// Waits until as many goroutines have arrived as the barrier is for. The last one is the
    /// leader.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A wait that is dropped before the round is complete does not count as arrived.
    pub fn wait(&self) -> BarrierWait<'_> {
        BarrierWait { waiter: Waiter::new(self, ()), phase: WaitPhase::Waits }
    }

    /// As [`wait`](Self::wait), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_wait")]
    pub fn wait_blocking(&self) -> BarrierWaitResult {
        gmp_rt::block_on(self.wait())
    }

    /// Counts one arrival. Returns the wakers of the round as `Break` if it was the last.
    fn come(&self, state: &mut BarrierState) -> ControlFlow<Wakers> {
        if state.come + 1 < self.size {
            state.come += 1;
            return ControlFlow::Continue(());
        }
        state.come = 0;
        let mut wakers = Wakers::None;
        while let Some(((), fired)) = state.waiting.fire_front(|()| ()) {
            wakers.push(fired);
        }
        ControlFlow::Break(wakers)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let come = self.with(|state| state.come);
        f.debug_struct("Barrier").field("size", &self.size).field("come", &come).finish()
    }
}

// SAFETY: one lock, one queue behind it.
unsafe impl WaitList for Barrier {
    type State = BarrierState;
    type Data = ();

    fn with<R>(&self, f: impl FnOnce(&mut BarrierState) -> R) -> R {
        f(&mut self.state.lock())
    }

    fn queue(state: &mut BarrierState) -> &mut Queue<()> {
        &mut state.waiting
    }

    fn abandoned(&self, state: &mut BarrierState, (): &mut (), how: Abandoned) -> Wakers {
        if how == Abandoned::Queued {
            state.come -= 1;
        }
        Wakers::None
    }
}

/// The result of a [`Barrier::wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierWaitResult {
    role: BarrierRole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BarrierRole {
    Leader,
    Other,
}

impl BarrierWaitResult {
    /// Whether this goroutine arrived last. Each round has one leader.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.role == BarrierRole::Leader
    }
}

pin_project! {
    /// The future of [`Barrier::wait`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct BarrierWait<'a> {
        #[pin]
        waiter: Waiter<&'a Barrier>,
        phase: WaitPhase,
    }
}

impl Future for BarrierWait<'_> {
    type Output = BarrierWaitResult;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<BarrierWaitResult> {
        let this = self.project();
        let mut waiter = this.waiter;
        ready!(poll_proceed(cx));
        let barrier: &Barrier = waiter.list();
        let role = match waiter.as_mut().poll_wait(cx, |state, ()| barrier.come(state)) {
            Poll::Pending => {
                note_wait(cx, WaitReason::BarrierWait, ptr::from_ref(barrier).addr());
                return Poll::Pending;
            }
            Poll::Ready(Ended::AtOnce(wakers)) => {
                wakers.wake_all();
                BarrierRole::Leader
            }
            Poll::Ready(Ended::Fired) => {
                waiter.reset();
                BarrierRole::Other
            }
        };
        *this.phase = WaitPhase::Done;
        Poll::Ready(BarrierWaitResult { role })
    }
}

impl FusedFuture for BarrierWait<'_> {
    fn is_terminated(&self) -> bool {
        self.phase == WaitPhase::Done
    }
}
