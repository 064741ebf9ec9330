//! `PendingSeat`: a member above the limit, which waits for its place in its own goroutine.
//!
//! It joins the queue for a place when it is made, before its goroutine is first polled. So the
//! members start in the order of the calls of `go`.

use super::ErrGroupShared;
use super::error::GroupError;
use super::member::Seat;
use super::wait_lists::Starting;
use crate::oneshot;
use crate::wait::waiter::Waiter;
use gmp_rt::task::park::{WaitReason, note_wait, poll_proceed};
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

/// A member that has not started. If it is dropped, the group has failed.
pub(super) struct PendingSeat<E> {
    /// In the queue for a place. Dropped first: a place that it was given goes to the next one.
    waiter: Pin<Box<Waiter<Starting<E>>>>,
    unstarted: Unstarted<E>,
    /// Reports the start.
    started: oneshot::Sender<()>,
}

/// Counts as a member that has not started until it is dropped.
struct Unstarted<E> {
    shared: Arc<ErrGroupShared<E>>,
    end: PendingEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingEnd {
    /// It has a place.
    Started,
    Dropped,
}

impl<E> PendingSeat<E> {
    /// Joins the queue for a place. Also returns the receiver of the report that it has started.
    ///
    /// # Errors
    ///
    /// The seat, if a place is free.
    pub(super) fn join(
        shared: &Arc<ErrGroupShared<E>>,
    ) -> Result<(Self, oneshot::Receiver<()>), Seat<E>> {
        let mut waiter = Box::pin(Waiter::new(Starting(shared.clone()), ()));
        // The goroutine replaces the waker at its first poll.
        let cx = Context::from_waker(Waker::noop());
        let joined = waiter.as_mut().poll_wait(&cx, |state, ()| match state.try_enter() {
            true => ControlFlow::Break(()),
            false => {
                state.pending += 1;
                ControlFlow::Continue(())
            }
        });
        if joined.is_ready() {
            return Err(Seat::new(shared.clone()));
        }
        let unstarted = Unstarted { shared: shared.clone(), end: PendingEnd::Dropped };
        let (started, starts) = oneshot::channel();
        Ok((Self { waiter, unstarted, started }, starts))
    }

    /// Waits for a place and runs a member.
    ///
    /// As in [`Seat::run`], the future is dropped before the member leaves the group.
    pub(super) async fn run<F>(future: F, seat: Self)
    where
        F: Future<Output = Result<(), E>>,
    {
        seat.finish(future).await;
    }

    async fn finish<F: Future<Output = Result<(), E>>>(mut self, future: F) {
        poll_fn(|cx| self.poll_place(cx)).await;
        self.start().finish(future).await;
    }

    fn poll_place(&mut self, cx: &Context<'_>) -> Poll<()> {
        ready!(poll_proceed(cx));
        // It is in the queue already.
        let waits = |_: &mut _, (): &mut ()| ControlFlow::<()>::Continue(());
        if self.waiter.as_mut().poll_wait(cx, waits).is_pending() {
            note_wait(cx, WaitReason::SemAcquire, Arc::as_ptr(&self.unstarted.shared).addr());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Takes the place that it was given.
    fn start(mut self) -> Seat<E> {
        self.waiter.as_mut().reset();
        self.unstarted.end = PendingEnd::Started;
        let seat = Seat::new(self.unstarted.shared.clone());
        drop(self.unstarted);
        // The caller of `go` may not wait for it.
        let _ = self.started.send(());
        seat
    }
}

impl<E> Drop for Unstarted<E> {
    fn drop(&mut self) {
        if self.end == PendingEnd::Dropped {
            self.shared.fail(GroupError::Cancelled);
        }
        self.shared.with(|state| state.forget_pending()).wake_all();
    }
}
