//! Counts the bytes of a copy, and decides when the copy yields.

use gmp_rt::task::park::poll_proceed;
use std::task::{Context, Poll, ready};

/// Bytes that one direction of two may move before the other is polled. Chosen.
const TURN: u64 = 1 << 20;

/// Whether a copy shares its goroutine with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turns {
    /// It does not.
    Alone,
    /// The other direction runs in the same goroutine.
    Shared,
}

/// The bytes that a copy has moved. See the [module](self).
#[derive(Debug)]
pub(super) struct Tally {
    moved: u64,
    turns: Turns,
    /// The value of `moved` at which the copy yields to the other direction.
    pause_at: u64,
}

impl Tally {
    pub(super) fn new(turns: Turns) -> Self {
        Self { moved: 0, turns, pause_at: TURN }
    }

    /// Returns the number of bytes that have reached the writer.
    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// Adds `n` bytes.
    pub(super) fn add(&mut self, n: usize) {
        self.moved += n as u64;
    }

    /// Returns `Pending`, after it has scheduled a wake-up, if the copy must yield.
    pub(super) fn poll_proceed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        ready!(poll_proceed(cx));
        if self.turns == Turns::Shared && self.moved >= self.pause_at {
            self.pause_at = self.moved + TURN;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}
