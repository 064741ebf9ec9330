//! The timers of a P: a [`Wheel`] behind a lock, and its next deadline in an atomic that all
//! threads read.
//!
//! A timer belongs to the P on which it was set. In its services a P fires its own due timers and
//! those of other Ps: of all, or of some in turn if there are many Ps. An idle M sleeps until the
//! next timer of all Ps. Sysmon fires late timers if no M is available. Cancelling takes the same
//! lock, which is almost always uncontended, and removes the timer from the wheel.
//!
//! When the runtime of the P has ended, no thread fires these timers. The end wakes all pending
//! ones early, and later insertions are refused. The caller then sets its timer on another runtime.
//!
//! A sleep that is over needs neither the lock nor the clock to know it: `past` is the time up to
//! which all timers have been fired.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | SeqCst store of `next` in [`Timers::publish`] | load in `next_when` | the deadline |
//!
//! O1 relies on the lock of the idle lists. `Sched::ensure_timer_sleeper` takes it after the store.
//! An M takes it to enter the pool, and loads after that. So either the M sees the earlier timer,
//! or the thread that set the timer sees the M in the pool.

mod entries;
pub(crate) mod wheel;

use self::wheel::{Key, Wheel};
use crate::g::stored::{StorableWaker, StoredWaker};
use crate::prim::Ordering::{Relaxed, SeqCst};
use crate::prim::{AtomicBool, AtomicU64, AtomicUsize, Mutex, fixed};
use crate::tuning::FETCH_AHEAD;
use crate::util::clock;
use crate::util::duration_tally::{DurationTally, Durations};
use crate::util::prefetch::prefetch;
use std::task::Waker;

/// Maximum number of wakers taken out under the lock before they are called without it.
const FIRE_BATCH: usize = 64;

/// Whether a new timer is the earliest one.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Earliest {
    /// It is: a thread that sleeps until the next timer may wake too late.
    Yes,
    /// Another timer is due before.
    No,
}

/// The timers of one P. See the [module](self).
#[derive(Debug)]
pub(crate) struct Timers {
    /// The number of the runtime that the timers belong to.
    pub(crate) runtime: u16,
    /// No timer is due before this time; `u64::MAX` if there is none. Written under the lock.
    next: AtomicU64,
    /// Every timer with this deadline or an earlier one is out of the wheel. Written under the
    /// lock.
    past: AtomicU64,
    /// The number of pending timers, for statistics. Written under the lock.
    len: AtomicUsize,
    /// The number of timers that [`fire`](Self::fire) has woken, for statistics. Written under the
    /// lock.
    fired: fixed::AtomicU64,
    /// The lateness of the earliest timer of each batch that `fire` has woken. Written under the
    /// lock.
    lateness: DurationTally,
    /// Whether the runtime has ended. Read and written under the lock.
    ended: AtomicBool,
    wheel: Mutex<Wheel>,
}

impl Timers {
    /// Makes an empty set of timers.
    pub(crate) fn new(runtime: u16) -> Self {
        Self {
            runtime,
            next: AtomicU64::new(u64::MAX),
            past: AtomicU64::new(0),
            len: AtomicUsize::new(0),
            fired: fixed::AtomicU64::new(0),
            lateness: DurationTally::default(),
            ended: AtomicBool::new(false),
            wheel: Mutex::new(Wheel::new()),
        }
    }

    /// Returns a time before which no timer is due; `u64::MAX` if there is none.
    #[inline]
    pub(crate) fn next_when(&self) -> u64 {
        self.next.load(Relaxed) // O1: the lock is the caller's
    }

    /// Whether a timer that was set here for `when` is known to have fired, or to be about to: its
    /// deadline has passed and it is not in the wheel. `false` means unknown.
    #[inline]
    pub(crate) fn is_past(&self, when: u64) -> bool {
        // Relaxed: the value is one from after the timer was set, because `forget_past` would have
        // corrected an older one. No other memory depends on it.
        self.past.load(Relaxed) >= when
    }

    /// Corrects `past` after a timer at `when` was put into the wheel. Under the lock.
    fn forget_past(&self, when: u64) {
        if self.is_past(when) {
            self.past.store(when.saturating_sub(1), Relaxed); // Relaxed: see `is_past`
        }
    }

