//! The cases of one select, of different types, as a list.
//!
//! The list consists of nested pairs and not of trait objects. So a select is `Send` exactly if all
//! its cases are.

use super::case::{Arm, Attempt, Case, Kind, Will};
use super::guarded::Guarded;
use crate::wait::wakers::Wakers;
use gmp_rt::task::park::poll_deciding;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Cases by index.
///
/// # Safety
///
/// The engine locks the channel of one arm and then uses another by its index. So while a select
/// uses the list:
///
/// - [`count`](Self::count) does not change;
/// - [`arm`](Self::arm), [`look`](Self::look) and [`try_alone`](Self::try_alone) refer to the same
///   arm for the same index in each call;
/// - an arm is not moved.
pub unsafe trait List {
    /// Returns the number of cases.
    fn count(&self) -> usize;

    /// Creates all cases. Called before [`look`](Self::look).
    fn prepare(self: Pin<&mut Self>) {}

    /// Returns case `index`, which exists.
    fn arm(self: Pin<&mut Self>, index: usize) -> Pin<&mut dyn Arm>;

    /// Returns a shared reference to case `index`, which exists. Called after
    /// [`prepare`](Self::prepare).
    fn look(&self, index: usize) -> &dyn Arm;

    /// Whether a try of case `index`, which exists, may succeed: see [`Arm::may_be_ready`].
    fn may_be_ready(&self, _index: usize) -> bool {
        true
    }

    /// Whether the cases are tried in their order, and not in a random one.
    fn is_biased(&self) -> bool {
        false
    }

    /// Returns [`may_be_ready`](Self::may_be_ready) of all cases as a mask. Called if there are at
    /// most 64.
    ///
    /// One call, in which the types of all cases are known.
    fn ready_mask(&self) -> u64 {
        self.ready_word(0)
    }

    /// Returns [`may_be_ready`](Self::may_be_ready) of at most 64 cases as a mask. The lowest bit
    /// is that of case `start`.
    fn ready_word(&self, start: usize) -> u64 {
        let cases = start..self.count().min(start + u64::BITS as usize);
        // A branch and no shift per case: most cases are not ready.
        cases.filter(|n| self.may_be_ready(*n)).fold(0, |mask, n| mask | 1 << (n - start))
    }

    /// Tries case `index`, which exists, on its own: see [`Arm::try_alone`]. A future is polled.
    ///
    /// Here and not only in [`Arm`], so that the type of the arm is known: most selects do no more
    /// than the first try, and two virtual calls are a large part of its cost.
    fn try_alone(self: Pin<&mut Self>, index: usize, will: Will, cx: &mut Context<'_>) -> Attempt;
}

/// Tries an arm on its own.
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
                // The default is chosen if the future is pending, so the budget must not make it
                // pending.
                Will::GoOn => poll_deciding(|| arm.as_mut().poll(cx)),
            };
            match polled {
                Poll::Ready(()) => Attempt::Done(Wakers::None),
                Poll::Pending => Attempt::No(Wakers::None),
            }
        }
    }
}

/// The empty list. The end of each list says whether the select is biased.
#[derive(Debug)]
pub struct Nil<const IS_BIASED: bool>;

/// A case, which is pinned elsewhere, and the cases after it.
///
/// The list contains references, because it is moved while it is built.
#[derive(Debug)]
pub struct Cons<'l, C, L> {
    head: Pin<&'l mut C>,
    tail: L,
}

impl<'l, C, L> Cons<'l, C, L> {
    /// Adds `head` before `tail`.
    #[inline]
    pub fn new(head: Pin<&'l mut C>, tail: L) -> Self {
        Self { head, tail }
    }

    /// Returns the cases after the first.
    #[inline]
    pub fn tail(&mut self) -> &mut L {
        &mut self.tail
    }
}

impl<C: Case, L> Cons<'_, C, L> {
    /// Returns the output of the first case, which was chosen.
    #[inline]
    pub fn output(&mut self) -> C::Output {
        self.head.as_mut().output()
    }
}

impl<C: Case, L> Cons<'_, Guarded<C>, L> {
    /// Disables the first case for the rest of the select.
    pub fn disable(&mut self) {
        self.head.as_mut().disable();
    }
}

/// Whether all cases are disabled.
pub fn is_disabled<L: List>(list: &L) -> bool {
    (0..list.count()).all(|index| list.look(index).kind() == Kind::Off)
}

// SAFETY: there is no arm.
unsafe impl<const IS_BIASED: bool> List for Nil<IS_BIASED> {
    fn count(&self) -> usize {
        0
    }

    #[inline]
    fn is_biased(&self) -> bool {
        IS_BIASED
    }

    #[inline]
    fn ready_mask(&self) -> u64 {
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

// SAFETY: index 0 is the head, the others are those of the tail; the cases are pinned.
unsafe impl<C: Arm, L: List + Unpin> List for Cons<'_, C, L> {
    #[inline]
    fn count(&self) -> usize {
        1 + self.tail.count()
    }

    #[inline]
    fn is_biased(&self) -> bool {
        self.tail.is_biased()
    }

    #[inline]
    fn arm(self: Pin<&mut Self>, index: usize) -> Pin<&mut dyn Arm> {
        let this = self.get_mut();
        match index.checked_sub(1) {
            None => this.head.as_mut(),
            Some(index) => Pin::new(&mut this.tail).arm(index),
        }
    }

    #[inline]
    fn look(&self, index: usize) -> &dyn Arm {
        match index.checked_sub(1) {
            None => &*self.head,
            Some(index) => self.tail.look(index),
        }
    }

    fn may_be_ready(&self, index: usize) -> bool {
        match index.checked_sub(1) {
            None => self.head.may_be_ready(),
            Some(index) => self.tail.may_be_ready(index),
        }
    }

    #[inline]
    fn ready_mask(&self) -> u64 {
        u64::from(self.head.may_be_ready()) | self.tail.ready_mask() << 1
    }

    #[inline]
    fn try_alone(self: Pin<&mut Self>, index: usize, will: Will, cx: &mut Context<'_>) -> Attempt {
        let this = self.get_mut();
        match index.checked_sub(1) {
            None => try_arm(this.head.as_mut(), will, cx),
            Some(index) => Pin::new(&mut this.tail).try_alone(index, will, cx),
        }
    }
}
