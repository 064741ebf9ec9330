//! The budget of a goroutine: it yields at an await when its time slice is over, or when newcomers
//! wait ([`crate::p::service`]).
//!
//! # The rule
//!
//! The budget never changes a result. It only moves the time at which a goroutine runs.
//!
//! 1. A refusal, that is `Pending` from [`poll_proceed`], means "poll again". It never means "not
//!    ready". When its poll ends, the goroutine goes to the back of the global queue if its slice
//!    is over, and behind the newcomers if it is not.
//! 2. After a refusal all further checks of the same poll are refused. A combinator that polls
//!    several futures, such as a race of a receive and a timer, then sees all of them pending. It
//!    decides in the next poll, which has a slice of its own.
//! 3. A combinator of gmp that decides because a future is pending makes the deciding poll with an
//!    allowance ([`poll_deciding`]), if the poll before may have been refused ([`was_refused`]).
//! 4. Only a future whose `Pending` leads to another poll is refused. A waker without data cannot
//!    name a task; `now_or_never` and `Waker::noop` poll once with such a waker, and decide. A
//!    combinator between them that has wakers of its own, such as `FuturesUnordered`, hides that:
//!    its futures may be refused.
//!
//! 5. Inside `unconstrained` no check is refused ([`poll_unconstrained`]), not even after a refusal
//!    outside it. Newcomers are served there as elsewhere.
//!
//! Rule 2 has a bound, because a poll may not end after a refusal: it may poll by hand in a loop,
//! or run another executor. After [`MAX_REFUSALS`], or [`MAX_FOREIGN_REFUSALS`] with a foreign
//! waker, a new slice begins.
//!
//! On a thread without a P the rules hold for `block_on`: see [`thread_budget`].

use super::local::{self, Local, Yield};
use super::thread_budget;
use crate::g::waker::goroutine_of;
use crate::p::PStatus;
use crate::tuning::{MAX_FOREIGN_REFUSALS, MAX_REFUSALS, SERVICE_OPS};
use crate::util::clock;
use std::task::{Context, Poll};

/// Checks whether a future that is ready may return `Ready`.
///
/// Returns `Pending` if the time slice of the goroutine is over, or if newcomers wait. The
/// goroutine is then requeued after this poll, and the future must return `Pending`.
#[inline]
pub(crate) fn poll_proceed(cx: &Context<'_>) -> Poll<()> {
    local::with(|local| {
        let Some(local) = local else { return thread_budget::poll_proceed(cx) };
        if local.p().count_op() {
            return local.check(cx);
        }
        Poll::Ready(())
    })
}

/// Checks as [`poll_proceed`] does, for a compiled loop that has found its flag raised.
pub(crate) fn poll_proceed_in_loop(cx: &Context<'_>) -> Poll<()> {
    local::with(|local| {
        if let Some(local) = local {
            local.p().lower_stale_loop_flag();
        }
    });
    poll_proceed(cx)
}

/// Whether a check of the current poll was refused.
pub(crate) fn was_refused() -> bool {
    local::with(|local| match local {
        Some(local) => local.yielding.get().is_refusal(),
        None => thread_budget::was_refused(),
    })
}

/// Runs `poll`, the last poll before a decision, with an allowance.
///
/// [`SERVICE_OPS`] checks are not refused. After these the slice counts. If it was over, a new
/// one begins here. So a ready future is found ready, and a future that never ends is still
/// interrupted.
pub(crate) fn poll_deciding<R>(poll: impl FnOnce() -> R) -> R {
    /// Ends the allowance, also if `poll` panics. If the slice was over before, the goroutine
    /// yields at its next check.
    struct EndAllowance<'a> {
        local: &'a Local,
        allowance: u32,
        was_requested: bool,
    }
    impl Drop for EndAllowance<'_> {
        fn drop(&mut self) {
            self.local.allowance.set(self.allowance);
            if self.was_requested {
                self.local.p().request_preempt();
            }
        }
    }
    local::with(|local| {
        let Some(local) = local else { return thread_budget::poll_deciding(poll) };
        let was_requested = local.p().preempt_requested();
        let allowance = local.allowance.get();
        // No less than that of an `unconstrained` around it.
        local.allowance.set(allowance.max(SERVICE_OPS));
        let _restore = EndAllowance { local, allowance, was_requested };
        if was_requested {
            local.p().begin_slice();
        }
        poll()
    })
}

