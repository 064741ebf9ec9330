//! An intrusive wait queue: its nodes are inside the waiting futures (Go: `sudog`, `waitq`).
//!
//! A future that has to wait links its own [`Node`] into the [`Queue`] of the primitive. This needs
//! no allocation. A dropped future leaves the queue in constant time. Waiters are served in arrival
//! order. The queue is plain data, guarded by the lock of its primitive.
//!
//! The thread that ends a wait *fires* the node under that lock: it unlinks the node, takes its
//! waker and marks it as fired. It wakes the waker ([`Fired`]) after it has released the lock. The
//! future reads the mark without the lock, because no other thread accesses a fired node.
//!
//! Primitives with one lock and one queue use [`Waiter`](crate::wait::waiter::Waiter), which leaves
//! the queue when it is dropped. Channels and select use nodes directly, because a select waits in
//! several queues at once.
//!
//! A slab inside the primitive would be safe code. But it costs a growing allocation per primitive,
//! and a future needs the lock to find out that it was woken.
//!
//! # Invariants
//!
//! - I1: while a node is not queued, only its owner accesses `inner`. While it is queued, only the
//!   thread that holds the queue's lock (has `&mut Queue`) does.
//! - I2: a queued node is pinned, and removed before it is dropped.
//! - I3: a node is in the queue its owner gave it to, or in none.
//! - I4: a node that is in no queue has no waker. So dropping a node drops no waker.

use gmp_rt::prim::{AtomicBool, AtomicU8, Ordering, UnsafeCell, debug_assert_no_lock_held};
use gmp_rt::task::park::{StorableWaker, StoredWaker};
use pin_project_lite::pin_project;
use std::fmt;
use std::marker::PhantomPinned;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr;

/// State of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeState {
    /// In no queue. Its owner has exclusive access.
    Idle,
    /// In a queue.
    Queued,
    /// Its wait has ended. Its owner has exclusive access again.
    Fired,
}

const IDLE: u8 = 0;
const QUEUED: u8 = 1;
const FIRED: u8 = 2;

/// One wait: the links of the queue, the waker, and the data of the primitive.
pub(crate) struct Node<D> {
    state: AtomicU8,
    /// Whether the owner has ended its use. Beside `state`, where it needs no space.
    ended: AtomicBool,
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

// SAFETY: I1 — one thread at a time accesses `inner`, under a lock or as the owner.
unsafe impl<D: Send> Send for Node<D> {}
// SAFETY: as above. A shared reference gives access to the state only.
unsafe impl<D: Send> Sync for Node<D> {}

/// What to do with a node that a scan of the queue has reached.
#[derive(Debug)]
pub(crate) enum Verdict<R> {
    /// Fire the node with this result.
    Fire(R),
    /// Its wait has ended elsewhere: unlink the node without firing it.
    Unlink,
    /// The node stays. Continue with the next one.
    Skip,
    /// The node stays. End the scan.
    Stop,
}

impl<R> Verdict<R> {
    /// Maps the result of `Fire`.
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
#[must_use = "a waiter sleeps until this is woken, after the lock is released"]
#[derive(Debug)]
pub(crate) struct Fired(Option<StoredWaker>);

impl Fired {
    pub(crate) const NONE: Self = Self(None);

    /// Wakes the waker. The caller must hold no lock. A panic of a foreign waker is contained.
    #[inline]
    pub(crate) fn wake(self) {
        debug_assert_no_lock_held("wakes a waiter");
        if let Some(waker) = self.0 {
            waker.wake();
        }
    }

    /// Returns this waker if there is one, otherwise `waker`.
    #[inline]
    pub(crate) fn or(self, waker: Option<StoredWaker>) -> Self {
        Self(self.0.or(waker))
    }

    /// Returns the waker, to be stored in a list.
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
    /// Creates a node in no queue.
    #[inline(always)]
    pub(crate) fn new(data: D) -> Self {
        let inner = Inner { prev: ptr::null(), next: ptr::null(), waker: None, data };
        let (state, ended) = (AtomicU8::new(IDLE), AtomicBool::new(false));
        Self { state, ended, inner: UnsafeCell::new(inner), _pinned: PhantomPinned }
    }

