//! `Semaphore`: a number of permits, and a queue of waiters.
//!
//! The available permits are in a word, next to a bit that says whether a request waits. Without
//! waiters, acquiring and releasing is one operation on the word. With waiters, permits are given
//! out only under the queue's lock. They go to the first waiter, and to no other until that one has
//! all it asked for. So small requests do not starve a big one.
//!
//! # Requests that cannot be met
//!
//! A request for more permits than the semaphore has in total waits until it is dropped, as in Go's
//! `x/sync/semaphore`. It does not delay the requests behind it. If
//! [`add_permits`](Semaphore::add_permits) makes the semaphore big enough, the request is served in
//! its place in the queue.
//!
//! There is no `close`. To end waits, drop them, for example by a select.
//!
//! # Invariants
//!
//! - I1: while the queue's lock is free, [`WAITERS`] is set exactly if the queue is not empty.
//! - I2: while `WAITERS` is set, permits are taken from the word under the queue's lock only.
//!
//! # Orderings
//!
//! Acquiring permits is an Acquire of the word, releasing them a Release. Giving permits to a
//! waiter is an Acquire of the word by the thread that gives. Then the Release of firing the node
//! pairs with the Acquire of reading its state. `WAITERS` orders no other memory, because the queue
//! has its own lock.

use crate::const_fn::const_fn;
use crate::lock::permit::{OwnedSemaphorePermit, SemaphorePermit};
use crate::wait::queue::{NodeState, Queue, Verdict};
use crate::wait::waiter::{Abandoned, End, Ended, WaitList, Waiter};
use crate::wait::wakers::Wakers;
use futures::future::FusedFuture;
use gmp_rt::prim::{AtomicUsize, Mutex, Ordering};
use gmp_rt::task::park::{StorableWaker, WaitReason, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::{ControlFlow, Deref};
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The queue is not empty.
const WAITERS: usize = 1;
/// One permit.
const PERMIT: usize = 2;

/// A counting semaphore whose requests have weights (Go: `x/sync/semaphore.Weighted`).
///
/// Each request takes a given number of permits. Requests are served in arrival order: a big
/// request at the head makes later ones wait, even small ones. So small requests cannot starve it.
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use sync::Semaphore;
/// use std::sync::Arc;
///
/// gmp_rt::block_on(async {
///     // At most 8 units of work at a time.
///     let semaphore = Arc::new(Semaphore::new(8));
///     for weight in [1, 3, 8, 2] {
///         let permit = semaphore.clone().acquire_owned(weight).await;
///         gmp_rt::spawn(async move {
///             // … work …
///             drop(permit);
///         });
///     }
///     let _all = semaphore.acquire(8).await;
/// });
/// ```
#[doc(alias("Weighted", "NewWeighted"))]
pub struct Semaphore {
    word: AtomicUsize,
    state: Mutex<SemaphoreState>,
}

/// What the queue's lock guards.
#[derive(Debug)]
pub(crate) struct SemaphoreState {
    /// Permits in total, taken or not.
    size: usize,
    /// The requests, each with its number of permits.
    waiting: Queue<usize>,
}

impl SemaphoreState {
    /// Whether a request waits that can be met once permits are released.
    fn has_line(&mut self) -> bool {
        let size = self.size;
        self.waiting.find_map(|need| (*need <= size).then_some(())).is_some()
    }
}

impl Semaphore {
    /// Maximum number of permits of a semaphore.
    pub const MAX_PERMITS: usize = usize::MAX >> 2;

    const_fn! {
        /// Creates a semaphore with `permits` permits.
        ///
        /// # Panics
        ///
        /// If `permits` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
        #[must_use]
        #[track_caller]
        pub const fn new(permits: usize) -> Self {
            assert!(permits <= Self::MAX_PERMITS, "semaphore: too many permits");
            let state = SemaphoreState { size: permits, waiting: Queue::new() };
            Self { word: AtomicUsize::new(permits * PERMIT), state: Mutex::new(state) }
        }
    }

    /// Waits for `permits` permits and takes them all at once.
    ///
    /// A request for zero permits succeeds at once. A request for more permits than the semaphore
    /// has in total waits until it is dropped or [`add_permits`](Self::add_permits) has added
    /// enough. It does not delay other requests.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. Permits that the dropped request was given go to the next one. The request
    /// loses its place in the queue.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// let semaphore = sync::Semaphore::new(3);
    /// gmp_rt::block_on(async {
    ///     let two = semaphore.acquire(2).await;
    ///     assert_eq!(semaphore.available_permits(), 1);
    ///     drop(two);
    ///     assert_eq!(semaphore.available_permits(), 3);
    /// });
    /// ```
    #[doc(alias = "acquire_many")]
    #[inline]
    pub fn acquire(&self, permits: usize) -> Acquire<'_> {
        Acquire { waiter: Waiter::new(self, permits) }
    }

    /// As [`acquire`](Self::acquire), with a guard that owns an `Arc` and is not bound to a borrow.
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Self::acquire).
    #[inline]
    pub fn acquire_owned(self: Arc<Self>, permits: usize) -> AcquireOwned {
        AcquireOwned { waiter: Waiter::new(self, permits) }
    }

    /// Takes `permits` permits if they are available and no earlier request waits.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// let semaphore = sync::Semaphore::new(2);
    /// assert!(semaphore.try_acquire(3).is_none());
    /// let permits = semaphore.try_acquire(2).unwrap();
    /// assert!(semaphore.try_acquire(1).is_none());
    /// # drop(permits);
    /// ```
    #[must_use = "dropping the permits gives them back"]
    pub fn try_acquire(&self, permits: usize) -> Option<SemaphorePermit<'_>> {
        self.try_take(permits).then(|| SemaphorePermit::new(self, permits))
    }

    /// As [`try_acquire`](Self::try_acquire), with a guard that owns an `Arc`.
    #[must_use = "dropping the permits gives them back"]
    pub fn try_acquire_owned(self: Arc<Self>, permits: usize) -> Option<OwnedSemaphorePermit> {
        self.try_take(permits).then(|| OwnedSemaphorePermit::new(self, permits))
    }

    /// As [`acquire`](Self::acquire), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_acquire")]
    pub fn acquire_blocking(&self, permits: usize) -> SemaphorePermit<'_> {
        self.try_acquire(permits).unwrap_or_else(|| gmp_rt::block_on(self.acquire(permits)))
    }

    /// As [`acquire_blocking`](Self::acquire_blocking), with permits that own an `Arc`.
    #[doc(alias = "blocking_acquire_owned")]
    pub fn acquire_owned_blocking(self: Arc<Self>, permits: usize) -> OwnedSemaphorePermit {
        if self.try_take(permits) {
            return OwnedSemaphorePermit::new(self, permits);
        }
        gmp_rt::block_on(self.acquire_owned(permits))
    }

    /// Releases permits whose guard was [forgotten](SemaphorePermit::forget).
    ///
    /// # Panics
    ///
    /// If `permits` is more than the number of taken permits. The message is Go's.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// let semaphore = sync::Semaphore::new(2);
    /// semaphore.try_acquire(2).unwrap().forget();
    /// semaphore.release(1);
    /// assert_eq!(semaphore.available_permits(), 1);
    /// ```
    #[track_caller]
    pub fn release(&self, permits: usize) {
        let released = self.with(|state| {
            // Concurrent releases do not invalidate the check: other guards hold other permits, so
            // the room for forgotten ones stays. Relaxed: only a check.
            let available = self.word.load(Ordering::Relaxed) / PERMIT;
            let held = state.size - available.min(state.size);
            (permits <= held).then(|| self.give_back_to(state, permits))
        });
        match released {
            Some(wakers) => wakers.wake_all(),
            None => panic!("semaphore: released more than held"),
        }
    }

    /// Adds `permits` permits to the semaphore.
    ///
    /// # Panics
    ///
    /// If it then has more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn add_permits(&self, permits: usize) {
        let added = self.with(|state| {
            let size = state.size.checked_add(permits).filter(|n| *n <= Self::MAX_PERMITS)?;
            state.size = size;
            Some(self.give_back_to(state, permits))
        });
        match added {
            Some(wakers) => wakers.wake_all(),
            None => panic!("semaphore: too many permits"),
        }
    }

    /// Returns the number of available permits. The result may be outdated at once.
    #[must_use]
    pub fn available_permits(&self) -> usize {
        // Relaxed: the result may be outdated anyway.
        self.word.load(Ordering::Relaxed) / PERMIT
    }

    /// Returns the number of permits in total, taken or not.
    #[must_use]
    pub fn max_permits(&self) -> usize {
        self.with(|state| state.size)
    }

    /// Takes permits if they are available and no request that can be met waits.
    #[inline]
    fn try_take(&self, permits: usize) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if permits == 0 {
                return true;
            }
            if word / PERMIT < permits {
                return false;
            }
            if word & WAITERS != 0 {
                return self.with(|state| self.take(state, permits)).is_break();
            }
            match self.take_from(word, permits) {
                Ok(()) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// Takes permits if the word is `word`. Otherwise returns the current word.
    #[inline]
    fn take_from(&self, word: usize, permits: usize) -> Result<(), usize> {
        let next = word - permits * PERMIT;
        // Acquire: pairs with `give_back`.
        let taken =
            self.word.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed);
        taken.map(|_| ())
    }

    /// As `try_take`, under the queue's lock. If it takes nothing, returns the word as `Continue`.
    fn take(&self, state: &mut SemaphoreState, permits: usize) -> ControlFlow<(), usize> {
        let mut word = self.word.load(Ordering::Relaxed);
        while word / PERMIT >= permits && !state.has_line() {
            match self.take_from(word, permits) {
                Ok(()) => return ControlFlow::Break(()),
                Err(now) => word = now,
            }
        }
        ControlFlow::Continue(word)
    }

    /// Takes permits, or sets `WAITERS` in the same step in which it sees that they are not
    /// available. The caller holds the queue's lock.
    fn take_or_wait(&self, state: &mut SemaphoreState, permits: usize) -> ControlFlow<()> {
        loop {
            let ControlFlow::Continue(word) = self.take(state, permits) else {
                return ControlFlow::Break(());
            };
            // Relaxed: concerns only the queue, whose lock is held.
            let waits = word & WAITERS != 0
                || self
                    .word
                    .compare_exchange(word, word | WAITERS, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok();
            if waits {
                return ControlFlow::Continue(());
            }
        }
    }

    /// Releases the permits of a guard.
    #[inline]
    pub(crate) fn give_back(&self, permits: usize) {
        if permits == 0 {
            return;
        }
        // Release: pairs with `take_from` and `give_out`.
        let before = self.word.fetch_add(permits * PERMIT, Ordering::Release);
        if before & WAITERS != 0 {
            self.with(|state| self.give_out(state)).wake_all();
        }
    }

    /// Releases permits, under the queue's lock.
    fn give_back_to(&self, state: &mut SemaphoreState, permits: usize) -> Wakers {
        // Release: pairs with `take_from` and `give_out`.
        self.word.fetch_add(permits * PERMIT, Ordering::Release);
        self.give_out(state)
    }

    /// Gives available permits to the waiters in order.
    fn give_out(&self, state: &mut SemaphoreState) -> Wakers {
        let mut wakers = Wakers::None;
        // Checked first, because a scan over requests that cannot be met may be long.
        while self.available_permits() > 0 {
            let fired = state.waiting.fire_first(|need| match *need {
                need if need > state.size => Verdict::Skip,
                need if need > self.available_permits() => Verdict::Stop,
                need => {
                    // I2: no other thread takes permits. Acquire: pairs with `give_back`, on behalf
                    // of the waiter.
                    self.word.fetch_sub(need * PERMIT, Ordering::Acquire);
                    Verdict::Fire(())
                }
            });
            let Some(((), fired)) = fired else { break };
            wakers.push(fired);
        }
        if state.waiting.is_empty() {
            // Relaxed: concerns only the queue, whose lock is held.
            self.word.fetch_and(!WAITERS, Ordering::Relaxed);
        }
        wakers
    }
}

