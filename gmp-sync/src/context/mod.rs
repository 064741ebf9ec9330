//! `Context`.
//!
//! A context is two references: to the [scope] it ends with, and to the chain of its
//! [values]. Deriving one replaces the one or the other. There is no goroutine per context: the
//! children of a scope are ended by whoever ends it, and deadlines are timers.

mod after_done;
mod canceller;
#[expect(unsafe_code, reason = "is the home of waiters")]
mod done;
mod error;
mod scope;
mod values;

pub use self::after_done::AfterDone;
pub use self::canceller::{CancelGuard, Canceller};
pub use self::done::Done;
pub use self::error::{Cause, ContextError};

use self::done::ScopeRef;
use self::scope::{End, Scope};
use self::values::Values;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Carries a deadline, a cancellation and values down through calls and goroutines (Go:
/// `context.Context`).
///
/// A context derives from another: what ends the parent ends the child, not the other way round.
/// Clones are the same context, and cheap. [`background`](Self::background) is where all begin;
/// it never ends.
///
/// A context whose clones, [`Canceller`] and children are all dropped is gone, and with it its
/// place in the parent and its timer: forgetting to cancel leaks nothing.
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use std::time::Duration;
/// use sync::{Context, ContextError};
///
/// async fn work(ctx: Context) -> ContextError {
///     ctx.done().await
/// }
///
/// gmp_rt::block_on(async {
///     let (ctx, canceller) = Context::background().with_cancel();
///     let (slow, _canceller) = ctx.with_timeout(Duration::from_secs(60));
///     let (quick, _canceller) = ctx.with_timeout(Duration::from_millis(1));
///     let worker = gmp_rt::spawn(work(slow));
///     assert_eq!(work(quick).await, ContextError::DeadlineExceeded);
///     assert!(ctx.err().is_none(), "a child's end is its own");
///
///     canceller.cancel_cause("enough");
///     assert_eq!(worker.await.unwrap(), ContextError::Canceled);
/// });
/// ```
#[derive(Clone, Default)]
pub struct Context {
    /// `None` for one that never ends.
    scope: Option<Arc<Scope>>,
    values: Option<Arc<Values>>,
}

impl Context {
    /// The context that never ends and has no values: where all begin.
    #[must_use]
    pub const fn background() -> Self {
        Self { scope: None, values: None }
    }

    /// A context that the [`Canceller`] ends, with a cause if it has one.
    #[doc(alias = "with_cancel_cause")]
    pub fn with_cancel(&self) -> (Self, Canceller) {
        self.with_scope(Scope::new(self.scope.clone(), self.deadline()))
    }

    /// A context that ends at `deadline` by itself, with
    /// [`DeadlineExceeded`](ContextError::DeadlineExceeded); at once if that has passed.
    ///
    /// Of no effect if the parent's deadline is earlier. The runtime around the caller keeps the
    /// time; outside of any, the default one.
    pub fn with_deadline(&self, deadline: Instant) -> (Self, Canceller) {
        self.limited(Some(deadline), None)
    }

    /// [`with_deadline`](Self::with_deadline) with what [`cause`](Self::cause) then gives.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// use std::time::Instant;
    /// use sync::{Context, ContextError};
    ///
    /// let now = Instant::now();
    /// let (ctx, _) = Context::background().with_deadline_cause(now, "the shop is closed");
    /// assert_eq!(ctx.err(), Some(ContextError::DeadlineExceeded));
    /// assert_eq!(ctx.cause().unwrap().to_string(), "the shop is closed");
    /// ```
    pub fn with_deadline_cause(
        &self,
        deadline: Instant,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> (Self, Canceller) {
        self.limited(Some(deadline), Some(cause.into().into()))
    }

    /// [`with_deadline`](Self::with_deadline) of now and `timeout`. One too long for the clock is
    /// none.
    pub fn with_timeout(&self, timeout: Duration) -> (Self, Canceller) {
        self.limited(Instant::now().checked_add(timeout), None)
    }

    /// [`with_timeout`](Self::with_timeout) with what [`cause`](Self::cause) then gives.
    pub fn with_timeout_cause(
        &self,
        timeout: Duration,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> (Self, Canceller) {
        self.limited(Instant::now().checked_add(timeout), Some(cause.into().into()))
    }

    fn limited(&self, deadline: Option<Instant>, cause: Option<Cause>) -> (Self, Canceller) {
        let Some(deadline) = deadline else { return self.with_cancel() };
        if self.deadline().is_some_and(|earlier| earlier < deadline) {
            return self.with_cancel();
        }
        let scope = Scope::new(self.scope.clone(), Some(deadline));
        if deadline <= Instant::now() {
            scope.end(End::new(ContextError::DeadlineExceeded, cause));
        } else if scope.err().is_none() {
            scope.set_fuse(cause);
        }
        self.with_scope(scope)
    }

    fn with_scope(&self, scope: Arc<Scope>) -> (Self, Canceller) {
        let canceller = Canceller::new(scope.clone());
        (Self { scope: Some(scope), values: self.values.clone() }, canceller)
    }

    /// A context with `value`, which [`value`](Self::value) finds by its type, also in all that
    /// derive from it. It hides an older value of the same type.
    ///
    /// The type is the key: give each meaning a type of its own. One that is private to a module
    /// is out of everybody else's reach, as a private key in Go.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// use sync::Context;
    ///
    /// struct RequestId(u64);
    /// struct User(&'static str);
    ///
    /// let ctx = Context::background().with_value(RequestId(7)).with_value(User("gopher"));
    /// assert_eq!(ctx.value::<RequestId>().map(|id| id.0), Some(7));
    /// assert_eq!(ctx.value::<User>().map(|user| user.0), Some("gopher"));
    /// assert!(ctx.value::<u64>().is_none());
    /// ```
    #[must_use]
    pub fn with_value<T: Any + Send + Sync>(&self, value: T) -> Self {
        let values = Values::new(self.values.clone(), value);
        Self { scope: self.scope.clone(), values: Some(Arc::new(values)) }
    }

    /// A context with the same values that does not end when this one does, and has no deadline.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// use sync::Context;
    ///
    /// let (ctx, canceller) = Context::background().with_value("log").with_cancel();
    /// let cleanup = ctx.without_cancel();
    /// canceller.cancel();
    /// assert!(cleanup.err().is_none());
    /// assert_eq!(cleanup.value::<&str>(), Some(&"log"));
    /// ```
    #[must_use]
    pub fn without_cancel(&self) -> Self {
        Self { scope: None, values: self.values.clone() }
    }

    /// The newest value of type `T` that this context or one it derives from was given.
    #[must_use]
    pub fn value<T: Any>(&self) -> Option<&T> {
        self.values.as_ref()?.find()
    }

    /// When it ends at the latest, if that is known.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.scope.as_ref()?.deadline()
    }

    /// Why it has ended; `None` if it has not. One load, no lock: cheap enough for a loop.
    #[must_use]
    pub fn err(&self) -> Option<ContextError> {
        self.scope.as_ref()?.err()
    }

    /// What it was ended with: the first cause given to it or to the ancestor that ended it; the
    /// [`ContextError`] if none was given; `None` if it has not ended (Go: `context.Cause`).
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// use std::io;
    /// use sync::{Context, ContextError};
    ///
    /// let (ctx, canceller) = Context::background().with_cancel();
    /// assert!(ctx.cause().is_none());
    /// canceller.cancel_cause(io::Error::from(io::ErrorKind::BrokenPipe));
    /// let cause = ctx.cause().unwrap();
    /// assert_eq!(cause.downcast_ref::<io::Error>().unwrap().kind(), io::ErrorKind::BrokenPipe);
    /// assert_eq!(ctx.err(), Some(ContextError::Canceled));
    /// ```
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        self.scope.as_ref()?.how().map(End::into_cause)
    }

    /// Waits until it has ended, and says why. Of one that never ends: for ever.
    ///
    /// A dump shows `context.Done`. Works as a case of a select.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait leaves nothing behind. Awaited again, it says the same.
    pub fn done(&self) -> Done<'_> {
        Done::new(self.scope.as_deref().map(ScopeRef::Borrowed))
    }

    /// [`done`](Self::done) that borrows nothing, for structs and spawned futures.
    ///
    /// # Cancel safety
    ///
    /// As [`done`](Self::done).
    pub fn into_done(self) -> Done<'static> {
        Done::new(self.scope.map(ScopeRef::Owned))
    }

    /// Blocks the thread until it has ended. See [`done`](Self::done).
    pub fn done_blocking(&self) -> ContextError {
        gmp_rt::block_on(self.done())
    }

    /// Calls `f` in a goroutine of its own when the context has ended; now if it has (Go:
    /// `context.AfterFunc`).
    ///
    /// The goroutine runs on the runtime around the caller; outside of any, on the default one.
    /// The call is made also if nobody has the context any more, when its deadline has passed or
    /// its parent has ended. Dropping the [`AfterDone`] does not stop it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// use sync::Context;
    ///
    /// let (ctx, canceller) = Context::background().with_cancel();
    /// let (told, tell) = std::sync::mpsc::channel::<()>();
    /// let first = ctx.after_func(move || drop(told));
    /// let second = ctx.after_func(|| unreachable!("stopped in time"));
    /// assert!(second.stop());
    /// canceller.cancel();
    /// assert!(tell.recv().is_err(), "the first was called");
    /// assert!(!first.stop(), "too late");
    /// ```
    #[track_caller]
    pub fn after_func(&self, f: impl FnOnce() + Send + 'static) -> AfterDone {
        let (runtime, site) = (gmp_rt::Handle::current(), Location::caller());
        let call = move || runtime.spawn_at(async move { f() }, site).detach();
        // One that never ends gets a scope of its own, so that `stop` says what it should.
        let scope = self.scope.clone().unwrap_or_else(|| Scope::new(None, None));
        AfterDone::new(scope, Box::new(call))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Context");
        f.field("err", &self.err()).field("deadline", &self.deadline());
        match &self.values {
            Some(values) => f.field("values", values),
            None => f.field("values", &[(); 0]),
        };
        f.finish()
    }
}

#[cfg(all(test, gmp_loom))]
mod loom;
#[cfg(all(test, not(gmp_loom)))]
mod tests;
