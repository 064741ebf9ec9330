//! `Once`: something that is done at most once.
//!
//! [`Init`] with Go's rule: whoever begins ends it, however that is.

use crate::const_fn::const_fn;
use crate::init::{Init, Turn};
use std::fmt;

/// Something that is done at most once (Go: `sync.Once`).
///
/// As in Go, beginning it is what counts: if it panics, or is dropped half-way, it counts as done and
/// is never begun again. For something that is to be tried again, or that has a
/// result, see [`OnceCell`](crate::OnceCell); for one that panics each time, [`Lazy`](crate::Lazy).
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::Once;
///
/// static GREETED: Once = Once::new();
///
/// async fn greet() {
///     GREETED.do_once(|| async { println!("hello") }).await;
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

/// Ends the turn as done, whatever happens.
struct Ends<'a>(Option<Turn<'a>>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        if let Some(turn) = self.0.take() {
            turn.done();
        }
    }
}

impl Once {
    const_fn! {
        /// Something still to be done.
        #[must_use]
        pub const fn new() -> Self {
            Self { init: Init::new() }
        }
    }

    /// Does `f` if nothing was done here before. If somebody is about to, waits until it has ended.
    ///
    /// `f` that does the same `Once` waits for itself, for ever.
    ///
    /// # Panics
    ///
    /// If `f` does. That counts as done: others, and later calls, return as if nothing had happened.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits it leaves nothing behind. Dropped while it is doing `f`, that ends there and
    /// counts as done.
    pub async fn do_once<F, Fut>(&self, f: F)
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = ()>,
    {
        if let Some(turn) = self.init.enter().await {
            let _ends = Ends(Some(turn));
            f().await;
        }
    }

    /// Does a plain function, blocking the thread while somebody else is about to do something
    /// here. For threads outside; within a goroutine it works as well, as a blocking call.
    ///
    /// # Panics
    ///
    /// As [`do_once`](Self::do_once).
    pub fn do_once_blocking(&self, f: impl FnOnce()) {
        if self.is_done() {
            return;
        }
        if let Some(turn) = gmp_rt::block_on(self.init.enter()) {
            let _ends = Ends(Some(turn));
            f();
        }
    }

    /// Whether it has been done, or counts as such.
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
