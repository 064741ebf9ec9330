//! Waking and starting threads (Go: `wakep` and `startm`).

use super::Sched;
use super::forked;
use super::idle::{Lists, Recheck, Spinning};
use super::join_threads;
use super::run::m_main;
use crate::limits::MANY_THREADS;
use crate::m::{Grant, MId};
use crate::observe::event::{self, Event};
use crate::prim::barrier;
use crate::prim::fixed::Mutex;
use crate::sysmon::sysmon_main;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// The number of sysmon among the threads: 0, because it starts first.
pub(crate) const SYSMON: MId = 0;

/// The result of starting an M.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    /// An M was woken or started, or no P is idle: then the Ms that run find the work.
    Enough,
    /// A P is idle, but no thread is available.
    Refused,
}

/// The threads of a runtime. They are joined at its end.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    handles: Mutex<HashMap<MId, thread::JoinHandle<()>>>,
    /// Whether a refused thread was reported.
    pub(super) refusal_reported: Mutex<bool>,
    /// Whether [`MANY_THREADS`] were reported.
    many_reported: Mutex<bool>,
}

impl Threads {
    /// Starts a thread and keeps its handle.
    ///
    /// The lock is held until the handle is in the map. So a thread that ends at once finds its
    /// handle there, and [`join_until`](Self::join_until) waits for the thread. No code of gmp runs
    /// in between.
    fn start(
        &self,
        id: MId,
        builder: thread::Builder,
        main: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let mut handles = self.handles.lock();
        handles.insert(id, builder.spawn(main)?);
        Ok(())
    }

    /// Forgets an M that exits by itself. No thread needs to join it.
    pub(super) fn forget(&self, id: MId) {
        let handle = self.handles.lock().remove(&id);
        drop(handle);
    }

    /// Waits for all threads except the calling one, at most until `deadline`. Returns the names of
    /// those that have not ended.
    pub(crate) fn join_until(&self, deadline: Option<Instant>) -> Vec<String> {
        let handles = std::mem::take(&mut *self.handles.lock()).into_values();
        let me = thread::current().id();
        let others = handles.filter(|handle| handle.thread().id() != me).collect();
        join_threads::join_until(others, deadline)
    }

    /// Returns the names of the threads that have not ended.
    pub(super) fn unfinished(&self) -> Vec<String> {
        let handles = self.handles.lock();
        let names = join_threads::unfinished(handles.values()).collect();
        drop(handles);
        names
    }
}

impl Sched {
    /// Wakes an M if a P is idle and no M spins. Called after work was published.
    pub(crate) fn wakep(self: &Arc<Self>) {
        if let Some(unit) = self.idle.word.wake_wanted() {
            let _ = self.start_spinning(unit);
        }
    }

