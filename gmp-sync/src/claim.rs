//! Which of several waits of one select has won (Go: `selectDone`).
//!
//! A select waits in several queues at once, each under its own lock. Whoever wants to end one of
//! these waits has to win the claim first; the others then find it taken. The waker is here and
//! not in the nodes, since the one winner wakes once.
//!
//! Peers change the word under the lock of *one* of the select's channels; the owner only under
//! the locks of *all* of them, so a claim does not change under an owner's look.

use crate::waitq::Verdict;
use gmp_rt::park::{StorableWaker, StoredWaker};
use gmp_rt::prim::{AtomicU32, Ordering, UnsafeCell};
use std::fmt;
use std::marker::PhantomPinned;

/// Nobody has won yet.
const OPEN: u32 = 0;
/// The owner polls futures that are not ours: it can not be served now, and looks again later.
const AWAY: u32 = 1;
/// Case n has won: this plus n.
const WON: u32 = 2;

/// One select's word.
#[doc(hidden)]
pub struct Claim {
    word: AtomicU32,
    /// Written by the owner under all locks while the claim is open; taken by the winner.
    waker: UnsafeCell<Option<StoredWaker>>,
    /// Peers reach it by its address.
    _pinned: PhantomPinned,
}

// SAFETY: `waker` is reached by the owner while nobody can win, and by the one winner.
unsafe impl Send for Claim {}
// SAFETY: as above.
unsafe impl Sync for Claim {}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("winner", &self.winner()).finish()
    }
}

impl Claim {
    /// An open claim.
    pub(crate) fn new() -> Self {
        Self { word: AtomicU32::new(OPEN), waker: UnsafeCell::new(None), _pinned: PhantomPinned }
    }

    /// The case that has won.
    #[inline]
    pub(crate) fn winner(&self) -> Option<u32> {
        // Acquire: pairs with `win`. What the winner did is read under its channel's lock.
        self.word.load(Ordering::Acquire).checked_sub(WON)
    }

    /// Lets case `index` win, if none has. Under the lock of that case's channel.
    #[inline]
    pub(crate) fn win(&self, index: u32) -> Verdict<()> {
        // AcqRel: pairs with `winner` and with the `win` of peers on other channels: the winner
        // comes after the owner's `reopen`, whose waker it will take.
        let won =
            self.word.compare_exchange(OPEN, WON + index, Ordering::AcqRel, Ordering::Relaxed);
        match won {
            Ok(_) => Verdict::Fire(()),
            Err(AWAY) => Verdict::Skip,
            Err(_) => Verdict::Unlink,
        }
    }

    /// The owner decides for case `index` itself. Under all locks.
    pub(crate) fn decide(&self, index: u32) {
        self.word.store(WON + index, Ordering::Release);
    }

    /// Opens it, with the waker for the winner. Under all locks. Returns the old waker, to be
    /// dropped after they are released.
    pub(crate) fn reopen(&self, waker: &mut StorableWaker<'_>) -> Option<StoredWaker> {
        let old = self.set_waker(waker);
        self.word.store(OPEN, Ordering::Release);
        old
    }

    /// The owner can not be served until it opens again. Under all locks.
    pub(crate) fn leave(&self) {
        self.word.store(AWAY, Ordering::Release);
    }

    /// Another waker for the winner. Under all locks, while nobody has won or the winner has not
    /// taken it yet.
    pub(crate) fn set_waker(&self, waker: &mut StorableWaker<'_>) -> Option<StoredWaker> {
        // SAFETY: all locks are held, so no winner is at it.
        self.waker.with_mut(|slot| match unsafe { &*slot } {
            Some(old) if old.will_wake(waker.waker()) => None,
            // SAFETY: as above.
            _ => unsafe { (*slot).replace(waker.store()) },
        })
    }

    /// The waker, for the winner. Under the lock of the channel that won.
    pub(crate) fn take_waker(&self) -> Option<StoredWaker> {
        // SAFETY: there is one winner, and the owner waits for the lock.
        self.waker.with_mut(|slot| unsafe { (*slot).take() })
    }
}
