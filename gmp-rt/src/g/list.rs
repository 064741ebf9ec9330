//! A first-in first-out list of goroutines, linked through their `link` fields. It needs no
//! allocation, and two lists join in constant time.
//!
//! # Invariants
//!
//! - I1: a list owns the [`GRef`]s of its members, so only the list may touch their links. A
//!   member's link is the next member, and the last member's link is `None`. `head` and `tail` are
//!   `None` together.

use super::GRef;
use super::ptr::GPtr;
use crate::prim::UnsafeCell;

/// The link field of a goroutine. It belongs to the owner of the [`GRef`], or to the free list.
pub(crate) struct Link(UnsafeCell<Option<GPtr>>);

impl Link {
    /// Returns a link to nothing.
    pub(crate) fn none() -> Self {
        Self(UnsafeCell::new(None))
    }

    /// Sets the next member.
    ///
    /// # Safety
    ///
    /// The caller owns the cell that contains this link (I1).
    #[inline]
    pub(crate) unsafe fn set(&self, next: Option<GPtr>) {
        // SAFETY: only the owner touches the link.
        self.0.with_mut(|p| unsafe { *p = next });
    }

    /// Returns the next member.
    ///
    /// # Safety
    ///
    /// As for [`set`](Self::set).
    #[inline]
    pub(crate) unsafe fn get(&self) -> Option<GPtr> {
        // SAFETY: only the owner touches the link.
        self.0.with(|p| unsafe { *p })
    }
}

/// A list of runnable goroutines. It must be emptied: its members are on no other queue.
#[must_use]
#[derive(Debug, Default)]
pub(crate) struct GList {
    head: Option<GPtr>,
    tail: Option<GPtr>,
    len: usize,
}

// SAFETY: I1 — a list is a set of `GRef`s, which are `Send`.
unsafe impl Send for GList {}

impl GList {
    /// Returns an empty list.
    pub(crate) const fn new() -> Self {
        Self { head: None, tail: None, len: 0 }
    }

    /// Returns the number of members.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether the list has no member.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a goroutine.
    pub(crate) fn push_back(&mut self, gp: GRef) {
        let g = gp.into_raw();
        // SAFETY: I1 — the list owns `g` now.
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
            // SAFETY: I1 — the list owns the tail.
            Some(tail) => unsafe { tail.link().set(Some(next)) },
            None => self.head = Some(next),
        }
    }

    /// Takes the first member.
    pub(crate) fn pop_front(&mut self) -> Option<GRef> {
        let head = self.head?;
        // SAFETY: I1 — the list owns the head.
        self.head = unsafe { head.link().get() };
        if self.head.is_none() {
            self.tail = None;
        }
        self.len -= 1;
        // SAFETY: `head` came from `into_raw` in `push_back` and leaves the list here.
        Some(unsafe { GRef::from_raw(head) })
    }

    /// Takes the first `n` members, or all if there are fewer.
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