    /// Returns the state. `Queued` may be outdated at once unless the queue's lock is held.
    #[inline]
    pub(crate) fn state(&self) -> NodeState {
        // Acquire: pairs with the Release in `leave`, so the owner sees all changes to the node.
        match self.state.load(Ordering::Acquire) {
            IDLE => NodeState::Idle,
            QUEUED => NodeState::Queued,
            _ => NodeState::Fired,
        }
    }

    /// Marks the node as one that its owner does not use again.
    #[inline]
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed); // Relaxed: no other memory depends on it
    }

    /// Whether the owner has ended its use.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed) // Relaxed: as in `end`
    }

    /// Runs `f` on the data of a node that is not queued.
    ///
    /// # Panics
    ///
    /// If the node is queued, which is a bug in the primitive.
    #[inline]
    pub(crate) fn own<R>(self: Pin<&mut Self>, f: impl FnOnce(&mut D) -> R) -> R {
        assert!(self.state() != NodeState::Queued, "waitq: the node is queued");
        // SAFETY: I1 — the node is not queued, and `&mut` makes this thread the owner.
        self.inner.with_mut(|inner| f(unsafe { &mut (*inner).data }))
    }

    /// Runs `f` on the data, whether the node is queued or not.
    ///
    /// # Safety
    ///
    /// The caller holds the lock of the queue that the node is in, if any.
    #[inline]
    pub(crate) unsafe fn locked<R>(self: Pin<&mut Self>, f: impl FnOnce(&mut D) -> R) -> R {
        // SAFETY: I1 — the caller holds the lock or is the owner.
        self.inner.with_mut(|inner| f(unsafe { &mut (*inner).data }))
    }

    /// Makes a fired node ready for another wait.
    pub(crate) fn reset(self: Pin<&mut Self>) {
        debug_assert!(self.state() != NodeState::Queued);
        self.state.store(IDLE, Ordering::Relaxed);
    }
}

impl<D> Drop for Node<D> {
    fn drop(&mut self) {
        // Continuing would leave a dangling pointer in the queue.
        if self.state() == NodeState::Queued {
            std::process::abort();
        }
    }
}

pin_project! {
    /// Storage for a node, which is created when its wait begins. Most operations do not wait, and
    /// building and moving a node would cost more than the rest of such an operation.
    pub(crate) struct Spot<D> {
        #[pin]
        node: Option<Node<D>>,
    }
}

impl<D> Spot<D> {
    /// Creates an empty spot.
    #[inline]
    pub(crate) fn new() -> Self {
        Self { node: None }
    }

    /// Returns the state of the node, `Idle` if there is none.
    #[inline]
    pub(crate) fn state(&self) -> NodeState {
        self.node.as_ref().map_or(NodeState::Idle, Node::state)
    }

    /// Returns the node, if there is one.
    #[inline]
    pub(crate) fn node(self: Pin<&mut Self>) -> Option<Pin<&mut Node<D>>> {
        self.project().node.as_pin_mut()
    }

