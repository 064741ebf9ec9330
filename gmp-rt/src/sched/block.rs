//! Goroutines that block their thread, in a marked call or in an unmarked one.
//!
//! The M keeps its P, which is *handed off* (status `Displaced`), and a spare P becomes active in
//! its place (Go: `handoffp`). The newcomers of the handed-off P go to the inbox at once, the rest
//! of its queue goes to the global queue, and sysmon moves what is queued in the moment of the
//! hand-off. (Thieves may take it before. But an M whose own goroutines yield all the time never
//! steals.) Other Ms serve its timers. When the call returns, the M reactivates its P in place of
//! an idle one (Go: `exitsyscall`). If no P is idle, the M finishes its poll without an active P
//! and then sleeps. Such a poll is asked to yield, so that its goroutine runs with an active P
//! again.
//!
//! The M itself hands off its P if it knows that it will wait ([`Local::block_on`]). Sysmon hands
//! off the P if a marked call ([`Local::blocking`]) or an unmarked poll takes long.

use super::Sched;
use super::current::{self, Local};
use super::pause;
use crate::p::{P, PStatus};
use crate::util::clock;
use std::sync::Arc;

impl Local {
    /// Runs `f`, which may block for any time. Costs two plain stores if `f` returns soon.
    /// Otherwise sysmon hands off the P.
    #[inline]
    fn blocking<R>(&self, f: impl FnOnce() -> R) -> R {
        /// Also reactivates the P if `f` panics.
        struct Back<'a>(&'a Local);
        impl Drop for Back<'_> {
            #[inline]
            fn drop(&mut self) {
                let p = self.0.p();
                p.exit_blocking();
                if p.status() == PStatus::Displaced {
                    let _ = self.0.regain();
                }
            }
        }
        // The P is already handed off, or this call is nested. The outer call, or the end of the
        // poll, reactivates the P.
        if self.p().status() == PStatus::Displaced || !self.p().enter_blocking() {
            return f();
        }
        let _back = Back(self);
        f()
    }

    /// Runs `f`, which is known to wait. Hands off the P at once.
    fn block_on<R>(&self, f: impl FnOnce() -> R) -> R {
        /// Also reactivates the P if `f` panics.
        struct Back<'a>(&'a Local);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                // An inner call may have reactivated it.
                if self.0.p().status() == PStatus::Displaced {
                    let _ = self.0.regain();
                }
            }
        }
        if !self.sched.displace(&self.p(), || true) {
            return f();
        }
        let _back = Back(self);
        f()
    }

    /// Reactivates this M's P in place of an idle one (Go: `exitsyscall`). Returns `false` if no P
    /// is idle.
    #[cold]
    pub(super) fn regain(&self) -> bool {
        let p = self.p();
        let regained = self.sched.idle.with(|lists| {
            let Some(other) = self.sched.idle.take_p(lists) else { return false };
            other.set_status(PStatus::Spare, &lists.key);
            lists.spare.push(other);
            p.set_status(PStatus::Running, &lists.key);
            pause::leave();
            true
        });
        if regained {
            // Takes back the request to yield.
            p.begin_slice();
            self.sched.idle.rouse_sysmon();
        }
        regained
    }
}

impl Sched {
    /// Hands off `p` and activates a spare P in its place. Wakes an M if there is work or a pending
    /// timer.
    ///
    /// Returns `false` if `p` is not running or if `stuck` returns `false`. `stuck` is called under
    /// the lock, because the caller may have waited for a CPU or for the lock since it decided.
    pub(super) fn displace(self: &Arc<Self>, p: &P, stuck: impl FnOnce() -> bool) -> bool {
        let displaced = self.idle.with(|lists| {
            let displaced = stuck() && p.displace(&lists.key);
            if displaced {
                self.pass_right(lists);
                // A goroutine that goes on without an active P gets one again when it yields.
                p.ask_yield();
            }
            displaced
        });
        if displaced {
            self.requeue_all(p.runq.steal_all());
            self.idle.word.parked();
            if self.any_work() {
                self.wakep();
            }
            let next = self.next_timer();
            if next != clock::FOREVER {
                let _ = self.tend(next);
            }
        }
        displaced
    }
}

/// Runs `f`, which may block, on any thread. See [`crate::blocking()`].
#[inline]
pub(crate) fn blocking<R>(f: impl FnOnce() -> R) -> R {
    current::with(|local| match local {
        Some(local) => local.blocking(f),
        None => f(),
    })
}

/// Runs `f`, which is known to wait, on any thread.
pub(crate) fn block_on<R>(f: impl FnOnce() -> R) -> R {
    current::with(|local| match local {
        Some(local) => local.block_on(f),
        None => f(),
    })
}
