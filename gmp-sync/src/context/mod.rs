//! `Context`: cancellation, deadlines and values.
//!
//! A context consists of two references: to the `scope` that it ends with, and to the chain of its
//! `values`. Deriving a context replaces one of them. There is no goroutine per context: the thread
//! that ends a scope ends its children, and deadlines are timers.

mod after_done;
mod canceller;
#[expect(unsafe_code, reason = "implements `WaitList`")]
pub(crate) mod done;
mod error;
pub(crate) mod run;
mod scope;
mod values;

pub use self::after_done::AfterDone;
pub use self::canceller::{CancelGuard, Canceller};
pub use self::error::{Cause, ContextError};

use self::done::{Done, ScopeRef};
use self::run::Run;
use self::scope::{Scope, ScopeEnd};
use self::values::Values;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Returns the root context (Go: `context.Background()`). The same as [`Context::background`].
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::context;
/// use std::time::Duration;
///
/// let (ctx, _canceller) = context::background().with_timeout(Duration::from_secs(60));
/// assert!(ctx.err().is_none());
/// ```
#[doc(alias("Background", "TODO"))]
#[must_use]
pub const fn background() -> Context {
    Context::background()
}

/// Carries a deadline, a cancellation and values through calls and goroutines (Go:
/// `context.Context`).
///
/// A context derives from another. When the parent ends, the child ends, but not the other way
/// round. Clones are the same context, and cheap. All contexts derive from
/// [`background`](Self::background), which never ends.
///
/// When all clones, [`Canceller`]s and children of a context are dropped, it leaves its parent and
/// its timer is stopped. So a forgotten cancel leaks nothing.
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use std::time::Duration;
/// use gmp::context::{Context, ContextError};
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
///     assert_eq!(worker.await.unwrap(), ContextError::Cancelled);
/// });
/// ```
#[doc(alias("CancellationToken", "StopToken", "context"))]
#[derive(Clone, Default)]
pub struct Context {
    /// `None` for a context that never ends.
    scope: Option<Arc<Scope>>,
    values: Option<Arc<Values>>,
}

impl Context {
    /// Returns the root context, which never ends and has no values.
    #[must_use]
    pub const fn background() -> Self {
        Self { scope: None, values: None }
    }

    /// Derives a context that the [`Canceller`] ends, optionally with a cause.
    #[doc(alias("WithCancel", "child_token", "WithCancelCause", "with_cancel_cause"))]
    pub fn with_cancel(&self) -> (Self, Canceller) {
        self.with_scope(Scope::new(self.scope.clone(), self.deadline()))
    }

    /// Derives a context that ends at `deadline` with
    /// [`DeadlineExceeded`](ContextError::DeadlineExceeded).
    ///
    /// It ends at once if the deadline has passed. An earlier deadline of the parent takes
    /// precedence. The timer runs on the runtime of the caller, or on the default one outside of
    /// any. If that runtime shuts down first, the default runtime ends the context.
    #[doc(alias = "WithDeadline")]
    pub fn with_deadline(&self, deadline: Instant) -> (Self, Canceller) {
        self.limited(Some(deadline), None)
    }

    /// As [`with_deadline`](Self::with_deadline), with the [`cause`](Self::cause) to report.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use std::time::Instant;
    /// use gmp::context::{Context, ContextError};
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

    /// As [`with_deadline`](Self::with_deadline), with a deadline `timeout` from now.
    ///
    /// A timeout that exceeds the range of the clock means no deadline.
    #[doc(alias = "WithTimeout")]
    pub fn with_timeout(&self, timeout: Duration) -> (Self, Canceller) {
        self.limited(Instant::now().checked_add(timeout), None)
    }

