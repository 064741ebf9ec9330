//! `Lazy`: a value that a future computes once.
//!
//! A `Lazy` is an [`Init`] and a place that holds first the future, then its result. The future
//! stays in its place; the caller that has the turn polls it. So if a caller is dropped half-way,
//! the next one continues the same future.
//!
//! # Invariants
//!
//! - I1: only the caller that has the turn changes the place. Once it is done, all callers may read
//!   it.

use crate::once::init::{Init, InitTurn};
use gmp_rt::prim::SleepMutex;
use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A value that a future computes when it is first needed (Go: `sync.OnceValue`).
///
/// With `()` as the value it is Go's `sync.OnceFunc`. If the future panics, every call panics with
/// the same message. For a static, or for an initialiser that can be tried again, see
/// [`OnceCell`](crate::OnceCell).
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use sync::Lazy;
/// use std::sync::Arc;
///
/// gmp_rt::block_on(async {
///     let answer = Arc::new(Lazy::new(async { 6 * 7 }));
///     let other = answer.clone();
///     let handle = gmp_rt::spawn(async move { *other.force().await });
///     assert_eq!(*answer.force().await, 42);
///     assert_eq!(handle.await.unwrap(), 42);
/// });
/// ```
#[doc(alias("OnceValue", "OnceFunc", "LazyLock"))]
pub struct Lazy<T> {
    init: Init,
    place: UnsafeCell<LazyPlace<T>>,
}

/// Content of the place.
enum LazyPlace<T> {
    Future(Pin<Box<dyn Future<Output = T> + Send>>),
    Value(T),
    Panic(Panic),
}

/// A panic that is raised again for each caller.
enum Panic {
    Str(&'static str),
    Text(String),
    /// The payload is not a message: only the first caller gets it.
    Other(SleepMutex<Option<Box<dyn Any + Send>>>),
}

// SAFETY: I1 — one thread at a time polls the future, so it need only be `Send`. The value moves
// between threads, so it must be `Send`. Threads share it, so it must be `Sync`: two threads could
// set a `Cell`.
unsafe impl<T: Send + Sync> Sync for Lazy<T> {}

impl<T> Lazy<T> {
    /// Creates a value that `future` computes when it is first needed.
    ///
    /// For a plain function use `async move { f() }`.
    #[must_use]
    pub fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self { init: Init::new(), place: UnsafeCell::new(LazyPlace::Future(Box::pin(future))) }
    }

    /// Returns the value. The first caller runs the future, other callers wait.
    ///
    /// # Panics
    ///
    /// If the future panics, each time with the same message. If the panic payload is not a string,
    /// the first caller gets it, and later callers panic with a general message.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. If a caller is dropped while it runs the future, the next caller continues it.
    pub async fn force(&self) -> &T {
        if let Some(turn) = self.init.enter().await {
            let outcome = poll_fn(|cx| self.poll_future(&turn, cx)).await;
            self.finish(turn, outcome);
        }
        self.outcome()
    }

    /// As [`force`](Self::force), but blocks the thread.
    #[doc(alias = "blocking_force")]
    pub fn force_blocking(&self) -> &T {
        if self.init.is_done() { self.outcome() } else { gmp_rt::block_on(self.force()) }
    }

    /// Returns the value, if it has been computed.
    ///
    /// # Panics
    ///
    /// As [`force`](Self::force).
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.init.is_done().then(|| self.outcome())
    }

    fn poll_future(&self, _: &InitTurn<'_>, cx: &mut Context<'_>) -> Poll<LazyPlace<T>> {
        // SAFETY: I1 — the caller has the turn.
        let place = unsafe { &mut *self.place.get() };
        let LazyPlace::Future(future) = place else { unreachable!("polled after it was done") };
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(poll) => poll.map(LazyPlace::Value),
            Err(payload) => Poll::Ready(LazyPlace::Panic(Panic::new(payload))),
        }
    }

    fn finish(&self, turn: InitTurn<'_>, outcome: LazyPlace<T>) {
        // SAFETY: I1 — the caller has the turn.
        let future = unsafe { std::mem::replace(&mut *self.place.get(), outcome) };
        turn.done();
        // Dropped last, because the drop of the future is user code and may panic.
        drop(future);
    }

    /// Returns the value, or raises the panic, of a future that is done.
    fn outcome(&self) -> &T {
        // SAFETY: I1 — done, so the place does not change any more.
        match unsafe { &*self.place.get() } {
            LazyPlace::Value(value) => value,
            LazyPlace::Panic(panic) => panic.raise(),
            LazyPlace::Future(_) => unreachable!("it is done only when the future is"),
        }
    }
}

impl Panic {
    fn new(payload: Box<dyn Any + Send>) -> Self {
        if let Some(text) = payload.downcast_ref::<&'static str>() {
            return Self::Str(text);
        }
        match payload.downcast::<String>() {
            Ok(text) => Self::Text(*text),
            Err(payload) => Self::Other(SleepMutex::new(Some(payload))),
        }
    }

    /// Panics, without the panic hook: it ran when the future panicked.
    fn raise(&self) -> ! {
        match self {
            Self::Str(text) => resume_unwind(Box::new(*text)),
            Self::Text(text) => resume_unwind(Box::new(text.clone())),
            Self::Other(payload) => {
                let payload = payload.lock().take();
                resume_unwind(payload.unwrap_or_else(|| Box::new("the future of a Lazy panicked")))
            }
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_tuple("Lazy");
        // SAFETY: I1 — done, so the place does not change any more.
        match self.init.is_done().then(|| unsafe { &*self.place.get() }) {
            Some(LazyPlace::Value(value)) => shown.field(value),
            Some(_) => shown.field(&format_args!("<panicked>")),
            None => shown.field(&format_args!("<not yet>")),
        };
        shown.finish()
    }
}
