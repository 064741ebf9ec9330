//! `Canceller` and `CancelGuard`: the means to end a context.

use super::error::{Cause, ContextError};
use super::scope::{Scope, ScopeEnd};
use std::error::Error;
use std::sync::Arc;

/// Ends the context that it was created with: `canceller.cancel()` (Go: `CancelFunc` and
/// `CancelCauseFunc`).
///
/// Clones end the same context. The first call determines the result; later calls do nothing. When
/// a call returns, the context and all contexts that derive from it have ended, whichever call
/// ended them.
///
/// Dropping it does **not** end the context, which can still be used. To end the context at the end
/// of a scope, on every path, use [`drop_guard`](Self::drop_guard) (Go: `defer cancel()`).
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::context::Context;
///
/// let (ctx, canceller) = Context::background().with_cancel();
/// {
///     let _guard = canceller.drop_guard();
///     assert!(ctx.err().is_none());
/// }
/// assert!(ctx.err().is_some());
/// ```
#[doc(alias = "CancelFunc")]
#[derive(Clone, Debug)]
#[must_use = "without it only a parent or a deadline can end the context"]
pub struct Canceller {
    scope: Arc<Scope>,
}

impl Canceller {
    pub(super) fn new(scope: Arc<Scope>) -> Self {
        Self { scope }
    }

    /// Ends the context: [`err`](super::Context::err) and [`cause`](super::Context::cause) are
    /// [`ContextError::Cancelled`] from now on.
    #[doc(alias = "cancel_func")]
    pub fn cancel(&self) {
        self.end(None);
    }

    /// Ends the context: [`err`](super::Context::err) is [`ContextError::Cancelled`] and
    /// [`cause`](super::Context::cause) is `cause` from now on.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::context::Context;
    ///
    /// let (ctx, canceller) = Context::background().with_cancel();
    /// canceller.cancel_cause("out of coffee");
    /// assert_eq!(ctx.cause().unwrap().to_string(), "out of coffee");
    /// ```
    pub fn cancel_cause(&self, cause: impl Into<Box<dyn Error + Send + Sync>>) {
        self.end(Some(cause.into().into()));
    }

    pub(crate) fn end(&self, cause: Option<Cause>) {
        self.scope.end(ScopeEnd::new(ContextError::Cancelled, cause));
    }

    /// Whether the context has ended, be it by a canceller, its parent or its deadline.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.scope.err().is_some()
    }

    /// Turns it into a guard that ends the context on drop.
    pub fn drop_guard(self) -> CancelGuard {
        CancelGuard { canceller: Some(self) }
    }
}

/// Ends a context on drop. See [`Canceller::drop_guard`].
#[derive(Debug)]
#[must_use = "the context ends when this is dropped"]
pub struct CancelGuard {
    /// `None` once disarmed.
    canceller: Option<Canceller>,
}

impl CancelGuard {
    /// Returns the canceller, without ending the context.
    ///
    /// # Panics
    ///
    /// Never: a guard is disarmed once.
    pub fn disarm(mut self) -> Canceller {
        self.canceller.take().expect("a guard is disarmed once")
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if let Some(canceller) = self.canceller.take() {
            canceller.cancel();
        }
    }
}
