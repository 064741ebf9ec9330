//! `ErrGroup`: a group of goroutines with a common error.
//!
//! One lock guards a count of members, the first failure, and two queues: waits for the end of all
//! members, and waits for a place below the limit.
//!
//! In Go a panic of a member ends the process. Here a panic ends only its goroutine, and the group
//! must not report success then. So the panic's text becomes the group's error, and the context
//! ends. The panic continues in the goroutine, where the panic policy of the runtime and its report
//! apply as usual. `wait` returns the error and does not panic itself. Go's reasons against that
//! apply here too: the panic would be delayed and far from its stack.

mod error;
mod member;
mod state;
#[expect(unsafe_code, reason = "implements `WaitList` for two queues")]
mod wait_lists;

pub use self::error::GroupError;

use self::member::Seat;
use self::state::ErrGroupState;
use self::wait_lists::{Starting, Waiting};
use crate::context::{Canceller, Cause, Context};
use crate::wait::waiter::{Ended, Waiter};
use gmp_rt::prim::Mutex;
use gmp_rt::task::park::{WaitReason, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};

/// Goroutines that work on parts of one task; the first error ends it (Go: `x/sync/errgroup`).
///
/// Clones are the same group. `E` is the error type of its members. A group from [`new`](Self::new)
/// only keeps the first error. A group from [`with_context`](Self::with_context) also cancels a
/// context, so that the other members can stop.
///
/// A member that panics, or that is dropped because its runtime shuts down, counts as failed: see
/// [`GroupError`]. Dropping the group leaves its members running.
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use std::io;
/// use sync::ErrGroup;
/// use sync::context::Context;
///
/// gmp_rt::block_on(async {
///     let (group, ctx) = ErrGroup::<io::Error>::with_context(&Context::background());
///     group.set_limit(10);
///     for n in 0..100 {
///         let ctx = ctx.clone();
///         group
///             .go(async move {
///                 if n == 7 {
///                     return Err(io::Error::other("seven"));
///                 }
///                 ctx.done().await; // stands for work that looks at its context
///                 Ok(())
///             })
///             .await;
///     }
///     assert_eq!(group.wait().await.unwrap_err().to_string(), "seven");
///     assert_eq!(ctx.cause().unwrap().to_string(), "seven");
/// });
/// ```
#[doc(alias("errgroup", "TryJoinSet"))]
pub struct ErrGroup<E> {
    shared: Arc<ErrGroupShared<E>>,
}

struct ErrGroupShared<E> {
    state: Mutex<ErrGroupState<E>>,
    ender: Option<Ender<E>>,
}

/// Ends the context of a group.
struct Ender<E> {
    canceller: Canceller,
    /// Requires that the error can be displayed, which the group itself does not.
    cause_of: fn(GroupError<E>) -> Cause,
}

impl<E> ErrGroupShared<E> {
    fn with<R>(&self, f: impl FnOnce(&mut ErrGroupState<E>) -> R) -> R {
        f(&mut self.state.lock())
    }

    /// Stores the error if it is the first, and ends the context with it.
    fn fail(&self, error: GroupError<E>) {
        // A later error is dropped after the lock is released.
        let (first, _late) = self.with(|state| match state.first {
            None => (Some(state.first.insert(error).clone()), None),
            Some(_) => (None, Some(error)),
        });
        if first.is_some() {
            self.end_context(first);
        }
    }

    fn end_context(&self, error: Option<GroupError<E>>) {
        if let Some(ender) = &self.ender {
            ender.canceller.end(error.map(ender.cause_of));
        }
    }
}

impl<E> Clone for ErrGroup<E> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<E: Send + Sync + 'static> Default for ErrGroup<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Send + Sync + 'static> ErrGroup<E> {
    /// Creates a group without a context and without a limit.
    #[must_use]
    pub fn new() -> Self {
        Self::with_ender(None)
    }

    /// Creates a group and its context, which derives from `ctx`.
    ///
    /// The context ends when the first member fails, with the [`GroupError`] as its cause, or when
    /// a [`wait`](Self::wait) returns.
    #[must_use]
    pub fn with_context(ctx: &Context) -> (Self, Context)
    where
        E: fmt::Debug + fmt::Display,
    {
        let (ctx, canceller) = ctx.with_cancel();
        (Self::with_ender(Some(Ender { canceller, cause_of: |error| Arc::new(error) })), ctx)
    }

    fn with_ender(ender: Option<Ender<E>>) -> Self {
        Self { shared: Arc::new(ErrGroupShared { state: Mutex::new(ErrGroupState::new()), ender }) }
    }

