//! A first-in first-out list of goroutines through their own `link` fields: no allocation, and
//! two lists join in constant time.
//!
//! # Invariants
//!
//! - I1: a list owns the [`GRef`]s of its members, so it alone may touch their links. A member's
//!   link is the next member, the last one's is `None`; `head` and `tail` are `None` together.

use super::GRef;
use super::ptr::GPtr;
use crate::prim::UnsafeCell;

/// The link field of a goroutine: belongs to whoever owns it as a [`GRef`], or to the free list.
pub(crate) struct Link(UnsafeCell<Option<GPtr>>);

impl Link {
    /// A link to nothing.
    pub(crate) fn none() -> Self {
        Self(UnsafeCell::new(None))
    }

    /// # Safety
    ///
    /// The caller owns the cell this link is in (I1).
    #[inline]
    pub(crate) unsafe fn set(&self, next: Option<GPtr>) {
        // SAFETY: the owner is alone with the link.
        self.0.with_mut(|p| unsafe { *p = next });
    }

    /// # Safety
    ///
    /// As for [`set`](Self::set).
    #[inline]
    pub(crate) unsafe fn get(&self) -> Option<GPtr> {
        // SAFETY: the owner is alone with the link.
        self.0.with(|p| unsafe { *p })
    }
}

/// A list of runnable goroutines. Must be emptied: what is in it runs nowhere else.
#[must_use]
#[derive(Debug, Default)]
pub(crate) struct GList {
    head: Option<GPtr>,
    tail: Option<GPtr>,
    len: usize,
}

// SAFETY: I1 — a list is a bundle of `GRef`s, which are `Send`.
unsafe impl Send for GList {}

impl GList {
    /// An empty list.
    pub(crate) const fn new() -> Self {
        Self { head: None, tail: None, len: 0 }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends one.
    pub(crate) fn push_back(&mut self, gp: GRef) {
        let g = gp.into_raw();
        // SAFETY: I1 — `g` is ours now.
        unsafe { g.link().set(None) };
        self.link_tail(g);
        self.tail = Some(g);
        self.len += 1;
    }

    /// Appends all of `other`.
    pub(crate) fn append(&mut self, other: GList) {
        let Some(head) = other.head else { return };
        self.link_tail(head);
        self.tail = other.tail;
        self.len += other.len;
    }

    fn link_tail(&mut self, next: GPtr) {
        match self.tail {
            // SAFETY: I1 — the tail is ours.
            Some(tail) => unsafe { tail.link().set(Some(next)) },
            None => self.head = Some(next),
        }
    }

    /// Takes the first.
    pub(crate) fn pop_front(&mut self) -> Option<GRef> {
        let head = self.head?;
        // SAFETY: I1 — the head is ours.
        self.head = unsafe { head.link().get() };
        if self.head.is_none() {
            self.tail = None;
        }
        self.len -= 1;
        // SAFETY: it came from `into_raw` in `push_back` and leaves the list here.
        Some(unsafe { GRef::from_raw(head) })
    }

    /// Takes the first `n`, or all if there are fewer.
    pub(crate) fn split_front(&mut self, n: usize) -> GList {
        let mut front = GList::new();
        while front.len < n {
            let Some(gp) = self.pop_front() else { break };
            front.push_back(gp);
        }
        front
    }
}

impl FromIterator<GRef> for GList {
    fn from_iter<I: IntoIterator<Item = GRef>>(goroutines: I) -> Self {
        let mut list = GList::new();
        goroutines.into_iter().for_each(|gp| list.push_back(gp));
        list
    }
}
