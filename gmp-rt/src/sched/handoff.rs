//! Goroutines that block their thread, in a marked call or in an unmarked one.
//!
//! The M keeps its P object, which is *handed off* (status `HandedOff`), and another P object gets
//! its number (Go: `handoffp`). The newcomers of the handed-off P go to the inbox at once, the rest
//! of its queue goes to the global queue. From then on the queue of the handed-off P stays empty:
//! what the M still queues goes to these two as well. When a marked call returns, the M reactivates
//! its P in place of an idle one, or waits for a P ([`way_back`](super::way_back)). An unmarked
//! poll continues without an active P. It is asked to yield, so that its goroutine runs with an
//! active P again. At the end of the poll the M reactivates its P, or sleeps if no P is idle.
//!
//! The M itself hands off its P if it knows that it will wait ([`Local::syscall_block`]). Sysmon
//! hands off the P if a marked call ([`Local::syscall`]) or an unmarked poll takes long.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | heavy barrier in [`Sched::handoffp`] and in [`Sched::handoff_call`], between the change of the status and the steal | light barrier in [`Local::requeue_if_handed_off`], between a push and the load of the status | either the M sees that its P is handed off, or the steal takes what the M has pushed |
//!
//! So no goroutine stays on the queue of a P that thieves do not visit. The M pays a load for each
//! push and each poll. The barrier is a system call of the thread that hands off the P.

use super::Sched;
use super::idle::IdleLists;
use super::local::{self, Local};
use super::traced;
use super::way_back::WayBack;
use crate::p::blocking_calls::CallCount;
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
                let is_handed_off = self.0.p().exit_blocking();
                hook::call_ended();
                if is_handed_off {
                    self.0.exitsyscall(WayBack::Wait);
                }
            }
        }
        // A nested call: the outer one reactivates the P.
        if self.in_syscall_block.get() || !self.p().enter_blocking() {
            return f();
        }
        self.trace_call();
        let _end = EndCall(self);
        f()
    }

    /// Runs `f`, which is known to wait. Hands off the P at once.
    fn syscall_block<R>(&self, way_back: WayBack, f: impl FnOnce() -> R) -> R {
        /// Also ends the wait if `f` panics.
        struct EndWait<'a>(&'a Local, WayBack);
        impl Drop for EndWait<'_> {
            fn drop(&mut self) {
                let Self(local, way_back) = self;
                local.in_syscall_block.set(false);
                // Inside a `syscall` that one reactivates the P.
                if !local.p().calls.get().in_progress() {
                    hook::call_ended();
                    local.exitsyscall(*way_back);
                }
            }
        }
        // A nested call: the outer one reactivates the P.
        if self.in_syscall_block.replace(true) {
            return f();
        }
        let _end = EndWait(self, way_back);
        self.sched.handoff_own(&self.p());
        f()
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
        let hand_off = |lists: &mut IdleLists| {
            let is_handed_off = stuck() && self.hand_off(lists, p);
            match p.computes() {
                true => lists.hand_offs.computing += u64::from(is_handed_off),
                false => lists.hand_offs.blocked += u64::from(is_handed_off),
            }
            is_handed_off
        };
        if !self.idle.with(hand_off) {
            return false;
        }
        barrier::heavy(); // O1
        self.after_hand_off(p);
        true
    }

    /// Hands off `p`, whose M is in the marked call `call`. Returns `false` if the call has ended.
    pub(crate) fn handoff_call(self: &Arc<Self>, p: &P, call: CallCount) -> bool {
        let handed_off = self.idle.with(|lists| {
            let barrier = p.hand_off_in_call(call, &lists.key)?;
            lists.hand_offs.calls += 1;
            self.replace_handed_off(lists, p);
            Some(barrier)
        });
        let Some(barrier) = handed_off else { return false };
        barrier.or_wait(); // O1
        self.after_hand_off(p);
        true
    }

    fn after_hand_off(self: &Arc<Self>, p: &P) {
        self.requeue_all(p.runq.steal_all());
        self.wake_for_handoff();
    }

    /// Hands off the P of the calling M, unless sysmon has done so.
    fn handoff_own(self: &Arc<Self>, p: &OwnedP) {
        let hand_off = |lists: &mut IdleLists| {
            let is_handed_off = self.hand_off(lists, p);
            lists.hand_offs.own += u64::from(is_handed_off);
            is_handed_off
        };
        if !self.idle.with(hand_off) {
            return;
        }
        self.requeue_all(p.runq().drain());
        self.wake_for_handoff();
    }

    fn hand_off(&self, lists: &mut IdleLists, p: &P) -> bool {
        let is_handed_off = p.hand_off(&lists.key);
        if is_handed_off {
            self.replace_handed_off(lists, p);
        }
        is_handed_off
    }

    fn replace_handed_off(&self, lists: &mut IdleLists, p: &P) {
        traced::handed_off(p);
        self.replace_p(lists, p);
        // A goroutine that continues without an active P gets one again when it yields.
        p.request_preempt();
        p.note_long_poll(clock::now());
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
    syscall_block_then(WayBack::Wait, f)
}

/// Runs a call after which the goroutine need not wait for a P: it computes no more, or has a time
/// limit.
pub(crate) fn syscall_block_and_pass<R>(f: impl FnOnce() -> R) -> R {
    syscall_block_then(WayBack::Pass, f)
}

fn syscall_block_then<R>(way_back: WayBack, f: impl FnOnce() -> R) -> R {
    local::with(|local| match local {
        Some(local) => {
            local.sched.assert_not_forked();
            local.syscall_block(way_back, f)
        }
        None => f(),
    })
}
