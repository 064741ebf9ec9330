//! The handle of a goroutine: waits for its output, or aborts it.
//!
//! # Invariants
//!
//! - I1: a handle holds one reference on its goroutine, whose output type is `T`. It owns the join
//!   slot while `JOIN_WAKER` is not set. It owns the output from the death of the goroutine until
//!   it has taken the output.

use super::G;
use super::abort::AbortHandle;
use super::cell::{self, Failure};
use super::ptr::GPtr;
use super::status::{AfterDetach, Wake};
use super::waker::{CountedG, TinyWaker, note_wait, submit};
use crate::prim::fixed::Mutex;
use crate::wait_reason::WaitReason;
use futures_core::FusedFuture;
use std::any::Any;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

/// A handle on a goroutine. Awaiting it returns the output.
///
/// Dropping the handle detaches the goroutine, which continues to run. [`abort`](Self::abort) ends
/// it at its next await. A goroutine that awaits its own handle waits until it is aborted from
/// elsewhere.
///
/// # Cancel safety
///
/// Cancel-safe. Polling takes `&mut`, so `&mut handle` can be awaited in a select and again later.
/// The output is kept until it has been returned.
///
/// # Panics
///
/// If it is awaited again after it has returned the output.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let handle = gmp::spawn(async { 6 * 7 });
/// assert_eq!(gmp::block_on(handle).unwrap(), 42);
/// ```
#[doc(alias = "Task")]
pub struct JoinHandle<T> {
    /// `None` once the output has been returned.
    g: Option<GPtr>,
    goid: u64,
    output: PhantomData<fn() -> T>,
}

// SAFETY: I1 — only the output crosses threads, and it is `Send`. A handle cannot reach the future.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: `&JoinHandle` reads atomics and aborts; it never reaches the output.
unsafe impl<T: Send> Sync for JoinHandle<T> {}
// As std's handle: a shared one only changes atomics, and a poll that panics loses its output.
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Makes the handle of `g`.
    ///
    /// # Safety
    ///
    /// The caller gives the handle's reference on a goroutine with output type `T` (I1).
    pub(super) unsafe fn new(g: GPtr) -> Self {
        // SAFETY: the reference that is given keeps the goroutine alive.
        let goid = unsafe { g.header() }.goid();
        Self { g: Some(g), goid, output: PhantomData }
    }

    fn header(&self) -> Option<&G> {
        // SAFETY: I1 — the handle's reference keeps it alive.
        self.g.map(|g| unsafe { g.header() })
    }

    /// Returns the goroutine's id. [`goid`](crate::goid) returns the same inside the goroutine.
    #[doc(alias = "id")]
    #[must_use]
    pub fn goid(&self) -> u64 {
        self.goid
    }

    /// Whether the goroutine has ended. Then awaiting the handle does not wait.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.header().is_none_or(|g| g.status.is_dead())
    }

    /// Ends the goroutine at its next await.
    ///
    /// Its future is dropped there, and awaiting the handle returns [`JoinError::Cancelled`]. Does
    /// nothing if the goroutine has ended. A goroutine that is inside a poll finishes that poll
    /// first, also if it aborts itself. If that poll is the last one, the handle returns its
    /// output.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let handle = gmp::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// assert!(gmp::block_on(handle).unwrap_err().is_cancelled());
    /// ```
    pub fn abort(&self) {
        let Some(g) = self.g else { return };
        // SAFETY: I1 — the handle's reference keeps the goroutine alive.
        if unsafe { g.status() }.abort() == Wake::Submit {
            // SAFETY: the transition to runnable gave this thread the one right to run it.
            unsafe { submit(g) };
        }
    }

    /// Returns a handle that can only abort, and does not depend on this one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let handle = gmp::spawn(std::future::pending::<()>());
    /// let abort = handle.abort_handle();
    /// std::thread::spawn(move || abort.abort());
    /// assert!(gmp::block_on(handle).unwrap_err().is_cancelled());
    /// ```
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        let counted = self.g.map(|g| {
            // SAFETY: I1 — the handle's reference keeps the goroutine alive.
            unsafe { g.status() }.add_ref();
            // SAFETY: the reference was just added.
            unsafe { CountedG::from_counted(g) }
        });
        AbortHandle::new(counted, self.goid)
    }

    /// Drops the handle explicitly. The goroutine continues to run.
    #[doc(alias = "forget")]
    pub fn detach(self) {}

    /// Moves the handle out. What stays is as after the output was returned.
    pub(crate) fn take(&mut self) -> Self {
        Self { g: self.g.take(), goid: self.goid, output: PhantomData }
    }

    /// Puts `waker` into the join slot. Returns `false` if the goroutine is dead.
    fn register(&self, g: &G, waker: &Waker) -> bool {
        // The slot may hold a waker, which the completing M owns as soon as the goroutine is dead.
        // So take the slot back before reading it.
        if g.status.unset_join_waker().is_err() {
            return false;
        }
        // SAFETY: I1 — `JOIN_WAKER` is unset and this is the handle.
        let known = unsafe { g.join.will_wake(waker) };
        if !known {
            let tiny = TinyWaker::new(waker);
            // SAFETY: I1 — as above.
            drop(unsafe { g.join.put(tiny) });
        }
        g.status.set_join_waker().is_ok()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(raw) = self.g else { panic!("JoinHandle awaited after it returned the output") };
        // SAFETY: I1 — the handle's reference keeps it alive; not used after `drop_ref` (I3 of
        // `ptr`).
        let g = unsafe { raw.header() };
        if !g.status.is_dead() && self.register(g, cx.waker()) {
            note_wait(cx, WaitReason::Join, self.goid as usize);
            return Poll::Pending;
        }
        ready!((g.vtable.poll_proceed)(cx));
        self.g = None;
        // SAFETY: I1 — dead, and the output is taken once: the handle no longer has `g`.
        let outcome = unsafe { cell::take_output::<T>(raw) };
        let outcome = outcome.map_err(|failure| JoinError::new(g, failure));
        // SAFETY: I1 — the handle's reference, given up once.
        unsafe { cell::drop_ref(raw) };
        Poll::Ready(outcome)
    }
}

