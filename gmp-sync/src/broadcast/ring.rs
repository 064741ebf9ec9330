//! The values that a broadcast channel keeps, and the positions of receivers in them.
//!
//! Values are numbered in the order in which they were sent. Each kept value counts the receivers
//! that have not received it. A receiver that needs a value needs all later ones too, so the counts
//! grow with the numbers, and values leave the ring at its front only.
//!
//! The ring is plain data behind the lock of the channel. It never clones or drops a value: what
//! leaves it is returned, for the time when the lock is released.

use std::collections::VecDeque;
use std::sync::Arc;

/// A kept value.
pub(super) enum Kept<T> {
    /// Only one receiver existed when it was sent. That receiver gets it without a clone.
    Alone(T),
    /// Receivers clone it, without the lock. The last one does not.
    Shared(Arc<T>),
}

impl<T: Clone> Kept<T> {
    /// Returns the value, cloned if others hold it. Runs user code.
    pub(super) fn into_value(self) -> T {
        match self {
            Self::Alone(value) => value,
            Self::Shared(value) => Arc::unwrap_or_clone(value),
        }
    }
}

/// A value, and the number of receivers that have not received it.
struct RingSlot<T> {
    value: Kept<T>,
    left: usize,
}

/// The kept values.
pub(super) struct Ring<T> {
    slots: VecDeque<RingSlot<T>>,
    cap: usize,
    /// The number of the next value.
    next: u64,
}

/// What a receiver finds at its position.
pub(super) enum RingTake<T> {
    Value(Kept<T>),
    /// Values that it has missed. It continues with the oldest kept one.
    Lagged(u64),
    /// It has received all values.
    Empty,
}

impl<T> Ring<T> {
    /// Creates an empty ring for `cap` values. Memory is allocated as it is used.
    pub(super) fn new(cap: usize) -> Self {
        Self { slots: VecDeque::new(), cap, next: 0 }
    }

    /// Returns the number of kept values.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the number of the next value, where a new receiver begins.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of the oldest kept value, or of the next one if there is none.
    fn oldest(&self) -> u64 {
        self.next - self.slots.len() as u64
    }

    /// Adds a value for `receivers` receivers, at least one. Returns the value that had to leave.
    pub(super) fn push(&mut self, value: T, receivers: usize) -> Option<Kept<T>> {
        let left = if self.slots.len() == self.cap { self.slots.pop_front() } else { None };
        let value = match receivers {
            1 => Kept::Alone(value),
            _ => Kept::Shared(Arc::new(value)),
        };
        self.slots.push_back(RingSlot { value, left: receivers });
        self.next += 1;
        left.map(|slot| slot.value)
    }

    /// Takes the value at `at` for the receiver whose position that is, and advances it.
    pub(super) fn take(&mut self, at: &mut u64) -> RingTake<T> {
        let oldest = self.oldest();
        if *at < oldest {
            let missed = oldest - *at;
            *at = oldest;
            return RingTake::Lagged(missed);
        }
        let index = (*at - oldest) as usize;
        let Some(slot) = self.slots.get_mut(index) else { return RingTake::Empty };
        *at += 1;
        slot.left -= 1;
        match &slot.value {
            Kept::Shared(value) if slot.left > 0 => RingTake::Value(Kept::Shared(value.clone())),
            // The last receiver that needs it. No earlier value is kept: it would be needed too.
            _ => {
                debug_assert_eq!(index, 0, "an earlier value is needed by fewer receivers");
                let slot = self.slots.pop_front().expect("found above");
                RingTake::Value(slot.value)
            }
        }
    }

    /// Removes a receiver at position `at`. Returns the values that no receiver needs any more.
    #[must_use = "dropped after the lock is released"]
    pub(super) fn leave(&mut self, at: u64) -> Vec<Kept<T>> {
        let first = at.saturating_sub(self.oldest()) as usize;
        for slot in self.slots.iter_mut().skip(first) {
            slot.left -= 1;
        }
        let unneeded = self.slots.iter().take_while(|slot| slot.left == 0).count();
        self.slots.drain(..unneeded).map(|slot| slot.value).collect()
    }
}
