//! A ring of 256 goroutines with one producer, its owner, and many consumers.
//!
//! A push is a store. A pop or a steal is one compare-exchange on `head`, also for half a ring.
//! Slots are atomic pointers. So the copy that a consumer makes before its compare-exchange is no
//! data race, and the consumer discards the copy if the exchange fails.
//!
//! A `crossbeam_deque::Worker` is about as fast (`gmp-bench --bin queues`). But the ring is
//! bounded, so an overflow moves as one batch. A push never allocates, and a steal needs no epoch
//! pin.
//!
//! # Invariants
//!
//! - I1: a pointer in a slot in `head..tail` is a goroutine whose right to run the ring holds. The
//!   thread that moves `head` past the slot has that right.
//! - I2: only the owner writes slots and `tail`. The unsafe functions require this of their caller.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store of `tail` | Acquire load in [`Ring::steal_into`] | slots and goroutines |
//! | O2 | AcqRel exchange of `head` | Acquire load in [`Ring::push`] | that slots are free |
//!
//! O1 stores are in [`Ring::push`], [`Ring::push_batch`] and [`Ring::steal_into`]. O2 exchanges are
//! in [`Ring::pop`], [`Ring::take_half`] and [`Ring::steal_into`]. `head` and `tail` only grow and
//! wrap. Their difference is the length.
//!
//! # Differences from Go
//!
//! `grab` is part of `steal_into`: all thieves use one path.

use crate::g::list::GList;
use crate::g::ptr::GPtr;
use crate::g::{G, GRef};
use crate::prim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::prim::{AtomicPtr, AtomicU32};
use crate::tuning::RUNQ_CAP;
use crate::util::prefetch::prefetch;
use std::ptr;

const CAP: u32 = RUNQ_CAP as u32;

/// Returns the goroutine that a slot held; `None` if the slot was empty.
///
/// # Safety
///
/// `raw` is null, or comes from a slot that holds a right to run, and the caller took it from
/// there.
#[inline]
pub(super) unsafe fn out_of_slot(raw: *mut G) -> Option<GRef> {
    // SAFETY: slots hold null or what came from a `GRef`, by the stores of this folder.
    let g = unsafe { GPtr::from_ptr(raw) };
    // SAFETY: guaranteed by the caller.
    g.map(|g| unsafe { GRef::from_raw(g) })
}

/// A goroutine that did not fit.
#[must_use]
#[derive(Debug)]
pub(crate) struct Full(pub(crate) GRef);

/// The goroutines that a thief has taken.
#[derive(Debug)]
pub(crate) struct Stolen {
    /// The oldest one, to run now.
    pub(crate) first: GRef,
    /// The number of goroutines, with the first. The others are on the thief's ring.
    pub(crate) len: usize,
}

/// The two ends of a ring. They are apart from the slots, so that the ends of several rings share a
/// cache line: a thief reads all of them.
#[derive(Debug)]
pub(super) struct Ends {
    head: AtomicU32,
    tail: AtomicU32,
}

impl Ends {
    pub(super) fn new() -> Self {
        Self { head: AtomicU32::new(0), tail: AtomicU32::new(0) }
    }
}

/// The slots of a ring.
#[derive(Debug)]
pub(super) struct Slots([AtomicPtr<G>; RUNQ_CAP]);

impl Slots {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())))
    }

    #[inline]
    fn at(&self, at: u32) -> &AtomicPtr<G> {
        &self.0[at as usize % RUNQ_CAP]
    }
}

/// A ring. See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring<'a> {
    pub(super) ends: &'a Ends,
    pub(super) slots: &'a Slots,
}

