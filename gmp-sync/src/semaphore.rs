//! `Semaphore`: a number of permits, and a queue of those who wait for some.
//!
//! The permits left are in a word, next to a bit that says whether somebody waits. While nobody does, taking
//! and giving back is one step on the word. While somebody does, permits are given out under the
//! queue's lock only, to the first in the queue, and to nobody else until that one has all it
//! asked for: a big request is not starved by small ones.
//!
//! # Requests that cannot be met
//!
//! A request for more permits than the semaphore has in all waits, as in Go's `x/sync/semaphore`, until
//! it is dropped; it does not hold up those behind it. If
//! [`add_permits`](Semaphore::add_permits) makes the semaphore big enough, it takes its place
//! again.
//!
//! There is no `close`: to end waits, drop them, or race them with what ends them.
//!
//! # Invariants
//!
//! - I1: while the queue's lock is free, [`WAITERS`] is set exactly if the queue is not empty.
//! - I2: while `WAITERS` is set, permits are taken from the word under the queue's lock only.
//!
//! # Orderings
//!
//! Taking is Acquire, giving back Release, on the word. Giving out is Acquire on the word, whoever does it,
//! and then the Release of firing a node with the Acquire of seeing it. `WAITERS` says nothing
//! about other memory: the queue has its lock.

use crate::const_fn::const_fn;
use crate::permit::{OwnedPermit, Permit};
use crate::waiter::{Abandoned, End, Ended, Home, Waiter};
use crate::waitq::{Queue, State as At, Verdict};
use crate::wakers::Wakers;
use gmp_rt::park::{StorableWaker, WaitReason, note_wait, poll_go_on};
use gmp_rt::prim::{AtomicUsize, Mutex, Ordering};
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::{ControlFlow, Deref};
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Somebody is in the queue.
const WAITERS: usize = 1;
/// One permit.
const PERMIT: usize = 2;

/// A number of permits (Go: `x/sync/semaphore.Weighted`).
///
/// Each request takes as many as it says. Requests are met in the order in which they came: a
/// big one at the head makes later ones wait, however small. So many small ones cannot starve it.
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::Semaphore;
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
pub struct Semaphore {
    word: AtomicUsize,
    state: Mutex<State>,
}

/// What the queue's lock guards.
#[derive(Debug)]
pub(crate) struct State {
    /// Permits in all.
    size: usize,
    /// Each with what it asks for.
    waiting: Queue<usize>,
}

impl State {
    /// Whether somebody waits whose request can be met some day.
    fn has_line(&mut self) -> bool {
        let size = self.size;
        self.waiting.find_map(|need| (*need <= size).then_some(())).is_some()
    }
}

impl Semaphore {
    /// Most permits a semaphore may have.
    pub const MAX_PERMITS: usize = usize::MAX >> 2;

    const_fn! {
        /// A semaphore with so many permits.
        ///
        /// # Panics
        ///
        /// If that is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
        #[must_use]
        #[track_caller]
        pub const fn new(permits: usize) -> Self {
            assert!(permits <= Self::MAX_PERMITS, "semaphore: too many permits");
            let state = State { size: permits, waiting: Queue::new() };
            Self { word: AtomicUsize::new(permits * PERMIT), state: Mutex::new(state) }
        }
    }

