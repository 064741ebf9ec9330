//! `WaitGroup`.
//!
//! A counter and the wakers of those who wait for it to be zero, under one lock. The lock is held
//! for a few instructions; whoever brings the counter to zero takes the wakers out and wakes them
//! after it is released.

use crate::wakers::{Ticket, Wakers};
use gmp_rt::park::{WaitReason, note_wait, poll_go_on};
use gmp_rt::prim::Mutex;
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
/// use gmp_sync::WaitGroup;
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
#[derive(Clone, Debug)]
pub struct WaitGroup {
    state: Arc<Mutex<State>>,
}

impl Default for WaitGroup {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Debug)]
struct State {
    count: i64,
    /// How often the counter has come down to zero: a wait ends when this has changed, even if
    /// the group is in use again by then.
    rounds: u64,
    wakers: Wakers,
}

impl WaitGroup {
    /// A group with a counter of zero.
    #[must_use]
    pub fn new() -> Self {
        let state = State { count: 0, rounds: 0, wakers: Wakers::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Adds `delta`, which may be negative, to the counter.
    ///
    /// # Panics
    ///
    /// If the counter becomes negative, with Go's words.
    #[track_caller]
    pub fn add(&self, delta: i64) {
        let mut state = self.state.lock();
        let count = state.count.checked_add(delta).filter(|count| *count >= 0);
        let Some(count) = count else {
            drop(state);
            panic!("sync: negative WaitGroup counter");
        };
        let reached_zero = count == 0 && state.count > 0;
        state.count = count;
        if !reached_zero {
            return;
        }
        state.rounds += 1;
        let wakers = state.wakers.take_all();
        drop(state);
        wakers.for_each(std::task::Waker::wake);
    }

    /// Takes one from the counter.
    ///
    /// # Panics
    ///
    /// If the counter becomes negative, with Go's words.
    #[track_caller]
    pub fn done(&self) {
        self.add(-1);
    }

    /// Starts a goroutine that counts: adds one now, takes it back when the goroutine ends, also
    /// if it panics or is aborted.
    #[track_caller]
    pub fn go<F>(&self, future: F) -> gmp_rt::JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        struct Done(WaitGroup);
        impl Drop for Done {
            fn drop(&mut self) {
                self.0.done();
            }
        }
        self.add(1);
        let done = Done(self.clone());
        gmp_rt::spawn(async move {
            let _done = done;
            future.await
        })
    }

    /// The counter just now.
    #[must_use]
    pub fn count(&self) -> i64 {
        self.state.lock().count
    }

    /// Waits until the counter is zero.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait leaves nothing behind.
    pub fn wait(&self) -> Wait {
        Wait { group: self.clone(), waiting: None }
    }
}

/// The future of [`WaitGroup::wait`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Wait {
    group: WaitGroup,
    /// The ticket, and the round it was taken in.
    waiting: Option<(Ticket, u64)>,
}

impl Future for Wait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        // Cloned and dropped outside of the lock: a waker may run any code.
        let waker = cx.waker().clone();
        let mut state = this.group.state.lock();
        let over = match this.waiting {
            None => state.count == 0,
            Some((_, round)) => state.rounds != round,
        };
        if over {
            drop(state);
            ready!(poll_go_on(cx));
            this.waiting = None;
            return Poll::Ready(());
        }
        let old = match this.waiting {
            Some((ticket, _)) => state.wakers.replace(ticket, waker),
            None => {
                this.waiting = Some((state.wakers.add(waker), state.rounds));
                None
            }
        };
        drop(state);
        drop(old);
        let group: *const Mutex<State> = Arc::as_ptr(&this.group.state);
        note_wait(cx, WaitReason::WaitGroupWait, group.addr());
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some((ticket, _)) = self.waiting {
            let waker = self.group.state.lock().wakers.remove(ticket);
            drop(waker);
        }
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "wait_group_loom.rs"]
mod loom;
#[cfg(all(test, not(gmp_loom)))]
#[path = "wait_group_tests.rs"]
mod tests;