// SAFETY: one lock, one queue behind it.
unsafe impl WaitList for Semaphore {
    type State = SemaphoreState;
    type Data = usize;

    fn with<R>(&self, f: impl FnOnce(&mut SemaphoreState) -> R) -> R {
        f(&mut self.state.lock())
    }

    fn queue(state: &mut SemaphoreState) -> &mut Queue<usize> {
        &mut state.waiting
    }

    fn abandoned(&self, state: &mut SemaphoreState, permits: &mut usize, how: Abandoned) -> Wakers {
        match how {
            // The requests behind it may be smaller.
            Abandoned::Queued => self.give_out(state),
            Abandoned::Fired => self.give_back_to(state, *permits),
        }
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("available", &self.available_permits())
            .field("size", &self.max_permits())
            .finish()
    }
}

/// Waits for permits and returns their number. The caller owns them.
#[inline]
fn poll_acquire<P>(mut waiter: Pin<&mut Waiter<P>>, cx: &Context<'_>) -> Poll<usize>
where
    P: WaitList<State = SemaphoreState, Data = usize> + Deref<Target = Semaphore>,
{
    if waiter.state() == NodeState::Idle {
        ready!(poll_proceed(cx));
        let permits = waiter.as_mut().own(|permits| *permits);
        if waiter.list().try_take(permits) {
            return Poll::Ready(permits);
        }
    }
    poll_slowly(waiter, cx)
}

#[cold]
fn poll_slowly<P>(mut waiter: Pin<&mut Waiter<P>>, cx: &Context<'_>) -> Poll<usize>
where
    P: WaitList<State = SemaphoreState, Data = usize> + Deref<Target = Semaphore>,
{
    let waker = &mut StorableWaker::new(cx.waker());
    let ended = waiter
        .as_mut()
        .poll_wait_at(End::Back, waker, |list, state, need| list.take_or_wait(state, *need));
    match ended {
        Poll::Pending => {
            note_wait(cx, WaitReason::SemAcquire, ptr::from_ref(&**waiter.list()).addr());
            Poll::Pending
        }
        Poll::Ready(Ended::AtOnce(()) | Ended::Fired) => {
            waiter.as_mut().reset();
            Poll::Ready(waiter.own(|permits| *permits))
        }
    }
}

pin_project! {
    /// The future of [`Semaphore::acquire`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Acquire<'a> {
        #[pin]
        waiter: Waiter<&'a Semaphore>,
    }
}

impl<'a> Future for Acquire<'a> {
    type Output = SemaphorePermit<'a>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<SemaphorePermit<'a>> {
        let mut waiter = self.project().waiter;
        let permits = ready!(poll_acquire(waiter.as_mut(), cx));
        waiter.end();
        Poll::Ready(SemaphorePermit::new(waiter.list(), permits))
    }
}

impl FusedFuture for Acquire<'_> {
    fn is_terminated(&self) -> bool {
        self.waiter.has_ended()
    }
}

pin_project! {
    /// The future of [`Semaphore::acquire_owned`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct AcquireOwned {
        #[pin]
        waiter: Waiter<Arc<Semaphore>>,
    }
}

impl Future for AcquireOwned {
    type Output = OwnedSemaphorePermit;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<OwnedSemaphorePermit> {
        let mut waiter = self.project().waiter;
        let permits = ready!(poll_acquire(waiter.as_mut(), cx));
        waiter.end();
        Poll::Ready(OwnedSemaphorePermit::new(waiter.list().clone(), permits))
    }
}

impl FusedFuture for AcquireOwned {
    fn is_terminated(&self) -> bool {
        self.waiter.has_ended()
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "semaphore_loom.rs"]
mod loom;
