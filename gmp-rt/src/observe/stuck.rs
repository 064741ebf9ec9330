//! Goroutines that can never be woken: proofs for the report of a deadlock.
//!
//! Rust values move silently, so the runtime does not know where a `Sender` or a guard is. But it
//! counts the wakers of each goroutine. A goroutine is *stuck* if it waits and every waker of it is
//! in the join slot of a stuck goroutine:
//!
//! | proof | condition | examples |
//! |---|---|---|
//! | `NoWaker` | it has no waker | `pending()`, a future that dropped its waker |
//! | `JoinsStuck` | all wakers are in such join slots | it awaits the handle of one of these |
//!
//! A stuck goroutine is polled again only if it is aborted or its runtime ends. Everything else
//! that could wake it has a waker elsewhere: a thread, another runtime, a foreign future, a timer,
//! a channel. Such a goroutine is not stuck by proof, although it may be stuck.
//!
//! The walk reads all counts while other threads may run. So a report needs two equal walks some
//! time apart, with no P running in between.

use crate::g::{GSight, GoId, heap};
use crate::sched::Sched;
use crate::wait_reason::WaitReason::{Await, Join};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// What a walk reads of a waiting goroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Facts {
    goid: GoId,
    /// The start of its wait, which no other wait has.
    since: u64,
    wakers: usize,
    /// The address of the cell of the goroutine that joins it.
    joiner: Option<usize>,
}

/// All goroutines of a runtime, which are stuck.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AllStuck(HashMap<usize, Facts>);

impl AllStuck {
    /// Whether the goroutine `goid` is among them.
    pub(super) fn has(&self, goid: GoId) -> bool {
        self.0.values().any(|facts| facts.goid == goid)
    }
}

impl Sched {
    /// Returns all goroutines of this runtime if each of them is stuck by proof.
    pub(super) fn all_stuck(&self) -> Option<AllStuck> {
        let mut all = HashMap::new();
        let walk = self.try_each(|g| {
            let facts = Facts {
                goid: g.goid(),
                since: g.wait().0.since,
                wakers: g.status.wakers()?,
                joiner: g.joiner(),
            };
            // A goroutine that waits for a primitive has a waker in its queue. This ends most walks
            // at once. A join with other futures may be of any reason, and is not proved then.
            let reason = g.wait().0.reason;
            let may_be_stuck = facts.wakers == 0 || matches!(reason, Join | Await);
            all.insert(g.address(), facts);
            may_be_stuck.then_some(())
        });
        let is_complete = walk.is_continue() && all.len() as u64 == self.live();
        (is_complete && !all.is_empty() && are_stuck(&all)).then_some(AllStuck(all))
    }

    /// Whether every goroutine of this runtime waits for a primitive of gmp, so that only another
    /// goroutine or an external thread can wake it.
    pub(super) fn all_wait_for_primitives(&self) -> bool {
        let mut count = 0;
        let walk = self.try_each(|g| {
            count += 1;
            let waits = g.status.wakers().is_some();
            (waits && g.wait().0.reason.is_primitive()).then_some(())
        });
        walk.is_continue() && count > 0 && count == self.live()
    }

    /// Calls `f` for each goroutine of this runtime until `f` returns `None`.
    fn try_each(&self, mut f: impl FnMut(&GSight) -> Option<()>) -> ControlFlow<()> {
        heap::try_for_each(|g| match g.runtime() == self.id {
            true => f(g).map_or(ControlFlow::Break(()), ControlFlow::Continue),
            false => ControlFlow::Continue(()),
        })
    }
}

/// Whether all wakers of all goroutines are in join slots of these goroutines.
fn are_stuck(all: &HashMap<usize, Facts>) -> bool {
    let mut in_slots: HashMap<usize, usize> = HashMap::new();
    for joiner in all.values().filter_map(|facts| facts.joiner) {
        *in_slots.entry(joiner).or_default() += 1;
    }
    all.iter().all(|(cell, facts)| in_slots.get(cell).copied().unwrap_or(0) == facts.wakers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goroutines by number, each with its number of wakers and its joiner.
    fn stuck(all: &[(usize, Option<usize>)]) -> bool {
        let facts = |(goid, (wakers, joiner)): (usize, &(usize, Option<usize>))| {
            let (wakers, joiner) = (*wakers, *joiner);
            (goid, Facts { goid: goid as u64, since: 0, wakers, joiner })
        };
        are_stuck(&all.iter().enumerate().map(facts).collect())
    }

    #[test]
    fn goroutines_without_wakers_and_their_joiners_are_stuck() {
        assert!(stuck(&[(0, None)]), "no waker");
        assert!(!stuck(&[(1, None)]), "a waker elsewhere");
        assert!(stuck(&[(0, Some(1)), (1, Some(2)), (1, None)]), "a chain of joins");
        assert!(stuck(&[(0, Some(2)), (0, Some(2)), (2, None)]), "joins two");
        assert!(!stuck(&[(0, Some(1)), (2, None)]), "joins one, and has a waker elsewhere");
        assert!(!stuck(&[(1, Some(1)), (1, None)]), "joins one that may be woken");
        assert!(stuck(&[(1, Some(0))]), "joins itself");
        assert!(stuck(&[(1, Some(1)), (1, Some(0))]), "two that join each other");
    }
}
