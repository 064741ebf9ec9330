//! The lock of everything that is held for some nanoseconds: channels, wait queues, timers, lists.
//!
//! One word, taken by a compare-and-swap and given back by a plain store. That store is the point: a lock whose
//! waiters sleep until they are woken has to look for them in the same step in which it is given back, which is a
//! second locked instruction, and those are dear beside the few others of a fast path (`ping_pong`:
//! 58 ns with a lock of that kind, 54 with this one). Nobody is woken here. Who finds the lock taken
//!
//! 1. stands back for a while and tries again, as Go's locks do: who has the lock is likely to want it again, and
//!    is many times faster as long as its cache lines stay where they are;
//! 2. gives its CPU away: the one with the lock has probably lost its own, perhaps to us;
//! 3. sleeps for a moment, longer each time, up to a millisecond.
//!
//! So no wake-up can be lost, and a holder that stands still costs its waiters that time and at
//! most a millisecond more. Nothing is woken or dropped under such a lock, and nothing called that
//! may wait (wakers are cloned, sysmon's alarm is set), so a holder stands still only if the OS
//! takes its CPU. Builds with debug assertions check it: see `held.rs`.
//!
//! The sleep is in a futex that nobody wakes: sysmon tells by it a thread that waits for a lock from one that
//! waits for the world ([`crate::sys::thread_state`]).
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store in [`RawLock::unlock`] | Acquire exchange in [`RawLock::try_lock`] | all that was done under the lock |

use super::Ordering::{Acquire, Relaxed, Release};
use super::{AtomicU32, held, nap, spin_loop};
use crate::tuning::{LOCK_NAP, LOCK_NAP_MAX, LOCK_PAUSES, LOCK_TRIES, LOCK_YIELDS};

pub(super) const FREE: u32 = 0;
pub(super) const TAKEN: u32 = 1;

std::thread_local! {
    /// Locks that this thread found taken.
    static CONTENDED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many [`RawLock`]s this thread found taken since it was last asked.
pub(crate) fn take_contended() -> u64 {
    CONTENDED.take()
}

/// A lock without data and without a guard: for who has to hold several at once. See the head of this file.
#[derive(Debug)]
pub struct RawLock(AtomicU32);

impl RawLock {
    /// A lock over a word that is [`FREE`]: loom's words cannot be made in a `const`, ours can.
    pub(super) const fn over(word: AtomicU32) -> Self {
        Self(word)
    }

    /// Locks, if nobody has it.
    #[inline]
    pub fn try_lock(&self) -> bool {
        let locked = self.0.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_ok(); // O1
        if locked {
            held::enter();
        }
        locked
    }

    /// Whether somebody has it just now.
    fn is_taken(&self) -> bool {
        self.0.load(Relaxed) == TAKEN // Relaxed: a hint
    }

    /// Locks.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow();
        }
    }

    #[cold]
    fn lock_slow(&self) {
        CONTENDED.set(CONTENDED.get() + 1);
        let mut yields = 0;
        let mut nap_time = LOCK_NAP;
        while !self.try_for_a_while() {
            if yields < LOCK_YIELDS {
                yields += 1;
                std::thread::yield_now();
            } else {
                nap::while_taken(&self.0, nap_time);
                nap_time = (2 * nap_time).min(LOCK_NAP_MAX);
            }
        }
    }

    fn try_for_a_while(&self) -> bool {
        (0..LOCK_TRIES).any(|_| {
            (0..LOCK_PAUSES).for_each(|_| spin_loop());
            // Reading first: a failed exchange takes the line away from who has the lock.
            !self.is_taken() && self.try_lock()
        })
    }

    /// Unlocks.
    ///
    /// # Safety
    ///
    /// This thread has locked it.
    #[inline]
    pub unsafe fn unlock(&self) {
        held::leave();
        self.0.store(FREE, Release); // O1
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "raw_lock_loom.rs"]
mod loom_models;

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn one_at_a_time() {
        let lock = RawLock::new();
        assert!(lock.try_lock());
        assert!(!lock.try_lock());
        // SAFETY: locked above.
        unsafe { lock.unlock() };
        assert!(lock.try_lock());
    }

    /// More threads than CPUs, and a holder that stands still: all come through every stage of waiting.
    #[test]
    fn waits_for_a_holder_that_sleeps() {
        let lock = Arc::new(super::super::Mutex::new(0));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let lock = lock.clone();
                std::thread::spawn(move || {
                    for n in 0..1000 {
                        let mut count = lock.lock();
                        let before = *count;
                        if n % 500 == 0 {
                            std::thread::sleep(Duration::from_millis(2));
                        }
                        *count = before + 1;
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(*lock.lock(), 8000);
    }

    /// Two that want it all the time find it taken sooner or later, and each counts for itself.
    #[test]
    fn contention_is_counted() {
        let lock = Arc::new(super::super::Mutex::new(()));
        let contend = |lock: Arc<super::super::Mutex<()>>| {
            while take_contended() == 0 {
                drop(lock.lock());
            }
        };
        let other = {
            let lock = lock.clone();
            std::thread::spawn(move || contend(lock))
        };
        let mut found_taken = 0;
        while !other.is_finished() {
            let guard = lock.lock();
            std::thread::yield_now();
            drop(guard);
            found_taken += take_contended();
        }
        other.join().unwrap();
        // Nobody else is left.
        drop(lock.lock());
        assert_eq!(take_contended(), 0, "after {found_taken}");
    }
}