    /// Returns the number of pending timers.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed) // Relaxed: a statistic
    }

    /// Returns the number of timers that have fired, on any thread.
    pub(crate) fn fired(&self) -> u64 {
        self.fired.load(Relaxed) // Relaxed: a statistic
    }

    /// Returns how late the earliest timer of each batch fired.
    pub(crate) fn lateness(&self) -> Durations {
        self.lateness.get()
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

    /// Sets a timer that wakes `waker` at `when`, or earlier if the runtime ends before. Returns
    /// `None` if the runtime has ended: no thread would fire the timer.
    pub(crate) fn insert(&self, now: u64, when: u64, waker: &Waker) -> Option<(Key, Earliest)> {
        // Cloned before and dropped after the lock: a foreign waker may run any code.
        let waker = StorableWaker::new(waker).store();
        let mut wheel = self.wheel.lock();
        // Relaxed: written under the lock we hold.
        if self.ended.load(Relaxed) {
            drop(wheel);
            return None;
        }
        let key = wheel.insert(now, when, waker);
        self.forget_past(when);
        Some((key, self.publish(&wheel)))
    }

    /// Moves a pending timer. Returns `None` if it has fired.
    pub(crate) fn reset(&self, key: Key, when: u64) -> Option<Earliest> {
        let mut wheel = self.wheel.lock();
        wheel.reset(key, when).then(|| {
            self.forget_past(when);
            self.publish(&wheel)
        })
    }

    /// Gives a pending timer another waker. Returns `false` if it has fired.
    pub(crate) fn set_waker(&self, key: Key, waker: &Waker) -> bool {
        match self.wheel.lock().wakes(key, waker) {
            None => return false,
            Some(true) => return true,
            Some(false) => {}
        }
        // Cloned before and dropped after the lock: a foreign waker may run any code.
        let waker = StorableWaker::new(waker).store();
        let old = self.wheel.lock().replace_waker(key, waker);
        old.is_ok()
    }

    /// Cancels a timer. Returns `false` if it has fired.
    pub(crate) fn remove(&self, key: Key) -> bool {
        let mut wheel = self.wheel.lock();
        let waker = wheel.remove(key);
        // `next` may now be too early. It is corrected when that time is reached, not here. So an M
        // may wake once without need, and cancelling stays cheap.
        self.len.store(wheel.len(), Relaxed); // Relaxed: a statistic
        drop(wheel);
        waker.is_some()
    }

    /// Wakes all timers due at `now`, a time that has passed. Returns their number.
    pub(crate) fn fire(&self, now: u64) -> usize {
        let count = |due: usize, first: u64| {
            // Relaxed: a statistic, written under the lock.
            self.fired.store(self.fired.load(Relaxed) + due as u64, Relaxed);
            self.lateness.record(now.saturating_sub(first));
        };
        self.wake_until(now, count, || self.past.store(now, Relaxed)) // Relaxed: see `is_past`
    }

    /// Whether the timer `key` is pending.
    pub(crate) fn contains(&self, key: Key) -> bool {
        self.wheel.lock().contains(key)
    }

    /// Wakes all timers, also those that are not due, and refuses new ones: the runtime has ended.
    pub(crate) fn end(&self) {
        let wheel = self.wheel.lock();
        self.ended.store(true, Relaxed); // Relaxed: under the lock
        drop(wheel);
        self.wake_until(clock::FOREVER - 1, |_, _| {}, || {});
    }

    /// Wakes all timers up to `until`. Under the lock it calls `count` with the number of each
    /// batch and its earliest deadline, and `all_out` when all are out of the wheel.
    fn wake_until(&self, until: u64, count: impl Fn(usize, u64), all_out: impl Fn()) -> usize {
        let mut fired = 0;
        let mut due = Vec::new();
        while self.next_when() <= until {
            let mut wheel = self.wheel.lock();
            if let Some(first) = wheel.expire(until, &mut due, FIRE_BATCH) {
                count(due.len(), first);
            }
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

/// Wakes all. Prefetches each goroutine a few wake-ups ahead: after a long sleep none is in a
/// cache.
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
