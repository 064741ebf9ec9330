//! The local run queue of a P: the newcomers, then `runnext`, then a ring of 256 goroutines.
//!
//! *Newcomers* are goroutines that a timer, a socket or an external thread has made runnable. They
//! have a [ring](super::ring) of their own, because they run before the goroutines that the P
//! already has ([`super::service`]). Thieves take them first.
//!
//! # Invariants
//!
//! - I1: a pointer in `runnext` is a goroutine whose right to run the queue holds. The thread that
//!   swaps it out has that right.
//! - I2: only the owner pushes to the rings, and only the owner makes `runnext` non-null.
//!   [`Owner`] is the evidence.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | AcqRel swap of `runnext` | each other | the goroutine in it |

use super::ring::{Ends, Ring, Slots, Stolen, out_of_slot};
use crate::g::list::GList;
use crate::g::{G, GRef};
use crate::prim::AtomicPtr;
use crate::prim::Ordering::{AcqRel, Relaxed};
use crate::tuning::RUNQ_CAP;
use std::marker::PhantomData;
use std::ptr;

pub(crate) use super::ring::Full;

/// The queue as every thread may use it: to read its length and to steal from it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct RunQ {
    ring: Ends,
    newcomers: Ends,
    runnext: AtomicPtr<G>,
    ring_slots: Slots,
    newcomer_slots: Slots,
}

/// Whether a thief may take `runnext` if the rings are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StealNext {
    /// Only from the rings.
    No,
    /// Also `runnext`: the last resort.
    Yes,
}

/// The goroutine that [`Owner::get`] took, and from where.
#[derive(Debug)]
pub(crate) enum Got {
    /// From `runnext`: it inherits the slice.
    Next(GRef),
    /// From the head of a ring: it gets a fresh slice.
    Ring(GRef),
}

impl Got {
    /// Returns the goroutine.
    pub(crate) fn into_g(self) -> GRef {
        match self {
            Self::Next(gp) | Self::Ring(gp) => gp,
        }
    }
}

impl RunQ {
    /// Returns an empty queue.
    pub(crate) fn new() -> Self {
        Self {
            ring: Ends::new(),
            newcomers: Ends::new(),
            runnext: AtomicPtr::new(ptr::null_mut()),
            ring_slots: Slots::new(),
            newcomer_slots: Slots::new(),
        }
    }

    #[inline]
    fn ring(&self) -> Ring<'_> {
        Ring { ends: &self.ring, slots: &self.ring_slots }
    }

    #[inline]
    fn newcomers(&self) -> Ring<'_> {
        Ring { ends: &self.newcomers, slots: &self.newcomer_slots }
    }

    /// Returns the number of goroutines on both rings. `runnext` is not counted, as in Go.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ring().len() + self.newcomers().len()
    }

    /// Returns the number of goroutines on the ring, without the newcomers.
    pub(crate) fn ring_len(&self) -> usize {
        self.ring().len()
    }

    /// Returns the number of newcomers.
    pub(crate) fn newcomers_len(&self) -> usize {
        self.newcomers().len()
    }

    /// Whether `runnext` holds a goroutine.
    pub(crate) fn has_next(&self) -> bool {
        // Relaxed: a hint; a thread that acts on it swaps.
        !self.runnext.load(Relaxed).is_null()
    }

    /// Returns the evidence that the caller is the owner.
    ///
    /// # Safety
    ///
    /// I2: at any time at most one thread uses an `Owner` of this queue.
    pub(crate) unsafe fn owner(&self) -> Owner<'_> {
        Owner { q: self, not_send: PhantomData }
    }

    #[inline]
    fn take_next(&self) -> Option<GRef> {
        // An empty slot is not written: a write would take the cache line from the owner.
        if self.runnext.load(Relaxed).is_null() {
            return None;
        }
        let next = self.runnext.swap(ptr::null_mut(), AcqRel); // O1
        // SAFETY: I1 — swapped out by this thread.
        unsafe { out_of_slot(next) }
    }

    /// Moves half of the newcomers to the newcomers of the thief, whose queue must be empty. If
    /// there are none, moves half of the ring to the thief's ring. If both are empty, takes
    /// `runnext` with [`StealNext::Yes`]. Returns the oldest goroutine taken, to run now, and the
    /// number taken.
    pub(crate) fn steal_into(&self, thief: &Owner<'_>, next: StealNext) -> Option<Stolen> {
        debug_assert_eq!(thief.q.len(), 0, "a thief with work");
        // SAFETY: I2 — `thief` is the evidence, and the caller guarantees that its queue is empty.
        let stolen = unsafe { self.newcomers().steal_into(thief.q.newcomers()) };
        // SAFETY: as above.
        stolen.or_else(|| unsafe { self.ring().steal_into(thief.q.ring()) }).or_else(
            || match next {
                StealNext::Yes => self.take_next().map(|first| Stolen { first, len: 1 }),
                StealNext::No => None,
            },
        )
    }
}

