//! Waking and starting threads: Go's `wakep` and `startm`.

use super::Sched;
use super::idle::{Lists, Recheck, Spinning};
use super::run::m_main;
use super::sysmon::sysmon_main;
use crate::m::{Grant, MId};
use crate::prim::fixed::Mutex;
use crate::throw::say;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Once};
use std::thread;

/// The number of sysmon among the threads: the first, since it starts first.
pub(super) const SYSMON: MId = 0;

/// What came of starting an M.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    /// It was started, or there is no idle P: then those who run come to the work.
    Enough,
    /// There is a P, but no thread to be had.
    Refused,
}

/// The threads of a runtime, to be joined at its end.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    handles: Mutex<HashMap<MId, thread::JoinHandle<()>>>,
    /// Done once a refused thread is reported.
    pub(super) failure_reported: ReportOnce,
}

#[derive(Debug)]
pub(super) struct ReportOnce(pub(super) Once);

impl Default for ReportOnce {
    fn default() -> Self {
        Self(Once::new())
    }
}

impl Threads {
    /// Starts a thread and keeps its handle.
    ///
    /// The lock is held until the handle is in the map, so that a thread that ends at once finds
    /// it there, and [`join`](Self::join) waits for it. The OS runs nothing of ours in between.
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

    /// An M exits by itself: nobody needs to join it.
    pub(super) fn forget(&self, id: MId) {
        let handle = self.handles.lock().remove(&id);
        drop(handle);
    }

    /// Waits for the threads, but for the one that asks.
    pub(super) fn join(&self) {
        let handles = std::mem::take(&mut *self.handles.lock());
        for (_, handle) in handles {
            if handle.thread().id() != thread::current().id() {
                // A panic of a thread is a throw, which aborts: there is no error to report.
                let _ = handle.join();
            }
        }
    }
}

impl Sched {
    /// To be called after work was published: wakes an M if there is an idle P and nobody is
    /// looking for work already.
    pub(crate) fn wakep(self: &Arc<Self>) {
        if let Some(unit) = self.idle.word.wake_wanted() {
            let _ = self.start_spinning(unit);
        }
    }

    /// Gives an idle P to an M that will look for work, if there is one to be had; if all Ps are
    /// busy, their Ms will come to it.
    #[cold]
    pub(crate) fn start_spinning(self: &Arc<Self>, unit: Spinning) -> Started {
        let taken = self.idle.with(|lists| {
            let p = self.idle.take_p(lists)?;
            let m = lists.take_m(p.own().last_m.get());
            let new =
                if m.is_none() { reserve_thread(lists, self.config.max_threads) } else { None };
            Some((p, m, new))
        });
        let Some((p, m, new)) = taken else {
            // All Ps are taken by now. Others may have relied on our unit meanwhile.
            if self.idle.word.found(unit) == Recheck::AsLast && self.any_work() {
                self.wakep();
            }
            return Started::Enough;
        };
        let grant = Grant { p, unit };
        let (grant, why) = match (m, new) {
            (Some(m), _) => {
                m.grant(grant);
                // While it wakes up, which takes longer; else it would do this before its first poll.
                self.idle.rouse_sysmon();
                return Started::Enough;
            }
            (None, Some(id)) => match self.start_thread(id, grant) {
                Ok(()) => return Started::Enough,
                Err((grant, error)) => (grant, error.to_string()),
            },
            (None, None) => {
                let why = format!("the limit of {} threads is reached", self.config.max_threads);
                (grant, why)
            }
        };
        self.refuse(grant, &why);
        Started::Refused
    }

    /// Starts the first thread, so that a runtime that cannot have any is an error at once.
    pub(crate) fn start_first(self: &Arc<Self>) -> io::Result<()> {
        let unit = self.idle.word.spin_anyway();
        let first = self.idle.with(|lists| {
            let p = self.idle.take_p(lists)?;
            Some((p, reserve_thread(lists, self.config.max_threads)?))
        });
        let Some((p, id)) = first else {
            let _ = self.idle.word.found(unit);
            return Err(io::Error::other("a runtime needs at least one thread"));
        };
        self.start_sysmon()?;
        self.start_thread(id, Grant { p, unit }).map_err(|(grant, error)| {
            self.take_back(grant);
            // Nobody is left to stop it.
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
        // The grant travels in a shared slot, to come back if the OS refuses the thread.
        let slot = Arc::new(Mutex::new(Some(grant)));
        let (sched, for_thread) = (self.clone(), slot.clone());
        let started = self.threads.start(id, builder, move || {
            let grant = for_thread.lock().take();
            drop(for_thread);
            if let Some(grant) = grant {
                m_main(sched, id, grant);
            }
        });
        started.map_err(|error| {
            let grant = slot.lock().take();
            self.uncount_thread();
            (grant.expect("no thread has taken it"), error)
        })
    }

    /// Takes back the count of a thread that the OS refused. If that was the last thread of a
    /// runtime that stops, wakes all that still waits for it: the caller holds no lock.
    fn uncount_thread(&self) {
        let over = self.idle.with(|lists| {
            lists.threads -= 1;
            lists.is_over()
        });
        if over {
            self.tell_gone();
        }
    }

    /// No thread for this P: the others go on, and the next push tries again.
    fn refuse(self: &Arc<Self>, grant: Grant<Spinning>, why: &str) {
        if self.take_back(grant) {
            return;
        }
        self.threads.failure_reported.0.call_once(|| {
            say!("gmp: cannot start another thread ({why}); going on with those there are");
        });
    }

    /// Puts the P of a grant that nobody took on the idle list again; `true` if the runtime ends,
    /// which is why. An M may have fallen asleep meanwhile, relying on the grant's unit.
    fn take_back(self: &Arc<Self>, grant: Grant<Spinning>) -> bool {
        let (asleep, stopping) = self.idle.with(|lists| {
            self.idle.put_p(lists, grant.p, Some(grant.unit));
            (!lists.pool.is_empty(), lists.stopping)
        });
        self.idle.word.parked();
        if asleep && self.any_work() {
            self.wakep();
        }
        stopping
    }

    pub(super) fn forget_thread(&self, id: MId) {
        self.threads.forget(id);
    }

    pub(super) fn join_threads(&self) {
        self.threads.join();
    }
}

/// Counts a thread before it exists, so that two cannot pass the limit together.
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
