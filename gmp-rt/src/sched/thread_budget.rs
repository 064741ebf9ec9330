//! The budget of a future that `block_on` runs on a thread without a P.
//!
//! Such a thread has no slices, and no goroutine waits for it. But without a budget a future that
//! finds every channel ready would never end its poll, and a combinator around it, such as a
//! timeout, would never decide. So each poll of `block_on` lasts for at most a slice, by the rules
//! of [`super::budget`]. The clock is read at each [`SERVICE_OPS`]th operation.

use crate::tuning::{MAX_REFUSALS, SERVICE_OPS, SLICE};
use crate::util::clock;
use std::cell::Cell;
use std::task::{Context, Poll};

/// The budget of a poll.
#[derive(Clone, Copy, Debug)]
struct Budget {
    /// Operations until the next check; 0 if the thread is not in `block_on`.
    left: u32,
    /// The time of the first check of the slice; 0 before it.
    began: u64,
    /// The refused checks of the slice.
    refusals: u32,
    /// Whether a check of the poll was refused.
    was_refused: bool,
}

impl Budget {
    const NONE: Self = Self { left: 0, began: 0, refusals: 0, was_refused: false };
    const FRESH: Self = Self { left: SERVICE_OPS, ..Self::NONE };
}

thread_local! {
    static BUDGET: Cell<Budget> = const { Cell::new(Budget::NONE) };
}

/// Restores the budget from before a nested poll, also if the poll panics.
#[derive(Debug)]
pub(crate) struct Restore(Budget);

impl Drop for Restore {
    fn drop(&mut self) {
        BUDGET.set(self.0);
    }
}

/// Remembers the budget of the thread. Called by `block_on`, which may be nested.
pub(crate) fn enter() -> Restore {
    Restore(BUDGET.get())
}

/// Begins a poll of `block_on`.
pub(super) fn begin_poll() {
    BUDGET.set(Budget::FRESH);
}

/// See [`super::budget::poll_proceed`].
#[inline]
pub(super) fn poll_proceed(cx: &Context<'_>) -> Poll<()> {
    let budget = BUDGET.get();
    match budget.left {
        0 => Poll::Ready(()),
        1 => check(budget, cx),
        left => {
            BUDGET.set(Budget { left: left - 1, ..budget });
            Poll::Ready(())
        }
    }
}

#[cold]
fn check(budget: Budget, cx: &Context<'_>) -> Poll<()> {
    // Rule 4: such a waker belongs to a poll that decides.
    if cx.waker().data().is_null() {
        return Poll::Ready(());
    }
    let now = clock::now();
    let began = if budget.began == 0 { now } else { budget.began };
    if budget.refusals == 0 && now - began < clock::nanos(SLICE) {
        BUDGET.set(Budget { left: SERVICE_OPS, began, ..budget });
        return Poll::Ready(());
    }
    if budget.refusals >= MAX_REFUSALS {
        // The poll does not end: it polls by hand in a loop, or runs another executor.
        BUDGET.set(Budget { was_refused: true, ..Budget::FRESH });
        return Poll::Ready(());
    }
    // The next check of the poll is refused as well.
    BUDGET.set(Budget { left: 1, began, refusals: budget.refusals + 1, was_refused: true });
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// See [`super::budget::was_refused`].
pub(super) fn was_refused() -> bool {
    BUDGET.get().was_refused
}

/// See [`super::budget::poll_deciding`].
pub(super) fn poll_deciding<R>(poll: impl FnOnce() -> R) -> R {
    if BUDGET.get().left == 0 {
        return poll();
    }
    let _restore = enter();
    begin_poll();
    poll()
}

/// See [`super::budget::poll_unconstrained`].
pub(super) fn poll_unconstrained<R>(poll: impl FnOnce() -> R) -> R {
    let _restore = enter();
    BUDGET.set(Budget::NONE);
    poll()
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "thread_budget_tests.rs"]
pub(crate) mod tests;
