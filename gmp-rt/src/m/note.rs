//! The sleep and wake-up of one thread (Go: `note`).
//!
//! Only the owner sleeps on a note, and any thread may wake it. A wake-up that comes before the
//! sleep is kept. Several count as one. The note uses thread parking, which is one futex word on
//! Linux. It has a word of its own because a goroutine may park and unpark the same thread for
//! other reasons, and such an unpark must not count.
//!
//! The owner may also sleep in the netpoller ([`Note::sleep_in`]). The word shows the waker which
//! of the two sleeps to end.
//!
//! | word | meaning | next words |
//! |------|---------|-----------|
//! | [`NONE`] | no wake-up is pending | `wake` unparks → `WOKEN`; `sleep_in` → `POLLS` |
//! | [`WOKEN`] | a wake-up is pending | the owner takes it → `NONE` |
//! | [`POLLS`] | the owner is in or enters the netpoller | `wake` → `WOKEN`; it returns → `NONE` |
//!
//! For `POLLS`, `wake` also wakes the poller (Go: `netpollBreak`).
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | AcqRel swap in [`Note::wake`] | Acquire swap by the owner | the waker's writes |
//! | O2 | Release exchange in [`Note::sleep_in`] | O1's swap in `wake` | the owner's writes |
//!
//! The swaps of O1 by the owner are in [`Note::take`] and [`Note::sleep_in`]. The owner's writes of
//! O2 include the netpoller to wake.

use crate::netpoll::Netpoll;
use crate::prim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::prim::fixed::OnceLock;
use crate::prim::{AtomicU8, Thread, current_thread, park_thread, park_thread_timeout};
use crate::util::clock;
use std::sync::Arc;
use std::time::Duration;

const NONE: u8 = 0;
const WOKEN: u8 = 1;
const POLLS: u8 = 2;

/// The sleep state of one thread.
#[derive(Debug)]
pub(crate) struct Note {
    word: AtomicU8,
    owner: Thread,
    /// The netpoller in which the owner sleeps. Set before the first such sleep.
    bell: OnceLock<Arc<dyn Netpoll>>,
}

/// Why a sleep ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slept {
    /// A thread called [`Note::wake`].
    Woken,
    /// The deadline or a network event came first.
    TimedOut,
}

impl Note {
    /// Makes a note for the calling thread.
    pub(crate) fn for_this_thread() -> Self {
        Self { word: AtomicU8::new(NONE), owner: current_thread(), bell: OnceLock::new() }
    }

    /// Wakes the owner, now or at its next sleep.
    pub(crate) fn wake(&self) {
        // O1, O2. Only the first of several wake-ups unparks.
        match self.word.swap(WOKEN, AcqRel) {
            NONE => self.owner.unpark(),
            POLLS => self.bell.get().expect("set before the word").wake(),
            _ => {}
        }
    }

    /// Takes a pending wake-up. Returns `false` if there is none. Only for the owner, so the word
    /// is not `POLLS`.
    fn take(&self) -> bool {
        // Relaxed: only avoids the write.
        self.word.load(Relaxed) == WOKEN && self.word.swap(NONE, Acquire) == WOKEN // O1
    }

    /// Sleeps until woken. Only for the owner.
    pub(crate) fn sleep(&self) {
        while !self.take() {
            park_thread();
        }
    }

    /// Sleeps until woken or until the time `until`. Only for the owner.
    pub(crate) fn sleep_until(&self, until: u64) -> Slept {
        loop {
            if self.take() {
                return Slept::Woken;
            }
            let left = until.saturating_sub(clock::now());
            if left == 0 {
                return Slept::TimedOut;
            }
            park_thread_timeout(Duration::from_nanos(left));
        }
    }

    /// Calls `poll`, which waits in `netpoll`, unless a wake-up is pending. A later wake-up ends
    /// the wait. Only for the owner, and always with the same netpoller.
    pub(crate) fn sleep_in(&self, netpoll: &Arc<dyn Netpoll>, poll: impl FnOnce()) -> Slept {
        self.bell.get_or_init(|| netpoll.clone());
        // O2. Relaxed on failure: the swap below takes the wake-up.
        if self.word.compare_exchange(NONE, POLLS, Release, Relaxed).is_ok() {
            poll();
        }
        if self.word.swap(NONE, Acquire) == WOKEN { Slept::Woken } else { Slept::TimedOut } // O1
    }
}
