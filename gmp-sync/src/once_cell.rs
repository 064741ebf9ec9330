//! `OnceCell`: a value that is set once.
//!
//! [`Init`] and a place for the value.
//!
//! # Invariants
//!
//! - I1: the value is written by who has the turn, before it says that it is done; after that it does
//!   not change while it is shared.

use crate::const_fn::const_fn;
use crate::init::{Init, Phase, Turn};
use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;

/// A value that is set once.
///
/// Unlike with [`Once`](crate::Once), an initialiser that panics, fails or is dropped sets nothing, and the
/// next one tries.
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::OnceCell;
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
pub struct OnceCell<T> {
    init: Init,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: I1 — it is set by one thread and read by others, as a `Send` value is moved and a `Sync` one
// shared: a `Cell` could be set by two of them.
unsafe impl<T: Send + Sync> Sync for OnceCell<T> {}

impl<T> OnceCell<T> {
    const_fn! {
        /// A cell without a value.
        #[must_use]
        pub const fn new() -> Self {
            Self { init: Init::new(), value: UnsafeCell::new(None) }
        }
    }

    /// The value, if it is set.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: I1 — done, so it does not change any more.
        self.init.is_done().then(|| unsafe { (*self.value.get()).as_ref() }).flatten()
    }

    /// The value, if it is set, to change it.
    #[must_use]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// The value, if it is set.
    #[must_use]
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value out: the cell is new again.
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }

    /// Sets the value.
    ///
    /// # Errors
    ///
    /// With the value, if the cell has one already or somebody is about to set it.
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        match self.init.try_enter() {
            Ok(turn) => {
                self.finish(turn, value);
                Ok(())
            }
            Err(Phase::Done) => Err(SetError::AlreadySet(value)),
            Err(_) => Err(SetError::Initializing(value)),
        }
    }

    /// The value; if it is not set, `f` makes it. If somebody is about to set it, waits.
    ///
    /// `f` that asks for the same value waits for itself, for ever.
    ///
    /// # Cancel safety
    ///
    /// Dropped while `f` runs, nothing is set; the next one that wants the value makes it, with
    /// its own `f`.
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
    /// Those of `f`. Nothing is set then, and the next one that wants the value tries.
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

    /// As [`get_or_init`](Self::get_or_init) with a plain function, blocking the thread while somebody
    /// else is about to set the value. For threads outside; within a goroutine it works as
    /// well, as a blocking call.
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

    /// Waits until somebody has set the value.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait leaves nothing behind.
    pub async fn wait(&self) -> &T {
        self.init.finished().await;
        self.value_set()
    }

    /// [`wait`](Self::wait), blocking the thread.
    pub fn wait_blocking(&self) -> &T {
        gmp_rt::block_on(self.wait())
    }

    fn finish(&self, turn: Turn<'_>, value: T) {
        // SAFETY: I1 — we have the turn.
        unsafe { *self.value.get() = Some(value) };
        turn.done();
    }

    /// The value, after the wait for it.
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

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnceCell").field(&self.get()).finish()
    }
}

/// Why [`OnceCell::set`] did not set the value; it has the value.
#[derive(PartialEq, Eq)]
#[non_exhaustive]
pub enum SetError<T> {
    /// The cell has a value already.
    AlreadySet(T),
    /// Somebody is about to set it.
    Initializing(T),
}

impl<T> SetError<T> {
    /// The value that was not set.
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
