//! How much a copy has moved, and when it is another's turn.

use gmp_rt::park::poll_go_on;
use std::task::{Context, Poll, ready};

/// What one direction of two may move before the other is looked at again.
const TURN: u64 = 1 << 20;

/// How a copy takes turns with others of its goroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turns {
    /// There is no other.
    Alone,
    /// The other direction is in the same goroutine.
    Shared,
}

/// How much a copy has moved. See the [module](self).
#[derive(Debug)]
pub(super) struct Tally {
    moved: u64,
    turns: Turns,
    /// When the next turn ends.
    pause_at: u64,
}

impl Tally {
    pub(super) fn new(turns: Turns) -> Self {
        Self { moved: 0, turns, pause_at: TURN }
    }

    /// Bytes that have arrived at the writer.
    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// `n` more have.
    pub(super) fn add(&mut self, n: usize) {
        self.moved += n as u64;
    }

    /// Whether to go on: `Pending`, with the wake-up on its way, if it is another's turn.
    pub(super) fn poll_go_on(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        ready!(poll_go_on(cx));
        if self.turns == Turns::Shared && self.moved >= self.pause_at {
            self.pause_at = self.moved + TURN;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}
