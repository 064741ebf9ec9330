//! `Notify`: wakes one waiting goroutine, or all, without a value.
//!
//! One lock guards the stored permit, the number of calls of [`Notify::notify_waiters`] (the
//! *round*) and the queue of waiters. A [`Notified`] records the round when it is created. So it
//! knows in its first poll that it was notified before. The round is also an atomic, so that
//! creating a `Notified` takes no lock.
//!
//! A waiter that `notify_one` has chosen owns the notification until it is polled. If it is dropped
//! before, the notification goes to the next waiter, or is stored.
//!
//! # Orderings
//!
//! `round` is stored under the lock with Release, and loaded without the lock with Acquire. So a
//! `Notified` that is created too late for a call of `notify_waiters` sees the writes before that
//! call. A goroutine that creates a `Notified` and then checks a condition misses no change of it.

use crate::const_fn::const_fn;
use crate::wait::queue::{NodeState, Queue};
use crate::wait::waiter::{Abandoned, End, Ended, WaitList, Waiter};
use crate::wait::wakers::Wakers;
use futures::future::FusedFuture;
use gmp_rt::prim::{AtomicUsize, Mutex, Ordering};
use gmp_rt::task::park::{StorableWaker, WaitReason, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::{ControlFlow, Deref};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

/// Wakes waiting goroutines without a value (no counterpart in Go; like a channel of capacity 1
/// whose values are `()`).
///
/// [`notify_one`](Self::notify_one) wakes one waiter, or is remembered for the next one.
/// [`notify_waiters`](Self::notify_waiters) wakes all that wait now. For a condition under a mutex
/// use [`Cond`](crate::Cond), for a number of events a [`Semaphore`](crate::Semaphore), for a value
/// a [`watch`](crate::watch) channel.
///
/// # Waiting for a condition
///
/// Create the [`Notified`] before the check, so that no notification falls between the two:
///
/// ```
/// # mod gmp { pub use gmp_rt::{block_on, spawn}; pub use gmp_sync as sync; }
/// use gmp::sync::Notify;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// gmp::block_on(async {
///     let shared = Arc::new((AtomicBool::new(false), Notify::new()));
///     let other = shared.clone();
///     gmp::spawn(async move {
///         other.0.store(true, Ordering::Release);
///         other.1.notify_waiters();
///     });
///     let (ready, notify) = &*shared;
///     loop {
///         let notified = notify.notified();
///         if ready.load(Ordering::Acquire) {
///             break;
///         }
///         notified.await;
///     }
/// });
/// ```
///
/// # Examples
///
/// A queue with one consumer:
///
/// ```
/// # mod gmp { pub use gmp_rt::{block_on, spawn}; pub use gmp_sync as sync; }
/// use gmp::sync::Notify;
/// use std::sync::{Arc, Mutex};
///
/// gmp::block_on(async {
///     let queue = Arc::new((Mutex::new(Vec::new()), Notify::new()));
///     let producer = queue.clone();
///     gmp::spawn(async move {
///         producer.0.lock().unwrap().push("job");
///         producer.1.notify_one();
///     });
///     let job = loop {
///         if let Some(job) = queue.0.lock().unwrap().pop() {
///             break job;
///         }
///         queue.1.notified().await;
///     };
///     assert_eq!(job, "job");
/// });
/// ```
#[doc(alias("Event", "event_listener"))]
pub struct Notify {
    /// Calls of `notify_waiters`. Changed under the lock. It may wrap: no `Notified` lives that
    /// long.
    round: AtomicUsize,
    state: Mutex<NotifyState>,
}

/// What the lock guards.
#[derive(Debug)]
pub(crate) struct NotifyState {
    permit: NotifyPermit,
    waiting: Queue<Wait>,
}

/// A call of `notify_one` that no waiter has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotifyPermit {
    None,
    Stored,
}

/// The data of a waiter.
#[derive(Debug)]
pub(crate) struct Wait {
    /// The round in which it was created.
    round: usize,
    /// What it was fired by.
    by: By,
}

/// The call that fired a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// `notify_one`. If the waiter is dropped, the notification goes to the longest waiter.
    One,
    /// `notify_last`. If the waiter is dropped, the notification goes to the newest waiter.
    Last,
    /// `notify_waiters`. Nothing is passed on.
    All,
}

impl NotifyState {
    /// Fires one waiter, or stores the permit if there is none.
    fn notify(&mut self, by: By) -> Wakers {
        let set = |wait: &mut Wait| wait.by = by;
        let fired = match by {
            By::Last => self.waiting.fire_back(set),
            By::One | By::All => self.waiting.fire_front(set),
        };
        match fired {
            Some(((), fired)) => fired.into(),
            None => {
                self.permit = NotifyPermit::Stored;
                Wakers::None
            }
        }
    }
}

