//! A lock for sections of some nanoseconds: channels, wait queues, timers, lists.
//!
//! It is one word of 32 bits, in two halves:
//!
//! | half | value | meaning |
//! |------|-------|---------|
//! | `state` | [`FREE`] | no thread holds the lock |
//! | | [`HELD`] | a thread holds it |
//! | `mark` | [`NO_SLEEPERS`] | no thread sleeps, or a thread is about to set the mark |
//! | | [`SLEEPERS`] | threads may sleep until the lock is unlocked |
//!
//! An uncontended [`RawLock::lock`] is one compare-and-swap. An uncontended [`RawLock::unlock`] is
//! one store and one load. A swap in place of the store is much slower. A thread that finds the
//! lock taken:
//!
//! 1. Spins: it makes [`LOCK_TRIES`] attempts with a [pause](lock_pause) after each (Go's
//!    `active_spin`). A holder that runs unlocks during this time.
//! 2. Sets the mark and sleeps on the word (`futex.rs`). A holder that has not unlocked yet is
//!    descheduled, perhaps because this thread has its CPU.
//! 3. Repeats this after each wake-up.
//!
//! # Wake-ups
//!
//! - *None is lost.* A waiter sets the mark and then compares the whole word in the futex call. An
//!   unlock frees the lock and then reads the mark. The barriers between the two steps (O2)
//!   guarantee one of two outcomes: the waiter sees the free lock and does not sleep, or the unlock
//!   sees the mark. The unlock that removes the mark wakes one thread after that.
//! - *None is forgotten.* An unlock removes the mark although further threads may sleep. So a woken
//!   thread sets the mark again when it has taken the lock, or before it sleeps again.
//! - *One at a time.* An unlock wakes one thread, and a later unlock wakes another one only if the
//!   woken thread, or a new waiter, has set the mark again.
//!
//! On Linux the barrier of the waiter is a system call, and that of the unlock is free
//! (`barrier.rs`). Where the kernel refuses the call, a sleep ends after `WAKE_LATENCY`, since its
//! wake-up may be lost. On other platforms both barriers are fences (`futex_queue.rs`).
//!
//! # What bounds a wait
//!
//! A thread waits for the rest of the holder's section, the latency of its wake-up, and the threads
//! that slept before it. A running thread may overtake a woken one. An unlock does not hand the
//! lock to the sleeper, because the lock would stay unused during the wake-up, which takes much
//! longer than a section. The number of overtakings has no fixed bound. Each one needs a thread
//! that holds the lock at all [`LOCK_TRIES`] attempts of the waiter, and the next unlock wakes a
//! waiter again. `gmp-bench --bin locks` measures the waits.
//!
//! A thread that holds such a lock wakes and drops nothing, and makes no call that may wait. It may
//! clone wakers and set sysmon's timer. So a holder stops only if the OS deschedules it. Builds
//! with debug assertions check this rule, and no thread is paused while it holds a lock
//! (`held.rs`). So the word need not name its holder.
//!
//! # Invariants
//!
//! - I1: the lock outlives `unlock`, which reads the mark after another thread may have locked. The
//!   caller's reference to the lock guarantees it. Memory that the next holder may free needs a
//!   reference count.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store in `unlock` | Acquire exchange in `try_lock` | all writes under the lock |
//! | O2 | [`futex::light_barrier`] in `unlock` | the barrier in [`futex::sleep_while_held`] | (1) |
//!
//! (1) The free lock to the waiter, or the mark to the unlock.

use super::Ordering::{Acquire, Relaxed, Release};
use super::{AtomicU16, LOCK_TRIES, futex, held, lock_pause};
use std::fmt;

/// The `state` of a lock that no thread holds.
pub(super) const FREE: u16 = 0;

/// The `state` of a lock that a thread holds.
pub(super) const HELD: u16 = 1;

/// The `mark` of a lock for which no thread sleeps.
pub(super) const NO_SLEEPERS: u16 = 0;

/// The `mark` of a lock for which threads may sleep.
pub(super) const SLEEPERS: u16 = 1;

