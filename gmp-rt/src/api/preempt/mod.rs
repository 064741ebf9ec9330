//! The functions that `#[gmp::preemptible]` and `preemptible_block!` expand to. Not for programs.
//!
//! A loop runs in *strips*. A strip has no await, so its variables stay in registers. It ends when
//! the [flag](Flag) of the P is raised. Then the loop awaits [`pause`] and begins the next strip.
//! `gmp-macros` shows the expansion of each kind of loop.

mod strip;

pub use self::strip::{
    End, Flagged, FlaggedTag, Int, IsFlagged, IsSplit, Probe, Split, SplitTag, Strip,
};

use crate::prim::fixed::{AtomicBool, Ordering::Relaxed};
use crate::sched::{budget, local};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A flag that is never raised: for threads that run no goroutine, and for the first check of a
/// strip.
static NEVER: AtomicBool = AtomicBool::new(false);

/// The flag that requests a check of the running goroutine: its time slice may be over.
///
/// It is valid until the next await, after which the goroutine may continue on another P.
#[derive(Clone, Copy, Debug)]
pub struct Flag(&'static AtomicBool);

impl Flag {
    /// Whether the flag is raised.
    #[inline(always)]
    #[must_use]
    pub fn is_raised(self) -> bool {
        self.0.load(Relaxed) // Relaxed: only a request
    }
}

/// Returns the flag of the P that this thread runs with.
#[inline]
#[must_use]
pub fn flag() -> Flag {
    local::with(|local| Flag(local.map_or(&NEVER, |local| local.p().loop_flag())))
}

/// Whether the flag of the P that this thread runs with is raised.
#[inline]
#[must_use]
pub fn is_due() -> bool {
    flag().is_raised()
}

/// The check of one strip.
///
/// The first check passes. So a loop advances by an iteration between two pauses, even if the
/// goroutine cannot yield, such as in a poll with a no-op waker.
#[derive(Debug)]
pub struct Watch {
    next: Flag,
    flag: Flag,
}

/// Begins a strip.
#[inline]
#[must_use]
pub fn watch() -> Watch {
    Watch { next: Flag(&NEVER), flag: flag() }
}

impl Watch {
    /// Whether the strip is over.
    #[inline(always)]
    pub fn is_over(&mut self) -> bool {
        let is_over = self.next.is_raised();
        self.next = self.flag;
        is_over
    }
}

/// Yields if the time slice is over or newcomers wait.
#[inline]
pub fn pause() -> Pause {
    Pause { yielded: false }
}

/// The future of [`pause`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Pause {
    yielded: bool,
}

impl Future for Pause {
    type Output = ();

    #[cold]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        let go_on = budget::poll_proceed_in_loop(cx);
        self.yielded = go_on.is_pending();
        go_on
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests;