/// The allowance of a poll in which no check is refused.
const UNLIMITED: u32 = u32::MAX;

/// Runs `poll`, in which no check is refused.
pub(crate) fn poll_unconstrained<R>(poll: impl FnOnce() -> R) -> R {
    /// Restores the allowance from before, also if `poll` panics.
    struct RestoreAllowance<'a> {
        local: &'a Local,
        allowance: u32,
    }
    impl Drop for RestoreAllowance<'_> {
        fn drop(&mut self) {
            self.local.allowance.set(self.allowance);
        }
    }
    local::with(|local| {
        let Some(local) = local else { return thread_budget::poll_unconstrained(poll) };
        let allowance = local.allowance.replace(UNLIMITED);
        let _restore = RestoreAllowance { local, allowance };
        poll()
    })
}

/// Ends the refusals of the last poll, if there were any. `block_on` calls it before each poll,
/// also inside a poll of a goroutine, because rule 2 counts the checks of one poll.
pub(crate) fn begin_inner_poll() {
    local::with(|local| {
        let Some(local) = local else { return thread_budget::begin_poll() };
        let p = local.p();
        let is_handed_off = p.status() == PStatus::HandedOff;
        if is_handed_off {
            // The thread may have slept since the last poll.
            p.own().stamp.set(clock::now());
        }
        if is_handed_off || local.yielding.get().is_refusal() {
            local.yielding.set(Yield::No);
            local.refusals.set(0);
            p.begin_slice();
        }
    });
}

impl Local {
    /// Decides a check after the end of the slice, or when a service is due.
    #[cold]
    fn check(&self, cx: &Context<'_>) -> Poll<()> {
        let goid = self.goid.get();
        let is_own = goroutine_of(cx.waker()).is_some_and(|g| g.goid() == goid);
        // Rule 4. Outside a poll there is no goroutine that could yield.
        if goid == 0 || (!is_own && cx.waker().data().is_null()) {
            return Poll::Ready(());
        }
        let answer =
            if self.p().preempt_requested() { self.answer_request() } else { self.serve_in_poll() };
        let Some(answer) = answer else { return Poll::Ready(()) };
        match self.allowance.get() {
            0 => {}
            UNLIMITED => return Poll::Ready(()),
            left => {
                self.allowance.set(left - 1);
                return Poll::Ready(());
            }
        }
        let is_first = !self.yielding.get().is_refusal();
        let refused = if is_first { 0 } else { self.refusals.get() };
        let most = if is_own { MAX_REFUSALS } else { MAX_FOREIGN_REFUSALS };
        if refused >= most {
            self.refusals.set(0);
            self.p().begin_slice();
            return Poll::Ready(());
        }
        self.refusals.set(refused + 1);
        self.yielding.set(answer);
        // So that all further checks of the poll are refused.
        self.p().request_preempt();
        if !is_own {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Returns how the goroutine answers a request to yield. `None` if the request does not concern
    /// it.
    pub(super) fn answer_request(&self) -> Option<Yield> {
        let (p, yielding) = (self.p(), self.yielding.get());
        if yielding.is_refusal() {
            return Some(yielding);
        }
        if p.status() == PStatus::HandedOff {
            return Some(Yield::Global);
        }
        let now = clock::now();
        if p.own().service.is_guest(now) {
            self.end_request(&p, now);
            return None;
        }
        if p.is_slice_over(now) {
            return Some(Yield::Global);
        }
        // Sysmon has made the request for newcomers. The service after this poll finds them.
        p.request_service();
        Some(Yield::Behind)
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "budget_tests.rs"]
mod tests;