/// The word of a lock. Threads sleep on all of it.
#[repr(C, align(4))]
pub(super) struct Word {
    state: AtomicU16,
    mark: AtomicU16,
}

std::thread_local! {
    /// The number of locks that this thread found taken.
    static CONTENDED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Returns how many [`RawLock`]s this thread found taken since the last call.
pub(crate) fn take_contended() -> u64 {
    CONTENDED.take()
}

/// A lock without data and without a guard, for code that holds several locks at once.
///
/// The header of this file describes it.
pub struct RawLock(Word);

impl RawLock {
    /// Makes a lock from two zeros. The caller makes them, because loom's cannot be made in a
    /// `const`.
    pub(super) const fn over(state: AtomicU16, mark: AtomicU16) -> Self {
        Self(Word::new(state, mark))
    }

    /// Locks. Returns `false` at once if a thread holds the lock.
    #[inline]
    pub fn try_lock(&self) -> bool {
        held::enter();
        let is_mine = self.0.state.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok(); // O1
        if !is_mine {
            held::leave();
        }
        is_mine
    }

    /// Locks. Waits forever if this thread holds the lock already.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_contended();
        }
    }

    #[cold]
    fn lock_contended(&self) {
        CONTENDED.set(CONTENDED.get() + 1);
        let mut was_woken = false;
        while !self.spin() {
            was_woken |= self.sleep();
        }
        if was_woken {
            // The unlock that woke this thread removed the mark. Other threads may still sleep.
            self.0.mark.store(SLEEPERS, Relaxed); // Relaxed: this thread reads it in `unlock`.
        }
    }

    /// Makes [`LOCK_TRIES`] attempts to take the lock. Returns whether one succeeded.
    fn spin(&self) -> bool {
        (0..LOCK_TRIES).any(|_| {
            // Reads first: a failed exchange takes the cache line away from the holder.
            let is_mine = !self.0.is_held() && self.try_lock();
            if !is_mine {
                lock_pause();
            }
            is_mine
        })
    }

    /// Sets the mark and sleeps. Returns whether an unlock woke this thread.
    ///
    /// Returns `false` at once if the lock is free or its word changes.
    fn sleep(&self) -> bool {
        self.0.mark.store(SLEEPERS, Relaxed); // Relaxed: see O2.
        futex::sleep_while_held(&self.0) // O2
    }

    /// Unlocks. Wakes one thread if threads sleep on the lock.
    ///
    /// # Safety
    ///
    /// This thread holds the lock.
    #[inline]
    pub unsafe fn unlock(&self) {
        debug_assert!(self.0.is_held(), "nobody has locked it");
        self.0.state.store(FREE, Release); // O1
        futex::light_barrier(); // O2
        if self.has_sleepers() {
            self.wake_one(); // I1
        }
        held::leave();
    }

    /// Removes the mark and wakes one thread.
    #[cold]
    fn wake_one(&self) {
        // If several threads unlock in succession, one of them removes the mark. Relaxed: see O2.
        if self.0.mark.swap(NO_SLEEPERS, Relaxed) == SLEEPERS {
            futex::wake_one(&self.0);
        }
    }

    /// Whether threads may sleep until the lock is unlocked.
    #[inline]
    fn has_sleepers(&self) -> bool {
        self.0.has_sleepers()
    }
}

impl Word {
    pub(super) const fn new(state: AtomicU16, mark: AtomicU16) -> Self {
        Self { state, mark }
    }

    #[inline]
    pub(super) fn is_held(&self) -> bool {
        self.state.load(Relaxed) == HELD // Relaxed: see O2 where it decides, else a hint.
    }

    #[inline]
    pub(super) fn has_sleepers(&self) -> bool {
        self.mark.load(Relaxed) == SLEEPERS // Relaxed: as above.
    }
}

impl fmt::Debug for RawLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawLock")
            .field("is_held", &self.0.is_held())
            .field("has_sleepers", &self.has_sleepers())
            .finish()
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "raw_lock_loom.rs"]
mod loom_models;

#[cfg(all(test, not(gmp_loom)))]
#[path = "raw_lock_tests.rs"]
mod tests;
