//! `Cond`: a condition variable for data that a mutex guards.
//!
//! The waiters are in a queue in arrival order (Go: `notifyList` and its tickets). A wait joins the
//! queue before it unlocks the mutex, so a signal that is sent under the mutex after that reaches
//! it. A signalled wait owns the signal until it has the mutex again. If it is dropped before, it
//! passes the signal on.

use crate::const_fn::const_fn;
use crate::lock::mutex::Mutex;
use crate::lock::mutex_guard::MutexGuard;
use crate::lock::raw_mutex::RawLock;
use crate::wait::queue::{NodeState, Queue};
use crate::wait::waiter::{Abandoned, WaitList, Waiter};
use crate::wait::wakers::Wakers;
use futures::future::FusedFuture;
use gmp_rt::prim::Mutex as Lock;
use gmp_rt::task::park::{WaitReason, note_wait};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::ptr;
use std::task::{Context, Poll};
use std::time::Duration;

/// A condition variable (Go: `sync.Cond`).
///
/// A wait does not end without a signal. The usual loop is needed nevertheless: between the signal
/// and the lock of the mutex another goroutine may have changed the value.
/// [`wait_while`](Self::wait_while) is that loop.
///
/// Use a condition variable with one mutex at a time.
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use sync::{Cond, Mutex};
/// use std::sync::Arc;
///
/// gmp_rt::block_on(async {
///     let shared = Arc::new((Mutex::new(false), Cond::new()));
///     let other = shared.clone();
///     gmp_rt::spawn(async move {
///         *other.0.lock().await = true;
///         other.1.signal();
///     });
///     let (ready, cond) = &*shared;
///     let mut guard = ready.lock().await;
///     while !*guard {
///         guard = cond.wait(guard).await;
///     }
/// });
/// ```
#[doc(alias = "Condvar")]
pub struct Cond {
    waiting: Lock<Queue<Signal>>,
}

/// The signal that a waiter was fired by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// A signal for one waiter. If that waiter is dropped, the signal goes to the next one.
    One,
    /// A signal for all waiters.
    All,
}

impl Cond {
    const_fn! {
        /// Creates a condition variable without waiters.
        #[must_use]
        pub const fn new() -> Self {
            Self { waiting: Lock::new(Queue::new()) }
        }
    }

    /// Unlocks the mutex, waits for a signal, and locks it again.
    ///
    /// The first poll joins the queue and then unlocks the mutex.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait unlocks the mutex if it has not been polled yet, and leaves the queue. If it
    /// was already [signalled](Self::signal), the signal goes to the longest waiting goroutine. The
    /// guard is lost: lock again.
    pub fn wait<'a, T: ?Sized>(&'a self, guard: MutexGuard<'a, T>) -> CondWait<'a, T> {
        CondWait {
            mutex: MutexGuard::mutex(&guard),
            guard: Some(guard),
            waiter: Waiter::new(self, Signal::One),
            lock: RawLock::new(),
        }
    }

    /// Waits as long as `condition` holds.
    ///
    /// `condition` is evaluated with the mutex locked, first at once and then after each signal.
    ///
    /// # Cancel safety
    ///
    /// As [`wait`](Self::wait).
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// use sync::{Cond, Mutex};
    ///
    /// let (queue, cond) = (Mutex::new(vec![1]), Cond::new());
    /// gmp_rt::block_on(async {
    ///     let mut queue = cond.wait_while(queue.lock().await, |queue| queue.is_empty()).await;
    ///     assert_eq!(queue.pop(), Some(1));
    /// });
    /// ```
    pub async fn wait_while<'a, T: ?Sized>(
        &'a self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        while condition(&mut guard) {
            guard = self.wait(guard).await;
        }
        guard
    }

    /// As [`wait`](Self::wait), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_wait")]
    pub fn wait_blocking<'a, T: ?Sized>(&'a self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        gmp_rt::block_on(self.wait(guard))
    }

    /// As [`wait_while`](Self::wait_while), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_wait_while")]
    pub fn wait_while_blocking<'a, T: ?Sized>(
        &'a self,
        guard: MutexGuard<'a, T>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        gmp_rt::block_on(self.wait_while(guard, condition))
    }

    /// As [`wait`](Self::wait), but waits for a signal at most for `limit`. The time for which it
    /// then waits for the mutex does not count.
    ///
    /// The result says whether the time was over before a signal came.
    ///
    /// # Cancel safety
    ///
    /// As [`wait`](Self::wait).
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// use std::time::Duration;
    /// use sync::{Cond, Mutex};
    ///
    /// let (ready, cond) = (Mutex::new(false), Cond::new());
    /// gmp_rt::block_on(async {
    ///     let limit = Duration::from_millis(1);
    ///     let (ready, result) = cond.wait_timeout(ready.lock().await, limit).await;
    ///     assert!(result.timed_out() && !*ready);
    /// });
    /// ```
    pub async fn wait_timeout<'a, T: ?Sized>(
        &'a self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        let mutex = MutexGuard::mutex(&guard);
        let signalled = {
            let mut wait = pin!(self.wait(guard));
            let mut sleep = gmp_rt::sleep(limit);
            poll_fn(|cx| {
                if let Poll::Ready(guard) = wait.as_mut().poll(cx) {
                    return Poll::Ready(Some(guard));
                }
                // A wait that has its signal waits for the mutex only.
                if wait.waiter.state() == NodeState::Fired {
                    return Poll::Pending;
                }
                Pin::new(&mut sleep).poll(cx).map(|()| None)
            })
            .await
            // The drop of the wait passes on a signal that came just now.
        };
        match signalled {
            Some(guard) => (guard, WaitTimeoutResult(WaitEnd::Signal)),
            None => (mutex.lock().await, WaitTimeoutResult(WaitEnd::Timeout)),
        }
    }

    /// Wakes the longest waiting goroutine, if there is one. The mutex may be locked or not.
    #[doc(alias = "notify_one")]
    pub fn signal(&self) {
        let wakers = self.with(signal_next);
        wakers.wake_all();
    }

    /// Wakes all waiting goroutines. The mutex may be locked or not.
    #[doc(alias = "notify_all")]
    pub fn broadcast(&self) {
        let mut wakers = Wakers::None;
        self.with(|waiting| {
            while let Some(((), fired)) = waiting.fire_front(|signal| *signal = Signal::All) {
                wakers.push(fired);
            }
        });
        wakers.wake_all();
    }
}