impl UnwindSafe for Notify {}
impl RefUnwindSafe for Notify {}

impl Notify {
    const_fn! {
        /// Creates a `Notify` without a stored permit.
        #[must_use]
        pub const fn new() -> Self {
            let state = NotifyState { permit: NotifyPermit::None, waiting: Queue::new() };
            Self { round: AtomicUsize::new(0), state: Mutex::new(state) }
        }
    }

    /// Waits for a notification.
    ///
    /// The future is ready after a [`notify_one`](Self::notify_one) that chose it or stored a
    /// permit before its first poll, or after a [`notify_waiters`](Self::notify_waiters) since it
    /// was created. It takes its place in line in its first poll, or by
    /// [`enable`](Notified::enable).
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped wait that `notify_one` has chosen passes the notification on. Its
    /// place in line is lost.
    #[inline]
    pub fn notified(&self) -> Notified<'_> {
        Notified { wait: NotifiedBy::new(self) }
    }

    /// As [`notified`](Self::notified), with a future that owns an `Arc` and is not bound to a
    /// borrow.
    ///
    /// # Cancel safety
    ///
    /// As [`notified`](Self::notified).
    #[inline]
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        OwnedNotified { wait: NotifiedBy::new(self) }
    }

    /// As [`notified`](Self::notified), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_notified")]
    pub fn notified_blocking(&self) {
        gmp_rt::block_on(self.notified());
    }

    /// Wakes the goroutine that has waited longest. If none waits, stores a permit for the next
    /// [`notified`](Self::notified). No more than one permit is stored.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::block_on; pub use gmp_sync as sync; }
    /// use gmp::sync::Notify;
    ///
    /// let notify = Notify::new();
    /// notify.notify_one();
    /// notify.notify_one(); // Is not remembered.
    /// gmp::block_on(notify.notified());
    /// ```
    pub fn notify_one(&self) {
        let wakers = self.with(|state| state.notify(By::One));
        wakers.wake_all();
    }

    /// As [`notify_one`](Self::notify_one), but wakes the goroutine that began to wait last.
    ///
    /// For a pool whose newest waiter has the warmest caches.
    pub fn notify_last(&self) {
        let wakers = self.with(|state| state.notify(By::Last));
        wakers.wake_all();
    }

    /// Wakes all waiters: completes each [`Notified`] that exists now, polled or not. Stores
    /// nothing, and leaves a stored permit.
    pub fn notify_waiters(&self) {
        let mut wakers = Wakers::None;
        self.with(|state| {
            // Release: pairs with `round_now`. Only changed under the lock.
            let round = self.round.load(Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            while let Some(((), fired)) = state.waiting.fire_front(|wait| wait.by = By::All) {
                wakers.push(fired);
            }
        });
        wakers.wake_all();
    }

    fn round_now(&self) -> usize {
        // Acquire: pairs with `notify_waiters`.
        self.round.load(Ordering::Acquire)
    }

    /// Takes the notification of a wait that is not queued, if there is one.
    fn take(&self, state: &mut NotifyState, wait: &Wait) -> ControlFlow<()> {
        // Relaxed: changed under the lock, which is held.
        if self.round.load(Ordering::Relaxed) != wait.round {
            return ControlFlow::Break(());
        }
        match std::mem::replace(&mut state.permit, NotifyPermit::None) {
            NotifyPermit::Stored => ControlFlow::Break(()),
            NotifyPermit::None => ControlFlow::Continue(()),
        }
    }
}

impl Default for Notify {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let permit = self.with(|state| state.permit);
        f.debug_struct("Notify").field("permit", &permit).finish()
    }
}

// SAFETY: one lock, one queue behind it.
unsafe impl WaitList for Notify {
    type State = NotifyState;
    type Data = Wait;

    fn with<R>(&self, f: impl FnOnce(&mut NotifyState) -> R) -> R {
        f(&mut self.state.lock())
    }

    fn queue(state: &mut NotifyState) -> &mut Queue<Wait> {
        &mut state.waiting
    }

    fn abandoned(&self, state: &mut NotifyState, wait: &mut Wait, how: Abandoned) -> Wakers {
        match (how, wait.by) {
            (Abandoned::Fired, By::One | By::Last) => state.notify(wait.by),
            (Abandoned::Fired, By::All) | (Abandoned::Queued, _) => Wakers::None,
        }
    }
}

