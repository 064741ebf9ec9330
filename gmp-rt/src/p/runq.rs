//! The local run queue: a ring of 256 goroutines and, before it, `runnext`.
//!
//! One producer, the owner; many consumers, the owner and thieves. Pushing is a store, popping
//! and stealing are one CAS on `head`, also for half a ring. Slots are atomic pointers, so the
//! copy that a consumer makes before its CAS is not a data race, and is thrown away if the CAS
//! fails.
//!
//! Against `crossbeam_deque::Worker` (FIFO, kept at 256), by `gmp-bench --bin queues` on two cores:
//! push and pop by the owner 5.2 ns to 6.4; emptied by a thief 20.1 ns to 19.9 per goroutine. The
//! ring has a bound by nature, so overflow moves as one batch; pushes never allocate, and a steal
//! needs no epoch pin.
//!
//! # Invariants
//!
//! - I1: a pointer in a slot in `head..tail`, or in `runnext`, is a goroutine whose right to run
//!   the ring holds. Whoever moves `head` past it, or swaps it out of `runnext`, has that right.
//! - I2: only the owner writes slots and `tail`, and only the owner makes `runnext` non-null.
//!   [`Owner`] is the evidence.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store of `tail` in [`Owner::put_tail`], [`Owner::put_batch`], [`RunQ::steal_into`] | Acquire load in [`RunQ::steal_into`] | the slots written, and the goroutines in them |
//! | O2 | AcqRel CAS of `head` in [`Owner::get`], [`Owner::take_half`], [`RunQ::steal_into`] | Acquire load of `head` in [`Owner::put_tail`] | that the slots may be written again |
//! | O3 | AcqRel swap and CAS of `runnext` | each other | the goroutine in it |
//!
//! `head` and `tail` only grow and wrap; their difference is the length.
//!
//! # Differences from Go
//!
//! `grab` is part of `steal_into`: there is one thief's path, not two.

use crate::g::list::GList;
use crate::g::ptr::GPtr;
use crate::g::{G, GRef};
use crate::prim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::prim::{AtomicPtr, AtomicU32};
use crate::tuning::RUNQ_CAP;
use crate::util::prefetch::prefetch;
use std::marker::PhantomData;
use std::ptr;

const CAP: u32 = RUNQ_CAP as u32;

/// The queue as everybody sees it: can be looked at and stolen from.
#[derive(Debug)]
pub(crate) struct RunQ {
    head: AtomicU32,
    tail: AtomicU32,
    runnext: AtomicPtr<G>,
    ring: [AtomicPtr<G>; RUNQ_CAP],
}

/// Whether a thief may take `runnext` when the ring is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StealNext {
    /// Only the ring.
    No,
    /// Also `runnext`: the last resort.
    Yes,
}

/// The goroutine picked by [`Owner::get`], and where it was.
#[derive(Debug)]
pub(crate) enum Got {
    /// It was `runnext`: it inherits the slice.
    Next(GRef),
    /// It was at the head of the ring: a fresh slice.
    Ring(GRef),
}

/// The goroutine that a slot held; `None` if the slot was empty.
///
/// # Safety
///
/// I1: `raw` was in a slot, and the caller took it from there and nobody else.
#[inline]
unsafe fn out_of_slot(raw: *mut G) -> Option<GRef> {
    // SAFETY: slots hold null or what came from a `GRef`, by the stores in this file.
    let g = unsafe { GPtr::from_ptr(raw) };
    // SAFETY: guaranteed by the caller.
    g.map(|g| unsafe { GRef::from_raw(g) })
}

