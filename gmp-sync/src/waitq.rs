//! Those who wait: a queue whose nodes lie inside the waiting futures (Go: `sudog`, `waitq`).
//!
//! A future that has to wait links a [`Node`] of its own into the [`Queue`] of what it waits
//! for: no allocation, constant-time removal when the future is dropped, first come first
//! served. The queue is plain data, guarded by the lock of the primitive it belongs to.
//!
//! Whoever ends a wait *fires* the node under that lock: takes it out, takes its waker and marks
//! it. The waker is woken after the lock is released ([`Fired`] says so). The future sees the
//! mark without the lock: from then on nobody else looks at the node.
//!
//! Primitives with one lock and one queue use [`Waiter`](crate::waiter::Waiter), which cannot be
//! dropped while queued without leaving the queue. Channels and select, which wait in several queues at once, use
//! nodes directly.
//!
//! Not a slab inside the primitive: that is safe code, but costs a growing allocation per
//! primitive and a lock to learn that one was woken.
//!
//! # Invariants
//!
//! - I1: a node's `inner` is touched by its owner while it is not queued, and by whoever holds
//!   the queue's lock (has `&mut Queue`) while it is.
//! - I2: a queued node is pinned, and removed before it is dropped.
//! - I3: a node is in the queue its owner gave it to, or in none.
//! - I4: a node that is in no queue has no waker. So the drop of a node need not look for one.

use gmp_rt::park::{StorableWaker, StoredWaker};
use gmp_rt::prim::{AtomicU8, Ordering, UnsafeCell, debug_assert_no_lock_held};
use pin_project_lite::pin_project;
use std::fmt;
use std::marker::PhantomPinned;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr;

/// Where a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// In no queue; its owner's.
    Idle,
    /// In a queue.
    Queued,
    /// Its wait has ended; its owner's again.
    Fired,
}

const IDLE: u8 = 0;
const QUEUED: u8 = 1;
const FIRED: u8 = 2;

/// One wait: a place in a queue, the waker, and what the primitive keeps with it.
pub(crate) struct Node<D> {
    state: AtomicU8,
    inner: UnsafeCell<Inner<D>>,
    _pinned: PhantomPinned,
}

struct Inner<D> {
    prev: *const Node<D>,
    next: *const Node<D>,
    waker: Option<ManuallyDrop<StoredWaker>>,
    data: D,
}

impl<D> Inner<D> {
    #[inline]
    fn take_waker(&mut self) -> Option<StoredWaker> {
        self.waker.take().map(ManuallyDrop::into_inner)
    }
}

// SAFETY: I1 — the inside is reached by one thread at a time, under a lock or as its owner.
unsafe impl<D: Send> Send for Node<D> {}
// SAFETY: as above; a shared node gives nothing but its state.
unsafe impl<D: Send> Sync for Node<D> {}

/// What to do with a node.
#[derive(Debug)]
pub(crate) enum Verdict<R> {
    /// Its wait ends here.
    Fire(R),
    /// Its wait has ended elsewhere: out of the queue, not fired.
    Unlink,
    /// It stays, and the next one is looked at.
    Skip,
    /// It stays, and no other is looked at.
    Stop,
}

impl<R> Verdict<R> {
    /// Makes something of the result of a wait that ends.
    #[inline]
    pub(crate) fn map<S>(self, f: impl FnOnce(R) -> S) -> Verdict<S> {
        match self {
            Self::Fire(result) => Verdict::Fire(f(result)),
            Self::Unlink => Verdict::Unlink,
            Self::Skip => Verdict::Skip,
            Self::Stop => Verdict::Stop,
        }
    }
}

/// A waker to wake after the lock is released.
#[must_use = "somebody waits for this to be woken, after the lock is released"]
#[derive(Debug)]
pub(crate) struct Fired(Option<StoredWaker>);

impl Fired {
    pub(crate) const NONE: Self = Self(None);

    /// Wakes. Not under a lock. A panic of a foreign waker is contained.
    #[inline]
    pub(crate) fn wake(self) {
        debug_assert_no_lock_held("wakes a waiter");
        if let Some(waker) = self.0 {
            waker.wake();
        }
    }

    /// This one, or else that waker.
    #[inline]
    pub(crate) fn or(self, waker: Option<StoredWaker>) -> Self {
        Self(self.0.or(waker))
    }