impl Ring<'_> {
    /// Returns the number of goroutines.
    #[inline]
    pub(super) fn len(self) -> usize {
        // `head` first: it can only grow until `tail` is read, so the difference may be too large,
        // never too small.
        let head = self.ends.head.load(Acquire); // O2
        let tail = self.ends.tail.load(Acquire); // O1
        (tail.wrapping_sub(head) as usize).min(RUNQ_CAP)
    }

    /// Moves half of this ring, at least one goroutine, to the ring of a thief. Returns the oldest
    /// of them, to run now.
    ///
    /// # Safety
    ///
    /// I2: the caller is the owner of `thief`, and `thief` is empty.
    pub(super) unsafe fn steal_into(self, thief: Ring<'_>) -> Option<Stolen> {
        loop {
            let head = self.ends.head.load(Acquire); // O2
            let tail = self.ends.tail.load(Acquire); // O1
            let len = tail.wrapping_sub(head);
            if len == 0 {
                return None;
            }
            if len > CAP {
                continue; // `head` moved between the two loads
            }
            let half = len - len / 2;
            // Relaxed: a value of `tail` that only the owner, this thread, wrote.
            let into = thief.ends.tail.load(Relaxed);
            // The copy comes first: after the exchange the owner may write the slots. The first
            // goroutine is not copied: it runs now.
            let first = self.slots.at(head).load(Relaxed); // Relaxed: published by O1
            for n in 1..half {
                let g = self.slots.at(head.wrapping_add(n)).load(Relaxed); // Relaxed: as above
                thief.slots.at(into.wrapping_add(n - 1)).store(g, Relaxed); // Relaxed: until O1
            }
            let moved = head.wrapping_add(half);
            if self.ends.head.compare_exchange(head, moved, AcqRel, Relaxed).is_ok() {
                // O2
                thief.ends.tail.store(into.wrapping_add(half - 1), Release); // O1
                // SAFETY: I1 — this exchange, and no other, moved `head` past it.
                let first = unsafe { out_of_slot(first) };
                return first.map(|first| Stolen { first, len: half as usize });
            }
        }
    }

    /// Appends `gp`.
    ///
    /// # Safety
    ///
    /// I2: the caller is the owner.
    #[inline]
    pub(super) unsafe fn push(self, gp: GRef) -> Result<(), Full> {
        let tail = self.ends.tail.load(Relaxed); // Relaxed: the owner is the only writer
        let head = self.ends.head.load(Acquire); // O2
        if tail.wrapping_sub(head) == CAP {
            return Err(Full(gp));
        }
        self.slots.at(tail).store(gp.into_raw().as_ptr(), Relaxed); // Relaxed: until O1
        self.ends.tail.store(tail.wrapping_add(1), Release); // O1
        Ok(())
    }

    /// Appends as many of `list` as fit, with one store. Leaves the rest in `list`.
    ///
    /// # Safety
    ///
    /// I2: the caller is the owner.
    pub(super) unsafe fn push_batch(self, list: &mut GList) {
        let mut tail = self.ends.tail.load(Relaxed); // Relaxed: the owner is the only writer
        let head = self.ends.head.load(Acquire); // O2
        while tail.wrapping_sub(head) < CAP {
            let Some(gp) = list.pop_front() else { break };
            self.slots.at(tail).store(gp.into_raw().as_ptr(), Relaxed); // Relaxed: until O1
            tail = tail.wrapping_add(1);
        }
        self.ends.tail.store(tail, Release); // O1
    }

    /// Takes the oldest goroutine.
    ///
    /// # Safety
    ///
    /// I2: the caller is the owner.
    #[inline]
    pub(super) unsafe fn pop(self) -> Option<GRef> {
        let tail = self.ends.tail.load(Relaxed); // Relaxed: the owner is the only writer
        let mut head = self.ends.head.load(Acquire); // O2
        while head != tail {
            let g = self.slots.at(head).load(Relaxed); // Relaxed: written by this thread
            let next = head.wrapping_add(1);
            match self.ends.head.compare_exchange_weak(head, next, AcqRel, Acquire) {
                // O2
                Ok(_) => {
                    self.fetch_ahead(next, tail);
                    // SAFETY: I1 — this exchange moved `head` past it.
                    return unsafe { out_of_slot(g) };
                }
                Err(moved) => head = moved,
            }
        }
        None
    }

    /// Prefetches the next goroutine into the cache while this one runs. Measured: row `broadcast`.
    #[inline]
    fn fetch_ahead(self, next: u32, tail: u32) {
        if next != tail {
            let g = self.slots.at(next).load(Relaxed).cast_const(); // Relaxed: only an address
            prefetch(g);
            prefetch(g.cast::<u8>().wrapping_add(64));
        }
    }

    /// Takes the older half of a full ring. Takes nothing if a thief made room meanwhile.
    ///
    /// # Safety
    ///
    /// I2: the caller is the owner.
    pub(super) unsafe fn take_half<C: FromIterator<GRef>>(self) -> C {
        let tail = self.ends.tail.load(Relaxed); // Relaxed: the owner is the only writer
        let head = self.ends.head.load(Acquire); // O2
        let half = CAP / 2;
        let full = tail.wrapping_sub(head) == CAP;
        let moved = head.wrapping_add(half);
        // O2
        let taken = full && self.ends.head.compare_exchange(head, moved, AcqRel, Relaxed).is_ok();
        // The slots do not change meanwhile: only this thread writes them.
        let slots = if taken { 0..half } else { 0..0 };
        let take = |n| {
            let g = self.slots.at(head.wrapping_add(n)).load(Relaxed); // Relaxed: own writes
            // SAFETY: I1 — the exchange above moved `head` past it.
            unsafe { out_of_slot(g) }
        };
        slots.filter_map(take).collect()
    }
}
