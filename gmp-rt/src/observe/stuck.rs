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
//!
//! Sysmon makes the walk, and monitors no thread meanwhile. So the walk ends as soon as the runtime
//! is not quiet any more, which it checks for each slab of cells. It keeps sums of hashes instead
//! of a table, so it needs no memory for a million goroutines. The hashes have 128 bits and keys of
//! their own in each search: different facts have equal sums by chance only, once in 2^128.

use crate::g::{GSight, GoId, heap};
use crate::sched::{Sched, registry};
use crate::wait_reason::WaitReason::{Await, Join};
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::ControlFlow;

/// What a walk reads of a waiting goroutine.
#[derive(Clone, Copy, Debug, Hash)]
struct Facts {
    goid: GoId,
    /// The start of its wait, which no other wait has.
    since: u64,
    /// The address of its cell.
    cell: usize,
    wakers: usize,
    /// The address of the cell of the goroutine that joins it.
    joiner: Option<usize>,
}

/// The keys of the hashes. Only sums with the same keys can be compared.
#[derive(Debug, Default)]
pub(super) struct Keys(RandomState, RandomState);

impl Keys {
    fn hash(&self, value: impl Hash) -> u128 {
        (u128::from(self.0.hash_one(&value)) << 64) | u128::from(self.1.hash_one(&value))
    }
}

/// Sums over goroutines that may be stuck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    goroutines: u64,
    /// The number of wakers, and the sum over the goroutines that these wake.
    wakers: u64,
    woken: u128,
    /// The number of join slots that hold a waker, and the sum over the goroutines that these wake.
    joins: u64,
    joiners: u128,
    /// The sum over all facts.
    facts: u128,
}

impl Sums {
    fn add(&mut self, keys: &Keys, facts: &Facts) {
        self.goroutines += 1;
        self.wakers += facts.wakers as u64;
        let wakers = keys.hash(facts.cell).wrapping_mul(facts.wakers as u128);
        self.woken = self.woken.wrapping_add(wakers);
        if let Some(joiner) = facts.joiner {
            self.joins += 1;
            self.joiners = self.joiners.wrapping_add(keys.hash(joiner));
        }
        self.facts = self.facts.wrapping_add(keys.hash(facts));
    }

    /// Whether all wakers of all goroutines are in join slots of these goroutines.
    fn are_stuck(&self) -> bool {
        self.goroutines > 0 && self.wakers == self.joins && self.woken == self.joiners
    }

    /// Whether the join slots of the other `left` goroutines may have all wakers that are missing.
    fn may_be_stuck(&self, left: u64) -> bool {
        self.wakers <= self.joins + left
    }
}

/// All goroutines of a runtime, which are stuck.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AllStuck {
    sums: Sums,
    /// Whether the goroutine of `#[gmp::main]` is one of them.
    pub(super) has_main: bool,
}

impl Sched {
    /// Returns all goroutines of this runtime if each of them is stuck by proof and the runtime is
    /// quiet.
    pub(super) fn all_stuck(&self, keys: &Keys) -> Option<AllStuck> {
        let (mut sums, mut has_main) = (Sums::default(), false);
        let (live, main) = (self.live(), self.main_goroutine());
        let is_alone = registry::all().iter().all(|other| other.id == self.id || other.live() == 0);
        // A goroutine of another runtime needs no proof, and is not counted.
        let is_ours = |cell: &usize| is_alone || heap::runtime_at(*cell) == Some(self.id);
        let walk = self.try_each(|g| {
            let facts = Facts {
                goid: g.goid(),
                since: g.wait().0.since,
                cell: g.address(),
                wakers: g.status.wakers()?,
                joiner: g.joiner().filter(is_ours),
            };
            sums.add(keys, &facts);
            has_main |= main == Some(facts.goid);
            // A goroutine that waits for a primitive has a waker in its queue. This ends most walks
            // at once. A join with other futures may be of any reason, and is not proved then.
            let may_be_stuck = facts.wakers == 0 || matches!(g.wait().0.reason, Join | Await);
            let left = live.saturating_sub(sums.goroutines);
            (may_be_stuck && sums.may_be_stuck(left)).then_some(())
        });
        let is_complete = walk.is_continue() && sums.goroutines == self.live();
        (is_complete && sums.are_stuck()).then_some(AllStuck { sums, has_main })
    }

    /// Whether every goroutine of this runtime waits for primitives of gmp alone, so that only
    /// another goroutine or an external thread can wake it, and the runtime is quiet.
    ///
    /// The reason of a wait is the one that the poll recorded last. A `select!` or a `join!` may
    /// also have polled a foreign future, which then has a waker.
    pub(super) fn all_wait_for_primitives(&self) -> bool {
        let mut count = 0;
        let walk = self.try_each(|g| {
            count += 1;
            let waits = g.status.wakers().is_some();
            let primitive = g.wait().0.reason.is_primitive() && !g.has_foreign_wakers();
            (waits && primitive).then_some(())
        });
        walk.is_continue() && count > 0 && count == self.live()
    }

