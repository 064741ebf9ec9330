//! The locked core of an `ErrGroup`: who is active, who waits to start, what went wrong first.
//!
//! A place that becomes free is given to the first that waits for one, at once and under the
//! lock: nobody overtakes, and the group is never seen empty while somebody waits to start.

use super::error::GroupError;
use crate::waitq::Queue;
use crate::wakers::Wakers;

/// What the lock of a group guards.
pub(super) struct State<E> {
    /// Members that run, and places given to those about to start.
    pub(super) active: usize,
    limit: Option<usize>,
    pub(super) first: Option<GroupError<E>>,
    /// Those who wait for all members to be done.
    pub(super) waiting: Queue<()>,
    /// Those who wait for a place.
    pub(super) starting: Queue<()>,
}

impl<E> State<E> {
    pub(super) fn new() -> Self {
        let (waiting, starting) = (Queue::default(), Queue::default());
        Self { active: 0, limit: None, first: None, waiting, starting }
    }

    pub(super) fn limit(&self) -> Option<usize> {
        self.limit
    }

    fn has_room(&self) -> bool {
        self.limit.is_none_or(|limit| self.active < limit)
    }

    /// Takes a place, if there is one that nobody waits for.
    pub(super) fn try_enter(&mut self) -> bool {
        let entered = self.has_room() && self.starting.is_empty();
        self.active += usize::from(entered);
        entered
    }

    /// Gives a place back: to the first that waits for one, or to nobody; then all may be done.
    pub(super) fn leave(&mut self) -> Wakers {
        self.active -= 1;
        self.admit()
    }

    /// Changes the limit, and lets in who now has room.
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
        if self.active == 0 {
            while let Some(((), fired)) = self.waiting.fire_front(|()| ()) {
                wakers.push(fired);
            }
        }
        wakers
    }
}