/// The progress of a wait for a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotifyPhase {
    /// No notification was taken.
    Waits,
    /// `enable` has taken one and returned `true`.
    Enabled,
    /// A poll has returned.
    Done,
}

pin_project! {
    /// The common part of the two futures.
    #[derive(Debug)]
    struct NotifiedBy<P: WaitList> {
        #[pin]
        waiter: Waiter<P>,
        phase: NotifyPhase,
    }
}

impl<P> NotifiedBy<P>
where
    P: WaitList<State = NotifyState, Data = Wait> + Deref<Target = Notify>,
{
    fn new(notify: P) -> Self {
        let wait = Wait { round: notify.round_now(), by: By::All };
        Self { waiter: Waiter::new(notify, wait), phase: NotifyPhase::Waits }
    }

    fn poll(self: Pin<&mut Self>, cx: &Context<'_>) -> Poll<()> {
        ready!(poll_proceed(cx));
        let mut this = self.project();
        if *this.phase == NotifyPhase::Waits {
            let notify = ptr::from_ref(&**this.waiter.list());
            let polled = Self::poll_waiter(this.waiter.as_mut(), cx);
            if polled.is_pending() {
                note_wait(cx, WaitReason::NotifyWait, notify.addr());
                return Poll::Pending;
            }
        }
        *this.phase = NotifyPhase::Done;
        Poll::Ready(())
    }

    fn poll_waiter(mut waiter: Pin<&mut Waiter<P>>, cx: &Context<'_>) -> Poll<()> {
        let waker = &mut StorableWaker::new(cx.waker());
        let take = |list: &P, state: &mut NotifyState, wait: &mut Wait| list.take(state, wait);
        let polled = waiter.as_mut().poll_wait_at(End::Back, waker, take);
        polled.map(|ended| {
            if ended == Ended::Fired {
                // The caller owns the notification.
                waiter.reset();
            }
        })
    }

    fn enable(self: Pin<&mut Self>) -> bool {
        let this = self.project();
        if *this.phase != NotifyPhase::Waits {
            return true;
        }
        if this.waiter.state() == NodeState::Queued {
            // Keeps the waker of the task that has polled.
            return false;
        }
        // The first poll by a task replaces the waker.
        let cx = Context::from_waker(Waker::noop());
        let polled = Self::poll_waiter(this.waiter, &cx);
        if polled.is_ready() {
            *this.phase = NotifyPhase::Enabled;
        }
        polled.is_ready()
    }
}

pin_project! {
    /// The future of [`Notify::notified`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited or enabled"]
    pub struct Notified<'a> {
        #[pin]
        wait: NotifiedBy<&'a Notify>,
    }
}

pin_project! {
    /// The future of [`Notify::notified_owned`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited or enabled"]
    pub struct OwnedNotified {
        #[pin]
        wait: NotifiedBy<Arc<Notify>>,
    }
}

macro_rules! notified {
    ($Notified:ty $(, $a:lifetime)?) => {
        impl $(<$a>)? $Notified {
            /// Takes the place in line now, before the first poll.
            ///
            /// Returns `true` if it is notified. The notification is then taken, as by a poll that
            /// returned: it is not passed on when the future is dropped. The next poll is ready.
            ///
            /// # Examples
            ///
            /// ```
            /// # mod gmp { pub use gmp_rt::block_on; pub use gmp_sync as sync; }
            /// use gmp::sync::Notify;
            /// use std::pin::pin;
            ///
            /// gmp::block_on(async {
            ///     let notify = Notify::new();
            ///     let mut first = pin!(notify.notified());
            ///     let second = notify.notified();
            ///     assert!(!first.as_mut().enable());
            ///     notify.notify_one(); // For the first, although it was not polled.
            ///     first.await;
            ///     notify.notify_one();
            ///     second.await;
            /// });
            /// ```
            pub fn enable(self: Pin<&mut Self>) -> bool {
                self.project().wait.enable()
            }
        }

        impl $(<$a>)? Future for $Notified {
            type Output = ();

            #[inline]
            fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
                self.project().wait.poll(cx)
            }
        }

        /// Terminated once a poll has returned.
        impl $(<$a>)? FusedFuture for $Notified {
            fn is_terminated(&self) -> bool {
                self.wait.phase == NotifyPhase::Done
            }
        }
    };
}

notified!(Notified<'a>, 'a);
notified!(OwnedNotified);

#[cfg(all(test, gmp_loom))]
#[path = "notify_loom.rs"]
mod loom;
