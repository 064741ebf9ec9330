//! A goroutine that blocks its thread, marked or found out.
//!
//! The M keeps its P object and the right to run goes to a spare one (Go: `handoffp`); the P object is
//! then *displaced*. Its queue goes to the global queue at once, and what the M wakes during the rest
//! of its poll is moved there by sysmon. (Other Ms may steal it before. But an M whose own goroutines
//! yield all the time never steals.) Its timers are served by others. When the call is
//! over the M takes the right of an idle P if there is one (Go: `exitsyscall`); if not, it finishes its
//! poll without, which is harmless, and then passes on its queue and sleeps.
//!
//! Who takes the right away: the M itself if it knows that it will wait ([`Local::block_on`]), sysmon
//! if a marked call takes long ([`Local::blocking`]), and sysmon if a poll does that is not marked at all.

use super::Sched;
use super::current::{self, Local};
use super::pause;
use crate::p::{P, PStatus};
use crate::util::clock;
use std::sync::Arc;

impl Local {
    /// Runs `f`, which may block for any time. Costs two plain stores if it does not block for long;
    /// if it does, sysmon hands the right to run on.
    #[inline]
    fn blocking<R>(&self, f: impl FnOnce() -> R) -> R {
        /// Comes back also when `f` panics.
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
        // Displaced, or inside another blocking call: the outer one comes back.
        if self.p().status() == PStatus::Displaced || !self.p().enter_blocking() {
            return f();
        }
        let _back = Back(self);
        f()
    }

    /// Runs `f`, which is known to wait for others: hands the right to run on at once.
    fn block_on<R>(&self, f: impl FnOnce() -> R) -> R {
        /// Comes back also when `f` panics.
        struct Back<'a>(&'a Local);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                // Not if an inner call did already.
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

    /// Takes the right to run of an idle P for its own; `false` if there is none.
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
            self.sched.idle.rouse_sysmon();
        }
        regained
    }
}

impl Sched {
    /// Takes the right to run from the M of `p` and gives it to a spare P; starts an M for that if
    /// there is work or a timer. `false` if it has none, or is not `stuck` any more: asked at the last
    /// moment, since whoever decided that it was may have waited for a CPU or the lock since.
    pub(super) fn displace(self: &Arc<Self>, p: &P, stuck: impl FnOnce() -> bool) -> bool {
        let displaced = self.idle.with(|lists| {
            let displaced = stuck() && p.displace(&lists.key);
            if displaced {
                self.pass_right(lists);
            }
            displaced
        });
        if displaced {
            self.globq.put_batch(p.runq.steal_all());
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

/// Runs `f`, which will wait for others, on any thread.
pub(crate) fn block_on<R>(f: impl FnOnce() -> R) -> R {
    current::with(|local| match local {
        Some(local) => local.block_on(f),
        None => f(),
    })
}