impl<T> FusedFuture for JoinHandle<T> {
    fn is_terminated(&self) -> bool {
        self.g.is_none()
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        let Some(g) = self.g.take() else { return };
        // SAFETY: I1 — the handle's reference keeps it alive.
        match unsafe { g.status() }.detach() {
            AfterDetach::Released => return,
            AfterDetach::TakeWaker => {
                // SAFETY: I1 — `JOIN_WAKER` is unset, so the handle owns the slot.
                drop(unsafe { g.header().join.take() });
            }
            // SAFETY: I1 — dead, and the output is not taken: `g` was still in the handle.
            AfterDetach::DropOutput => unsafe { cell::drop_output(g) },
        }
        // SAFETY: I1 — the handle's reference, given up once.
        unsafe { cell::drop_ref(g) };
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("goid", &self.goid)
            .field("is_finished", &self.is_finished())
            .finish()
    }
}

/// Why a goroutine returned no output.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use gmp::JoinError;
/// # std::panic::set_hook(Box::new(|_| {}));
/// let handle = gmp::spawn(async { panic!("no luck") });
/// let error = gmp::block_on(handle).unwrap_err();
/// assert!(matches!(&error, JoinError::Panic(panic) if panic.message() == "no luck"));
/// assert!(error.to_string().starts_with("goroutine "));
/// assert!(error.to_string().ends_with(" panicked: no luck"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// The goroutine panicked.
    Panic(JoinPanic),
    /// The goroutine was aborted, or its runtime was shut down.
    Cancelled(JoinCancelled),
}

/// The panic of a goroutine: what [`JoinError::Panic`] holds.
pub struct JoinPanic {
    /// Boxed, so that a join that returns an output moves few words.
    ended: Box<Ended>,
    /// In a mutex, because the payload is not `Sync`.
    payload: Mutex<Box<dyn Any + Send>>,
    message: Box<str>,
}