    /// As [`with_timeout`](Self::with_timeout), with the [`cause`](Self::cause) to report.
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
            scope.end(ScopeEnd::new(ContextError::DeadlineExceeded, cause));
        } else if scope.err().is_none() {
            scope.set_fuse(cause);
        }
        self.with_scope(scope)
    }

    fn with_scope(&self, scope: Arc<Scope>) -> (Self, Canceller) {
        let canceller = Canceller::new(scope.clone());
        (Self { scope: Some(scope), values: self.values.clone() }, canceller)
    }

    /// Derives a context with `value`, which [`value`](Self::value) finds by its type.
    ///
    /// Contexts that derive from it have the value as well. It hides an older value of the same
    /// type. The type is the key, so give each meaning its own type. Code outside a module cannot
    /// access a value whose type is private to the module, as with a private key in Go.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::context::Context;
    ///
    /// struct RequestId(u64);
    /// struct User(&'static str);
    ///
    /// let ctx = Context::background().with_value(RequestId(7)).with_value(User("gopher"));
    /// assert_eq!(ctx.value::<RequestId>().map(|id| id.0), Some(7));
    /// assert_eq!(ctx.value::<User>().map(|user| user.0), Some("gopher"));
    /// assert!(ctx.value::<u64>().is_none());
    /// ```
    #[doc(alias = "WithValue")]
    #[must_use]
    pub fn with_value<T: Any + Send + Sync>(&self, value: T) -> Self {
        let values = Values::new(self.values.clone(), value);
        Self { scope: self.scope.clone(), values: Some(Arc::new(values)) }
    }

    /// Derives a context with the same values that has no deadline and does not end with this one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::context::Context;
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

    /// Returns the newest value of type `T` of this context and its ancestors.
    #[must_use]
    pub fn value<T: Any>(&self) -> Option<&T> {
        self.values.as_ref()?.find()
    }

    /// Returns the time at which it ends at the latest, if there is one.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.scope.as_ref()?.deadline()
    }

    /// Returns why it has ended, or `None` if it has not. One load without a lock, so cheap in a
    /// loop.
    #[must_use]
    pub fn err(&self) -> Option<ContextError> {
        self.scope.as_ref()?.err()
    }

    /// Whether it has ended. As cheap as [`err`](Self::err).
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.err().is_some()
    }

    /// Returns the time until its deadline; zero if that has passed. Returns `None` if there is no
    /// deadline.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::context;
    /// use std::time::Duration;
    ///
    /// let (ctx, _canceller) = context::background().with_timeout(Duration::from_secs(60));
    /// assert!(ctx.remaining().unwrap() <= Duration::from_secs(60));
    /// assert!(context::background().remaining().is_none());
    /// ```
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        Some(self.deadline()?.saturating_duration_since(Instant::now()))
    }

    /// Returns the cause of its end (Go: `context.Cause`).
    ///
    /// This is the first cause given to this context or to the ancestor that ended it, or the
    /// [`ContextError`] if none was given. Returns `None` if the context has not ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use std::io;
    /// use gmp::context::{Context, ContextError};
    ///
    /// let (ctx, canceller) = Context::background().with_cancel();
    /// assert!(ctx.cause().is_none());
    /// canceller.cancel_cause(io::Error::from(io::ErrorKind::BrokenPipe));
    /// let cause = ctx.cause().unwrap();
    /// assert_eq!(cause.downcast_ref::<io::Error>().unwrap().kind(), io::ErrorKind::BrokenPipe);
    /// assert_eq!(ctx.err(), Some(ContextError::Cancelled));
    /// ```
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        self.scope.as_ref()?.how().map(ScopeEnd::into_cause)
    }

    /// Waits until the context has ended, and returns why. Waits forever if it never ends.
    ///
    /// A dump shows the wait as `context.Done`. The future works as a case of a select.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A second await returns the same result.
    #[doc(alias("cancelled", "Done"))]
    pub fn done(&self) -> Done<'_> {
        Done::new(self.scope.as_deref().map(ScopeRef::Borrowed))
    }

    /// As [`done`](Self::done), but owned, for structs and spawned futures.
    ///
    /// # Cancel safety
    ///
    /// As [`done`](Self::done).
    pub fn done_owned(self) -> Done<'static> {
        Done::new(self.scope.map(ScopeRef::Owned))
    }

    /// Awaits `future`, but at most until the context ends; then `future` is dropped.
    ///
    /// If both are ready, the output of `future` counts.
    ///
    /// # Errors
    ///
    /// [`ContextError`] if the context ended first.
    ///
    /// # Cancel safety
    ///
    /// As safe as `future` itself.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::context::{self, ContextError};
    ///
    /// gmp_rt::block_on(async {
    ///     let (ctx, canceller) = context::background().with_cancel();
    ///     assert_eq!(ctx.run(async { 7 }).await, Ok(7));
    ///     canceller.cancel();
    ///     let never = ctx.run(std::future::pending::<()>());
    ///     assert_eq!(never.await, Err(ContextError::Cancelled));
    /// });
    /// ```
    #[doc(alias = "run_until_cancelled")]
    pub fn run<F: IntoFuture>(&self, future: F) -> Run<'_, F::IntoFuture> {
        Run::new(future.into_future(), self.done())
    }

    /// Blocks the thread until the context has ended. See [`done`](Self::done).
    #[doc(alias = "blocking_done")]
    pub fn done_blocking(&self) -> ContextError {
        gmp_rt::block_on(self.done())
    }

    /// Calls `f` in a new goroutine when the context has ended (Go: `context.AfterFunc`).
    ///
    /// If the context has ended already, the call is made now. The goroutine runs on the runtime of
    /// the caller, or on the default one outside of any. The call is made even if all clones of the
    /// context are dropped, once its deadline has passed or its parent has ended. If the runtime
    /// shuts down first, the call is dropped. Dropping the [`AfterDone`] does not stop it.
    ///
    /// A pending call keeps the context, and the timer of its deadline, in memory. So cancel the
    /// context, or [`stop`](AfterDone::stop) the call, when neither is needed any more.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::context::Context;
    ///
    /// let (ctx, canceller) = Context::background().with_cancel();
    /// let (done_tx, done_rx) = std::sync::mpsc::channel::<()>();
    /// let first = ctx.after_func(move || drop(done_tx));
    /// let second = ctx.after_func(|| unreachable!("stopped in time"));
    /// assert!(second.stop());
    /// canceller.cancel();
    /// assert!(done_rx.recv().is_err(), "the first was called");
    /// assert!(!first.stop(), "too late");
    /// ```
    #[track_caller]
    pub fn after_func(&self, f: impl FnOnce() + Send + 'static) -> AfterDone {
        let (runtime, site) = (gmp_rt::runtime::Handle::current(), Location::caller());
        let call = move || runtime.spawn_at(async move { f() }, site).detach();
        // A context that never ends gets a new scope, so that `stop` returns the right result.
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
