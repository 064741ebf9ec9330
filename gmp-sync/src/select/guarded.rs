//! A case that may be disabled: by its guard, or by an output that does not match its pattern.

use super::case::{Arm, Attempt, Case, Kind, Outcome, chosen};
use crate::chan::queue::Summoned;
use crate::wait::claim::Claim;
use crate::wait::wakers::Wakers;
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// A case that is possibly disabled: empty if it is.
    #[derive(Debug)]
    pub struct Guarded<C> {
        #[pin]
        case: Option<C>,
    }
}

impl<C> Guarded<C> {
    /// Creates the case. `case` is `None` if the guard is false.
    pub fn new(case: Option<C>) -> Self {
        Self { case }
    }

    /// Drops the case. No select is choosing, so the case waits in no queue.
    pub(super) fn disable(self: Pin<&mut Self>) {
        self.project().case.set(None);
    }
}

// SAFETY: forwards to a case, or never joins a queue.
unsafe impl<C: Arm> Arm for Guarded<C> {
    fn kind(&self) -> Kind {
        self.case.as_ref().map_or(Kind::Off, Arm::kind)
    }

    #[inline]
    fn may_be_ready(&self) -> bool {
        self.case.as_ref().is_some_and(Arm::may_be_ready)
    }

    fn lock(&self) {
        if let Some(case) = &self.case {
            case.lock();
        }
    }

    unsafe fn unlock(&self) -> Wakers {
        match &self.case {
            // SAFETY: guaranteed by the caller.
            Some(case) => unsafe { case.unlock() },
            None => Wakers::None,
        }
    }

    fn try_alone(self: Pin<&mut Self>) -> Attempt {
        match self.project().case.as_pin_mut() {
            Some(case) => case.try_alone(),
            None => Attempt::No(Wakers::None),
        }
    }

    unsafe fn attempt(self: Pin<&mut Self>) -> Attempt {
        match self.project().case.as_pin_mut() {
            // SAFETY: guaranteed by the caller.
            Some(case) => unsafe { case.attempt() },
            None => Attempt::No(Wakers::None),
        }
    }

    unsafe fn enqueue(self: Pin<&mut Self>, claim: &Claim, index: u32, summoned: Summoned) {
        if let Some(case) = self.project().case.as_pin_mut() {
            // SAFETY: guaranteed by the caller.
            unsafe { case.enqueue(claim, index, summoned) };
        }
    }

    unsafe fn return_to_queue(&self) {
        if let Some(case) = &self.case {
            // SAFETY: guaranteed by the caller.
            unsafe { case.return_to_queue() };
        }
    }

    unsafe fn dequeue(self: Pin<&mut Self>) -> Wakers {
        match self.project().case.as_pin_mut() {
            // SAFETY: guaranteed by the caller.
            Some(case) => unsafe { case.dequeue() },
            None => Wakers::None,
        }
    }

    unsafe fn collect(self: Pin<&mut Self>) -> Outcome {
        match self.project().case.as_pin_mut() {
            // SAFETY: guaranteed by the caller.
            Some(case) => unsafe { case.collect() },
            None => Outcome::Done,
        }
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.project().case.as_pin_mut() {
            Some(case) => case.poll(cx),
            None => Poll::Pending,
        }
    }
}

impl<C: Case> Case for Guarded<C> {
    type Output = C::Output;

    fn output(self: Pin<&mut Self>) -> C::Output {
        match self.project().case.as_pin_mut() {
            Some(case) => case.output(),
            None => chosen(None),
        }
    }
}
