//! The word that decides which case of a select has won (Go: `selectDone`).
//!
//! A select waits in several queues at once, each under its own lock. A peer that wants to end one
//! of these waits has to win the claim first. Later peers find it won. The waker is here and not in
//! the nodes, because only the winner wakes the select.
//!
//! Peers change the word under the lock of *one* of the select's channels. The owner changes it
//! only under the locks of *all* of them, so the claim is stable while the owner reads it.

use crate::wait::queue::Verdict;
use gmp_rt::prim::{AtomicU32, Ordering, UnsafeCell};
use gmp_rt::task::park::{StorableWaker, StoredWaker};
use std::fmt;
use std::marker::PhantomPinned;

/// No case has won yet.
const OPEN: u32 = 0;
/// The owner polls foreign futures. Peers skip it; it checks its channels again later.
const AWAY: u32 = 1;
/// Case n has won if the word is `WON + n`.
const WON: u32 = 2;

/// The claim of one select.
#[doc(hidden)]
pub struct Claim {
    word: AtomicU32,
    /// Written by the owner under all locks; taken by the winner.
    waker: UnsafeCell<Option<StoredWaker>>,
    /// Peers refer to the claim by its address.
    _pinned: PhantomPinned,
}

// SAFETY: only the owner, while no peer can win, and the one winner access `waker`.
unsafe impl Send for Claim {}
// SAFETY: as above.
unsafe impl Sync for Claim {}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("winner", &self.winner()).finish()
    }
}

impl Claim {
    /// Creates an open claim.
    pub(crate) fn new() -> Self {
        Self { word: AtomicU32::new(OPEN), waker: UnsafeCell::new(None), _pinned: PhantomPinned }
    }

    /// Returns the case that has won.
    #[inline]
    pub(crate) fn winner(&self) -> Option<u32> {
        // Acquire: pairs with `win`. The winner's other writes are read under its channel's lock.
        self.word.load(Ordering::Acquire).checked_sub(WON)
    }

    /// Lets case `index` win, if none has. The caller holds the lock of that case's channel.
    #[inline]
    pub(crate) fn win(&self, index: u32) -> Verdict<()> {
        // AcqRel: pairs with `winner`, and with the `win` of peers on other channels. The Acquire
        // pairs with the owner's `reopen`, so the winner sees the waker that it takes.
        let won =
            self.word.compare_exchange(OPEN, WON + index, Ordering::AcqRel, Ordering::Relaxed);
        match won {
            Ok(_) => Verdict::Fire(()),
            Err(AWAY) => Verdict::Skip,
            Err(_) => Verdict::Unlink,
        }
    }

    /// Makes case `index` the winner on behalf of the owner, which holds all locks.
    pub(crate) fn decide(&self, index: u32) {
        self.word.store(WON + index, Ordering::Release);
    }

    /// Opens the claim and stores the waker for the winner. The owner holds all locks. Returns the
    /// old waker, to be dropped after they are released.
    pub(crate) fn reopen(&self, waker: &mut StorableWaker<'_>) -> Option<StoredWaker> {
        let old = self.set_waker(waker);
        self.word.store(OPEN, Ordering::Release);
        old
    }

    /// Closes the claim to peers until `reopen`. The owner holds all locks.
    pub(crate) fn leave(&self) {
        self.word.store(AWAY, Ordering::Release);
    }

    /// Replaces the waker for the winner. The owner holds all locks, and no winner has taken the
    /// waker yet. Returns the old waker.
    pub(crate) fn set_waker(&self, waker: &mut StorableWaker<'_>) -> Option<StoredWaker> {
        // SAFETY: the owner holds all locks, so no winner accesses the waker.
        self.waker.with_mut(|slot| match unsafe { &*slot } {
            Some(old) if old.will_wake(waker.waker()) => None,
            // SAFETY: as above.
            _ => unsafe { (*slot).replace(waker.store()) },
        })
    }

    /// Takes the waker for the winner. The caller holds the lock of the winning case's channel.
    pub(crate) fn take_waker(&self) -> Option<StoredWaker> {
        // SAFETY: there is only one winner, and the owner needs the lock that the caller holds.
        self.waker.with_mut(|slot| unsafe { (*slot).take() })
    }
}
