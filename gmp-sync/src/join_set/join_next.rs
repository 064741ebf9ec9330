//! The future of [`JoinSet::join_next`].

use super::JoinSet;
use gmp_rt::JoinError;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The future of [`JoinSet::join_next`]. It may be awaited again, for the next member.
#[must_use = "futures do nothing unless awaited"]
pub struct JoinNext<'a, T> {
    set: &'a mut JoinSet<T>,
}

impl<'a, T> JoinNext<'a, T> {
    pub(super) fn new(set: &'a mut JoinSet<T>) -> Self {
        Self { set }
    }
}

impl<T> Future for JoinNext<'_, T> {
    type Output = Option<Result<T, JoinError>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.set.poll_join_next(cx)
    }
}

impl<T> Drop for JoinNext<'_, T> {
    fn drop(&mut self) {
        self.set.ends.forget();
    }
}

impl<T> fmt::Debug for JoinNext<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinNext").field("set", self.set).finish()
    }
}