fn signal_next(waiting: &mut Queue<Signal>) -> Wakers {
    let fired = waiting.fire_front(|signal| *signal = Signal::One);
    fired.map_or(Wakers::None, |((), fired)| fired.into())
}

impl Default for Cond {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cond").finish_non_exhaustive()
    }
}

// SAFETY: one lock, one queue behind it.
unsafe impl WaitList for Cond {
    type State = Queue<Signal>;
    type Data = Signal;

    fn with<R>(&self, f: impl FnOnce(&mut Queue<Signal>) -> R) -> R {
        f(&mut self.waiting.lock())
    }

    fn queue(state: &mut Queue<Signal>) -> &mut Queue<Signal> {
        state
    }

    fn abandoned(
        &self,
        waiting: &mut Queue<Signal>,
        signal: &mut Signal,
        how: Abandoned,
    ) -> Wakers {
        match (how, *signal) {
            (Abandoned::Fired, Signal::One) => signal_next(waiting),
            (Abandoned::Fired, Signal::All) | (Abandoned::Queued, _) => Wakers::None,
        }
    }
}

pin_project! {
    /// The future of [`Cond::wait`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct CondWait<'a, T: ?Sized> {
        mutex: &'a Mutex<T>,
        // Held until the wait is in the queue.
        guard: Option<MutexGuard<'a, T>>,
        // Dropped before `waiter`: the mutex is given up before the signal is passed on.
        #[pin]
        lock: RawLock<&'a Mutex<T>>,
        #[pin]
        waiter: Waiter<&'a Cond>,
    }
}

impl<'a, T: ?Sized> Future for CondWait<'a, T> {
    type Output = MutexGuard<'a, T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let waits = |_: &mut Queue<Signal>, _: &mut Signal| ControlFlow::<()>::Continue(());
        if this.waiter.as_mut().poll_wait(cx, waits).is_pending() {
            note_wait(cx, WaitReason::CondWait, ptr::from_ref(*this.waiter.list()).addr());
            // Unlocked after the wait has joined the queue, so that it misses no signal.
            *this.guard = None;
            return Poll::Pending;
        }
        let mutex = *this.mutex;
        if this.lock.poll_lock(mutex.raw(), || mutex, cx).is_pending() {
            note_wait(cx, WaitReason::MutexLock, mutex.addr());
            return Poll::Pending;
        }
        // From here on the caller owns the signal.
        this.waiter.reset();
        Poll::Ready(MutexGuard::new(mutex))
    }
}

/// The result of [`Cond::wait_timeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(WaitEnd);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitEnd {
    Signal,
    Timeout,
}

impl WaitTimeoutResult {
    /// Whether the time was over before a signal came.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0 == WaitEnd::Timeout
    }
}

impl<T: ?Sized> FusedFuture for CondWait<'_, T> {
    fn is_terminated(&self) -> bool {
        // It has the guard before it joins the queue, and is in the queue until it returns.
        self.guard.is_none() && self.waiter.state() == NodeState::Idle
    }
}

impl<T: ?Sized> fmt::Debug for CondWait<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CondWait").field("waiter", &self.waiter).field("lock", &self.lock).finish()
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "cond_loom.rs"]
mod loom;
