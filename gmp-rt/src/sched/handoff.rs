//! Goroutines that block their thread, in a marked call or in an unmarked one.
//!
//! The M keeps its P object, which is *handed off* (status `HandedOff`), and another P object gets
//! its number (Go: `handoffp`). The newcomers of the handed-off P go to the inbox at once, the rest
//! of its queue goes to the global queue. From then on the queue of the handed-off P stays empty:
//! what the M still queues goes to these two as well. When the call returns, the M reactivates its
//! P in place of an idle one (Go: `exitsyscall`). If no P is idle, the M finishes its poll without
//! an active P and then sleeps. Such a poll is asked to yield, so that its goroutine runs with an
//! active P again.
//!
//! The M itself hands off its P if it knows that it will wait ([`Local::syscall_block`]). Sysmon
//! hands off the P if a marked call ([`Local::syscall`]) or an unmarked poll takes long.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | heavy barrier in [`Sched::handoffp`], between the change of the status and the steal | light barrier in [`Local::requeue_if_handed_off`], between a push and the load of the status | either the M sees that its P is handed off, or the steal takes what the M has pushed |
//!
//! So no goroutine stays on the queue of a P that thieves do not visit. The M pays a load for each
//! push and each poll. The barrier is a system call of the thread that hands off the P.

use super::Sched;
use super::idle::IdleLists;
use super::local::{self, Local};
use super::pause;
use super::traced;
use crate::p::{OwnedP, P, PStatus};
use crate::prim::barrier;
use crate::tracer::hook;
use crate::util::clock;
use std::sync::Arc;

impl Local {
    /// Runs `f`, which may block for any time. Costs two plain stores if `f` returns soon.
    /// Otherwise sysmon hands off the P.
    #[inline]
    fn syscall<R>(&self, f: impl FnOnce() -> R) -> R {
        /// Also ends the call if `f` panics.
        struct EndCall<'a>(&'a Local);
        impl Drop for EndCall<'_> {
            #[inline]
            fn drop(&mut self) {
                let p = self.0.p();
                p.exit_blocking();
                hook::call_ended();
                self.0.exitsyscall(&p);
            }
        }
        // The P is already handed off, or this call is nested. The outer call, or the end of the
        // poll, reactivates the P.
        if self.p().status() == PStatus::HandedOff || !self.p().enter_blocking() {
            return f();
        }
        self.trace_call();
        let _end = EndCall(self);
        f()
    }

    /// Runs `f`, which is known to wait. Hands off the P at once.
    fn syscall_block<R>(&self, f: impl FnOnce() -> R) -> R {
        /// Also ends the wait if `f` panics.
        struct EndWait<'a>(&'a Local);
        impl Drop for EndWait<'_> {
            fn drop(&mut self) {
                hook::call_ended();
                // An inner call may have reactivated the P.
                self.0.exitsyscall(&self.0.p());
            }
        }
        if !self.sched.handoff_own(&self.p()) {
            return f();
        }
        let _end = EndWait(self);
        f()
    }

    /// Reactivates this M's P if it was handed off and a P is idle (Go: `exitsyscall`).
    #[inline]
    fn exitsyscall(&self, p: &OwnedP) {
        if p.status() == PStatus::HandedOff {
            let _ = self.reactivate_p();
        }
    }

    /// Reactivates this M's P in place of an idle one. Returns `false` if no P
    /// is idle.
    #[cold]
    pub(crate) fn reactivate_p(&self) -> bool {
        let (p, sched) = (self.p(), &self.sched);
        if sched.is_forked() {
            return false;
        }
        let surplus = sched.idle.with(|lists| {
            // Preferably in place of the P that got its number (Go: `oldp`).
            let own = |number| number == p.number();
            let other = sched.idle.take_p_if(lists, own).or_else(|| sched.idle.take_p(lists))?;
            let number = other.number();
            let _ = lists.ps.vacate(&sched.ps, &other);
            lists.ps.retire(other, &lists.key);
            lists.ps.remove_handed_off(&p);
            lists.ps.install(&sched.ps, number, &p, &lists.key);
            p.set_status(PStatus::Running, &lists.key);
            pause::leave();
            Some(lists.trim_spare())
        });
        if surplus.is_some() {
            // Takes back the request to yield.
            p.begin_slice();
            self.trace_got_p(&p);
            sched.schedule_sysmon_wake();
        }
        surplus.is_some()
    }

    /// Moves the queue of this M's P to the shared queues, if the P was handed off while the M
    /// pushed to it. Called after each push in a poll, and before each poll.
    #[inline]
    pub(super) fn requeue_if_handed_off(&self, p: &OwnedP) {
        barrier::light(); // O1
        if p.status() == PStatus::HandedOff {
            self.requeue_own(p);
        }
    }

    #[cold]
    fn requeue_own(&self, p: &OwnedP) {
        if self.sched.is_forked() {
            // The child of a fork runs no other goroutine: they stay where they are.
            return;
        }
        self.sched.requeue_all(p.runq().drain());
        self.sched.wakep();
    }
}

impl Sched {
    /// Hands off `p`, whose M is in a poll, for another thread. Wakes an M if there is work or a
    /// pending timer.
    ///
    /// Returns `false` if `p` is not running or if `stuck` returns `false`. `stuck` is called under
    /// the lock, because the caller may have waited for a CPU or for the lock since it decided.
    pub(crate) fn handoffp(self: &Arc<Self>, p: &P, stuck: impl FnOnce() -> bool) -> bool {
        if !self.idle.with(|lists| stuck() && self.hand_off(lists, p)) {
            return false;
        }
        barrier::heavy(); // O1
        self.requeue_all(p.runq.steal_all());
        self.wake_for_handoff();
        true
    }

    /// Hands off the P of the calling M. Returns `false` if that is so already.
    fn handoff_own(self: &Arc<Self>, p: &OwnedP) -> bool {
        if !self.idle.with(|lists| self.hand_off(lists, p)) {
            return false;
        }
        self.requeue_all(p.runq().drain());
        self.wake_for_handoff();
        true
    }

    fn hand_off(&self, lists: &mut IdleLists, p: &P) -> bool {
        if !p.hand_off(&lists.key) {
            return false;
        }
        lists.handoffs += 1;
        traced::handed_off(p);
        self.replace_p(lists, p);
        // A goroutine that goes on without an active P gets one again when it yields.
        p.request_preempt();
        p.note_long_poll(clock::now());
        true
    }

    /// Wakes an M for the work and the timers that the M of a handed-off P does not serve any more.
    fn wake_for_handoff(self: &Arc<Self>) {
        self.wakep_if_any_work();
        let next = self.next_timer();
        if next != clock::FOREVER {
            let _ = self.ensure_timer_sleeper(next);
        }
    }
}

/// Runs `f`, which may block, on any thread. See [`crate::block_in_place()`].
#[inline]
pub(crate) fn syscall<R>(f: impl FnOnce() -> R) -> R {
    local::with(|local| match local {
        Some(local) => local.syscall(f),
        None => f(),
    })
}

/// Runs `f`, which is known to wait, on any thread.
pub(crate) fn syscall_block<R>(f: impl FnOnce() -> R) -> R {
    local::with(|local| match local {
        Some(local) => {
            local.sched.assert_not_forked();
            local.syscall_block(f)
        }
        None => f(),
    })
}
