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
mod pending;
mod state;
#[expect(unsafe_code, reason = "implements `WaitList` for two queues")]
mod wait_lists;

pub use self::error::GroupError;

use self::member::Seat;
use self::pending::PendingSeat;
use self::state::ErrGroupState;
use self::wait_lists::Waiting;
use crate::context::{Canceller, Cause, Context};
use crate::oneshot;
use crate::wait::phase::WaitPhase;
use crate::wait::waiter::Waiter;
use futures::future::FusedFuture;
use gmp_rt::prim::Mutex;
use gmp_rt::task::park::{WaitReason, boxed_future, is_large, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::ControlFlow;
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

    /// Starts a member, at once if the limit allows it.
    ///
    /// Above the limit the member waits for its place in a goroutine of its own, and members start
    /// in the order of the calls. Awaiting the returned future waits until the member has started,
    /// as Go's `g.Go` does. That bounds how many members wait. Dropping the future changes nothing:
    /// the member starts nevertheless.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe.
    #[doc(alias("spawn", "Go"))]
    #[track_caller]
    pub fn go<F>(&self, future: F) -> ErrGroupGo
    where
        F: IntoFuture<Output = Result<(), E>, IntoFuture: Send + 'static>,
    {
        match self.shared.with(ErrGroupState::try_enter) {
            true => {
                self.start(future);
                ErrGroupGo { starts: None }
            }
            false => self.start_later(boxed_future(Box::new(future))),
        }
    }

    /// As [`go`](Self::go), but blocks the thread until the member is started.
    #[doc(alias = "blocking_go")]
    #[track_caller]
    pub fn go_blocking<F>(&self, future: F)
    where
        F: IntoFuture<Output = Result<(), E>, IntoFuture: Send + 'static>,
    {
        let start = self.go(future);
        if start.starts.is_some() {
            gmp_rt::block_on(start);
        }
    }

    /// As [`go`](Self::go), for a member that returns a value.
    ///
    /// The returned future waits for the value. Dropping it changes nothing but that the value is
    /// dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::block_on; pub mod sync { pub use gmp_sync::ErrGroup; } }
    /// use gmp::sync::ErrGroup;
    ///
    /// gmp::block_on(async {
    ///     let group = ErrGroup::new();
    ///     let seven = group.go_value(async { "7".parse::<u8>() });
    ///     let no_number = group.go_value(async { "x".parse::<u8>() });
    ///     assert_eq!(seven.await, Some(7));
    ///     assert_eq!(no_number.await, None);
    ///     assert!(group.wait().await.is_err());
    /// });
    /// ```
    #[track_caller]
    pub fn go_value<T, F>(&self, future: F) -> ErrGroupMember<T>
    where
        F: IntoFuture<Output = Result<T, E>, IntoFuture: Send + 'static>,
        T: Send + 'static,
    {
        let (give, value) = oneshot::channel();
        let future = boxed_future(Box::new(future));
        self.go(async move {
            // Given before the member leaves the group. It may not be wanted.
            let _ = give.send(future.await?);
            Ok(())
        });
        ErrGroupMember { value }
    }

    /// Starts a member if the limit allows it.
    ///
    /// # Errors
    ///
    /// Returns the member if there is no place for it, or if other members wait for one.
    #[track_caller]
    pub fn try_go<F>(&self, future: F) -> Result<(), F>
    where
        F: IntoFuture<Output = Result<(), E>, IntoFuture: Send + 'static>,
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
        F: IntoFuture<Output = Result<(), E>, IntoFuture: Send + 'static>,
    {
        let seat = Seat::new(self.shared.clone());
        if const { is_large::<F::IntoFuture>() } {
            gmp_rt::spawn(Seat::run(boxed_future(Box::new(future)), seat)).detach();
        } else {
            gmp_rt::spawn(Seat::run(future.into_future(), seat)).detach();
        }
    }

    /// Starts the goroutine of a member that has no place yet.
    #[cold]
    #[track_caller]
    fn start_later<F>(&self, future: Pin<Box<F>>) -> ErrGroupGo
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        match PendingSeat::join(&self.shared) {
            Ok((seat, starts)) => {
                gmp_rt::spawn(PendingSeat::run(future, seat)).detach();
                let group = Arc::as_ptr(&self.shared).addr();
                ErrGroupGo { starts: Some(Starts { reported: starts, group }) }
            }
            // A place has become free meanwhile.
            Err(seat) => {
                gmp_rt::spawn(Seat::run(future, seat)).detach();
                ErrGroupGo { starts: None }
            }
        }
    }

    /// Returns the number of members that run. Members that wait for a place do not count.
    #[must_use]
    pub fn active(&self) -> usize {
        self.shared.with(|state| state.active)
    }

    /// Sets the maximum number of members at a time. `None` means no limit; with 0 no member
    /// starts until there is another limit.
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

    /// Waits until all members have ended, then ends the context, if there is one.
    ///
    /// Members that wait for a place are members too.
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
        ErrGroupWait {
            waiter: Waiter::new(Waiting(self.shared.clone()), ()),
            phase: WaitPhase::Waits,
        }
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
        phase: WaitPhase,
    }
}

impl<E> Future for ErrGroupWait<E> {
    type Output = Result<(), GroupError<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut waiter = this.waiter;
        ready!(poll_proceed(cx));
        let ended = waiter.as_mut().poll_wait(cx, |state, ()| match state.is_over() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        let shared = &waiter.list().0;
        if ended.is_pending() {
            note_wait(cx, WaitReason::WaitGroupWait, Arc::as_ptr(shared).addr());
            return Poll::Pending;
        }
        let first = shared.with(|state| state.first.clone());
        shared.end_context(first.clone());
        waiter.reset();
        *this.phase = WaitPhase::Done;
        Poll::Ready(first.map_or(Ok(()), Err))
    }
}

impl<E> FusedFuture for ErrGroupWait<E> {
    fn is_terminated(&self) -> bool {
        self.phase == WaitPhase::Done
    }
}

impl<E> fmt::Debug for ErrGroupWait<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrGroupWait").field("waiter", &self.waiter).finish()
    }
}

/// The future of [`ErrGroup::go`]. The member starts also if this is not awaited.
#[derive(Debug)]
pub struct ErrGroupGo {
    /// `None` once the member has started, or it was dropped before.
    starts: Option<Starts>,
}

/// The wait for the start of a member.
#[derive(Debug)]
struct Starts {
    reported: oneshot::Receiver<()>,
    /// The address that dumps show.
    group: usize,
}

impl Future for ErrGroupGo {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<()> {
        let Some(starts) = &mut self.starts else { return Poll::Ready(()) };
        if Pin::new(&mut starts.reported).poll(cx).is_pending() {
            note_wait(cx, WaitReason::SemAcquire, starts.group);
            return Poll::Pending;
        }
        self.starts = None;
        Poll::Ready(())
    }
}

/// The value of a member: the future of [`ErrGroup::go_value`]. `None` if the member has failed.
///
/// # Cancel safety
///
/// Polling `&mut` takes nothing before it returns the value.
#[derive(Debug)]
pub struct ErrGroupMember<T> {
    value: oneshot::Receiver<T>,
}

impl<T> Future for ErrGroupMember<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Option<T>> {
        Pin::new(&mut self.value).poll(cx).map(Result::ok)
    }
}

impl<T> FusedFuture for ErrGroupMember<T> {
    fn is_terminated(&self) -> bool {
        self.value.is_terminated()
    }
}

#[cfg(all(test, gmp_loom))]
mod loom;
#[cfg(all(test, not(gmp_loom)))]
mod tests;