    /// The waker, for a list of them.
    pub(crate) fn into_waker(self) -> Option<StoredWaker> {
        self.0
    }
}

impl From<StoredWaker> for Fired {
    fn from(waker: StoredWaker) -> Self {
        Self(Some(waker))
    }
}

impl<D> Node<D> {
    /// A node in no queue.
    #[inline(always)]
    pub(crate) fn new(data: D) -> Self {
        let inner = Inner { prev: ptr::null(), next: ptr::null(), waker: None, data };
        Self { state: AtomicU8::new(IDLE), inner: UnsafeCell::new(inner), _pinned: PhantomPinned }
    }

    /// Where it is. `Queued` may be outdated at once unless the queue's lock is held.
    #[inline]
    pub(crate) fn state(&self) -> State {
        // Acquire: pairs with the Release in `leave`; what was done to the node is seen.
        match self.state.load(Ordering::Acquire) {
            IDLE => State::Idle,
            QUEUED => State::Queued,
            _ => State::Fired,
        }
    }

    /// Runs `f` on the data of a node that is not queued.
    ///
    /// # Panics
    ///
    /// If it is queued: a bug of the primitive.
    #[inline]
    pub(crate) fn own<R>(self: Pin<&mut Self>, f: impl FnOnce(&mut D) -> R) -> R {
        assert!(self.state() != State::Queued, "waitq: the node is queued");
        // SAFETY: I1 — not queued, and we have it exclusively.
        self.inner.with_mut(|inner| f(unsafe { &mut (*inner).data }))
    }

    /// Runs `f` on the data, wherever the node is.
    ///
    /// # Safety
    ///
    /// The lock of the queue it is in, if any, is held.
    #[inline]
    pub(crate) unsafe fn locked<R>(self: Pin<&mut Self>, f: impl FnOnce(&mut D) -> R) -> R {
        // SAFETY: I1 — by the lock, or as its owner.
        self.inner.with_mut(|inner| f(unsafe { &mut (*inner).data }))
    }

    /// Makes a fired node ready for another wait.
    pub(crate) fn reset(self: Pin<&mut Self>) {
        debug_assert!(self.state() != State::Queued);
        self.state.store(IDLE, Ordering::Relaxed);
    }
}

impl<D> Drop for Node<D> {
    fn drop(&mut self) {
        // Going on would leave a dangling pointer in the queue.
        if self.state() == State::Queued {
            std::process::abort();
        }
    }
}

pin_project! {
    /// Room for a node, which is made when its wait begins: most operations do not wait, and to
    /// build a node and move it to its place costs more than all else they do.
    pub(crate) struct Spot<D> {
        #[pin]
        node: Option<Node<D>>,
    }
}

impl<D> Spot<D> {
    /// An empty one.
    #[inline]
    pub(crate) fn new() -> Self {
        Self { node: None }
    }

    /// Where the node is; idle if there is none.
    #[inline]
    pub(crate) fn state(&self) -> State {
        self.node.as_ref().map_or(State::Idle, Node::state)
    }

    /// The node, if there is one.
    #[inline]
    pub(crate) fn node(self: Pin<&mut Self>) -> Option<Pin<&mut Node<D>>> {
        self.project().node.as_pin_mut()
    }

    /// The node; made with `data` if there is none.
    // Always: `data` and the node would else be built elsewhere and copied here, and the CPU waits for a copy of what
    // was written just now in smaller pieces.
    #[inline(always)]
    pub(crate) fn make(self: Pin<&mut Self>, data: D) -> Pin<&mut Node<D>> {
        let mut node = self.project().node;
        if node.is_none() {
            node.set(Some(Node::new(data)));
        }
        match node.as_pin_mut() {
            Some(node) => node,
            None => unreachable!("the node was made just now"),
        }
    }
}

/// Nodes in the order of their arrival. Part of what a lock guards.
pub(crate) struct Queue<D> {
    head: *const Node<D>,
    tail: *const Node<D>,
}

// SAFETY: I1 — it is reached under a lock only, and so are the nodes in it.
unsafe impl<D: Send> Send for Queue<D> {}

impl<D> Default for Queue<D> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D> fmt::Debug for Queue<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("is_empty", &self.is_empty()).finish()
    }
}

impl<D> Queue<D> {
    /// A queue of nobody.
    pub(crate) const fn new() -> Self {
        Self { head: ptr::null(), tail: ptr::null() }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_null()
    }

