//! How a thread sleeps until it is told: Go's `note`.
//!
//! One thread sleeps on a note, its owner; anybody may wake it. A wake-up that comes first is
//! kept, several count as one. Built on thread parking, which is one futex word on Linux; the
//! note's own word is needed because a goroutine may park and unpark the same thread for reasons
//! of its own, and such a stray unpark must not count.
//!
//! The owner may also sleep in the netpoller instead ([`Note::sleep_in`]). Wakers need not know: the
//! word tells them which of the two to end.
//!
//! | word | meaning | leaves by |
//! |------|---------|-----------|
//! | [`NONE`] | no wake-up is pending | `wake` → `WOKEN`, and unparks; `sleep_in` → `POLLS` |
//! | [`WOKEN`] | one is pending | the owner takes it → `NONE` |
//! | [`POLLS`] | the owner is in the netpoller, or about to be | `wake` → `WOKEN`, and rings; the owner comes back → `NONE` |
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | AcqRel swap in [`Note::wake`] | Acquire swap in [`Note::take`] and [`Note::sleep_in`] | what the waker did before |
//! | O2 | Release exchange in [`Note::sleep_in`] | AcqRel swap in [`Note::wake`] | which bell to ring, and what the owner did before |

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

/// A sleeping place for one thread.
#[derive(Debug)]
pub(crate) struct Note {
    word: AtomicU8,
    owner: Thread,
    /// The netpoller its owner sleeps in; set before the first time it does.
    bell: OnceLock<Arc<dyn Netpoll>>,
}

/// Why a sleep ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slept {
    /// Somebody called [`Note::wake`].
    Woken,
    /// The moment, or an event, came first.
    TimedOut,
}

impl Note {
    /// A note for the calling thread to sleep on.
    pub(crate) fn for_this_thread() -> Self {
        Self { word: AtomicU8::new(NONE), owner: current_thread(), bell: OnceLock::new() }
    }

    /// Wakes the owner, now or when it next sleeps.
    pub(crate) fn wake(&self) {
        // O1, O2. Only the first of several pays for the unpark.
        match self.word.swap(WOKEN, AcqRel) {
            NONE => self.owner.unpark(),
            POLLS => self.bell.get().expect("set before the word").wake(),
            _ => {}
        }
    }

    /// Consumes a wake-up, if there is one. Only the owner, so nobody else makes it `POLLS`.
    fn take(&self) -> bool {
        // Relaxed: only avoids the write.
        self.word.load(Relaxed) == WOKEN && self.word.swap(NONE, Acquire) == WOKEN // O1
    }

    /// Sleeps until woken. Only the owner.
    pub(crate) fn sleep(&self) {
        while !self.take() {
            park_thread();
        }
    }

    /// Sleeps until woken or until the moment `until`. Only the owner.
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

    /// Calls `poll`, which waits in `netpoll`, unless a wake-up is pending; one that comes meanwhile
    /// ends it. Only the owner, and always with the same netpoller.
    pub(crate) fn sleep_in(&self, netpoll: &Arc<dyn Netpoll>, poll: impl FnOnce()) -> Slept {
        self.bell.get_or_init(|| netpoll.clone());
        // O2; Relaxed: then the swap below takes the wake-up.
        if self.word.compare_exchange(NONE, POLLS, Release, Relaxed).is_ok() {
            poll();
        }
        if self.word.swap(NONE, Acquire) == WOKEN { Slept::Woken } else { Slept::TimedOut } // O1
    }
}
