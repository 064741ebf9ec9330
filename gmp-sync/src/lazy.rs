//! `Lazy`: a value that a future gives, once.
//!
//! [`Init`] and a place that has the future first, then what it gave. The future stays in its place while those
//! who want the value come and go: whoever has the turn polls it. So a goroutine that is dropped
//! half-way loses nothing, the next one goes on where it was.
//!
//! # Invariants
//!
//! - I1: the place is changed by who has the turn, and read by all when it is done.

use crate::init::{Init, Turn};
use gmp_rt::prim::SleepMutex;
use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A value that a future gives when it is wanted first (Go: `sync.OnceValue`, and with `()` for a
/// value `sync.OnceFunc`).
///
/// If the future panics, everybody who wants the value panics with the same message, now and later. For a
/// static, and for an initialiser that is to be tried again, see [`OnceCell`](crate::OnceCell).
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::Lazy;
/// use std::sync::Arc;
///
/// gmp_rt::block_on(async {
///     let answer = Arc::new(Lazy::new(async { 6 * 7 }));
///     let other = answer.clone();
///     let handle = gmp_rt::spawn(async move { *other.get().await });
///     assert_eq!(*answer.get().await, 42);
///     assert_eq!(handle.await.unwrap(), 42);
/// });
/// ```
pub struct Lazy<T> {
    init: Init,
    place: UnsafeCell<Place<T>>,
}

/// What is in the place.
enum Place<T> {
    Future(Pin<Box<dyn Future<Output = T> + Send>>),
    Value(T),
    Panic(Panic),
}

/// A panic to be raised again and again.
enum Panic {
    Str(&'static str),
    Text(String),
    /// Not a message: for the first who asks.
    Other(SleepMutex<Option<Box<dyn Any + Send>>>),
}

// SAFETY: I1 — the future is polled by one thread at a time; the value is moved as a `Send` one is and
// shared as a `Sync` one: a `Cell` could be set by two threads.
unsafe impl<T: Send + Sync> Sync for Lazy<T> {}

impl<T> Lazy<T> {
    /// A value that `future` gives, which is polled when the value is wanted. For a plain function, `async
    /// move { f() }`.
    #[must_use]
    pub fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self { init: Init::new(), place: UnsafeCell::new(Place::Future(Box::pin(future))) }
    }

    /// The value; the first who wants it runs the future, others wait.
    ///
    /// # Panics
    ///
    /// If the future does, each time with the same message. A panic whose value is not a message
    /// goes to the first who asks; later ones say that there was one.
    ///
    /// # Cancel safety
    ///
    /// Dropped while the future runs, the next one that wants the value goes on with it. Nothing
    /// is lost.
    pub async fn get(&self) -> &T {
        if let Some(turn) = self.init.enter().await {
            let outcome = poll_fn(|cx| self.poll_future(&turn, cx)).await;
            self.finish(turn, outcome);
        }
        self.outcome()
    }

    /// [`get`](Self::get), blocking the thread.
    pub fn get_blocking(&self) -> &T {
        if self.init.is_done() { self.outcome() } else { gmp_rt::block_on(self.get()) }
    }

    /// The value, if it is there already.
    ///
    /// # Panics
    ///
    /// As [`get`](Self::get).
    #[must_use]
    pub fn try_get(&self) -> Option<&T> {
        self.init.is_done().then(|| self.outcome())
    }

    fn poll_future(&self, _: &Turn<'_>, cx: &mut Context<'_>) -> Poll<Place<T>> {
        // SAFETY: I1 — we have the turn.
        let place = unsafe { &mut *self.place.get() };
        let Place::Future(future) = place else { unreachable!("polled after it was done") };
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(poll) => poll.map(Place::Value),
            Err(payload) => Poll::Ready(Place::Panic(Panic::new(payload))),
        }
    }

    fn finish(&self, turn: Turn<'_>, outcome: Place<T>) {
        // SAFETY: I1 — we have the turn.
        let future = unsafe { std::mem::replace(&mut *self.place.get(), outcome) };
        turn.done();
        // Last: what it drops is the program's, and may panic.
        drop(future);
    }

    /// What is there when it is done.
    fn outcome(&self) -> &T {
        // SAFETY: I1 — done, so it does not change any more.
        match unsafe { &*self.place.get() } {
            Place::Value(value) => value,
            Place::Panic(panic) => panic.raise(),
            Place::Future(_) => unreachable!("it is done only when the future is"),
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

    /// Panics. The hook has told about it when it happened.
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
        // SAFETY: I1 — done, so it does not change any more.
        match self.init.is_done().then(|| unsafe { &*self.place.get() }) {
            Some(Place::Value(value)) => shown.field(value),
            Some(_) => shown.field(&format_args!("<panicked>")),
            None => shown.field(&format_args!("<not yet>")),
        };
        shown.finish()
    }
}
