//! Waking a thread for a P (Go: `wakep` and `startm`).

use super::Sched;
use crate::m::Grant;
use crate::m::idle_word::{Recheck, Spinning};
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
        let taken = self.idle.with(|lists| {
            if returning.is_some() {
                let p = self.idle.take_p(lists)?;
                lists.threads.wakes += 1;
                return Some((p, returning.clone(), None));
            }
            let (p, m) = self.idle.take_p_and_m(lists)?;
            lists.threads.wakes += u64::from(m.is_some());
            let new =
                if m.is_none() { lists.reserve_thread(self.config.thread_limit) } else { None };
            Some((p, m, new))
        });
        let Some((p, m, new)) = taken else {
            // Before the fence in `stop_spinning`.
            if let Some(m) = returning {
                self.globq.put_back(m);
            }
            // All Ps are taken by now. A submitter may have relied on the spinning token meanwhile.
            if self.idle.word.stop_spinning(token) == Recheck::AsLast && self.any_work() {
                self.wakep();
            }
            return Started::Enough;
        };
        let grant = Grant { p, token };
        let (grant, why) = match (m, new) {
            (Some(m), _) => {
                m.grant(grant);
                // While the M wakes up, which takes longer. Otherwise the M does it before its
                // first poll.
                self.schedule_sysmon_wake();
                return Started::Enough;
            }
            (None, Some(id)) => match self.start_thread(id, grant) {
                Ok(()) => {
                    self.report_many_threads();
                    return Started::Enough;
                }
                Err((grant, error)) => (grant, error.to_string()),
            },
            (None, None) => {
                let why = format!("the limit of {} threads is reached", self.config.thread_limit);
                (grant, why)
            }
        };
        self.refuse(grant, &why);
        Started::Refused
    }

    /// Gives the grant, for which there is no thread, to an M that waits for a P in its poll. If
    /// there is none, takes it back: the other Ms continue, and the next push tries again.
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
    /// spinning token.
    pub(crate) fn take_back(self: &Arc<Self>, grant: Grant) -> bool {
        let (asleep, stopping) = self.idle.with(|lists| {
            self.idle.put_p(lists, grant.p, None, Some(grant.token));
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