    /// Waits for `permits` permits and takes them, all at once. None are always there.
    ///
    /// If that is more than the semaphore has in all, it waits until it is dropped or
    /// [`add_permits`](Self::add_permits) has added enough, and does not hold up others.
    ///
    /// # Cancel safety
    ///
    /// A dropped request leaves nothing behind: permits it was given already go to the next
    /// one. It loses its place among those who wait.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// let semaphore = gmp::Semaphore::new(3);
    /// gmp_rt::block_on(async {
    ///     let two = semaphore.acquire(2).await;
    ///     assert_eq!(semaphore.available(), 1);
    ///     drop(two);
    ///     assert_eq!(semaphore.available(), 3);
    /// });
    /// ```
    #[inline]
    pub fn acquire(&self, permits: usize) -> Acquire<'_> {
        Acquire { waiter: Waiter::new(self, permits) }
    }

    /// [`acquire`](Self::acquire), with a guard that has a share of the semaphore and so may
    /// outlive the borrow.
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Self::acquire).
    #[inline]
    pub fn acquire_owned(self: Arc<Self>, permits: usize) -> AcquireOwned {
        AcquireOwned { waiter: Waiter::new(self, permits) }
    }

    /// Takes `permits` permits if they are there and nobody is in line for them.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// let semaphore = gmp::Semaphore::new(2);
    /// assert!(semaphore.try_acquire(3).is_none());
    /// let permits = semaphore.try_acquire(2).unwrap();
    /// assert!(semaphore.try_acquire(1).is_none());
    /// # drop(permits);
    /// ```
    #[must_use = "dropping the permits gives them back"]
    pub fn try_acquire(&self, permits: usize) -> Option<Permit<'_>> {
        self.try_take(permits).then(|| Permit::new(self, permits))
    }

    /// [`try_acquire`](Self::try_acquire), with a guard that has a share of the semaphore.
    #[must_use = "dropping the permits gives them back"]
    pub fn try_acquire_owned(self: Arc<Self>, permits: usize) -> Option<OwnedPermit> {
        self.try_take(permits).then(|| OwnedPermit::new(self, permits))
    }

    /// [`acquire`](Self::acquire), blocking the thread until they are there. For threads outside; within a
    /// goroutine it works as well, as a blocking call.
    pub fn acquire_blocking(&self, permits: usize) -> Permit<'_> {
        self.try_acquire(permits).unwrap_or_else(|| gmp_rt::block_on(self.acquire(permits)))
    }

    /// Gives back permits whose guard was [forgotten](Permit::forget).
    ///
    /// # Panics
    ///
    /// If more are given back than have been taken, with Go's words.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// let semaphore = gmp::Semaphore::new(2);
    /// semaphore.try_acquire(2).unwrap().forget();
    /// semaphore.release(1);
    /// assert_eq!(semaphore.available(), 1);
    /// ```
    #[track_caller]
    pub fn release(&self, permits: usize) {
        let released = self.with(|state| {
            // Nobody makes it more while we look: other guards hold what they will give back,
            // so if there is room for ours it stays. Relaxed: only a check.
            let available = self.word.load(Ordering::Relaxed) / PERMIT;
            let held = state.size - available.min(state.size);
            (permits <= held).then(|| self.give_back_to(state, permits))
        });
        match released {
            Some(wakers) => wakers.wake_all(),
            None => panic!("semaphore: released more than held"),
        }
    }

    /// Makes the semaphore bigger by so many permits.
    ///
    /// # Panics
    ///
    /// If it has more than [`MAX_PERMITS`](Self::MAX_PERMITS) then.
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

    /// How many permits are left just now.
    #[must_use]
    pub fn available(&self) -> usize {
        // Relaxed: outdated at once anyway.
        self.word.load(Ordering::Relaxed) / PERMIT
    }

    /// How many permits it has in all, taken or not.
    #[must_use]
    pub fn size(&self) -> usize {
        self.with(|state| state.size)
    }

    /// Takes permits that are there, if nobody is in line for them.
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

    /// Takes permits from the word, which is `word`.
    #[inline]
    fn take_from(&self, word: usize, permits: usize) -> Result<(), usize> {
        let next = word - permits * PERMIT;
        // Acquire: pairs with `give_back`.
        let taken =
            self.word.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed);
        taken.map(|_| ())
    }

    /// Takes permits that are there, if nobody is in line for them. Under the queue's lock; says
    /// what was in the word when that was not so.
    fn take(&self, state: &mut State, permits: usize) -> ControlFlow<(), usize> {
        let mut word = self.word.load(Ordering::Relaxed);
        while word / PERMIT >= permits && !state.has_line() {
            match self.take_from(word, permits) {
                Ok(()) => return ControlFlow::Break(()),
                Err(now) => word = now,
            }
        }
        ControlFlow::Continue(word)
    }

    /// Takes permits, or says in the word that somebody waits, in one step with seeing that they are
    /// not there. Under the queue's lock.
    fn take_or_wait(&self, state: &mut State, permits: usize) -> ControlFlow<()> {
        loop {
            let ControlFlow::Continue(word) = self.take(state, permits) else {
                return ControlFlow::Break(());
            };
            // Relaxed: about the queue, whose lock is held.
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

    /// Gives back permits of a guard.
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

    /// Gives back permits, under the queue's lock.
    fn give_back_to(&self, state: &mut State, permits: usize) -> Wakers {
        // Release: pairs with `take_from` and `give_out`.
        self.word.fetch_add(permits * PERMIT, Ordering::Release);
        self.give_out(state)
    }

    /// Gives those in line what is there.
    fn give_out(&self, state: &mut State) -> Wakers {
        let mut wakers = Wakers::None;
        // While there is something to give: a walk along requests that cannot be met may be long.
        while self.available() > 0 {
            let fired = state.waiting.fire_first(|need| match *need {
                need if need > state.size => Verdict::Skip,
                need if need > self.available() => Verdict::Stop,
                need => {
                    // I2: nobody else takes any. Acquire: pairs with `give_back`, on behalf of
                    // the waiter.
                    self.word.fetch_sub(need * PERMIT, Ordering::Acquire);
                    Verdict::Fire(())
                }
            });
            let Some(((), fired)) = fired else { break };
            wakers.push(fired);
        }
        if state.waiting.is_empty() {
            // Relaxed: about the queue, whose lock is held.
            self.word.fetch_and(!WAITERS, Ordering::Relaxed);
        }
        wakers
    }
}

// SAFETY: one lock, one queue behind it.
unsafe impl Home for Semaphore {
    type State = State;
    type Data = usize;

    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.lock())
    }

    fn queue(state: &mut State) -> &mut Queue<usize> {
        &mut state.waiting
    }

    fn abandoned(&self, state: &mut State, permits: &mut usize, how: Abandoned) -> Wakers {
        match how {
            // Those behind it may want less.
            Abandoned::Queued => self.give_out(state),
            Abandoned::Fired => self.give_back_to(state, *permits),
        }
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("available", &self.available())
            .field("size", &self.size())
            .finish()
    }
}

