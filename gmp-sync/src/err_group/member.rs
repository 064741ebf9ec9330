//! `Seat`: a member's place in its group, given back however the member ends.

use super::ErrGroupShared;
use super::error::GroupError;
use futures::FutureExt;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::pin;
use std::sync::Arc;

/// A place in a group. If it is dropped while its member is unfinished, the group has failed.
pub(super) struct Seat<E> {
    shared: Arc<ErrGroupShared<E>>,
    end: Unfinished,
}

/// Whether a member is unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfinished {
    Yes,
    No,
}

impl<E> Seat<E> {
    /// Creates a seat for a place that is already counted.
    pub(super) fn new(shared: Arc<ErrGroupShared<E>>) -> Self {
        Self { shared, end: Unfinished::Yes }
    }

    /// Runs a member in its goroutine.
    ///
    /// The future is dropped, with all its captures, before the member leaves the group. A
    /// goroutine that is aborted before its first poll drops the arguments in this order.
    pub(super) async fn run<F>(future: F, seat: Self)
    where
        F: Future<Output = Result<(), E>>,
    {
        seat.finish(future).await;
    }

    pub(super) async fn finish<F: Future<Output = Result<(), E>>>(mut self, future: F) {
        let outcome = {
            let caught = pin!(AssertUnwindSafe(future).catch_unwind());
            caught.await
        };
        self.end = Unfinished::No;
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.shared.fail(GroupError::Member(Arc::new(error))),
            Err(payload) => {
                let text = gmp_rt::panic_message(&*payload).into();
                self.shared.fail(GroupError::Panic(text));
                resume_unwind(payload);
            }
        }
    }
}

impl<E> Drop for Seat<E> {
    fn drop(&mut self) {
        if self.end == Unfinished::Yes {
            let error = match std::thread::panicking() {
                true => GroupError::Panic("in a destructor".into()),
                false => GroupError::Cancelled,
            };
            self.shared.fail(error);
        }
        self.shared.with(|state| state.leave()).wake_all();
    }
}
