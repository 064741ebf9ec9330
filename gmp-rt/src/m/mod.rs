//! The machine (M): a worker thread of a runtime, as other threads see it.
//!
//! An M needs a P to run goroutines. Without work it is in the pool and sleeps on its [`Note`]. A
//! thread that has a P for it passes the P in a [`Grant`] and wakes it. A wake-up without a grant
//! makes the M check timers, the netpoller, its keep-alive time and the shutdown again. The state
//! that only the thread itself uses (its current goroutine, its P) is in `sched/current.rs`.

pub(crate) mod note;

#[cfg(all(test, gmp_loom))]
pub(crate) mod loom;

use self::note::Note;
use crate::p::OwnedP;
use crate::prim::Mutex;
use crate::sys::thread_state;

/// The number of an M in its runtime.
pub(crate) type MId = usize;

/// A P for an M that is woken, and the spinning token `S` with which it looks for work.
#[derive(Debug)]
pub(crate) struct Grant<S> {
    pub(crate) p: OwnedP,
    pub(crate) unit: S,
}

/// A worker thread of a runtime.
#[derive(Debug)]
pub(crate) struct M<S> {
    pub(crate) id: MId,
    pub(crate) note: Note,
    /// The OS's id of the thread, for sysmon.
    pub(crate) thread: u32,
    grant: Mutex<Option<Grant<S>>>,
}

impl<S> M<S> {
    /// Makes the M of the calling thread.
    pub(crate) fn for_this_thread(id: MId) -> Self {
        let thread = thread_state::this_thread();
        Self { id, note: Note::for_this_thread(), thread, grant: Mutex::new(None) }
    }

    /// Passes a P to the M and wakes its thread. Only for an M that was just taken out of the pool.
    pub(crate) fn grant(&self, grant: Grant<S>) {
        let before = self.grant.lock().replace(grant);
        debug_assert!(before.is_none(), "two grants for one M");
        self.note.wake();
    }

    /// Takes the P that was passed to this M, if any.
    pub(crate) fn take_grant(&self) -> Option<Grant<S>> {
        self.grant.lock().take()
    }
}
