//! Wakers collected under a lock, to be woken after it is released.
//!
//! Waking may run any code, so it may not happen under a lock; and many at once are cheaper as
//! one batch, for which one more thread is called at most.

use crate::waitq::Fired;
use gmp_rt::park::StoredWaker;
use gmp_rt::prim::debug_assert_no_lock_held;

/// Wakers to wake after the lock is released.
#[must_use = "somebody waits for these to be woken, after the lock is released"]
#[derive(Debug, Default)]
#[doc(hidden)]
pub enum Wakers {
    /// Nobody.
    #[default]
    None,
    /// The usual case, without an allocation.
    One(StoredWaker),
    /// In the order in which they are to run.
    Many(Vec<StoredWaker>),
}

impl Wakers {
    /// Adds one.
    pub(crate) fn push(&mut self, fired: Fired) {
        let Some(waker) = fired.into_waker() else { return };
        *self = match std::mem::take(self) {
            Self::None => Self::One(waker),
            Self::One(first) => Self::Many(vec![first, waker]),
            Self::Many(mut wakers) => {
                wakers.push(waker);
                Self::Many(wakers)
            }
        };
    }

    /// Adds all of another list.
    #[inline]
    pub(crate) fn append(&mut self, more: Self) {
        match (&self, more) {
            (_, Self::None) => {}
            (Self::None, more) => *self = more,
            (_, more) => self.extend(more),
        }
    }

    #[cold]
    fn extend(&mut self, more: Self) {
        match more {
            Self::None => {}
            Self::One(waker) => self.push(waker.into()),
            Self::Many(wakers) => wakers.into_iter().for_each(|waker| self.push(waker.into())),
        }
    }

    /// Wakes all. Not under a lock. A panic of a foreign waker is contained.
    #[inline]
    pub(crate) fn wake_all(self) {
        debug_assert_no_lock_held("wakes waiters");
        match self {
            Self::None => {}
            Self::One(waker) => waker.wake(),
            Self::Many(wakers) => gmp_rt::park::wake_all(wakers),
        }
    }
}

impl From<Fired> for Wakers {
    fn from(fired: Fired) -> Self {
        fired.into_waker().map_or(Self::None, Self::One)
    }
}
