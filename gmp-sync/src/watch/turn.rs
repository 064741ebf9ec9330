//! The right to modify the value of a watch channel: one call at a time makes a changed copy.
//!
//! The closure of the user runs while its call has the turn, and without a lock. So sends, which do
//! not read the value, and receivers are not held up by it. A send during that time overwrites the
//! changed copy: the modification counts as made just before that send.

use super::shared::WatchShared;
use crate::MutexGuard;
use std::thread;

/// The turn. Dropping it passes it on.
pub(super) struct ModifyTurn<'a, T> {
    shared: &'a WatchShared<T>,
    /// Dropped after the modifier is reset.
    _guard: MutexGuard<'a, ()>,
}

impl<'a, T> ModifyTurn<'a, T> {
    /// Waits until no other modification of the channel runs. Blocks the thread.
    ///
    /// # Panics
    ///
    /// If called inside the closure of a modification of the same channel.
    #[track_caller]
    pub(super) fn take(shared: &'a WatchShared<T>) -> Self {
        let this_thread = thread::current().id();
        let nested = shared.with(|state| state.modifier == Some(this_thread));
        assert!(!nested, "watch: a modification inside of a modification of the same channel");
        let guard = shared.turn.lock_blocking();
        shared.with(|state| state.modifier = Some(this_thread));
        Self { shared, _guard: guard }
    }
}

impl<T> Drop for ModifyTurn<'_, T> {
    fn drop(&mut self) {
        self.shared.with(|state| state.modifier = None);
    }
}