/// Waits for permits; says how many they are. They are the caller's.
#[inline]
fn poll_acquire<P>(mut waiter: Pin<&mut Waiter<P>>, cx: &Context<'_>) -> Poll<usize>
where
    P: Home<State = State, Data = usize> + Deref<Target = Semaphore>,
{
    if waiter.state() == At::Idle {
        ready!(poll_go_on(cx));
        let permits = waiter.as_mut().own(|permits| *permits);
        if waiter.home().try_take(permits) {
            return Poll::Ready(permits);
        }
    }
    poll_slowly(waiter, cx)
}

#[cold]
fn poll_slowly<P>(mut waiter: Pin<&mut Waiter<P>>, cx: &Context<'_>) -> Poll<usize>
where
    P: Home<State = State, Data = usize> + Deref<Target = Semaphore>,
{
    let waker = &mut StorableWaker::new(cx.waker());
    let ended = waiter
        .as_mut()
        .poll_wait_at(End::Back, waker, |home, state, need| home.take_or_wait(state, *need));
    match ended {
        Poll::Pending => {
            note_wait(cx, WaitReason::SemAcquire, ptr::from_ref(&**waiter.home()).addr());
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
    type Output = Permit<'a>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Permit<'a>> {
        let mut waiter = self.project().waiter;
        let permits = ready!(poll_acquire(waiter.as_mut(), cx));
        Poll::Ready(Permit::new(waiter.home(), permits))
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
    type Output = OwnedPermit;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<OwnedPermit> {
        let mut waiter = self.project().waiter;
        let permits = ready!(poll_acquire(waiter.as_mut(), cx));
        Poll::Ready(OwnedPermit::new(waiter.home().clone(), permits))
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "semaphore_loom.rs"]
mod loom;
