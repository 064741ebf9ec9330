//! The Ps of a runtime, by number.
//!
//! The active Ps have the *numbers* from 0 on, without a gap. The active P with a number is its
//! *holder*. When a P is handed off, another P object gets its number. So the number of Ps that a
//! thief, sysmon or a search for timers visits does not grow with the number of blocked threads,
//! and statistics per number do not begin again. The timers belong to the number: they stay when
//! its holder changes. If a P is deactivated, the P with the highest number gets its number.
//!
//! [`PTable`], behind the lock of the idle lists, holds all P objects of the runtime:
//!
//! | list | P objects | freed |
//! |------|-----------|-------|
//! | holders | the active Ps | no |
//! | handed off | the Ps of threads that block or compute in a poll | no |
//! | spare | Ps that no thread uses, kept for the next hand-off | those beyond `max_procs` |
//!
//! A thief must not take that lock for each steal. So each M and sysmon have a [`PsView`]: a copy
//! of the list of holders. Each number has a version in [`Ps`] that changes with its holder. A view
//! compares the versions, which seldom change, before it is used, and copies the new holders under
//! the lock. The view has a reference count of each P, so a P that it still shows is not freed.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store of a version, under the lock, before the M of the new holder queues anything | Acquire load in [`PsView::refresh`] | that the holder has changed; the holder itself is behind the lock |
//!
//! An M that goes to sleep refreshes its view after the SeqCst fence that the scheduler's README
//! describes. If it has to see a goroutine on the queue of a P, the version of that P was stored
//! before the goroutine was queued, so it sees the version too.

use super::Sched;
use crate::limits::MAX_PROCS;
use crate::p::{OwnedP, P, PStatus, StatusKey, Totals};
use crate::prim::Ordering::{Acquire, Relaxed, Release};
use crate::prim::fixed::OnceLock;
use crate::prim::{AtomicU64, AtomicUsize};
use crate::timer::Timers;
use std::ops::{AddAssign, Sub};
use std::sync::Arc;

/// What threads know of the Ps without a lock. See the [module](self).
#[derive(Debug)]
pub(crate) struct Ps {
    runtime: u16,
    /// By number. The numbers in use are below `len`.
    versions: Box<[AtomicU64]>,
    /// By number. Timers stay until the end of the runtime, also if their number is not in use any
    /// more.
    timers: Box<[OnceLock<Arc<Timers>>]>,
    /// The numbers that may have a holder are below this. Written under the lock.
    len: AtomicUsize,
    /// The numbers that have timers are below this. Written under the lock, never decreased.
    timers_len: AtomicUsize,
}

impl Ps {
    pub(super) fn new(runtime: u16) -> Self {
        Self {
            runtime,
            versions: (0..MAX_PROCS).map(|_| AtomicU64::new(0)).collect(),
            timers: (0..MAX_PROCS).map(|_| OnceLock::new()).collect(),
            len: AtomicUsize::new(0),
            timers_len: AtomicUsize::new(0),
        }
    }

    /// Returns the timers of the number `number`, which a P has or had.
    #[inline]
    pub(crate) fn timers(&self, number: usize) -> &Arc<Timers> {
        self.timers[number].get().expect("a P had this number")
    }

    /// Iterates over the timers of all numbers.
    #[inline]
    pub(crate) fn all_timers(&self) -> impl Iterator<Item = &Arc<Timers>> {
        self.timers[..self.timers_len()].iter().filter_map(OnceLock::get)
    }

    /// Returns how many numbers have timers.
    #[inline]
    pub(crate) fn timers_len(&self) -> usize {
        self.timers_len.load(Acquire) // pairs with the store in `PTable::install`
    }
}

/// The holder of a number.
#[derive(Debug, Default)]
struct Holder {
    p: Option<Arc<P>>,
    /// The counts of former holders, while they had the number.
    past: NumberTotals,
    /// The counts of the present holder when it got the number.
    start: NumberTotals,
}

/// What the holders of a number counted while they had it. All of it only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NumberTotals {
    pub(crate) counts: Totals,
    /// Marked blocking calls begun.
    pub(crate) calls: u64,
}

impl NumberTotals {
    fn of(p: &P) -> Self {
        Self { counts: p.counters.get(), calls: p.calls.get().begun() }
    }
}

impl AddAssign for NumberTotals {
    fn add_assign(&mut self, other: Self) {
        self.counts += other.counts;
        self.calls += other.calls;
    }
}

impl Sub for NumberTotals {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { counts: self.counts - other.counts, calls: self.calls - other.calls }
    }
}

impl Holder {
    fn totals(&self) -> NumberTotals {
        let mut totals = self.past;
        if let Some(p) = &self.p {
            totals += NumberTotals::of(p) - self.start;
        }
        totals
    }

