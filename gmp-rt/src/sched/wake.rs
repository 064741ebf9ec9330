//! Waking a thread for a P (Go: `wakep` and `startm`).

use super::Sched;
use super::globq::ReturningM;
use super::idle::IdleLists;
use crate::m::idle_word::{Recheck, Spinning};
use crate::m::{Grant, M, MId};
use crate::observe::event::{self, Event};
use std::sync::Arc;

/// The result of starting an M.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    /// An M was woken or started, or no P is idle: then the Ms that run find the work.
    Enough,
    /// A P is idle, but no thread is available.
    Refused,
}

/// What [`Sched::startm`] does for work.
enum Start {
    /// Nothing, because no P is idle.
    NoP(Spinning),
    /// Nothing, because the OS has just refused a thread.
    BacksOff,
    /// It wakes this M.
    Wake(Arc<M>, Grant),
    /// It starts a thread, which is counted already.
    Thread(MId, Grant),
    /// It gives the P back, because there are too many threads.
    TooMany(Grant),
}

impl Sched {
    /// Wakes an M if a P is idle and no M spins. Called after work was published.
    pub(crate) fn wakep(self: &Arc<Self>) {
        if let Some(token) = self.idle.word.wake_wanted() {
            let _ = self.startm(token);
        }
    }

    /// Wakes an M if a queue has work. Called after a change of the idle lists that has the effect
    /// of an M that goes to sleep: a thread that published work before may not have seen an idle P.
    pub(super) fn wakep_if_any_work(self: &Arc<Self>) {
        self.idle.word.fence_before_recheck();
        if self.any_work() {
            self.wakep();
        }
    }

    /// Gives an idle P to an M that then looks for work. If all Ps are busy, their Ms find the
    /// work.
    #[cold]
    pub(crate) fn startm(self: &Arc<Self>, token: Spinning) -> Started {
        if self.is_forked() {
            self.idle.word.drop_token(Some(token));
            return Started::Enough;
        }
        // Another M would only hand the P over to this one.
        let returning = self.globq.take_first_returning();
        let start = self.idle.with(|lists| self.choose_start(lists, token, returning.as_ref()));
        let (grant, why) = match start {
            Start::NoP(token) => {
                // Before the fence in `stop_spinning`.
                if let Some(m) = returning {
                    self.globq.put_back(m);
                }
                // All Ps are taken by now. A submitter may have relied on the spinning token
                // meanwhile.
                if self.idle.word.stop_spinning(token) == Recheck::AsLast && self.any_work() {
                    self.wakep();
                }
                return Started::Enough;
            }
            Start::BacksOff => return Started::Refused,
            Start::Wake(m, grant) => {
                m.grant(grant);
                // While the M wakes up, which takes longer. Otherwise the M does it before its
                // first poll.
                self.schedule_sysmon_wake();
                return Started::Enough;
            }
            Start::Thread(id, grant) => match self.start_thread(id, grant) {
                Ok(()) => {
                    self.report_many_threads();
                    return Started::Enough;
                }
                Err((grant, error)) => (grant, error.to_string()),
            },
            Start::TooMany(grant) => {
                let why = format!("the limit of {} threads is reached", self.config.thread_limit);
                (grant, why)
            }
        };
        self.refuse(grant, &why);
        Started::Refused
    }

    /// Decides what [`startm`](Self::startm) does.
    fn choose_start(
        &self,
        lists: &mut IdleLists,
        token: Spinning,
        returning: Option<&ReturningM>,
    ) -> Start {
        if let Some(m) = returning {
            let Some(p) = self.idle.take_p(lists) else { return Start::NoP(token) };
            lists.threads.wakes += 1;
            return Start::Wake(m.clone(), Grant { p, token });
        }
        if lists.is_refused() {
            // Under the lock: see `take_back`.
            self.idle.word.drop_token(Some(token));
            self.wake_sysmon_from(lists);
            return Start::BacksOff;
        }
        match self.idle.take_p_and_m(lists) {
            None => Start::NoP(token),
            Some((p, Some(m))) => {
                lists.threads.wakes += 1;
                Start::Wake(m, Grant { p, token })
            }
            Some((p, None)) => match lists.reserve_thread(self.config.thread_limit) {
                Some(id) => Start::Thread(id, Grant { p, token }),
                None => Start::TooMany(Grant { p, token }),
            },
        }
    }

    /// Gives the grant, for which there is no thread, to an M that waits for a P in its poll. If
    /// there is none, takes it back: the other Ms continue. Each push tries again, and so does each
    /// round of sysmon while work is queued.
    fn refuse(self: &Arc<Self>, grant: Grant, why: &str) {
        if let Some(m) = self.globq.take_any_returning() {
            m.grant(grant);
            self.schedule_sysmon_wake();
        } else if self.take_back(grant) {
            return;
        }
        if self.threads.is_first_refusal() {
            event::emit(Event::ThreadRefused { cause: why.to_owned() });
        }
    }

    /// Puts the P of an unused grant back on the idle list. Returns `true` if the runtime stops,
    /// which is then the cause. An M may have gone to sleep meanwhile, relying on the grant's
    /// spinning token. If none has, only sysmon is left to try again, also for work that was queued
    /// meanwhile.
    pub(crate) fn take_back(self: &Arc<Self>, grant: Grant) -> bool {
        let (asleep, stopping) = self.idle.with(|lists| {
            self.idle.put_p(lists, grant.p, None, Some(grant.token));
            if lists.pool.is_empty() {
                // Together with the end of the spinning token: a submitter that relied on the token
                // has published its work before sysmon's next check.
                self.wake_sysmon_from(lists);
            }
            (!lists.pool.is_empty(), lists.stopping)
        });
        self.idle.word.fence_before_recheck();
        // A returning M needs no other thread.
        if (asleep && self.any_work()) || self.globq.has_returning() {
            self.wakep();
        }
        stopping
    }
}