    /// # Safety
    ///
    /// `node` is in this queue.
    #[inline]
    unsafe fn inner<R>(node: *const Node<D>, f: impl FnOnce(&mut Inner<D>) -> R) -> R {
        // SAFETY: I1, I2 — queued here, so alive, and `&mut Queue` is the lock.
        unsafe { (*node).inner.with_mut(|inner| f(&mut *inner)) }
    }

    /// Appends a node.
    ///
    /// # Safety
    ///
    /// Until it has left the queue, `node` stays where it is (also if the pin is a borrowed one)
    /// and is [removed](Self::remove) from this queue, under the same lock, before it is dropped.
    #[inline]
    pub(crate) unsafe fn push_back(
        &mut self,
        node: Pin<&mut Node<D>>,
        waker: impl Into<Option<StoredWaker>>,
    ) {
        // SAFETY: the caller's promise; the node sits behind the last one.
        unsafe { self.link(node, waker.into(), self.tail, ptr::null()) };
    }

    /// Puts a node before all others.
    ///
    /// # Safety
    ///
    /// As [`push_back`](Self::push_back).
    #[inline]
    pub(crate) unsafe fn push_front(
        &mut self,
        node: Pin<&mut Node<D>>,
        waker: impl Into<Option<StoredWaker>>,
    ) {
        // SAFETY: the caller's promise; the node sits before the first one.
        unsafe { self.link(node, waker.into(), ptr::null(), self.head) };
    }

    /// # Safety
    ///
    /// As [`push_back`](Self::push_back); `prev` and `next` are neighbours in this queue or null.
    #[inline]
    unsafe fn link(
        &mut self,
        node: Pin<&mut Node<D>>,
        waker: Option<StoredWaker>,
        prev: *const Node<D>,
        next: *const Node<D>,
    ) {
        debug_assert!(node.state() != State::Queued);
        // SAFETY: I1 — not queued yet, and ours by the `&mut`.
        node.inner.with_mut(|inner| unsafe {
            (*inner).prev = prev;
            (*inner).next = next;
            debug_assert!((*inner).waker.is_none(), "I4");
            (*inner).waker = waker.map(ManuallyDrop::new);
        });
        // Relaxed: others find the node through the queue, under its lock.
        node.state.store(QUEUED, Ordering::Relaxed);
        let node: *const Node<D> = &raw const *node;
        // SAFETY: the caller's promise.
        unsafe { self.join(prev, next, node, node) };
    }

    /// Lets `before` point to `to_next` and `after` back to `to_prev`; null stands for the
    /// queue's own ends.
    ///
    /// # Safety
    ///
    /// Both are null or in this queue.
    #[inline]
    unsafe fn join(
        &mut self,
        before: *const Node<D>,
        after: *const Node<D>,
        to_next: *const Node<D>,
        to_prev: *const Node<D>,
    ) {
        if before.is_null() {
            self.head = to_next;
        } else {
            // SAFETY: the caller's promise.
            unsafe { Self::inner(before, |inner| inner.next = to_next) };
        }
        if after.is_null() {
            self.tail = to_prev;
        } else {
            // SAFETY: the caller's promise.
            unsafe { Self::inner(after, |inner| inner.prev = to_prev) };
        }
    }

    /// Takes a node out, as `state`. Its waker stays in it unless taken by `f`.
    ///
    /// # Safety
    ///
    /// `node` is in this queue.
    #[inline]
    unsafe fn leave<R>(
        &mut self,
        node: *const Node<D>,
        state: u8,
        f: impl FnOnce(&mut Inner<D>) -> R,
    ) -> R {
        // SAFETY: the caller's promise.
        let (prev, next, result) =
            unsafe { Self::inner(node, |inner| (inner.prev, inner.next, f(inner))) };
        // SAFETY: neighbours of a node of this queue are of this queue.
        unsafe { self.join(prev, next, next, prev) };
        // Release: pairs with `Node::state`; the owner sees all that was done to the node. After
        // this it may be gone.
        // SAFETY: the caller's promise, up to here.
        unsafe { (*node).state.store(state, Ordering::Release) };
        result
    }