impl RunQ {
    /// Steals all goroutines, for a caller that has no queue of its own.
    ///
    /// Returns also if the owner pushes all the time: then it leaves the last ones.
    pub(crate) fn steal_all(&self) -> Queued {
        let newcomers = steal_ring(self.newcomers());
        let mut others = steal_ring(self.ring());
        if let Some(gp) = self.take_next() {
            others.push_back(gp);
        }
        Queued { newcomers, others }
    }
}

/// Steals all goroutines of a ring. Leaves the last ones if its owner pushes all the time.
fn steal_ring(ring: Ring<'_>) -> GList {
    let own = RunQ::new();
    let mut all = GList::new();
    // Each steal takes half of the ring.
    while all.len() <= RUNQ_CAP {
        // SAFETY: I2 — no other thread reaches a queue on this stack, and its rings are empty.
        let Some(stolen) = (unsafe { ring.steal_into(own.ring()) }) else { break };
        all.push_back(stolen.first);
        // SAFETY: as above.
        while let Some(gp) = unsafe { own.ring().pop() } {
            all.push_back(gp);
        }
    }
    all
}

/// All goroutines of a queue.
#[must_use]
#[derive(Debug, Default)]
pub(crate) struct Queued {
    pub(crate) newcomers: GList,
    /// The goroutines of `runnext` and the ring.
    pub(crate) others: GList,
}

/// The owner's access to the queue: evidence that this thread may push. See [`RunQ::owner`].
#[derive(Debug)]
pub(crate) struct Owner<'a> {
    q: &'a RunQ,
    not_send: PhantomData<*mut ()>,
}

impl Owner<'_> {
    /// Puts `gp` into `runnext` and returns the goroutine that was there.
    #[inline]
    pub(crate) fn swap_next(&self, gp: GRef) -> Option<GRef> {
        let old = self.q.runnext.swap(gp.into_raw().as_ptr(), AcqRel); // O1
        // SAFETY: I1 — swapped out by this thread.
        unsafe { out_of_slot(old) }
    }

    /// Takes `runnext`.
    #[inline]
    pub(crate) fn take_next(&self) -> Option<GRef> {
        self.q.take_next()
    }

    /// Appends `gp` to the ring.
    #[inline]
    pub(crate) fn put_tail(&self, gp: GRef) -> Result<(), Full> {
        // SAFETY: I2 — `self` is the evidence.
        unsafe { self.q.ring().push(gp) }
    }

    /// Appends `gp` to the newcomers.
    pub(crate) fn put_newcomer(&self, gp: GRef) -> Result<(), Full> {
        // SAFETY: I2 — `self` is the evidence.
        unsafe { self.q.newcomers().push(gp) }
    }

    /// Appends as many of `list` as fit to the ring, with one store. Leaves the rest in `list`.
    pub(crate) fn put_batch(&self, list: &mut GList) {
        // SAFETY: I2 — `self` is the evidence.
        unsafe { self.q.ring().push_batch(list) }
    }

    /// Takes `runnext`, else the head of the ring. Newcomers run before these: see
    /// [`get_newcomer`](Self::get_newcomer).
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
        // SAFETY: I2 — `self` is the evidence.
        unsafe { self.q.ring().pop() }
    }

    /// Takes the oldest newcomer.
    pub(crate) fn get_newcomer(&self) -> Option<GRef> {
        // SAFETY: I2 — `self` is the evidence.
        unsafe { self.q.newcomers().pop() }
    }

    /// Takes the oldest newcomer, else `runnext`, else the head of the ring.
    pub(crate) fn get_first(&self) -> Option<GRef> {
        self.get_newcomer().or_else(|| self.get().map(Got::into_g))
    }

    /// Takes the older half of a full ring, to make room. Takes nothing if a thief made room
    /// meanwhile.
    pub(crate) fn take_half<C: FromIterator<GRef>>(&self) -> C {
        // SAFETY: I2 — `self` is the evidence.
        unsafe { self.q.ring().take_half() }
    }

    /// Takes all goroutines in the order in which the owner would run them.
    pub(crate) fn drain(&self) -> Queued {
        let newcomers = std::iter::from_fn(|| self.get_newcomer()).collect();
        let others = std::iter::from_fn(|| self.get().map(Got::into_g)).collect();
        Queued { newcomers, others }
    }
}
