//! `TimerWait`.

use super::timer::Timer;
use super::timer_shared::OwnAlarm;
use futures_core::FusedFuture;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// The future of a shared [`Timer`]: of `(&timer).await`.
///
/// # Cancel safety
///
/// A dropped wait takes no moment.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct TimerWait<'a> {
    timer: &'a Timer,
    own: OwnAlarm,
    state: WaitState,
}

/// Whether a [`TimerWait`] has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitState {
    Open,
    Done,
}

impl<'a> TimerWait<'a> {
    pub(super) fn new(timer: &'a Timer) -> Self {
        Self { timer, own: OwnAlarm::default(), state: WaitState::Open }
    }
}

impl Future for TimerWait<'_> {
    type Output = Instant;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Instant> {
        let this = self.get_mut();
        let due = ready!(this.timer.shared().poll_wait(&mut this.own, cx));
        this.state = WaitState::Done;
        Poll::Ready(due)
    }
}

impl FusedFuture for TimerWait<'_> {
    fn is_terminated(&self) -> bool {
        self.state == WaitState::Done
    }
}

impl Drop for TimerWait<'_> {
    fn drop(&mut self) {
        self.timer.shared().leave(&self.own);
    }
}
