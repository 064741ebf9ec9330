//! `Barrier`: a number of goroutines that wait for each other.
//!
//! A count of those who have come and the queue of those who wait, under one lock. The last one to come fires
//! all others and begins the next round; it does not wait itself.

use crate::const_fn::const_fn;
use crate::waiter::{Abandoned, Ended, Home, Waiter};
use crate::waitq::Queue;
use crate::wakers::Wakers;
use gmp_rt::park::{WaitReason, note_wait, poll_go_on};
use gmp_rt::prim::Mutex;
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, ready};

/// A point that a number of goroutines reach together. When all have passed it can be used again.
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::Barrier;
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
    state: Mutex<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    /// How many have come in this round. They are all in the queue.
    come: usize,
    waiting: Queue<()>,
}

impl Barrier {
    const_fn! {
        /// A barrier for `size` goroutines; 0 is as 1: nobody waits.
        #[must_use]
        pub const fn new(size: usize) -> Self {
            Self { size, state: Mutex::new(State { come: 0, waiting: Queue::new() }) }
        }
    }

    /// Waits until as many have come as the barrier is for. The last one leads the round.
    ///
    /// # Cancel safety
    ///
    /// A wait that is dropped before all have come counts as not having come.
    pub fn wait(&self) -> BarrierWait<'_> {
        BarrierWait { waiter: Waiter::new(self, ()) }
    }

    /// [`wait`](Self::wait), blocking the thread. For threads outside; within a goroutine it works as
    /// well, as a blocking call.
    pub fn wait_blocking(&self) -> BarrierWaitResult {
        gmp_rt::block_on(self.wait())
    }

    /// One more comes: if it is the last one, those to wake.
    fn come(&self, state: &mut State) -> ControlFlow<Wakers> {
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
unsafe impl Home for Barrier {
    type State = State;
    type Data = ();

    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.lock())
    }

    fn queue(state: &mut State) -> &mut Queue<()> {
        &mut state.waiting
    }

    fn abandoned(&self, state: &mut State, (): &mut (), how: Abandoned) -> Wakers {
        if how == Abandoned::Queued {
            state.come -= 1;
        }
        Wakers::None
    }
}

/// What a [`Barrier`] says to those who have passed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierWaitResult {
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Leader,
    Other,
}

impl BarrierWaitResult {
    /// Whether it was the last one to come: one in each round is.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.role == Role::Leader
    }
}

pin_project! {
    /// The future of [`Barrier::wait`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct BarrierWait<'a> {
        #[pin]
        waiter: Waiter<&'a Barrier>,
    }
}

impl Future for BarrierWait<'_> {
    type Output = BarrierWaitResult;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<BarrierWaitResult> {
        let mut waiter = self.project().waiter;
        ready!(poll_go_on(cx));
        let barrier: &Barrier = waiter.home();
        let role = match waiter.as_mut().poll_wait(cx, |state, ()| barrier.come(state)) {
            Poll::Pending => {
                note_wait(cx, WaitReason::BarrierWait, ptr::from_ref(barrier).addr());
                return Poll::Pending;
            }
            Poll::Ready(Ended::AtOnce(wakers)) => {
                wakers.wake_all();
                Role::Leader
            }
            Poll::Ready(Ended::Fired) => {
                waiter.reset();
                Role::Other
            }
        };
        Poll::Ready(BarrierWaitResult { role })
    }
}
