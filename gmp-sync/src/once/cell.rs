//! `OnceCell`: a value that is set once.
//!
//! A `OnceCell` is an [`Init`] and a place for the value.
//!
//! # Invariants
//!
//! - I1: only the caller that has the turn writes the value, before it marks the `Init` as done.
//!   After that the value does not change while it is shared.

use crate::const_fn::const_fn;
use crate::once::init::{Init, InitPhase, InitTurn};
use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;

/// A cell whose value is set at most once.
///
/// If an initialiser panics, fails or is dropped, the cell stays empty and the next caller tries.
/// This differs from [`Once`](crate::Once).
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use sync::OnceCell;
///
/// static CONFIG: OnceCell<String> = OnceCell::new();
///
/// async fn config() -> &'static str {
///     CONFIG.get_or_init(|| async { String::from("read once") }).await
/// }
///
/// gmp_rt::block_on(async {
///     assert_eq!(config().await, "read once");
///     assert_eq!(CONFIG.get().unwrap(), "read once");
/// });
/// ```
#[doc(alias = "OnceLock")]
pub struct OnceCell<T> {
    init: Init,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: I1 — one thread sets the value and others may take it, so it must be `Send`. Threads
// share it, so it must be `Sync`: two threads could set a `Cell`.
unsafe impl<T: Send + Sync> Sync for OnceCell<T> {}

impl<T> OnceCell<T> {
    const_fn! {
        /// Creates a cell without a value.
        #[must_use]
        pub const fn new() -> Self {
            Self { init: Init::new(), value: UnsafeCell::new(None) }
        }
    }

    /// Returns the value, if it is set.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: I1 — done, so the value does not change any more.
        self.init.is_done().then(|| unsafe { (*self.value.get()).as_ref() }).flatten()
    }

    /// Returns the value for changes, if it is set.
    #[must_use]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Returns the value, if it is set.
    #[must_use]
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value out. The cell can be set again.
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }

    /// Sets the value.
    ///
    /// # Errors
    ///
    /// [`SetError`] with the value, if the cell has a value or another caller is setting it.
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        match self.init.try_enter() {
            Ok(turn) => {
                self.finish(turn, value);
                Ok(())
            }
            Err(InitPhase::Done) => Err(SetError::AlreadySet(value)),
            Err(_) => Err(SetError::Initializing(value)),
        }
    }

    /// Returns the value. If it is not set, `f` computes it.
    ///
    /// If another caller is setting the value, this call waits. If `f` needs the same value, it
    /// waits for itself and never returns.
    ///
    /// # Cancel safety
    ///
    /// If a call is dropped while its `f` runs, the cell stays empty. The next caller computes the
    /// value with its own `f`.
    pub async fn get_or_init<F, Fut>(&self, f: F) -> &T
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        match self.get_or_try_init(|| async { Ok::<T, Infallible>(f().await) }).await {
            Ok(value) => value,
        }
    }

    /// As [`get_or_init`](Self::get_or_init), with an `f` that may fail.
    ///
    /// # Errors
    ///
    /// The error of `f`. The cell stays empty, and the next caller tries.
    ///
    /// # Cancel safety
    ///
    /// As [`get_or_init`](Self::get_or_init).
    pub async fn get_or_try_init<E, F, Fut>(&self, f: F) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(turn) = self.init.enter().await {
            let value = f().await?;
            self.finish(turn, value);
        }
        Ok(self.value_set())
    }

    /// As [`get_or_init`](Self::get_or_init) with a plain function, but blocks the thread while it
    /// waits.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_get_or_init")]
    pub fn get_or_init_blocking(&self, f: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        if let Some(turn) = gmp_rt::block_on(self.init.enter()) {
            let value = f();
            self.finish(turn, value);
        }
        self.value_set()
    }

    /// As [`get_or_init_blocking`](Self::get_or_init_blocking), with an `f` that may fail.
    ///
    /// # Errors
    ///
    /// The error of `f`. The cell stays empty, and the next caller tries.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// let cell = sync::OnceCell::new();
    /// assert!(cell.get_or_try_init_blocking(|| "seven".parse::<u8>()).is_err());
    /// assert_eq!(cell.get_or_try_init_blocking(|| "7".parse::<u8>()), Ok(&7));
    /// ```
    #[doc(alias = "blocking_get_or_try_init")]
    pub fn get_or_try_init_blocking<E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        if let Some(turn) = gmp_rt::block_on(self.init.enter()) {
            let value = f()?;
            self.finish(turn, value);
        }
        Ok(self.value_set())
    }

    /// Waits until another caller has set the value.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe.
    pub async fn wait(&self) -> &T {
        self.init.finished().await;
        self.value_set()
    }

    /// As [`wait`](Self::wait), but blocks the thread.
    #[doc(alias = "blocking_wait")]
    pub fn wait_blocking(&self) -> &T {
        gmp_rt::block_on(self.wait())
    }

    fn finish(&self, turn: InitTurn<'_>, value: T) {
        // SAFETY: I1 — the caller has the turn.
        unsafe { *self.value.get() = Some(value) };
        turn.done();
    }

    /// Returns the value, which is set.
    fn value_set(&self) -> &T {
        self.get().expect("it is done only when the value is there")
    }
}

impl<T> Default for OnceCell<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceCell<T> {
    fn from(value: T) -> Self {
        let cell = Self::new();
        let _ = cell.set(value);
        cell
    }
}

/// A clone has a clone of the value. It is empty if the value is not set yet.
impl<T: Clone> Clone for OnceCell<T> {
    fn clone(&self) -> Self {
        self.get().cloned().map_or_else(Self::new, Self::from)
    }
}

impl<T: PartialEq> PartialEq for OnceCell<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceCell<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnceCell").field(&self.get()).finish()
    }
}

/// Why [`OnceCell::set`] did not set the value. Contains the value.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetError<T> {
    /// The cell has a value already.
    AlreadySet(T),
    /// Another caller is setting the value.
    Initializing(T),
}

impl<T> SetError<T> {
    /// Returns the value that was not set.
    #[must_use]
    pub fn into_inner(self) -> T {
        match self {
            Self::AlreadySet(value) | Self::Initializing(value) => value,
        }
    }
}

impl<T> fmt::Debug for SetError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadySet(_) => f.write_str("AlreadySet(..)"),
            Self::Initializing(_) => f.write_str("Initializing(..)"),
        }
    }
}

impl<T> fmt::Display for SetError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadySet(_) => "the cell has a value already: use `get`",
            Self::Initializing(_) => "the cell is being set: use `wait` for its value",
        })
    }
}

impl<T> Error for SetError<T> {}