    /// Replaces the P. Returns the previous one.
    fn replace(&mut self, p: Option<Arc<P>>) -> Option<Arc<P>> {
        self.past = self.totals();
        self.start = p.as_deref().map_or_else(NumberTotals::default, NumberTotals::of);
        std::mem::replace(&mut self.p, p)
    }
}

/// All P objects of a runtime. Behind the lock of the idle lists. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct PTable {
    /// The holder of each number.
    holders: Vec<Holder>,
    /// In no order. Each P knows its place.
    handed_off: Vec<Arc<P>>,
    /// Handed-off Ps that sysmon has not taken over yet.
    hand_offs: Vec<Arc<P>>,
    spare: Vec<OwnedP>,
    /// The counters of the P objects that were freed.
    freed: NumberTotals,
}

/// P objects that are not needed any more. They are dropped after the lock is released, because
/// that takes other locks.
#[must_use]
#[derive(Debug)]
pub(crate) struct Surplus(#[expect(dead_code, reason = "they are only dropped")] Vec<OwnedP>);

impl PTable {
    /// Returns a spare P. Makes one if there is none.
    pub(super) fn take_spare(&mut self, number: usize) -> OwnedP {
        self.spare.pop().unwrap_or_else(|| OwnedP::new(number))
    }

    /// Makes `p` the holder of `number`, which has none.
    pub(super) fn install(&mut self, ps: &Ps, number: usize, p: &OwnedP, key: &StatusKey) {
        p.set_number(number, key);
        if self.holders.len() <= number {
            self.holders.resize_with(number + 1, Holder::default);
        }
        ps.timers[number].get_or_init(|| Arc::new(Timers::new(ps.runtime)));
        // Relaxed loads: both are written under this lock.
        ps.timers_len.store(ps.timers_len.load(Relaxed).max(number + 1), Release);
        let before = self.set_holder(ps, number, Some(p.shared().clone()));
        debug_assert!(before.is_none(), "the number {number} has two holders");
    }

    /// Takes the number of `p` away.
    pub(super) fn vacate(&mut self, ps: &Ps, p: &P) -> Arc<P> {
        let before = self.set_holder(ps, p.number(), None);
        let before = before.filter(|before| std::ptr::eq(&**before, p));
        before.expect("an active P is the holder of its number")
    }

    fn set_holder(&mut self, ps: &Ps, number: usize, p: Option<Arc<P>>) -> Option<Arc<P>> {
        let before = self.holders[number].replace(p);
        let version = &ps.versions[number];
        version.store(version.load(Relaxed) + 1, Release); // O1
        let len = self.holders.iter().rposition(|holder| holder.p.is_some());
        ps.len.store(len.map_or(0, |last| last + 1), Release); // O1
        before
    }

    /// Gives `number`, which has no holder, to the P with the highest number, so that the numbers
    /// have no gap.
    pub(super) fn close_gap(&mut self, ps: &Ps, number: usize, key: &StatusKey) {
        let last = self.holders.iter().rposition(|holder| holder.p.is_some());
        if let Some(last) = last.filter(|last| *last > number) {
            let p = self.set_holder(ps, last, None);
            if let Some(p) = &p {
                p.set_number(number, key);
            }
            self.set_holder(ps, number, p);
        }
    }

    /// Adds a P that was handed off.
    pub(super) fn add_handed_off(&mut self, p: Arc<P>) {
        // Relaxed: all of this is used under the lock, except for the count, which is a hint then.
        p.handed_off_at.store(self.handed_off.len(), Relaxed);
        p.hand_offs.store(p.hand_offs() + 1, Relaxed);
        if !p.is_noted.load(Relaxed) {
            p.is_noted.store(true, Relaxed);
            self.hand_offs.push(p.clone());
        }
        self.handed_off.push(p);
    }

    /// Takes the Ps that were handed off since the last call, for sysmon, each once and with the
    /// count of its hand-offs. Some may be active or spare again.
    pub(crate) fn take_hand_offs(&mut self) -> Vec<(Arc<P>, u64)> {
        let take = |p: Arc<P>| {
            p.is_noted.store(false, Relaxed); // Relaxed: used under the lock
            let hand_offs = p.hand_offs();
            (p, hand_offs)
        };
        self.hand_offs.drain(..).map(take).collect()
    }

    /// Returns how many Ps are handed off.
    pub(crate) fn handed_off_len(&self) -> usize {
        self.handed_off.len()
    }

    /// Removes a P that was handed off and is not any more.
    pub(super) fn remove_handed_off(&mut self, p: &P) {
        let at = p.handed_off_at.load(Relaxed); // Relaxed: under the lock
        let removed = self.handed_off.swap_remove(at);
        debug_assert!(std::ptr::eq(&*removed, p), "a handed-off P is not at its place");
        if let Some(moved) = self.handed_off.get(at) {
            moved.handed_off_at.store(at, Relaxed); // Relaxed: under the lock
        }
    }

    /// Makes a P that is not active spare.
    pub(super) fn retire(&mut self, p: OwnedP, key: &StatusKey) {
        debug_assert_eq!(p.runq.len(), 0, "a P with goroutines is retired");
        p.set_status(PStatus::Spare, key);
        self.spare.push(p);
    }

    /// Takes the spare Ps beyond `keep` out.
    pub(super) fn trim_spare(&mut self, keep: usize) -> Surplus {
        let surplus = self.spare.split_off(self.spare.len().min(keep));
        surplus.iter().for_each(|p| self.freed += NumberTotals::of(p));
        Surplus(surplus)
    }

    /// Iterates over the active Ps.
    pub(crate) fn active(&self) -> impl Iterator<Item = &Arc<P>> {
        self.holders.iter().filter_map(|holder| holder.p.as_ref())
    }

    /// Iterates over the Ps that an M may own: the active and the handed-off ones.
    pub(crate) fn owned(&self) -> impl Iterator<Item = &Arc<P>> {
        self.active().chain(&self.handed_off)
    }

    /// Returns the P of each number below `limit`, if it is active, and what its holders counted.
    pub(crate) fn numbers(
        &self,
        limit: usize,
    ) -> impl Iterator<Item = (Option<&Arc<P>>, NumberTotals)> {
        (0..limit).map(|number| match self.holders.get(number) {
            Some(holder) => (holder.p.as_ref(), holder.totals()),
            None => (None, NumberTotals::default()),
        })
    }

    /// Returns what each number counted, and what P objects counted without a number. No count of
    /// either ever decreases.
    pub(crate) fn all_totals(&self) -> (Vec<NumberTotals>, NumberTotals) {
        let numbers = self.holders.iter().map(Holder::totals).collect();
        let mut without = self.freed;
        let spare = self.spare.iter().map(|p| &**p);
        for p in self.handed_off.iter().map(|p| &**p).chain(spare) {
            without += NumberTotals::of(p);
        }
        // Before they became holders.
        self.holders.iter().for_each(|holder| without += holder.start);
        // What those P objects, and the former lives of the holders, counted with a number.
        self.holders.iter().for_each(|holder| without = without - holder.past);
        (numbers, without)
    }

    /// Iterates over all P objects.
    pub(crate) fn all(&self) -> impl Iterator<Item = &P> {
        self.owned().map(|p| &**p).chain(self.spare.iter().map(|p| &**p))
    }

    /// Returns how many goroutines all Ps have finished.
    pub(super) fn finished(&self) -> u64 {
        self.freed.counts.finished + self.all().map(|p| p.counters.finished.get()).sum::<u64>()
    }

    /// Returns how many goroutines all Ps have spawned.
    pub(super) fn spawned(&self) -> u64 {
        self.freed.counts.spawned + self.all().map(|p| p.counters.spawned.get()).sum::<u64>()
    }
}

/// The active Ps, as one thread knows them. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct PsView {
    /// By number.
    versions: Vec<u64>,
    /// By number. A P that was handed off since the last [`refresh`](Self::refresh) may still be
    /// here.
    ps: Vec<Option<Arc<P>>>,
}

