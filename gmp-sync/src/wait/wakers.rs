//! Wakers collected under a lock, to be woken after it is released.
//!
//! A wake-up may run any code, so it must not happen under a lock. A batch is cheaper than single
//! wake-ups: on a thread that holds a P it wakes at most one more M.

use crate::wait::queue::{Fired, Queue};
use gmp_rt::prim::debug_assert_no_lock_held;
use gmp_rt::task::park::StoredWaker;

/// Wakers to wake after the lock is released.
#[must_use = "the waiters sleep until these are woken, after the lock is released"]
#[derive(Debug, Default)]
#[doc(hidden)]
pub enum Wakers {
    /// No waker.
    #[default]
    None,
    /// One waker, the usual case. Needs no allocation.
    One(StoredWaker),
    /// Several wakers, in the order in which they are woken.
    Many(Vec<StoredWaker>),
}

impl Wakers {
    /// Fires all waiters of a queue and returns their wakers.
    pub(crate) fn of_all(queue: &mut Queue<()>) -> Self {
        let mut wakers = Self::None;
        while let Some(((), fired)) = queue.fire_front(|()| ()) {
            wakers.push(fired);
        }
        wakers
    }

    /// Adds one waker, if there is one.
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

    /// Adds all wakers of another list.
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

    /// Wakes all. The caller must hold no lock. A panic of a foreign waker is contained.
    #[inline]
    pub(crate) fn wake_all(self) {
        debug_assert_no_lock_held("wakes waiters");
        match self {
            Self::None => {}
            Self::One(waker) => waker.wake(),
            Self::Many(wakers) => gmp_rt::task::park::wake_all(wakers),
        }
    }
}

impl From<Fired> for Wakers {
    fn from(fired: Fired) -> Self {
        fired.into_waker().map_or(Self::None, Self::One)
    }
}
