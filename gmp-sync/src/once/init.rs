//! A one-time initialisation: grants the right to run it to one goroutine at a time.
//!
//! The common part of [`Once`](crate::Once), [`OnceCell`](crate::OnceCell) and
//! [`Lazy`](crate::Lazy). One goroutine at a time has the [`InitTurn`]. It marks the initialisation
//! as [done](InitTurn::done), which is final, or drops its turn, which then goes to the next
//! waiter. An atomic repeats that it is done, so later callers need no lock.

use crate::const_fn::const_fn;
use crate::wait::queue::{NodeState, Queue, Verdict};
use crate::wait::waiter::{Abandoned, End, Ended, WaitList, Waiter};
use crate::wait::wakers::Wakers;
use gmp_rt::prim::{AtomicBool, Mutex, Ordering};
use gmp_rt::task::park::{StorableWaker, WaitReason, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::mem::ManuallyDrop;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, ready};

/// A one-time initialisation.
#[derive(Debug)]
pub(crate) struct Init {
    done: AtomicBool,
    state: Mutex<InitState>,
}

#[derive(Debug)]
pub(crate) struct InitState {
    phase: InitPhase,
    waiting: Queue<InitWaiter>,
}

/// Progress of the initialisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitPhase {
    /// No goroutine has the turn.
    New,
    /// A goroutine has the turn, or a waiter was fired with it.
    Running,
    /// Done. This is final.
    Done,
}

/// The data of a waiter.
#[derive(Debug)]
pub(crate) struct InitWaiter {
    wants: Wants,
    gave: InitGrant,
}

/// What a waiter waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wants {
    /// The turn, or the end of the initialisation.
    Turn,
    /// The end of the initialisation by another goroutine.
    Done,
}

/// What a waiter was fired with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InitGrant {
    Turn,
    Done,
}

impl Init {
    const_fn! {
        /// Creates an initialisation that has not begun.
        pub(crate) const fn new() -> Self {
            let state = InitState { phase: InitPhase::New, waiting: Queue::new() };
            Self { done: AtomicBool::new(false), state: Mutex::new(state) }
        }
    }

    /// Whether it is done. If so, the caller sees its effects.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        // Acquire: pairs with `InitTurn::done`.
        self.done.load(Ordering::Acquire)
    }

    /// Waits for the turn. Resolves to `None` if the initialisation is done.
    pub(crate) fn enter(&self) -> Enter<'_> {
        self.wait_for(Wants::Turn)
    }

    /// Waits until another goroutine has done it. Resolves to `None`.
    pub(crate) fn finished(&self) -> Enter<'_> {
        self.wait_for(Wants::Done)
    }

    fn wait_for(&self, wants: Wants) -> Enter<'_> {
        Enter { waiter: Waiter::new(self, InitWaiter { wants, gave: InitGrant::Done }) }
    }

    /// Takes the turn if it is free and the initialisation is not done. Otherwise returns the
    /// phase.
    pub(crate) fn try_enter(&self) -> Result<InitTurn<'_>, InitPhase> {
        self.with(|state| match state.phase {
            InitPhase::New => {
                state.phase = InitPhase::Running;
                Ok(InitTurn { init: self })
            }
            phase => Err(phase),
        })
    }

    /// Gives a turn that was dropped to the next waiter that wants it.
    fn pass_turn(state: &mut InitState) -> Wakers {
        let fired = state.waiting.fire_first(|wait| match wait.wants {
            Wants::Done => Verdict::Skip,
            Wants::Turn => {
                wait.gave = InitGrant::Turn;
                Verdict::Fire(())
            }
        });
        match fired {
            Some(((), fired)) => fired.into(),
            None => {
                state.phase = InitPhase::New;
                Wakers::None
            }
        }
    }
}

// SAFETY: one lock, one queue behind it.
unsafe impl WaitList for Init {
    type State = InitState;
    type Data = InitWaiter;

    fn with<R>(&self, f: impl FnOnce(&mut InitState) -> R) -> R {
        f(&mut self.state.lock())
    }

    fn queue(state: &mut InitState) -> &mut Queue<InitWaiter> {
        &mut state.waiting
    }

    fn abandoned(&self, state: &mut InitState, wait: &mut InitWaiter, how: Abandoned) -> Wakers {
        match (how, wait.gave) {
            (Abandoned::Fired, InitGrant::Turn) => Self::pass_turn(state),
            (Abandoned::Fired, InitGrant::Done) | (Abandoned::Queued, _) => Wakers::None,
        }
    }
}

/// The right to run the initialisation. Dropping it passes the right to the next waiter.
#[derive(Debug)]
pub(crate) struct InitTurn<'a> {
    init: &'a Init,
}

impl InitTurn<'_> {
    /// Marks the initialisation as done and wakes all waiters.
    pub(crate) fn done(self) {
        let init = ManuallyDrop::new(self).init;
        let mut wakers = Wakers::None;
        init.with(|state| {
            state.phase = InitPhase::Done;
            // Release: pairs with `is_done`. Waiters see the Release of being fired.
            init.done.store(true, Ordering::Release);
            while let Some(((), fired)) =
                state.waiting.fire_front(|wait| wait.gave = InitGrant::Done)
            {
                wakers.push(fired);
            }
        });
        wakers.wake_all();
    }
}

impl Drop for InitTurn<'_> {
    fn drop(&mut self) {
        let wakers = self.init.with(Init::pass_turn);
        wakers.wake_all();
    }
}

pin_project! {
    /// The future of [`Init::enter`] and [`Init::finished`].
    #[derive(Debug)]
    pub(crate) struct Enter<'a> {
        #[pin]
        waiter: Waiter<&'a Init>,
    }
}

impl<'a> Future for Enter<'a> {
    type Output = Option<InitTurn<'a>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut waiter = self.project().waiter;
        let init: &'a Init = waiter.list();
        if waiter.state() == NodeState::Idle {
            ready!(poll_proceed(cx));
            if init.is_done() {
                return Poll::Ready(None);
            }
        }
        let attempt =
            |_: &_, state: &mut InitState, wait: &mut InitWaiter| match (state.phase, wait.wants) {
                (InitPhase::Done, _) => ControlFlow::Break(InitGrant::Done),
                (InitPhase::New, Wants::Turn) => {
                    state.phase = InitPhase::Running;
                    ControlFlow::Break(InitGrant::Turn)
                }
                _ => ControlFlow::Continue(()),
            };
        let waker = &mut StorableWaker::new(cx.waker());
        let gave = match waiter.as_mut().poll_wait_at(End::Back, waker, attempt) {
            Poll::Pending => {
                note_wait(cx, WaitReason::OnceDo, ptr::from_ref(init).addr());
                return Poll::Pending;
            }
            Poll::Ready(Ended::AtOnce(gave)) => gave,
            Poll::Ready(Ended::Fired) => {
                waiter.as_mut().reset();
                waiter.own(|wait| wait.gave)
            }
        };
        // Created only if it was granted, because dropping a turn passes it on.
        Poll::Ready((gave == InitGrant::Turn).then(|| InitTurn { init }))
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "init_loom.rs"]
mod loom;
