//! What the expansions of `join!` and `try_join!` use. Not for programs.
//!
//! The futures are nested [`Branch`]es, which end with [`End`]. So no future is boxed, and the
//! whole is `Send` exactly if all futures are.

use crate::task::park::poll_proceed;
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// A future, or its output.
    #[project = BranchView]
    #[project_replace = BranchContent]
    enum BranchState<F: Future> {
        Running { #[pin] future: F },
        Done { output: F::Output },
        Taken,
    }
}

impl<F: Future> BranchState<F> {
    /// Polls the future, if it is not done.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if let BranchView::Running { future } = self.as_mut().project() {
            let output = ready!(future.poll(cx));
            self.project_replace(Self::Done { output });
        }
        Poll::Ready(())
    }

    fn take(self: Pin<&mut Self>) -> F::Output {
        match self.project_replace(Self::Taken) {
            BranchContent::Done { output } => output,
            _ => unreachable!("the output of a future that is not done"),
        }
    }
}

pin_project! {
    /// A future, and those after it.
    pub struct Branch<F: Future, L> {
        #[pin]
        head: BranchState<F>,
        #[pin]
        tail: L,
    }
}

impl<F: Future, L: fmt::Debug> fmt::Debug for Branch<F, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Branch").field("tail", &self.tail).finish_non_exhaustive()
    }
}

/// The end of the branches.
#[derive(Debug)]
pub struct End;

/// Adds a future before `tail`.
pub fn branch<F: IntoFuture, L>(future: F, tail: L) -> Branch<F::IntoFuture, L> {
    Branch { head: BranchState::Running { future: future.into_future() }, tail }
}

/// Nested branches.
pub trait Branches {
    /// The number of futures.
    const COUNT: usize;

    /// Nested pairs of the outputs.
    type Output;

    /// Polls future `index`, which exists. Returns `Ready` if it is done.
    fn poll(self: Pin<&mut Self>, index: usize, cx: &mut Context<'_>) -> Poll<()>;

    /// Returns the outputs. All futures are done.
    fn take(self: Pin<&mut Self>) -> Self::Output;
}

impl Branches for End {
    const COUNT: usize = 0;

    type Output = ();

    fn poll(self: Pin<&mut Self>, index: usize, _: &mut Context<'_>) -> Poll<()> {
        unreachable!("branch {index} of a join")
    }

    fn take(self: Pin<&mut Self>) {}
}

impl<F: Future, L: Branches> Branches for Branch<F, L> {
    const COUNT: usize = L::COUNT + 1;

    type Output = (F::Output, L::Output);

    fn poll(self: Pin<&mut Self>, index: usize, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        match index.checked_sub(1) {
            None => this.head.poll(cx),
            Some(index) => this.tail.poll(index, cx),
        }
    }

    fn take(self: Pin<&mut Self>) -> Self::Output {
        let this = self.project();
        (this.head.take(), this.tail.take())
    }
}

/// Nested branches of results.
pub trait TryBranches<E>: Branches {
    /// Nested pairs of the values.
    type Values;

    /// Returns the error of future `index`, if it is done with one.
    fn take_error(self: Pin<&mut Self>, index: usize) -> Option<E>;

    /// Returns the values. All futures are done, without an error.
    fn take_values(self: Pin<&mut Self>) -> Self::Values;
}

impl<E> TryBranches<E> for End {
    type Values = ();

    fn take_error(self: Pin<&mut Self>, index: usize) -> Option<E> {
        unreachable!("branch {index} of a join")
    }

    fn take_values(self: Pin<&mut Self>) {}
}

impl<T, E, F: Future<Output = Result<T, E>>, L: TryBranches<E>> TryBranches<E> for Branch<F, L> {
    type Values = (T, L::Values);

    fn take_error(self: Pin<&mut Self>, index: usize) -> Option<E> {
        let mut this = self.project();
        if let Some(index) = index.checked_sub(1) {
            return this.tail.take_error(index);
        }
        match this.head.as_mut().project() {
            BranchView::Done { output: Err(_) } => this.head.take().err(),
            _ => None,
        }
    }

    fn take_values(self: Pin<&mut Self>) -> Self::Values {
        let this = self.project();
        match this.head.take() {
            Ok(value) => (value, this.tail.take_values()),
            Err(_) => unreachable!("an error that was not taken"),
        }
    }
}

/// Polls the branches by turns.
#[derive(Debug, Default)]
struct Rotation {
    /// The branch with which the next poll begins.
    first: usize,
}

impl Rotation {
    /// Polls each branch once, unless the goroutine has to yield. Each poll begins with another
    /// branch. Returns `Ready` if all are done. `each` is called with the index of each branch that
    /// is done, and may end the poll.
    fn poll<L: Branches, B>(
        &mut self,
        mut branches: Pin<&mut L>,
        cx: &mut Context<'_>,
        mut each: impl FnMut(Pin<&mut L>, usize) -> Option<B>,
    ) -> Poll<Option<B>> {
        let first = self.first;
        let mut is_done = true;
        for step in 0..L::COUNT {
            let index = (first + step) % L::COUNT;
            if poll_proceed(cx).is_pending() {
                self.first = index;
                return Poll::Pending;
            }
            self.first = (first + 1) % L::COUNT;
            match branches.as_mut().poll(index, cx) {
                Poll::Pending => is_done = false,
                Poll::Ready(()) => {
                    if let Some(exit) = each(branches.as_mut(), index) {
                        return Poll::Ready(Some(exit));
                    }
                }
            }
        }
        if is_done { Poll::Ready(None) } else { Poll::Pending }
    }
}

pin_project! {
    /// The future of `join!`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Join<L> {
        #[pin]
        branches: L,
        turns: Rotation,
    }
}

/// Runs all futures.
pub fn join<L: Branches>(branches: L) -> Join<L> {
    Join { branches, turns: Rotation::default() }
}

impl<L: Branches> Future for Join<L> {
    type Output = L::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<L::Output> {
        let mut this = self.project();
        let _: Option<()> = ready!(this.turns.poll(this.branches.as_mut(), cx, |_, _| None));
        Poll::Ready(this.branches.take())
    }
}

pin_project! {
    /// The future of `try_join!`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct TryJoin<L, E> {
        #[pin]
        branches: L,
        turns: Rotation,
        error: std::marker::PhantomData<fn() -> E>,
    }
}

/// Runs all futures, until one of them returns an error.
pub fn try_join<E, L: TryBranches<E>>(branches: L) -> TryJoin<L, E> {
    TryJoin { branches, turns: Rotation::default(), error: std::marker::PhantomData }
}

impl<E, L: TryBranches<E>> Future for TryJoin<L, E> {
    type Output = Result<L::Values, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let error = this.turns.poll(this.branches.as_mut(), cx, L::take_error);
        Poll::Ready(match ready!(error) {
            Some(error) => Err(error),
            None => Ok(this.branches.take_values()),
        })
    }
}
