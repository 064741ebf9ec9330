//! The way back from a marked call whose P was handed off (Go: `exitsyscall`).
//!
//! An M whose call returns reactivates its P in place of the P that got its number, or in place of
//! any idle P. If no P is idle, the M waits for one in the global queue. So at most `max_procs`
//! goroutines compute after marked calls. In Go the goroutine is queued and its M sleeps. Here the
//! goroutine is in the middle of a poll, on the stack of its M. So the M itself is queued, and an M
//! that would run a goroutine from there hands its P over to that thread and goes to the pool.
//!
//! The returning M keeps its own P object, on which its goroutine runs. It moves the queue of the P
//! that it is given to its own P. No reference to its P is invalid after that, wherever in the poll
//! the call was.
//!
//! # What does not wait
//!
//! - A call inside another marked call: the outer one waits.
//! - A goroutine that unwinds, in the child of a fork, or of a runtime that closes. These end soon,
//!   or must not depend on other threads.
//! - [`spawn_blocking`](crate::spawn_blocking()) and `shutdown` ([`WayBack::Pass`]). After the
//!   closure of the first only the result is stored. The second has a time limit.
//! - User code between polls, such as a foreign waker. The M may have a spinning token there, on
//!   which others rely.
//!
//! # Why no wake-up is lost
//!
//! The returning M queues itself, makes a SeqCst fence and reads the idle word. An M that releases
//! its P changes the idle word, makes a SeqCst fence and checks all queues, of which the global
//! queue is one. So either the returning M sees the idle P and takes it, or the other M sees the
//! returning one. If no P is idle, each P has an M that searches again after its poll. If that poll
//! blocks or does not end, sysmon hands off the P, because work waits for it. So a goroutine that
//! holds a lock of std over its call gets a P also if the goroutines of all Ps wait for the lock.
//!
//! If no thread can be started for an idle P, the P goes to a returning M ([`Sched::refuse`]).
//!
//! [`Sched::refuse`]: super::wake

use super::Sched;
use super::globq::ReturningM;
use super::idle::IdleLists;
use super::local::Local;
use super::pause;
use super::worker::{Step, Worker};
use crate::m::Grant;
use crate::m::idle_word::Recheck;
use crate::p::runq::Queued;
use crate::p::{OwnedP, PStatus};
use crate::prim::debug_assert_no_lock_held;
use crate::util::clock;
use std::thread;

/// What an M does after a marked call if no P is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WayBack {
    /// It waits for a P.
    Wait,
    /// It finishes its poll without an active P.
    Pass,
}

/// The result of a wait.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    /// The P of this M is active.
    Active,
    /// A P may be idle, or the wait begins again.
    Retry,
}

impl Local {
    /// Reactivates the P of this M, which is handed off. If no P is idle, does as `way_back` says.
    #[cold]
    pub(super) fn exitsyscall(&self, way_back: WayBack) {
        while !self.reactivate_p() {
            if way_back == WayBack::Pass || !self.may_wait() || self.wait_for_p() == Waited::Active
            {
                return;
            }
        }
    }