    /// Starts a member: at once if the limit allows it, otherwise when the returned future is
    /// awaited.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, the member is not started, and a place that it
    /// was given goes to the next one. A started member continues to run.
    #[doc(alias("spawn", "Go"))]
    #[track_caller]
    pub fn go<F>(&self, future: F) -> ErrGroupGo<F, E>
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        let rest = match self.shared.with(ErrGroupState::try_enter) {
            true => {
                self.start(future);
                None
            }
            false => Some(Box::pin(future)),
        };
        let waiter = Waiter::new(Starting(self.shared.clone()), ());
        ErrGroupGo { waiter, rest, site: Location::caller() }
    }

    /// As [`go`](Self::go), but blocks the thread until the member is started.
    #[doc(alias = "blocking_go")]
    #[track_caller]
    pub fn go_blocking<F>(&self, future: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        let start = self.go(future);
        if start.rest.is_some() {
            gmp_rt::block_on(start);
        }
    }

    /// Starts a member if the limit allows it.
    ///
    /// # Errors
    ///
    /// Returns the member if there is no place for it, or if other members wait for one.
    #[track_caller]
    pub fn try_go<F>(&self, future: F) -> Result<(), F>
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        if !self.shared.with(ErrGroupState::try_enter) {
            return Err(future);
        }
        self.start(future);
        Ok(())
    }

    /// Starts a member that has a place. A large future is boxed before it is moved.
    #[track_caller]
    fn start<F>(&self, future: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        let seat = Seat::new(self.shared.clone());
        if const { gmp_rt::task::park::is_large::<F>() } {
            gmp_rt::spawn(Seat::run(Box::pin(future), seat)).detach();
        } else {
            gmp_rt::spawn(Seat::run(future, seat)).detach();
        }
    }

    /// Sets the maximum number of members at a time. `None` means no limit; with 0 no member
    /// starts.
    ///
    /// # Panics
    ///
    /// If a limit is given while members are active. The message is Go's.
    #[doc(alias = "SetLimit")]
    #[track_caller]
    pub fn set_limit(&self, limit: impl Into<Option<usize>>) {
        let limit = limit.into();
        let outcome = self.shared.with(|state| match state.active {
            active if active > 0 && limit.is_some() => Err(active),
            _ => Ok(state.set_limit(limit)),
        });
        match outcome {
            Ok(wakers) => wakers.wake_all(),
            Err(active) => panic!(
                "errgroup: modify limit while {active} goroutines in the group are still active"
            ),
        }
    }

    /// Waits until no member is active, then ends the context, if there is one.
    ///
    /// It may be called again and by several goroutines. The group can be used again; the first
    /// error stays.
    ///
    /// # Errors
    ///
    /// The first failure, if there was one.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped wait does not end the context.
    pub fn wait(&self) -> ErrGroupWait<E> {
        ErrGroupWait { waiter: Waiter::new(Waiting(self.shared.clone()), ()) }
    }

    /// As [`wait`](Self::wait), but blocks the thread.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    #[doc(alias = "blocking_wait")]
    pub fn wait_blocking(&self) -> Result<(), GroupError<E>> {
        gmp_rt::block_on(self.wait())
    }
}

impl<E> fmt::Debug for ErrGroup<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (active, limit, failed) =
            self.shared.with(|state| (state.active, state.limit(), state.first.is_some()));
        f.debug_struct("ErrGroup")
            .field("active", &active)
            .field("limit", &limit)
            .field("failed", &failed)
            .finish()
    }
}

pin_project! {
    /// The future of [`ErrGroup::wait`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct ErrGroupWait<E> {
        #[pin]
        waiter: Waiter<Waiting<E>>,
    }
}

impl<E> Future for ErrGroupWait<E> {
    type Output = Result<(), GroupError<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let mut waiter = self.project().waiter;
        ready!(poll_proceed(cx));
        let ended = waiter.as_mut().poll_wait(cx, |state, ()| match state.active {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        let shared = &waiter.list().0;
        if ended.is_pending() {
            note_wait(cx, WaitReason::WaitGroupWait, Arc::as_ptr(shared).addr());
            return Poll::Pending;
        }
        let first = shared.with(|state| state.first.clone());
        shared.end_context(first.clone());
        waiter.reset();
        Poll::Ready(first.map_or(Ok(()), Err))
    }
}

impl<E> fmt::Debug for ErrGroupWait<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrGroupWait").field("waiter", &self.waiter).finish()
    }
}

pin_project! {
    /// The future of [`ErrGroup::go`].
    #[must_use = "above the limit the member starts only if this is awaited"]
    pub struct ErrGroupGo<F, E> {
        #[pin]
        waiter: Waiter<Starting<E>>,
        // `None` once it is started. It is not polled here, so this field is not pinned.
        rest: Option<Pin<Box<F>>>,
        site: &'static Location<'static>,
    }
}

impl<F, E> Future for ErrGroupGo<F, E>
where
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Send + Sync + 'static,
{
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<()> {
        let mut this = self.project();
        if this.rest.is_none() {
            return Poll::Ready(());
        }
        ready!(poll_proceed(cx));
        let ended = this.waiter.as_mut().poll_wait(cx, |state, ()| match state.try_enter() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        let shared = &this.waiter.list().0;
        match ended {
            Poll::Pending => {
                note_wait(cx, WaitReason::SemAcquire, Arc::as_ptr(shared).addr());
                return Poll::Pending;
            }
            Poll::Ready(Ended::AtOnce(()) | Ended::Fired) => {}
        }
        // From here on the seat owns the place.
        let seat = Seat::new(shared.clone());
        this.waiter.reset();
        if let Some(future) = this.rest.take() {
            gmp_rt::runtime::Handle::current()
                .spawn_at(Seat::run(future, seat), this.site)
                .detach();
        }
        Poll::Ready(())
    }
}

impl<F, E> fmt::Debug for ErrGroupGo<F, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrGroupGo")
            .field("waiter", &self.waiter)
            .field("is_started", &self.rest.is_none())
            .finish()
    }
}

#[cfg(all(test, gmp_loom))]
mod loom;
#[cfg(all(test, not(gmp_loom)))]
mod tests;