/// The cancellation of a goroutine: what [`JoinError::Cancelled`] holds.
#[derive(Debug)]
pub struct JoinCancelled {
    ended: Box<Ended>,
}

/// A goroutine that returned no output.
#[derive(Debug)]
struct Ended {
    goid: u64,
    name: Option<Box<str>>,
    site: &'static Location<'static>,
}

impl Ended {
    fn new(g: &G) -> Self {
        Self { goid: g.goid(), name: g.name().map(Into::into), site: g.site() }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "goroutine {}", self.goid)?;
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        write!(f, " (spawned at {})", self.site)
    }
}

impl JoinError {
    fn new(g: &G, failure: Failure) -> Self {
        let ended = Box::new(Ended::new(g));
        match failure {
            Failure::Cancelled => Self::Cancelled(JoinCancelled { ended }),
            Failure::Panic(payload) => {
                let message = panic_message(&*payload).into();
                Self::Panic(JoinPanic { ended, payload: Mutex::new(payload), message })
            }
        }
    }

    fn ended(&self) -> &Ended {
        match self {
            Self::Panic(panic) => &panic.ended,
            Self::Cancelled(cancelled) => &cancelled.ended,
        }
    }

    /// Whether the goroutine was aborted, or its runtime was shut down.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }

    /// Whether the goroutine panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self, Self::Panic(_))
    }

    /// Returns the message of the panic. `None` if the goroutine did not panic.
    ///
    /// For a payload that is not text, the message is a placeholder.
    #[must_use]
    pub fn panic_message(&self) -> Option<&str> {
        match self {
            Self::Panic(panic) => Some(panic.message()),
            Self::Cancelled(_) => None,
        }
    }

    /// Returns the payload of the panic, for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    ///
    /// If the goroutine did not panic. [`try_into_panic`](Self::try_into_panic) returns the error
    /// then.
    ///
    /// # Examples
    ///
    /// ```should_panic
    /// # use gmp_rt as gmp;
    /// let handle = gmp::spawn(async { panic!("passed on") });
    /// match gmp::block_on(handle) {
    ///     Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
    ///     other => drop(other),
    /// }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(error) => panic!("`JoinError::into_panic` on another error: {error}"),
        }
    }

    /// Returns the payload of the panic, for [`std::panic::resume_unwind`].
    ///
    /// # Errors
    ///
    /// This error itself, if the goroutine did not panic.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let handle = gmp::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// let error = gmp::block_on(handle).unwrap_err();
    /// assert!(error.try_into_panic().unwrap_err().is_cancelled());
    /// ```
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send>, Self> {
        match self {
            Self::Panic(panic) => Ok(panic.into_payload()),
            other => Err(other),
        }
    }

    /// Returns the id of the goroutine.
    #[must_use]
    pub fn goid(&self) -> u64 {
        self.ended().goid
    }

    /// Returns the name of the goroutine, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.ended().name.as_deref()
    }

    /// Returns the place where the goroutine was spawned.
    #[must_use]
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.ended().site
    }
}

// The payload may be any type, but the error gives no shared access to it.
impl UnwindSafe for JoinPanic {}
impl RefUnwindSafe for JoinPanic {}

impl JoinPanic {
    /// Returns the message of the panic.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the payload, for [`std::panic::resume_unwind`].
    #[must_use]
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.payload.into_inner()
    }
}

impl fmt::Debug for JoinPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("JoinPanic");
        f.field("goroutine", &format_args!("{}", self.ended));
        f.field("message", &self.message).finish_non_exhaustive()
    }
}

/// Returns the message of a panic payload, or a placeholder if it is not text.
pub fn panic_message(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "(a payload that is not text)"
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(panic) => write!(f, "{} panicked: {}", panic.ended, panic.message),
            Self::Cancelled(cancelled) => write!(f, "{} was cancelled", cancelled.ended),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    /// Returns an error of the kind [`Other`](io::ErrorKind::Other) with `error` inside.
    fn from(error: JoinError) -> Self {
        Self::other(error)
    }
}