    /// Returns the node, created with `data` if there is none.
    // Inlined always. Otherwise `data` and the node are built elsewhere and copied here, and the
    // copy stalls on stores of smaller pieces (no store forwarding).
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

/// Nodes in arrival order. Part of the data that a lock guards.
pub(crate) struct Queue<D> {
    head: *const Node<D>,
    tail: *const Node<D>,
}

// SAFETY: I1 — the queue and its nodes are accessed only under a lock.
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
    /// Creates an empty queue.
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
        // SAFETY: I1, I2 — the node is queued here, so it is alive, and `&mut Queue` proves the
        // lock.
        unsafe { (*node).inner.with_mut(|inner| f(&mut *inner)) }
    }

    /// Appends a node.
    ///
    /// # Safety
    ///
    /// Until `node` has left the queue, it is not moved, even if the pin is a borrowed one. It is
    /// [removed](Self::remove) from this queue, under the same lock, before it is dropped.
    #[inline]
    pub(crate) unsafe fn push_back(
        &mut self,
        node: Pin<&mut Node<D>>,
        waker: impl Into<Option<StoredWaker>>,
    ) {
        // SAFETY: guaranteed by the caller; the node goes behind the last one.
        unsafe { self.link(node, waker.into(), self.tail, ptr::null()) };
    }

    /// Inserts a node before all others.
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
        // SAFETY: guaranteed by the caller; the node goes before the first one.
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
        debug_assert!(node.state() != NodeState::Queued);
        // SAFETY: I1 — the node is not queued yet, and `&mut` makes this thread the owner.
        node.inner.with_mut(|inner| unsafe {
            (*inner).prev = prev;
            (*inner).next = next;
            debug_assert!((*inner).waker.is_none(), "I4");
            (*inner).waker = waker.map(ManuallyDrop::new);
        });
        // Relaxed: other threads reach the node through the queue, under its lock.
        node.state.store(QUEUED, Ordering::Relaxed);
        let node: *const Node<D> = &raw const *node;
        // SAFETY: guaranteed by the caller.
        unsafe { self.join(prev, next, node, node) };
    }

    /// Sets `before.next` to `to_next` and `after.prev` to `to_prev`. A null `before` means the
    /// queue's head, a null `after` its tail.
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
            // SAFETY: guaranteed by the caller.
            unsafe { Self::inner(before, |inner| inner.next = to_next) };
        }
        if after.is_null() {
            self.tail = to_prev;
        } else {
            // SAFETY: guaranteed by the caller.
            unsafe { Self::inner(after, |inner| inner.prev = to_prev) };
        }
    }

    /// Unlinks a node and sets its state to `state`. Its waker stays in it unless `f` takes it.
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
        // SAFETY: guaranteed by the caller.
        let (prev, next, result) =
            unsafe { Self::inner(node, |inner| (inner.prev, inner.next, f(inner))) };
        // SAFETY: the neighbours of a node of this queue are in this queue.
        unsafe { self.join(prev, next, next, prev) };
        // Release: pairs with `Node::state`, so the owner sees all changes to the node. After this
        // store the owner may drop the node.
        // SAFETY: guaranteed by the caller; the node is alive up to here.
        unsafe { (*node).state.store(state, Ordering::Release) };
        result
    }

    /// Unlinks `node` if it is still queued, and returns its waker. The caller drops the waker
    /// after it has released the lock, because a waker may run any code.
    ///
    /// # Safety
    ///
    /// `node` has been in this queue or in none.
    #[inline]
    pub(crate) unsafe fn remove(&mut self, node: Pin<&mut Node<D>>) -> Option<StoredWaker> {
        let node: *const Node<D> = &raw const *node;
        // SAFETY: alive, because the caller has `&mut`.
        if unsafe { (*node).state() } != NodeState::Queued {
            return None;
        }
        // SAFETY: the node is queued, so it is in this queue (guaranteed by the caller).
        unsafe { self.leave(node, IDLE, Inner::take_waker) }
    }

    /// Replaces the waker of a queued node unless the old one wakes the same task. Returns the old
    /// waker, to be dropped after the lock is released.
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
        // SAFETY: guaranteed by the caller.
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

    /// Runs `f` on the data of each node in order until it returns `Some`.
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

    /// Fires the first node. `f` gets its data before that.
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

    /// Fires the last node. `f` gets its data before that.
    pub(crate) fn fire_back<R>(&mut self, f: impl FnOnce(&mut D) -> R) -> Option<(R, Fired)> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the tail is in this queue.
        Some(unsafe {
            self.leave(self.tail, FIRED, |inner| (f(&mut inner.data), Fired(inner.take_waker())))
        })
    }

    /// Scans the nodes in order and applies the verdicts of `f`, until one node is fired.
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

    /// As [`fire_first`](Self::fire_first), but moves the chosen node to the tail of `other`, which
    /// the same lock guards.
    pub(crate) fn move_first<R>(
        &mut self,
        other: &mut Self,
        mut f: impl FnMut(&mut D) -> Verdict<R>,
    ) -> Option<R> {
        let (node, result) = self.choose(&mut f)?;
        // SAFETY: chosen from this queue. The node stays marked as queued, so it is in `other` from
        // now on. The primitive records that in the node's data (I3).
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

    /// Returns the first node for which `f` returns `Fire`. Unlinks nodes on the way as `f` says.
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
                // SAFETY: as above. The waker is in the select's claim, not in the node (I4).
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
