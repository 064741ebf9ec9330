//! `Once`: an action that runs at most once.
//!
//! A `Once` is an [`Init`] with Go's rule: an action that has begun counts as done, however it
//! ends.

use crate::const_fn::const_fn;
use crate::once::init::{Init, InitTurn};
use std::fmt;

/// An action that runs at most once (Go: `sync.Once`).
///
/// As in Go, an action that panics or is dropped half-way counts as done and never runs again. For
/// an action that can be tried again, or that has a result, see [`OnceCell`](crate::OnceCell). For
/// one whose panic every caller gets, see [`Lazy`](crate::Lazy).
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use sync::Once;
///
/// static GREETED: Once = Once::new();
///
/// async fn greet() {
///     GREETED.call(|| async { println!("hello") }).await;
/// }
///
/// gmp_rt::block_on(async {
///     greet().await;
///     greet().await;
/// });
/// assert!(GREETED.is_done());
/// ```
pub struct Once {
    init: Init,
}

/// Marks the turn as done on drop, also after a panic.
struct Ends<'a>(Option<InitTurn<'a>>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        if let Some(turn) = self.0.take() {
            turn.done();
        }
    }
}

impl Once {
    const_fn! {
        /// Creates a `Once` whose action has not run.
        #[must_use]
        pub const fn new() -> Self {
            Self { init: Init::new() }
        }
    }

    /// Runs `f` if no action has run here before, otherwise waits for the one that runs.
    ///
    /// If `f` uses the same `Once`, it waits for itself and never returns.
    ///
    /// # Panics
    ///
    /// If `f` panics. That counts as done: concurrent and later calls return normally.
    ///
    /// # Cancel safety
    ///
    /// If a call is dropped while it waits, nothing happens. If it is dropped while it runs `f`,
    /// then `f` ends there and counts as done.
    #[doc(alias("do", "call_once", "do_once"))]
    pub async fn call<F, Fut>(&self, f: F)
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = ()>,
    {
        if let Some(turn) = self.init.enter().await {
            let _ends = Ends(Some(turn));
            f().await;
        }
    }

    /// Runs a plain function if no action has run here before, and blocks the thread meanwhile.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    ///
    /// # Panics
    ///
    /// As [`call`](Self::call).
    #[doc(alias = "blocking_call")]
    pub fn call_blocking(&self, f: impl FnOnce()) {
        if self.is_done() {
            return;
        }
        if let Some(turn) = gmp_rt::block_on(self.init.enter()) {
            let _ends = Ends(Some(turn));
            f();
        }
    }

    /// Whether the action has run, or counts as done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.init.is_done()
    }
}

impl Default for Once {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("is_done", &self.is_done()).finish()
    }
}