impl PsView {
    /// Copies the holders if one has changed.
    #[inline]
    pub(super) fn refresh(&mut self, sched: &Sched) {
        if !self.is_fresh(sched) {
            drop(self.copy(sched));
        }
    }

    /// Whether no holder has changed since the last copy.
    #[inline]
    pub(crate) fn is_fresh(&self, sched: &Sched) -> bool {
        let versions = &sched.ps.versions[..sched.ps.len.load(Acquire)]; // O1
        // O1
        versions.len() == self.versions.len()
            && versions.iter().zip(&self.versions).all(|(new, seen)| new.load(Acquire) == *seen)
    }

    /// Copies the holders, by number. Returns the previous ones, to be dropped without a lock.
    #[cold]
    pub(crate) fn copy(&mut self, sched: &Sched) -> Vec<Option<Arc<P>>> {
        let ps = &sched.ps;
        sched.idle.with(|lists| {
            let holders = &lists.ps.holders[..ps.len.load(Relaxed)]; // Relaxed: under the lock
            let versions = &ps.versions[..holders.len()];
            // Relaxed: under the lock.
            self.versions = versions.iter().map(|version| version.load(Relaxed)).collect();
            let new = holders.iter().map(|holder| holder.p.clone()).collect();
            std::mem::replace(&mut self.ps, new)
        })
    }

    /// Forgets all Ps, so that this view keeps none of them alive.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns how many numbers the view has.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ps.len()
    }

    /// Returns the P with this number, if it is active.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&Arc<P>> {
        self.ps.get(number)?.as_ref()
    }

    /// Iterates over the active Ps.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<P>> {
        self.ps.iter().flatten()
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "ps_tests.rs"]
mod tests;
