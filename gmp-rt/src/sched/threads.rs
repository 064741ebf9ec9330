//! The threads of a runtime: their number, their start and their end.

use super::Sched;
use super::forked;
use super::guest::in_context;
use super::idle::IdleLists;
use super::join_threads;
use super::run::m_main;
use crate::limits::MANY_THREADS;
use crate::m::{Grant, MId, SYSMON};
use crate::observe::event::{self, Event};
use crate::prim::barrier;
use crate::prim::fixed::Mutex;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// The threads of a runtime. They are joined at its end.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    pub(crate) handles: Mutex<HashMap<MId, thread::JoinHandle<()>>>,
    /// Whether a refused thread was reported.
    pub(crate) refusal_reported: Mutex<bool>,
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

    /// Whether no thread was refused before.
    pub(super) fn is_first_refusal(&self) -> bool {
        is_first(&self.refusal_reported)
    }
}

impl Sched {
    /// Starts sysmon and the first M, so that a runtime that cannot start a thread fails at once.
    ///
    /// `sysmon` is the main function of sysmon, which the scheduler does not know.
    pub(crate) fn start_first(self: &Arc<Self>, sysmon: fn(Arc<Self>)) -> io::Result<()> {
        forked::watch()?;
        barrier::prepare();
        let token = self.idle.word.spin_unconditionally();
        let first = self.idle.with(|lists| {
            let p = self.idle.take_p(lists)?;
            Some((p, lists.reserve_thread(self.config.thread_limit)?))
        });
        let Some((p, id)) = first else {
            let _ = self.idle.word.stop_spinning(token);
            return Err(io::Error::other("a runtime needs at least one thread"));
        };
        self.start_sysmon(sysmon)?;
        self.start_thread(id, Grant { p, token }).map_err(|(grant, error)| {
            self.take_back(grant);
            // No M is left to stop sysmon.
            self.stop();
            error
        })
    }

    fn start_sysmon(self: &Arc<Self>, main: fn(Arc<Self>)) -> io::Result<()> {
        let sched = self.clone();
        let builder = thread::Builder::new().name(format!("{}-sysmon", self.config.name));
        self.threads.start(SYSMON, builder, move || main(sched))
    }

    /// Starts a thread that [`reserve_thread`](super::idle::IdleLists::reserve_thread) has counted.
    /// Returns the grant if the OS refuses.
    pub(super) fn start_thread(
        self: &Arc<Self>,
        id: MId,
        grant: Grant,
    ) -> Result<(), (Grant, io::Error)> {
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
                let guest = sched.guest.get();
                in_context(guest.as_deref(), || m_main(sched, id, grant));
            }
        });
        if started.is_ok() {
            self.idle.with(IdleLists::note_started);
        }
        started.map_err(|error| {
            let grant = slot.lock().take();
            self.idle.with(IdleLists::note_refusal);
            self.uncount_thread();
            (grant.expect("no thread has taken it"), error)
        })
    }

    /// Takes back the count of a thread that the OS refused. If that was the last thread of a
    /// runtime that stops, wakes everything that waits for the end. The caller holds no lock.
    fn uncount_thread(&self) {
        let over = self.idle.with(|lists| {
            lists.threads.count -= 1;
            lists.is_over()
        });
        if over {
            self.tell_gone();
        }
    }

    /// Reports once that the runtime has more than [`MANY_THREADS`].
    pub(super) fn report_many_threads(&self) {
        let threads = self.idle.with(|lists| lists.threads.count);
        if threads > MANY_THREADS && is_first(&self.threads.many_reported) {
            event::emit(Event::ManyThreads { threads });
        }
    }
}

/// Sets `reported`. Returns whether it was not set. No thread waits for the report of another one.
fn is_first(reported: &Mutex<bool>) -> bool {
    !std::mem::replace(&mut *reported.lock(), true)
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "threads_tests.rs"]
mod tests;
