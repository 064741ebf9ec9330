//! The machine (M): a worker thread of a runtime, as other threads see it.
//!
//! An M needs a P to run goroutines. Without work it is in the pool and sleeps on its [`Note`]. A
//! thread that has a P for it passes the P in a [`Grant`] and wakes it. A wake-up without a grant
//! makes the M check timers, the netpoller, its keep-alive time and the shutdown again. The state
//! that only the thread itself uses (its current goroutine, its P) is in `sched/local.rs`.

pub(crate) mod idle_word;
pub(crate) mod note;

#[cfg(all(test, gmp_loom))]
pub(crate) mod loom;

use self::idle_word::Spinning;
use self::note::Note;
use crate::p::OwnedP;
use crate::prim::Mutex;
use crate::prim::Ordering::Relaxed;
use crate::prim::fixed::AtomicUsize;
use crate::sys::thread_state;

/// The number of an M in its runtime.
pub(crate) type MId = usize;

/// The number of sysmon among the threads: 0, because it starts first.
pub(crate) const SYSMON: MId = 0;

/// A P for an M that is woken, and the spinning token with which it looks for work.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) p: OwnedP,
    pub(crate) token: Spinning,
}

/// A worker thread of a runtime.
#[derive(Debug)]
pub(crate) struct M {
    pub(crate) id: MId,
    pub(crate) note: Note,
    /// The OS's id of the thread, for sysmon.
    pub(crate) thread: u32,
    grant: Mutex<Option<Grant>>,
    /// The place in the pool, or [`NOT_IN_POOL`]. Used under the lock of the idle lists.
    pool_place: AtomicUsize,
}

/// The place of an M that is not in the pool.
const NOT_IN_POOL: usize = usize::MAX;

impl M {
    /// Makes the M of the calling thread.
    pub(crate) fn for_this_thread(id: MId) -> Self {
        let thread = thread_state::this_thread();
        let (grant, pool_place) = (Mutex::new(None), AtomicUsize::new(NOT_IN_POOL));
        Self { id, note: Note::for_this_thread(), thread, grant, pool_place }
    }

    /// Returns the place in the pool of sleeping Ms, if the M is there.
    pub(crate) fn pool_place(&self) -> Option<usize> {
        // Relaxed: under the lock of the idle lists.
        Some(self.pool_place.load(Relaxed)).filter(|place| *place != NOT_IN_POOL)
    }

    /// Changes the place in the pool.
    pub(crate) fn set_pool_place(&self, place: Option<usize>) {
        // Relaxed: under the lock of the idle lists.
        self.pool_place.store(place.unwrap_or(NOT_IN_POOL), Relaxed);
    }

    /// Passes a P to the M and wakes its thread. Only for an M that was just taken out of the pool.
    pub(crate) fn grant(&self, grant: Grant) {
        let before = self.grant.lock().replace(grant);
        debug_assert!(before.is_none(), "two grants for one M");
        self.note.wake();
    }

    /// Takes the P that was passed to this M, if any.
    pub(crate) fn take_grant(&self) -> Option<Grant> {
        self.grant.lock().take()
    }
}
