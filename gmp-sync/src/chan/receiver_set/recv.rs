//! The future of [`ReceiverSet::recv`].

use super::{ReceiverKey, ReceiverSet};
use crate::chan::RecvError;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The future of [`ReceiverSet::recv`]. It may be awaited again, for the next value.
#[must_use = "futures do nothing unless awaited"]
pub struct ReceiverSetRecv<'a, T> {
    set: &'a mut ReceiverSet<T>,
    /// Whether the last poll was pending, so that the set may have its waker.
    waits: bool,
}

impl<'a, T> ReceiverSetRecv<'a, T> {
    pub(super) fn new(set: &'a mut ReceiverSet<T>) -> Self {
        Self { set, waits: false }
    }
}

impl<T> Future for ReceiverSetRecv<'_, T> {
    type Output = Option<(ReceiverKey, Result<T, RecvError>)>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = self.set.poll_recv(cx);
        self.waits = polled.is_pending();
        polled
    }
}

impl<T> Drop for ReceiverSetRecv<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // The report that ends a wait takes the waker.
        if self.waits {
            self.set.reports.forget();
        }
    }
}

impl<T> fmt::Debug for ReceiverSetRecv<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiverSetRecv").field("set", self.set).finish()
    }
}