    /// Calls `f` for each goroutine of this runtime until `f` returns `None` or the runtime is not
    /// quiet.
    fn try_each(&self, mut f: impl FnMut(&GSight) -> Option<()>) -> ControlFlow<()> {
        heap::try_for_each_slab(|sights| {
            if !self.is_quiet() {
                return ControlFlow::Break(());
            }
            let ours = sights.iter().filter(|g| g.runtime() == self.id);
            ours.map(&mut f).try_for_each(|go_on| match go_on {
                Some(()) => ControlFlow::Continue(()),
                None => ControlFlow::Break(()),
            })
        })
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::*;
    use crate::api::runtime::Builder;
    use crate::block_on;
    use std::future::{pending, poll_fn};
    use std::task::Poll;
    use std::time::Duration;

    /// Goroutines by number, each with its number of wakers and its joiner.
    fn stuck(all: &[(usize, Option<usize>)]) -> bool {
        let (keys, mut sums) = (Keys::default(), Sums::default());
        for (cell, (wakers, joiner)) in all.iter().enumerate() {
            let (wakers, joiner) = (*wakers, *joiner);
            sums.add(&keys, &Facts { goid: cell as u64, since: 0, cell, wakers, joiner });
        }
        sums.are_stuck()
    }

    #[test]
    fn goroutines_without_wakers_and_their_joiners_are_stuck() {
        assert!(stuck(&[(0, None)]), "no waker");
        assert!(!stuck(&[(1, None)]), "a waker elsewhere");
        assert!(stuck(&[(0, Some(1)), (1, Some(2)), (1, None)]), "a chain of joins");
        assert!(stuck(&[(0, Some(2)), (0, Some(2)), (2, None)]), "joins two");
        assert!(!stuck(&[(0, Some(1)), (2, None)]), "joins one, and has a waker elsewhere");
        assert!(!stuck(&[(1, Some(1)), (1, None)]), "joins one that may be woken");
        assert!(!stuck(&[(1, Some(1)), (0, Some(1)), (1, None)]), "another has the same number");
        assert!(stuck(&[(1, Some(0))]), "joins itself");
        assert!(stuck(&[(1, Some(1)), (1, Some(0))]), "two that join each other");
    }

    #[test]
    fn the_sums_depend_on_every_fact() {
        let keys = Keys::default();
        let sums = |facts| {
            let mut sums = Sums::default();
            sums.add(&keys, &facts);
            sums
        };
        let facts = Facts { goid: 1, since: 2, cell: 3, wakers: 4, joiner: None };
        assert_eq!(sums(facts), sums(facts));
        let others = [
            Facts { goid: 9, ..facts },
            Facts { since: 9, ..facts },
            Facts { cell: 9, ..facts },
            Facts { wakers: 9, ..facts },
            Facts { joiner: Some(9), ..facts },
        ];
        others.iter().for_each(|other| assert_ne!(sums(*other), sums(facts), "{other:?}"));
    }

    /// Sysmon monitors no thread while it walks.
    #[test]
    fn a_walk_ends_when_the_runtime_is_not_quiet() {
        let runtime = Builder::new().max_procs(1).build().unwrap();
        let sched = runtime.sched().clone();
        let all: Vec<_> = (0..1000).map(|_| runtime.spawn(pending::<()>())).collect();
        let stuck = || sched.all_stuck(&Keys::default());
        while stuck().is_none() {
            std::thread::yield_now();
        }
        let timer = runtime.spawn(crate::sleep(Duration::from_secs(3600)));
        while sched.next_timer() == crate::util::clock::FOREVER {
            std::thread::yield_now();
        }
        let mut visited = 0;
        let walk = sched.try_each(|_| {
            visited += 1;
            Some(())
        });
        assert_eq!((walk, visited), (ControlFlow::Break(()), 0));
        timer.abort();
        all.iter().for_each(crate::JoinHandle::abort);
    }

    /// A walk over goroutines that await foreign futures ends half way: the other join slots cannot
    /// have all their wakers.
    #[test]
    fn wakers_beyond_the_join_slots_that_are_left_end_a_walk() {
        let (keys, mut sums) = (Keys::default(), Sums::default());
        let facts = Facts { goid: 1, since: 0, cell: 1, wakers: 1, joiner: None };
        for cell in 0..3 {
            sums.add(&keys, &Facts { cell, ..facts });
        }
        assert!(sums.may_be_stuck(3) && !sums.may_be_stuck(2));
        sums.add(&keys, &Facts { wakers: 0, joiner: Some(1), ..facts });
        assert!(sums.may_be_stuck(2) && !sums.may_be_stuck(1));
    }

    #[test]
    fn goroutines_that_await_foreign_futures_are_not_stuck() {
        let runtime = Builder::new().max_procs(1).build().unwrap();
        let sched = runtime.sched().clone();
        let wakers = std::sync::Arc::<crate::prim::fixed::Mutex<Vec<_>>>::default();
        let all: Vec<_> = (0..100)
            .map(|_| {
                let wakers = wakers.clone();
                runtime.spawn(poll_fn(move |cx| {
                    wakers.lock().push(cx.waker().clone());
                    Poll::<()>::Pending
                }))
            })
            .collect();
        while !sched.is_quiet() || wakers.lock().len() < 100 {
            std::thread::yield_now();
        }
        assert_eq!(sched.all_stuck(&Keys::default()), None);
        all.iter().for_each(crate::JoinHandle::abort);
        all.into_iter().for_each(|goroutine| assert!(block_on(goroutine).is_err()));
    }
}
