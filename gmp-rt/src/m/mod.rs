//! The machine: an OS thread of a runtime, as the others see it.
//!
//! An M needs a P to run goroutines. Without work it lies in the pool and sleeps on its
//! [`Note`]; whoever wakes it puts a [`Grant`] in its hands first. What only the thread itself
//! knows (its current goroutine, its P) is in `sched/current.rs`.

pub(crate) mod note;

#[cfg(all(test, gmp_loom))]
pub(crate) mod loom;

use self::note::Note;
use crate::p::OwnedP;
use crate::prim::Mutex;
use crate::sys::thread_state;

/// The number of an M in its runtime.
pub(crate) type MId = usize;

/// A P, handed to an M as it is woken, and the spinning unit `S` it looks for work with.
#[derive(Debug)]
pub(crate) struct Grant<S> {
    pub(crate) p: OwnedP,
    pub(crate) unit: S,
}

/// A thread of a runtime.
#[derive(Debug)]
pub(crate) struct M<S> {
    pub(crate) id: MId,
    pub(crate) note: Note,
    /// Its number with the OS, for sysmon to look at it.
    pub(crate) thread: u32,
    grant: Mutex<Option<Grant<S>>>,
}

impl<S> M<S> {
    /// Makes the M of the calling thread.
    pub(crate) fn for_this_thread(id: MId) -> Self {
        let thread = thread_state::this_thread();
        Self { id, note: Note::for_this_thread(), thread, grant: Mutex::new(None) }
    }

    /// Hands over a P and wakes the thread. Only for an M just taken out of the pool.
    pub(crate) fn grant(&self, grant: Grant<S>) {
        let before = self.grant.lock().replace(grant);
        debug_assert!(before.is_none(), "two grants for one M");
        self.note.wake();
    }

    /// What was handed over, if anything.
    pub(crate) fn take_grant(&self) -> Option<Grant<S>> {
        self.grant.lock().take()
    }
}
