//! The cases of one select, of different types, as a list.
//!
//! A list of nested pairs rather than of trait objects: so a select is `Send` exactly if all its
//! cases are.

use super::case::{Arm, Attempt, Case, Kind, Will};
use crate::wakers::Wakers;
use gmp_rt::park::poll_deciding;
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Cases by their number.
///
/// # Safety
///
/// The engine locks the channel of one arm and then uses another by its number. So while a select
/// uses the list:
///
/// - [`count`](Self::count) does not change;
/// - [`arm`](Self::arm), [`look`](Self::look) and [`try_alone`](Self::try_alone) mean the same arm
///   for the same number, at each call;
/// - an arm stays where it is.
pub unsafe trait List {
    /// How many.
    fn count(&self) -> usize;

    /// Case `index`, which is there.
    fn arm(self: Pin<&mut Self>, index: usize) -> Pin<&mut dyn Arm>;

    /// Case `index`, which is there, to look at.
    fn look(&self, index: usize) -> &dyn Arm;

    /// Tries case `index`, which is there, on its own: see [`Arm::try_alone`]. A future is polled.
    ///
    /// Here and not only in [`Arm`], so that it is known which arm it is: the first try is all that most
    /// selects do, and through two tables of functions it was a quarter of their cost.
    fn try_alone(self: Pin<&mut Self>, index: usize, will: Will, cx: &mut Context<'_>) -> Attempt;
}

/// Tries an arm.
#[inline]
pub(super) fn try_arm<A: Arm + ?Sized>(
    mut arm: Pin<&mut A>,
    will: Will,
    cx: &mut Context<'_>,
) -> Attempt {
    match arm.kind() {
        Kind::Off => Attempt::No(Wakers::None),
        Kind::Channel(_) => arm.try_alone(),
        Kind::Future => {
            let polled = match will {
                Will::Wait => arm.as_mut().poll(cx),
                // The default is chosen if it is pending, so the budget must not make it pending.
                Will::GoOn => poll_deciding(|| arm.as_mut().poll(cx)),
            };
            match polled {
                Poll::Ready(()) => Attempt::Done(Wakers::None),
                Poll::Pending => Attempt::No(Wakers::None),
            }
        }
    }
}

/// No case.
#[derive(Debug)]
pub struct Nil;

pin_project! {
    /// A case and those after it.
    #[derive(Debug)]
    pub struct Cons<C, L> {
        #[pin]
        head: C,
        #[pin]
        tail: L,
    }
}

impl<C, L> Cons<C, L> {
    /// Puts `head` before `tail`.
    pub fn new(head: C, tail: L) -> Self {
        Self { head, tail }
    }

    /// The cases after the first.
    pub fn tail(self: Pin<&mut Self>) -> Pin<&mut L> {
        self.project().tail
    }
}

impl<C: Case, L> Cons<C, L> {
    /// What the first case gave. It was chosen.
    pub fn output(self: Pin<&mut Self>) -> C::Output {
        self.project().head.output()
    }
}

// SAFETY: there is no arm.
unsafe impl List for Nil {
    fn count(&self) -> usize {
        0
    }

    fn arm(self: Pin<&mut Self>, index: usize) -> Pin<&mut dyn Arm> {
        unreachable!("case {index} of a select")
    }

    fn look(&self, index: usize) -> &dyn Arm {
        unreachable!("case {index} of a select")
    }

    fn try_alone(self: Pin<&mut Self>, index: usize, _: Will, _: &mut Context<'_>) -> Attempt {
        unreachable!("case {index} of a select")
    }
}

// SAFETY: number 0 is the head, the others are those of the tail; both are pinned with this.
unsafe impl<C: Arm, L: List> List for Cons<C, L> {
    #[inline]
    fn count(&self) -> usize {
        1 + self.tail.count()
    }

    #[inline]
    fn arm(self: Pin<&mut Self>, index: usize) -> Pin<&mut dyn Arm> {
        let this = self.project();
        match index.checked_sub(1) {
            None => this.head,
            Some(index) => this.tail.arm(index),
        }
    }

    #[inline]
    fn look(&self, index: usize) -> &dyn Arm {
        match index.checked_sub(1) {
            None => &self.head,
            Some(index) => self.tail.look(index),
        }
    }

    #[inline]
    fn try_alone(self: Pin<&mut Self>, index: usize, will: Will, cx: &mut Context<'_>) -> Attempt {
        let this = self.project();
        match index.checked_sub(1) {
            None => try_arm(this.head, will, cx),
            Some(index) => this.tail.try_alone(index, will, cx),
        }
    }
}
