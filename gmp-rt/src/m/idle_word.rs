//! The number of idle Ps and of spinning Ms.
//!
//! The [`IdleWord`] is one atomic, because every push reads it. It counts the idle Ps and the
//! *spinning* Ms: those that hold a P and look for work. A spinning M has a [`Spinning`] token. The
//! idle Ps and the sleeping Ms themselves are in the scheduler's idle lists.
//!
//! The scheduler's README describes the protocol, why it loses no wake-up, and the alternatives.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | SeqCst fence in [`IdleWord::wake_wanted`], after work was published | SeqCst fence in [`IdleWord::fence_before_recheck`] and [`IdleWord::stop_spinning`], before all queues are checked again | either the publisher sees the idle P, or the M that goes to sleep sees the work |

use crate::prim::Ordering::{AcqRel, Relaxed, SeqCst};
use crate::prim::{AtomicU64, fence};

/// The spinning token of one M. It must be given back to the word.
#[must_use]
#[derive(Debug)]
pub(crate) struct Spinning(());

/// What an M must do after it stopped spinning.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Recheck {
    /// It was the last one: check all queues, and wake another M if there is work left.
    AsLast,
    /// Nothing: other Ms spin, or no P is idle.
    Not,
}

/// Idle Ps in the lower half, spinning Ms in the upper. See the [module](self).
#[derive(Debug)]
pub(crate) struct IdleWord(AtomicU64);

const IDLE: u64 = 1;
const SPIN: u64 = 1 << 32;

fn idle(word: u64) -> u64 {
    word & (SPIN - 1)
}

fn spinning(word: u64) -> u64 {
    word >> 32
}

impl IdleWord {
    /// Creates a word without idle Ps and spinning Ms.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Returns the numbers of idle Ps and spinning Ms. A hint.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let word = self.0.load(Relaxed); // Relaxed: a hint
        (idle(word) as usize, spinning(word) as usize)
    }

    /// Returns a spinning token if the caller, which has published work, must wake an M. That is so
    /// if a P is idle and no M spins.
    #[inline]
    pub(crate) fn wake_wanted(&self) -> Option<Spinning> {
        fence(SeqCst); // O1
        let word = self.0.load(Relaxed); // Relaxed: after the fence
        if idle(word) == 0 || spinning(word) != 0 {
            return None;
        }
        self.claim_wake(word)
    }

    #[cold]
    fn claim_wake(&self, mut word: u64) -> Option<Spinning> {
        while idle(word) > 0 && spinning(word) == 0 {
            match self.0.compare_exchange_weak(word, word + SPIN, AcqRel, Relaxed) {
                Ok(_) => return Some(Spinning(())),
                Err(changed) => word = changed,
            }
        }
        None
    }

    /// Begins to spin, unless half as many Ms spin as Ps are busy.
    pub(crate) fn try_spin(&self, procs: usize) -> Option<Spinning> {
        let mut word = self.0.load(Relaxed); // Relaxed: the CAS decides
        loop {
            let busy = (procs as u64).saturating_sub(idle(word));
            if 2 * spinning(word) >= busy {
                return None;
            }
            match self.0.compare_exchange_weak(word, word + SPIN, AcqRel, Relaxed) {
                Ok(_) => return Some(Spinning(())),
                Err(changed) => word = changed,
            }
        }
    }

    /// Stops spinning, because work was found.
    pub(crate) fn stop_spinning(&self, token: Spinning) -> Recheck {
        let Spinning(()) = token;
        let word = self.0.fetch_sub(SPIN, AcqRel);
        fence(SeqCst); // O1
        if spinning(word) == 1 && idle(word) > 0 { Recheck::AsLast } else { Recheck::Not }
    }

    /// Stops spinning for another reason. The caller checks the queues or wakes an M that does.
    pub(crate) fn drop_token(&self, token: Option<Spinning>) {
        if let Some(Spinning(())) = token {
            self.0.fetch_sub(SPIN, AcqRel);
        }
    }

    /// Counts a P as idle and drops its M's spinning token, if it has one, in one step. Under the
    /// lists' lock.
    pub(crate) fn add_idle(&self, token: Option<Spinning>) {
        let spin = token.map_or(0, |Spinning(())| SPIN);
        self.0.fetch_add(IDLE.wrapping_sub(spin), AcqRel);
    }

    /// Orders a change of the idle word, or of the idle lists, before the last check of all queues.
    pub(crate) fn fence_before_recheck(&self) {
        fence(SeqCst); // O1
    }

    /// Counts a P as not idle any more. Under the lists' lock.
    pub(crate) fn remove_idle(&self) {
        self.0.fetch_sub(IDLE, AcqRel);
    }

    /// Begins to spin, however many Ms spin: for an M that is woken.
    pub(crate) fn spin_unconditionally(&self) -> Spinning {
        self.0.fetch_add(SPIN, AcqRel);
        Spinning(())
    }
}
