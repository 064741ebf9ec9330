//! `ErrGroup`.
//!
//! A count of members and the first thing that went wrong, under one lock, with two queues: of
//! those who wait for all to be done, and of those who wait for a place below the limit.
//!
//! A member that panics: Go lets the process die and so need not decide. Here a panic ends its
//! goroutine only, and a group that then said "all well" would lie. So the text is noted as the
//! group's error, the context ends, and the panic goes on through the goroutine, where the
//! panic policy of the runtime and its report apply as to any other. `wait` returns the error and
//! does not panic itself: Go's reasons against that (a panic delayed, far from its stack) hold here.

mod error;
#[expect(unsafe_code, reason = "is the home of waiters, at two queues")]
mod homes;
mod member;
mod state;

pub use self::error::GroupError;

use self::homes::{Starting, Waiting};
use self::member::Seat;
use self::state::State;
use crate::context::{Canceller, Cause, Context};
use crate::waiter::{Ended, Waiter};
use gmp_rt::park::{WaitReason, note_wait, poll_go_on};
use gmp_rt::prim::Mutex;
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};

/// Goroutines that work on parts of one task: the first error ends it (Go: `x/sync/errgroup`).
///
/// Clones are the same group. `E` is the error of its members. [`new`](Self::new) makes a group
/// that only collects the first error; [`with_context`](Self::with_context) one that also tells the other
/// members to stop.
///
/// A member that panics, or that is dropped because its runtime goes down, is a member that
/// failed: see [`GroupError`]. Dropping the group leaves its members running.
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use std::io;
/// use sync::{Context, ErrGroup};
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
pub struct ErrGroup<E> {
    shared: Arc<Shared<E>>,
}

struct Shared<E> {
    state: Mutex<State<E>>,
    ender: Option<Ender<E>>,
}

/// What ends the context of a group.
struct Ender<E> {
    canceller: Canceller,
    /// Knows that the error can be shown, which the group itself need not.
    cause_of: fn(GroupError<E>) -> Cause,
}

impl<E> Shared<E> {
    fn with<R>(&self, f: impl FnOnce(&mut State<E>) -> R) -> R {
        f(&mut self.state.lock())
    }

    /// Notes what went wrong, if it is the first, and ends the context with it.
    fn fail(&self, error: GroupError<E>) {
        // One that is not the first is dropped after the lock is released.
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
    /// A group without a context and without a limit.
    #[must_use]
    pub fn new() -> Self {
        Self::with_ender(None)
    }

    /// A group and its context, which derives from `ctx` and ends when the first member fails,
    /// with the [`GroupError`] as its cause, or when a [`wait`](Self::wait) returns.
    #[must_use]
    pub fn with_context(ctx: &Context) -> (Self, Context)
    where
        E: fmt::Debug + fmt::Display,
    {
        let (ctx, canceller) = ctx.with_cancel();
        (Self::with_ender(Some(Ender { canceller, cause_of: |error| Arc::new(error) })), ctx)
    }

    fn with_ender(ender: Option<Ender<E>>) -> Self {
        Self { shared: Arc::new(Shared { state: Mutex::new(State::new()), ender }) }
    }

    /// Starts a member: at once if the limit allows, else, when awaited, as soon as it does.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it is ready, the member is not started, and a place it was given goes to
    /// the next. A member that was started runs on.
    #[track_caller]
    pub fn go<F>(&self, future: F) -> Start<F, E>
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        let rest = match self.shared.with(State::try_enter) {
            true => {
                self.start(future);
                None
            }
            false => Some(Box::pin(future)),
        };
        let waiter = Waiter::new(Starting(self.shared.clone()), ());
        Start { waiter, rest, site: Location::caller() }
    }

    /// [`go`](Self::go) that blocks the thread until the member is started.
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

    /// Starts a member if the limit allows; gives it back if not.
    ///
    /// # Errors
    ///
    /// The member, if there is no place for it, or others wait for one.
    #[track_caller]
    pub fn try_go<F>(&self, future: F) -> Result<(), F>
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        if !self.shared.with(State::try_enter) {
            return Err(future);
        }
        self.start(future);
        Ok(())
    }

    /// Starts a member that has its place. A large future is boxed before it moves.
    #[track_caller]
    fn start<F>(&self, future: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        let seat = Seat::new(self.shared.clone());
        if const { gmp_rt::park::is_large::<F>() } {
            gmp_rt::spawn(Seat::run(Box::pin(future), seat)).detach();
        } else {
            gmp_rt::spawn(Seat::run(future, seat)).detach();
        }
    }

    /// Allows `limit` members at a time, `None` any number. With a limit of 0 nothing starts.
    ///
    /// # Panics
    ///
    /// If members are active and a limit is given, with Go's words.
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
    /// May be called again and by several, and the group be used again; the first error stays.
    ///
    /// # Errors
    ///
    /// The first thing that went wrong, if anything did.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait leaves nothing behind, and does not end the context.
    pub fn wait(&self) -> GroupWait<E> {
        GroupWait { waiter: Waiter::new(Waiting(self.shared.clone()), ()) }
    }

    /// [`wait`](Self::wait) that blocks the thread.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
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
    pub struct GroupWait<E> {
        #[pin]
        waiter: Waiter<Waiting<E>>,
    }
}

impl<E> Future for GroupWait<E> {
    type Output = Result<(), GroupError<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let mut waiter = self.project().waiter;
        ready!(poll_go_on(cx));
        let ended = waiter.as_mut().poll_wait(cx, |state, ()| match state.active {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        let shared = &waiter.home().0;
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

impl<E> fmt::Debug for GroupWait<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupWait").field("waiter", &self.waiter).finish()
    }
}

pin_project! {
    /// The future of [`ErrGroup::go`].
    #[must_use = "above the limit the member starts only if this is awaited"]
    pub struct Start<F, E> {
        #[pin]
        waiter: Waiter<Starting<E>>,
        // `None` once it is started. Not polled here, so not pinned.
        rest: Option<Pin<Box<F>>>,
        site: &'static Location<'static>,
    }
}

impl<F, E> Future for Start<F, E>
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
        ready!(poll_go_on(cx));
        let ended = this.waiter.as_mut().poll_wait(cx, |state, ()| match state.try_enter() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        let shared = &this.waiter.home().0;
        match ended {
            Poll::Pending => {
                note_wait(cx, WaitReason::SemAcquire, Arc::as_ptr(shared).addr());
                return Poll::Pending;
            }
            Poll::Ready(Ended::AtOnce(()) | Ended::Fired) => {}
        }
        // From here on the place is the seat's.
        let seat = Seat::new(shared.clone());
        this.waiter.reset();
        if let Some(future) = this.rest.take() {
            gmp_rt::Handle::current().spawn_at(Seat::run(future, seat), this.site).detach();
        }
        Poll::Ready(())
    }
}

impl<F, E> fmt::Debug for Start<F, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Start")
            .field("waiter", &self.waiter)
            .field("is_started", &self.rest.is_none())
            .finish()
    }
}

#[cfg(all(test, gmp_loom))]
mod loom;
#[cfg(all(test, not(gmp_loom)))]
mod tests;