impl RunQ {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Self {
            head: AtomicU32::new(0),
            tail: AtomicU32::new(0),
            runnext: AtomicPtr::new(ptr::null_mut()),
            ring: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
        }
    }

    /// The number of goroutines in the ring just now; `runnext` is not counted, as in Go.
    pub(crate) fn len(&self) -> usize {
        // `head` first: it can only grow meanwhile, so the difference is at most too large.
        let head = self.head.load(Acquire); // O2
        let tail = self.tail.load(Acquire); // O1
        (tail.wrapping_sub(head) as usize).min(RUNQ_CAP)
    }

    /// How many have left the ring so far; wraps.
    pub(crate) fn taken(&self) -> u32 {
        self.head.load(Acquire) // O2
    }

    /// Whether `runnext` is taken just now.
    pub(crate) fn has_next(&self) -> bool {
        // Relaxed: a hint; whoever acts on it swaps.
        !self.runnext.load(Relaxed).is_null()
    }

    /// The evidence that the caller is the owner.
    ///
    /// # Safety
    ///
    /// I2: at any time at most one thread uses an `Owner` of this queue.
    pub(crate) unsafe fn owner(&self) -> Owner<'_> {
        Owner { q: self, not_send: PhantomData }
    }

    #[inline]
    fn slot(&self, at: u32) -> &AtomicPtr<G> {
        &self.ring[at as usize % RUNQ_CAP]
    }

    #[inline]
    fn take_next(&self) -> Option<GRef> {
        // A failed swap is not possible, an empty one is: do not write if there is nothing.
        if self.runnext.load(Relaxed).is_null() {
            return None;
        }
        let next = self.runnext.swap(ptr::null_mut(), AcqRel); // O3
        // SAFETY: I1 — swapped out by us.
        unsafe { out_of_slot(next) }
    }

    /// Moves half of this ring, at least one, to the ring of a thief, which must be empty.
    ///
    /// Returns the oldest of them to run now. With [`StealNext::Yes`] an empty ring gives
    /// `runnext` instead.
    pub(crate) fn steal_into(&self, thief: &Owner<'_>, next: StealNext) -> Option<GRef> {
        debug_assert_eq!(thief.q.len(), 0, "a thief with work");
        loop {
            let head = self.head.load(Acquire); // O2
            let tail = self.tail.load(Acquire); // O1
            let len = tail.wrapping_sub(head);
            let half = len - len / 2;
            if half == 0 || len > CAP {
                if len > CAP {
                    continue; // `head` moved between the two loads
                }
                return match next {
                    StealNext::Yes => self.take_next(),
                    StealNext::No => None,
                };
            }
            // Relaxed: a value of `tail` that only the owner, we, wrote.
            let into = thief.q.tail.load(Relaxed);
            // Copy first: after the CAS the slots are the owner's to write. The first stays out,
            // to run now.
            let first = self.slot(head).load(Relaxed); // Relaxed: published by O1
            for n in 1..half {
                let g = self.slot(head.wrapping_add(n)).load(Relaxed); // Relaxed: as above
                thief.q.slot(into.wrapping_add(n - 1)).store(g, Relaxed); // Relaxed: until O1
            }
            let moved = head.wrapping_add(half);
            if self.head.compare_exchange(head, moved, AcqRel, Relaxed).is_ok() {
                // O2
                thief.q.tail.store(into.wrapping_add(half - 1), Release); // O1
                // SAFETY: I1 — our CAS moved `head` past it, and nobody else's.
                return unsafe { out_of_slot(first) };
            }
        }
    }
}

/// The queue as its owner sees it: evidence that this thread may push. See [`RunQ::owner`].
#[derive(Debug)]
pub(crate) struct Owner<'a> {
    q: &'a RunQ,
    not_send: PhantomData<*mut ()>,
}

/// A goroutine that did not fit.
#[must_use]
#[derive(Debug)]
pub(crate) struct Full(pub(crate) GRef);