    /// Gives an idle P to an M that then looks for work. If all Ps are busy, their Ms find the
    /// work.
    #[cold]
    pub(crate) fn start_spinning(self: &Arc<Self>, unit: Spinning) -> Started {
        if self.is_forked() {
            self.idle.word.unspin(Some(unit));
            return Started::Enough;
        }
        // Another M would only hand the P over to this one.
        let returning = self.globq.take_first_returning();
        let taken = self.idle.with(|lists| {
            if returning.is_some() {
                let p = self.idle.take_p(lists)?;
                lists.wakes += 1;
                return Some((p, returning.clone(), None));
            }
            let (p, m) = self.idle.take_p_and_m(lists)?;
            lists.wakes += u64::from(m.is_some());
            let new =
                if m.is_none() { reserve_thread(lists, self.config.thread_limit) } else { None };
            Some((p, m, new))
        });
        let Some((p, m, new)) = taken else {
            // Before the fence in `found`.
            if let Some(m) = returning {
                self.globq.put_back(m);
            }
            // All Ps are taken by now. A submitter may have relied on the spinning token meanwhile.
            if self.idle.word.found(unit) == Recheck::AsLast && self.any_work() {
                self.wakep();
            }
            return Started::Enough;
        };
        let grant = Grant { p, unit };
        let (grant, why) = match (m, new) {
            (Some(m), _) => {
                m.grant(grant);
                // While the M wakes up, which takes longer. Otherwise the M does it before its
                // first poll.
                self.idle.rouse_sysmon();
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

    /// Starts sysmon and the first M, so that a runtime that cannot start a thread fails at once.
    pub(crate) fn start_first(self: &Arc<Self>) -> io::Result<()> {
        forked::watch()?;
        barrier::prepare();
        let unit = self.idle.word.spin_anyway();
        let first = self.idle.with(|lists| {
            let p = self.idle.take_p(lists)?;
            Some((p, reserve_thread(lists, self.config.thread_limit)?))
        });
        let Some((p, id)) = first else {
            let _ = self.idle.word.found(unit);
            return Err(io::Error::other("a runtime needs at least one thread"));
        };
        self.start_sysmon()?;
        self.start_thread(id, Grant { p, unit }).map_err(|(grant, error)| {
            self.take_back(grant);
            // No M is left to stop sysmon.
            self.stop();
            error
        })
    }

    fn start_sysmon(self: &Arc<Self>) -> io::Result<()> {
        let sched = self.clone();
        let builder = thread::Builder::new().name(format!("{}-sysmon", self.config.name));
        self.threads.start(SYSMON, builder, move || sysmon_main(sched))
    }

    /// Starts a thread that [`reserve_thread`] has counted. Returns the grant if the OS refuses.
    fn start_thread(
        self: &Arc<Self>,
        id: MId,
        grant: Grant<Spinning>,
    ) -> Result<(), (Grant<Spinning>, io::Error)> {
        let mut builder = thread::Builder::new().name(format!("{}-m{id}", self.config.name));
        if let Some(bytes) = self.config.stack_size {
            builder = builder.stack_size(bytes);
        }
        // The grant is in a shared slot, so that it comes back if the OS refuses the thread.
        let slot = Arc::new(Mutex::new(Some(grant)));
        let (sched, for_thread) = (self.clone(), slot.clone());
        let started = self.threads.start(id, builder, move || {
            let grant = for_thread.lock().take();
            drop(for_thread);
            if let Some(grant) = grant {
                m_main(sched, id, grant);
            }
        });
        if started.is_ok() {
            self.idle.with(|lists| lists.wakes += 1);
        }
        started.map_err(|error| {
            let grant = slot.lock().take();
            self.uncount_thread();
            (grant.expect("no thread has taken it"), error)
        })
    }

    /// Takes back the count of a thread that the OS refused. If that was the last thread of a
    /// runtime that stops, wakes everything that waits for the end. The caller holds no lock.
    fn uncount_thread(&self) {
        let over = self.idle.with(|lists| {
            lists.threads -= 1;
            lists.is_over()
        });
        if over {
            self.tell_gone();
        }
    }

    /// Gives the grant, for which there is no thread, to an M that waits for a P in its poll. If
    /// there is none, takes it back: the other Ms continue, and the next push tries again.
    fn refuse(self: &Arc<Self>, grant: Grant<Spinning>, why: &str) {
        if let Some(m) = self.globq.take_any_returning() {
            m.grant(grant);
            self.idle.rouse_sysmon();
        } else if self.take_back(grant) {
            return;
        }
        if is_first(&self.threads.refusal_reported) {
            event::emit(Event::ThreadRefused { cause: why.to_owned() });
        }
    }

    /// Reports once that the runtime has more than [`MANY_THREADS`].
    fn report_many_threads(&self) {
        let threads = self.idle.with(|lists| lists.threads);
        if threads > MANY_THREADS && is_first(&self.threads.many_reported) {
            event::emit(Event::ManyThreads { threads });
        }
    }

    /// Puts the P of an unused grant back on the idle list. Returns `true` if the runtime stops,
    /// which is then the cause. An M may have gone to sleep meanwhile, relying on the grant's
    /// spinning token.
    fn take_back(self: &Arc<Self>, grant: Grant<Spinning>) -> bool {
        let (asleep, stopping) = self.idle.with(|lists| {
            self.idle.put_p(lists, grant.p, None, Some(grant.unit));
            (!lists.pool.is_empty(), lists.stopping)
        });
        self.idle.word.parked();
        // A returning M needs no other thread.
        if (asleep && self.any_work()) || self.globq.has_returning() {
            self.wakep();
        }
        stopping
    }

    pub(super) fn forget_thread(&self, id: MId) {
        self.threads.forget(id);
    }
}

/// Sets `reported`. Returns whether it was not set. No thread waits for the report of another one.
fn is_first(reported: &Mutex<bool>) -> bool {
    !std::mem::replace(&mut *reported.lock(), true)
}

/// Counts a thread before it exists, so that two threads cannot pass the limit together.
fn reserve_thread(lists: &mut Lists, max: usize) -> Option<MId> {
    if lists.threads >= max || lists.stopping {
        return None;
    }
    lists.threads += 1;
    let id = lists.next_m;
    lists.next_m += 1;
    Some(id)
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "wake_tests.rs"]
mod tests;