    /// Reactivates this M's P in place of an idle one. Returns `false` if no P is idle. Does
    /// nothing if sysmon has taken the hand-off back.
    #[cold]
    pub(crate) fn reactivate_p(&self) -> bool {
        let (p, sched) = (self.p(), &self.sched);
        if sched.is_forked() {
            return false;
        }
        let surplus = sched.idle.with(|lists| {
            if p.status() == PStatus::Running {
                return Some(lists.trim_spare());
            }
            // Preferably in place of the P that got its number (Go: `oldp`).
            let own = |number| number == p.number();
            let other = sched.idle.take_p_if(lists, own).or_else(|| sched.idle.take_p(lists))?;
            sched.replace_by(lists, other, &p);
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

    fn may_wait(&self) -> bool {
        let in_poll = self.goid.get() != 0;
        in_poll && !thread::panicking() && !self.sched.is_closing() && !self.sched.is_forked()
    }

    /// Waits in the global queue until another M hands its P over.
    fn wait_for_p(&self) -> Waited {
        debug_assert_no_lock_held("waits for a P");
        let (p, sched) = (self.p(), &self.sched);
        // Under the lock: sysmon marks no waiting M as a hog, so no signal pauses it.
        sched.idle.with(|lists| {
            p.set_returning(true, &lists.key);
            pause::leave();
        });
        // It sleeps, but not for a lock that a paused thread may hold.
        pause::disown();
        sched.globq.put_returning(self.m.clone());
        sched.idle.word.fence_before_recheck();
        let (idle, _) = sched.idle.word.counts();
        let waited = match idle > 0 && sched.globq.remove_returning(&self.m) {
            true => Waited::Retry,
            false => self.take_over(self.sleep_until_granted()),
        };
        sched.idle.with(|lists| p.set_returning(false, &lists.key));
        pause::own();
        waited
    }

    fn sleep_until_granted(&self) -> Grant {
        loop {
            self.m.note.sleep();
            // An earlier wake-up may have been for the pool, which this M has left.
            if let Some(grant) = self.m.take_grant() {
                return grant;
            }
        }
    }

    /// Reactivates this M's P in place of the granted one, and moves the queue over.
    fn take_over(&self, grant: Grant) -> Waited {
        let (p, sched) = (self.p(), &self.sched);
        let Grant { p: given, token } = grant;
        let queued = given.runq().drain();
        let (asked, _surplus) = sched.idle.with(|lists| {
            let asked = (given.status() == PStatus::Running).then(|| given.take_service_request());
            match asked {
                Some(_) => sched.replace_by(lists, given, &p),
                // It was handed off meanwhile.
                None => {
                    lists.ps.remove_handed_off(&given);
                    lists.ps.retire(given, &lists.key);
                }
            }
            (asked, lists.trim_spare())
        });
        let Some(asked) = asked else {
            sched.requeue_all(queued);
            sched.idle.word.drop_token(Some(token));
            sched.wakep();
            return Waited::Retry;
        };
        self.trace_got_p(&p);
        if asked {
            // The P may be surplus.
            p.request_service();
        }
        let now = clock::now();
        p.own().stamp.set(now);
        p.own().service.forget_time();
        p.begin_slice();
        self.adopt(&p, queued, now);
        sched.schedule_sysmon_wake();
        // No other thread saw the queue while it was in hand, and submitters relied on the token.
        if sched.idle.word.stop_spinning(token) == Recheck::AsLast && sched.any_work() {
            sched.wakep();
        }
        Waited::Active
    }

    /// Queues what was on the queue of another P.
    fn adopt(&self, p: &OwnedP, queued: Queued, now: u64) {
        let Queued { mut newcomers, mut others } = queued;
        p.runq().put_batch(&mut others);
        self.sched.globq.put_batch(others);
        if !newcomers.is_empty() {
            p.own().service.begin_newcomers(now);
        }
        while let Some(gp) = newcomers.pop_front() {
            self.put_newcomer(p, gp);
        }
    }
}

impl Worker<'_> {
    /// Hands the P of this M over to `m`. Then sleeps until this M has another. Returns
    /// [`Step::Exit`] if the thread ends.
    #[cold]
    pub(super) fn hand_over(&mut self, m: ReturningM) -> Option<Step> {
        let sched = self.local.sched.clone();
        // Sysmon may have handed off the P before. After this it does not: the P is in no poll.
        let gives = !sched.must_retire(&self.local.p()) && self.enter_pool_if_active();
        if !gives {
            sched.globq.put_back(m);
            self.retire_p();
            return self.sleep_in_pool();
        }
        if let Some(p) = self.local.release_p() {
            let token = self.token.take().unwrap_or_else(|| sched.idle.word.spin_unconditionally());
            m.grant(Grant { p, token });
        }
        self.sleep_in_pool()
    }

    fn enter_pool_if_active(&self) -> bool {
        let local = self.local;
        local.sched.idle.with(|lists| {
            let is_active = local.p().status() == PStatus::Running;
            if is_active {
                lists.pool.push(local.m.clone());
            }
            is_active
        })
    }
}

impl Sched {
    /// Makes `p`, which is handed off, active in place of `other`. The caller has emptied the queue
    /// of `other`.
    fn replace_by(&self, lists: &mut IdleLists, other: OwnedP, p: &OwnedP) {
        let number = other.number();
        let _ = lists.ps.vacate(&self.ps, &other);
        lists.ps.retire(other, &lists.key);
        lists.ps.remove_handed_off(p);
        lists.ps.install(&self.ps, number, p, &lists.key);
        p.set_status(PStatus::Running, &lists.key);
        pause::leave();
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "way_back_tests.rs"]
mod tests;