impl Owner<'_> {
    /// Puts `gp` into `runnext` and returns the one that was there.
    #[inline]
    pub(crate) fn swap_next(&self, gp: GRef) -> Option<GRef> {
        let old = self.q.runnext.swap(gp.into_raw().as_ptr(), AcqRel); // O3
        // SAFETY: I1 — swapped out by us.
        unsafe { out_of_slot(old) }
    }

    /// Appends `gp` to the ring.
    #[inline]
    pub(crate) fn put_tail(&self, gp: GRef) -> Result<(), Full> {
        let tail = self.q.tail.load(Relaxed); // Relaxed: the owner is the only writer
        let head = self.q.head.load(Acquire); // O2
        if tail.wrapping_sub(head) == CAP {
            return Err(Full(gp));
        }
        self.q.slot(tail).store(gp.into_raw().as_ptr(), Relaxed); // Relaxed: until O1
        self.q.tail.store(tail.wrapping_add(1), Release); // O1
        Ok(())
    }

    /// Appends as many of `list` as fit, with one store; leaves the rest.
    pub(crate) fn put_batch(&self, list: &mut GList) {
        let mut tail = self.q.tail.load(Relaxed); // Relaxed: the owner is the only writer
        let head = self.q.head.load(Acquire); // O2
        while tail.wrapping_sub(head) < CAP {
            let Some(gp) = list.pop_front() else { break };
            self.q.slot(tail).store(gp.into_raw().as_ptr(), Relaxed); // Relaxed: until O1
            tail = tail.wrapping_add(1);
        }
        self.q.tail.store(tail, Release); // O1
    }

    /// Takes `runnext`, else the head of the ring.
    #[inline]
    pub(crate) fn get(&self) -> Option<Got> {
        if let Some(gp) = self.q.take_next() {
            return Some(Got::Next(gp));
        }
        self.get_ring().map(Got::Ring)
    }

    /// Takes the head of the ring.
    #[inline]
    pub(crate) fn get_ring(&self) -> Option<GRef> {
        let tail = self.q.tail.load(Relaxed); // Relaxed: the owner is the only writer
        let mut head = self.q.head.load(Acquire); // O2
        while head != tail {
            let g = self.q.slot(head).load(Relaxed); // Relaxed: written by this thread
            match self.q.head.compare_exchange_weak(head, head.wrapping_add(1), AcqRel, Acquire) {
                // O2
                Ok(_) => {
                    self.fetch_ahead(head.wrapping_add(1), tail);
                    // SAFETY: I1 — our CAS moved `head` past it.
                    return unsafe { out_of_slot(g) };
                }
                Err(moved) => head = moved,
            }
        }
        None
    }

    /// Fetches the goroutine that comes next, while this one runs: of many, none is in a cache. (The row
    /// `broadcast` on one P takes a third less CPU with it; where all fit in the cache it makes no difference.)
    #[inline]
    fn fetch_ahead(&self, next: u32, tail: u32) {
        if next != tail {
            let g = self.q.slot(next).load(Relaxed).cast_const(); // Relaxed: only an address
            prefetch(g);
            prefetch(g.cast::<u8>().wrapping_add(64));
        }
    }

    /// Takes the older half of a full ring, to make room; nothing if a thief made some meanwhile.
    pub(crate) fn take_half<C: FromIterator<GRef>>(&self) -> C {
        let tail = self.q.tail.load(Relaxed); // Relaxed: the owner is the only writer
        let head = self.q.head.load(Acquire); // O2
        let half = CAP / 2;
        let full = tail.wrapping_sub(head) == CAP;
        let moved = head.wrapping_add(half);
        let taken = full && self.q.head.compare_exchange(head, moved, AcqRel, Relaxed).is_ok(); // O2
        // The slots stay as they are meanwhile: only we write them.
        let slots = if taken { 0..half } else { 0..0 };
        let take = |n| {
            let g = self.q.slot(head.wrapping_add(n)).load(Relaxed); // Relaxed: our own writes
            // SAFETY: I1 — our CAS moved `head` past it.
            unsafe { out_of_slot(g) }
        };
        slots.filter_map(take).collect()
    }

    /// Puts the first `n` of the ring behind the others; gives back those for which a waker took the room.
    pub(crate) fn rotate(&self, n: usize) -> GList {
        let mut list: GList = (0..n).map_while(|_| self.get_ring()).collect();
        self.put_batch(&mut list);
        list
    }

    /// Takes everything, `runnext` first.
    pub(crate) fn drain(&self) -> GList {
        let mut list = GList::new();
        while let Some(Got::Next(gp) | Got::Ring(gp)) = self.get() {
            list.push_back(gp);
        }
        list
    }
}
