//! The locked state of an `ErrGroup`: active members, members that wait to start, the first error.
//!
//! A place that becomes free goes to the first waiter at once, under the lock. So starts are in
//! arrival order. The group is not empty while a member waits to start.

use super::error::GroupError;
use crate::wait::queue::Queue;
use crate::wait::wakers::Wakers;

/// The data that the lock of a group guards.
pub(super) struct ErrGroupState<E> {
    /// Running members, and places that were given to members about to start.
    pub(super) active: usize,
    /// Members above the limit that have not started.
    pub(super) pending: usize,
    limit: Option<usize>,
    pub(super) first: Option<GroupError<E>>,
    /// Waits for the end of all members.
    pub(super) waiting: Queue<()>,
    /// Waits for a place.
    pub(super) starting: Queue<()>,
}

impl<E> ErrGroupState<E> {
    pub(super) fn new() -> Self {
        let (waiting, starting) = (Queue::default(), Queue::default());
        Self { active: 0, pending: 0, limit: None, first: None, waiting, starting }
    }

    pub(super) fn limit(&self) -> Option<usize> {
        self.limit
    }

    fn has_room(&self) -> bool {
        self.limit.is_none_or(|limit| self.active < limit)
    }

    /// Takes a place, if one is free and no member waits for it.
    pub(super) fn try_enter(&mut self) -> bool {
        let entered = self.has_room() && self.starting.is_empty();
        self.active += usize::from(entered);
        entered
    }

    /// Whether no member is left, started or not.
    pub(super) fn is_over(&self) -> bool {
        self.active == 0 && self.pending == 0
    }

    /// Forgets a member that has not started and never will.
    pub(super) fn forget_pending(&mut self) -> Wakers {
        self.pending -= 1;
        self.admit()
    }

    /// Gives a place back, to the first waiter if there is one. If no member is left then, ends the
    /// waits.
    pub(super) fn leave(&mut self) -> Wakers {
        self.active -= 1;
        self.admit()
    }

    /// Changes the limit, and gives new places to waiters.
    pub(super) fn set_limit(&mut self, limit: Option<usize>) -> Wakers {
        self.limit = limit;
        self.admit()
    }

    fn admit(&mut self) -> Wakers {
        let mut wakers = Wakers::None;
        while self.has_room() {
            let Some(((), fired)) = self.starting.fire_front(|()| ()) else { break };
            self.active += 1;
            wakers.push(fired);
        }
        if self.is_over() {
            while let Some(((), fired)) = self.waiting.fire_front(|()| ()) {
                wakers.push(fired);
            }
        }
        wakers
    }
}
