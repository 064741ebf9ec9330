//! The engine of `select!` trusts its list of cases, so safe code cannot write one.
#![forbid(unsafe_code)]

use gmp_sync::__select::{Arm, Attempt, List, RecvCase, Wakers, Will};
use std::pin::Pin;
use std::task::Context;

/// Names one channel to be locked and another one to be used.
struct Evil<'a> {
    locked: Pin<Box<RecvCase<'a, Box<u64>>>>,
    used: Pin<Box<RecvCase<'a, Box<u64>>>>,
}

impl List for Evil<'_> {
    fn count(&self) -> usize {
        1
    }

    fn arm(self: Pin<&mut Self>, _: usize) -> Pin<&mut dyn Arm> {
        self.get_mut().used.as_mut()
    }

    fn look(&self, _: usize) -> &dyn Arm {
        &*self.locked
    }

    fn try_alone(self: Pin<&mut Self>, _: usize, _: Will, _: &mut Context<'_>) -> Attempt {
        Attempt::No(Wakers::None)
    }
}

fn main() {}