    /// Takes `node` out if it is still in the queue, and returns its waker, to be dropped after
    /// the lock is released: a waker may run any code.
    ///
    /// # Safety
    ///
    /// `node` has been in this queue or in none.
    #[inline]
    pub(crate) unsafe fn remove(&mut self, node: Pin<&mut Node<D>>) -> Option<StoredWaker> {
        let node: *const Node<D> = &raw const *node;
        // SAFETY: alive by the `&mut` of the caller.
        if unsafe { (*node).state() } != State::Queued {
            return None;
        }
        // SAFETY: queued, so in this queue, as the caller promises.
        unsafe { self.leave(node, IDLE, Inner::take_waker) }
    }

    /// Gives a node that is queued here another waker, unless it has the same; returns the old
    /// one, to be dropped after the lock is released.
    ///
    /// # Safety
    ///
    /// `node` is in this queue.
    #[inline]
    pub(crate) unsafe fn update(
        &mut self,
        node: Pin<&mut Node<D>>,
        waker: &mut StorableWaker<'_>,
    ) -> Option<StoredWaker> {
        // SAFETY: the caller's promise.
        unsafe {
            Self::inner(&raw const *node, |inner| match &inner.waker {
                Some(old) if old.will_wake(waker.waker()) => None,
                _ => {
                    let old = inner.take_waker();
                    inner.waker = Some(ManuallyDrop::new(waker.store()));
                    old
                }
            })
        }
    }

    /// Runs `f` on the data of each node, the first one first, until it says `Some`.
    pub(crate) fn find_map<R>(&mut self, mut f: impl FnMut(&mut D) -> Option<R>) -> Option<R> {
        let mut node = self.head;
        while !node.is_null() {
            // SAFETY: reached from the head, so in this queue.
            let (found, next) =
                unsafe { Self::inner(node, |inner| (f(&mut inner.data), inner.next)) };
            if found.is_some() {
                return found;
            }
            node = next;
        }
        None
    }

    /// Fires the first node: `f` has its data a last time.
    #[inline]
    pub(crate) fn fire_front<R>(&mut self, f: impl FnOnce(&mut D) -> R) -> Option<(R, Fired)> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the head is in this queue.
        Some(unsafe {
            self.leave(self.head, FIRED, |inner| (f(&mut inner.data), Fired(inner.take_waker())))
        })
    }

    /// Goes through the nodes, the first one first, and does with each what `f` says, until one
    /// is fired.
    #[inline]
    pub(crate) fn fire_first<R>(
        &mut self,
        mut f: impl FnMut(&mut D) -> Verdict<R>,
    ) -> Option<(R, Fired)> {
        let (node, result) = self.choose(&mut f)?;
        // SAFETY: chosen from this queue.
        let fired = unsafe { self.leave(node, FIRED, |inner| Fired(inner.take_waker())) };
        Some((result, fired))
    }

    /// As [`fire_first`](Self::fire_first), but the chosen node moves to the end of `other`,
    /// which the same lock guards.
    pub(crate) fn move_first<R>(
        &mut self,
        other: &mut Self,
        mut f: impl FnMut(&mut D) -> Verdict<R>,
    ) -> Option<R> {
        let (node, result) = self.choose(&mut f)?;
        // SAFETY: chosen from this queue; as it stays marked as queued it is in `other` from now
        // on, which the primitive notes in its data (I3).
        unsafe {
            self.leave(node, QUEUED, |_| ());
            Self::inner(node, |inner| {
                inner.prev = other.tail;
                inner.next = ptr::null();
            });
            other.join(other.tail, ptr::null(), node, node);
        }
        Some(result)
    }

    /// The first node that `f` wants to fire. Those it is done with are unlinked on the way.
    #[inline]
    fn choose<R>(
        &mut self,
        f: &mut impl FnMut(&mut D) -> Verdict<R>,
    ) -> Option<(*const Node<D>, R)> {
        let mut node = self.head;
        while !node.is_null() {
            // SAFETY: reached from the head, so in this queue.
            let (verdict, next) =
                unsafe { Self::inner(node, |inner| (f(&mut inner.data), inner.next)) };
            match verdict {
                Verdict::Fire(result) => return Some((node, result)),
                // SAFETY: as above. Its claim has the waker (I4).
                Verdict::Unlink => unsafe {
                    self.leave(node, IDLE, |inner| debug_assert!(inner.waker.is_none(), "I4"));
                },
                Verdict::Skip => {}
                Verdict::Stop => return None,
            }
            node = next;
        }
        None
    }
}
