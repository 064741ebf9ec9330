//! `WaitGroup`: waits for a number of goroutines.
//!
//! One lock guards a counter and the queue of waiters. It is held for a few instructions. The call
//! that brings the counter to zero fires the waiters and wakes them after it has released the lock.

use crate::wait::phase::WaitPhase;
use crate::wait::queue::Queue;
use crate::wait::waiter::{Abandoned, Ended, WaitList, Waiter};
use crate::wait::wakers::Wakers;
use futures::future::FusedFuture;
use gmp_rt::prim::Mutex;
use gmp_rt::task::park::{WaitReason, boxed_future, is_large, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Waits for a number of goroutines to finish (Go: `sync.WaitGroup`).
///
/// Clones share one counter.
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::WaitGroup;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use std::sync::Arc;
///
/// gmp_rt::block_on(async {
///     let (wg, sum) = (WaitGroup::new(), Arc::new(AtomicU32::new(0)));
///     for n in 1..=4 {
///         let sum = sum.clone();
///         wg.go(async move { sum.fetch_add(n, Ordering::Relaxed); });
///     }
///     wg.wait().await;
///     assert_eq!(sum.load(Ordering::Relaxed), 10);
/// });
/// ```
#[doc(alias("wait_group", "Nursery"))]
#[derive(Clone, Debug)]
pub struct WaitGroup {
    shared: Arc<GroupShared>,
}

impl Default for WaitGroup {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Debug)]
struct GroupShared(Mutex<GroupState>);

#[derive(Debug, Default)]
struct GroupState {
    count: i64,
    waiting: Queue<()>,
}

// SAFETY: one lock, one queue behind it.
unsafe impl WaitList for GroupShared {
    type State = GroupState;
    type Data = ();

    fn with<R>(&self, f: impl FnOnce(&mut GroupState) -> R) -> R {
        f(&mut self.0.lock())
    }

    fn queue(state: &mut GroupState) -> &mut Queue<()> {
        &mut state.waiting
    }

    fn abandoned(&self, _: &mut GroupState, (): &mut (), _: Abandoned) -> Wakers {
        Wakers::None
    }
}

impl WaitGroup {
    /// Creates a group whose counter is zero.
    #[must_use]
    pub fn new() -> Self {
        Self { shared: Arc::new(GroupShared(Mutex::new(GroupState::default()))) }
    }

    /// Adds `delta`, which may be negative, to the counter.
    ///
    /// For a goroutine, `wg.go(future)` adds one, starts it, and subtracts one when it ends. Use
    /// `add` and [`done`](Self::done) for what is no goroutine, with a clone of the group.
    ///
    /// # Panics
    ///
    /// If the counter becomes negative. The message is Go's.
    #[track_caller]
    pub fn add(&self, delta: i64) {
        match self.shared.with(|state| state.add(delta)) {
            Some(wakers) => wakers.wake_all(),
            None => panic!("sync: negative WaitGroup counter"),
        }
    }

    /// Subtracts one from the counter.
    ///
    /// # Panics
    ///
    /// If the counter becomes negative. The message is Go's.
    #[track_caller]
    pub fn done(&self) {
        self.add(-1);
    }

    /// Spawns a goroutine and counts it.
    ///
    /// Adds one now and subtracts one when the goroutine ends, also if it panics or is aborted.
    ///
    /// # Recursion
    ///
    /// An `async fn` cannot start itself: the compiler has to know its future while it checks it.
    /// Write a function that returns the future instead:
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::block_on; pub use gmp_sync::WaitGroup; }
    /// use gmp::WaitGroup;
    ///
    /// fn crawl(depth: u32, wg: WaitGroup) -> impl Future<Output = ()> + Send {
    ///     async move {
    ///         if depth > 0 {
    ///             wg.go(crawl(depth - 1, wg.clone()));
    ///         }
    ///     }
    /// }
    ///
    /// gmp::block_on(async {
    ///     let wg = WaitGroup::new();
    ///     crawl(3, wg.clone()).await;
    ///     wg.wait().await;
    /// });
    /// ```
    #[doc(alias = "spawn")]
    #[track_caller]
    pub fn go<F>(&self, future: F) -> gmp_rt::JoinHandle<F::Output>
    where
        F: IntoFuture<Output: Send + 'static, IntoFuture: Send + 'static>,
    {
        struct AllDone(WaitGroup);
        impl Drop for AllDone {
            fn drop(&mut self) {
                self.0.done();
            }
        }
        // Dropped in this order, even before the first poll: first the future, then the count.
        async fn run<F: Future>(future: F, done: AllDone) -> F::Output {
            let output = future.await;
            drop(done);
            output
        }
        self.add(1);
        let done = AllDone(self.clone());
        if const { is_large::<F::IntoFuture>() } {
            return gmp_rt::spawn(run(boxed_future(Box::new(future)), done));
        }
        gmp_rt::spawn(run(future.into_future(), done))
    }

    /// Returns the counter.
    #[must_use]
    pub fn count(&self) -> i64 {
        self.shared.with(|state| state.count)
    }

    /// Waits until the counter is zero.
    ///
    /// # Panics
    ///
    /// When awaited, if the counter was zero and is positive again before this wait has returned.
    /// The message is Go's. Begin a new round only after all waits for the last one have returned.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe.
    pub fn wait(&self) -> WaitGroupWait {
        WaitGroupWait { waiter: Waiter::new(self.shared.clone(), ()), phase: WaitPhase::Waits }
    }

    /// As [`wait`](Self::wait), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait).
    #[doc(alias = "blocking_wait")]
    pub fn wait_blocking(&self) {
        gmp_rt::block_on(self.wait());
    }
}

impl GroupState {
    /// Adds `delta` and returns the wakers of waits that end. `None` if the counter would be
    /// negative.
    fn add(&mut self, delta: i64) -> Option<Wakers> {
        let count = self.count.checked_add(delta).filter(|count| *count >= 0)?;
        self.count = count;
        let mut wakers = Wakers::None;
        if count == 0 {
            while let Some(((), fired)) = self.waiting.fire_front(|()| ()) {
                wakers.push(fired);
            }
        }
        Some(wakers)
    }
}

pin_project! {
    /// The future of [`WaitGroup::wait`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct WaitGroupWait {
        #[pin]
        waiter: Waiter<Arc<GroupShared>>,
        phase: WaitPhase,
    }
}

impl Future for WaitGroupWait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let mut waiter = this.waiter;
        ready!(poll_proceed(cx));
        let ended = waiter.as_mut().poll_wait(cx, |state, ()| match state.count {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        match ended {
            Poll::Pending => {
                let group = Arc::as_ptr(waiter.list());
                note_wait(cx, WaitReason::WaitGroupWait, group.addr());
                Poll::Pending
            }
            Poll::Ready(Ended::AtOnce(())) => {
                *this.phase = WaitPhase::Done;
                Poll::Ready(())
            }
            Poll::Ready(Ended::Fired) => {
                *this.phase = WaitPhase::Done;
                let reused = waiter.list().with(|state| state.count != 0);
                waiter.reset();
                assert!(!reused, "sync: WaitGroup is reused before previous Wait has returned");
                Poll::Ready(())
            }
        }
    }
}

impl FusedFuture for WaitGroupWait {
    fn is_terminated(&self) -> bool {
        self.phase == WaitPhase::Done
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "wait_group_loom.rs"]
mod loom;
#[cfg(all(test, not(gmp_loom)))]
#[path = "wait_group_tests.rs"]
mod tests;
