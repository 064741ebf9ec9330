//! The timers of a P: a [`Wheel`] behind a lock, and its next moment where all can read it.
//!
//! A timer belongs to the P on which it was set. That P runs it when it is due; so does a thief
//! that finds nothing else to do, and whoever sleeps until the next timer of all Ps. Cancelling
//! takes the same, almost always uncontended, lock and leaves nothing behind that is ever looked at.
//!
//! A sleep that is over needs neither the lock nor the clock to know it: `past` says up to when all have been fired.
//! (Two threads that wake 200k sleepers spent 8 % of their time waiting for such locks, and as much asking the clock.)
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | SeqCst store of `next` in [`Timers::publish`], then the lock of the idle lists in `Sched::tend` | the same lock as an M enters the pool, then load in [`Timers::next_when`] | that there is an earlier timer: either the M sees it, or the caller sees the M |

pub(crate) mod wheel;

use self::wheel::{Key, Wheel};
use crate::g::stored::StoredWaker;
use crate::prim::Ordering::{Relaxed, SeqCst};
use crate::prim::{AtomicU64, AtomicUsize, Mutex};
use crate::tuning::FETCH_AHEAD;
use crate::util::clock;
use crate::util::prefetch::prefetch;
use std::task::Waker;

/// How many wakers are taken out under the lock before they are called without it.
const FIRE_BATCH: usize = 64;

/// Whether a new timer is the first to come.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Earliest {
    /// It is: somebody may sleep too long.
    Yes,
    /// Another is due before.
    No,
}

/// The timers of one P. See the [module](self).
#[derive(Debug)]
pub(crate) struct Timers {
    /// The number of the runtime they belong to.
    pub(crate) runtime: u16,
    /// No timer is due before; `u64::MAX` if there is none. Written under the lock.
    next: AtomicU64,
    /// Every timer at this moment or before is out of the wheel. Written under the lock.
    past: AtomicU64,
    /// How many are pending, for statistics. Written under the lock.
    len: AtomicUsize,
    wheel: Mutex<Wheel>,
}

impl Timers {
    /// No timers.
    pub(crate) fn new(runtime: u16) -> Self {
        Self {
            runtime,
            next: AtomicU64::new(u64::MAX),
            past: AtomicU64::new(0),
            len: AtomicUsize::new(0),
            wheel: Mutex::new(Wheel::new()),
        }
    }

    /// A moment before which none is due; `u64::MAX` if there is none.
    #[inline]
    pub(crate) fn next_when(&self) -> u64 {
        self.next.load(Relaxed) // O1: the lock is the caller's
    }

    /// Whether a timer that was set here for `when` is known to have fired, or to be about to: it is not in the wheel, and
    /// its moment has come. `false` says nothing.
    #[inline]
    pub(crate) fn is_past(&self, when: u64) -> bool {
        // Relaxed: true of a moment after the timer was set, or `forget_past` would have put it right; and nothing else
        // is read because of it.
        self.past.load(Relaxed) >= when
    }

    /// A timer at `when` is in the wheel. Under the lock.
    fn forget_past(&self, when: u64) {
        if self.is_past(when) {
            self.past.store(when.saturating_sub(1), Relaxed); // Relaxed: see `is_past`
        }
    }

    /// How many are pending.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed) // Relaxed: a statistic
    }

    fn publish(&self, wheel: &Wheel) -> Earliest {
        let next = wheel.next_when();
        let before = self.next.load(Relaxed); // Relaxed: written under the lock we hold
        if next != before {
            self.next.store(next, SeqCst); // O1
        }
        self.len.store(wheel.len(), Relaxed); // Relaxed: a statistic
        if next < before { Earliest::Yes } else { Earliest::No }
    }

    /// Sets a timer that wakes `waker` at `when`.
    pub(crate) fn insert(&self, now: u64, when: u64, waker: &Waker) -> (Key, Earliest) {
        let waker = waker.clone().into();
        let mut wheel = self.wheel.lock();
        let key = wheel.insert(now, when, waker);
        self.forget_past(when);
        (key, self.publish(&wheel))
    }

    /// Moves a pending timer; `None` if it has fired.
    pub(crate) fn reset(&self, key: Key, when: u64) -> Option<Earliest> {
        let mut wheel = self.wheel.lock();
        wheel.reset(key, when).then(|| {
            self.forget_past(when);
            self.publish(&wheel)
        })
    }

    /// Gives a pending timer another waker; `false` if it has fired.
    pub(crate) fn set_waker(&self, key: Key, waker: &Waker) -> bool {
        match self.wheel.lock().wakes(key, waker) {
            None => return false,
            Some(true) => return true,
            Some(false) => {}
        }
        // Cloned before and dropped after the lock: a foreign waker may run any code.
        let waker = waker.clone().into();
        let old = self.wheel.lock().replace_waker(key, waker);
        old.is_ok()
    }

    /// Cancels a timer; `false` if it has fired.
    pub(crate) fn remove(&self, key: Key) -> bool {
        let mut wheel = self.wheel.lock();
        let waker = wheel.remove(key);
        // The bound may now be too early; it is put right when it is reached, not here: an M
        // may wake once for nothing, and cancelling stays cheap.
        self.len.store(wheel.len(), Relaxed); // Relaxed: a statistic
        drop(wheel);
        waker.is_some()
    }

    /// Wakes everything due at `now`, a moment that has come; returns how many.
    pub(crate) fn fire(&self, now: u64) -> usize {
        self.wake_until(now, || self.past.store(now, Relaxed)) // Relaxed: see `is_past`
    }

    /// Nobody will look at these any more: wakes everything, though its moment has not come.
    pub(crate) fn end(&self) {
        self.wake_until(clock::FOREVER - 1, || {});
    }

    /// Wakes everything up to `until`, and calls `all_out` under the lock when it is out of the wheel.
    fn wake_until(&self, until: u64, all_out: impl Fn()) -> usize {
        let mut fired = 0;
        let mut due = Vec::new();
        while self.next_when() <= until {
            let mut wheel = self.wheel.lock();
            wheel.expire(until, &mut due, FIRE_BATCH);
            if wheel.next_when() > until {
                all_out();
            }
            let _ = self.publish(&wheel);
            drop(wheel);
            fired += due.len();
            // Without the lock: a waker may set timers.
            wake_fetched(&mut due);
        }
        fired
    }
}

/// Wakes all, and fetches each goroutine a few before it is its turn: after a long sleep none is in a cache.
fn wake_fetched(wakers: &mut Vec<StoredWaker>) {
    let mut wakers = wakers.drain(..);
    while let Some(waker) = wakers.next() {
        if let Some(later) = wakers.as_slice().get(FETCH_AHEAD) {
            prefetch(later.data());
        }
        waker.wake();
    }
}

#[cfg(all(test, gmp_loom))]
mod loom;

#[cfg(all(test, not(gmp_loom)))]
mod tests;
