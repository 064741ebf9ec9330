//! `TaskTracker`: waits for goroutines whose number is not known before.
//!
//! One lock guards the number of members, whether the tracker is closed, and the queue of waits. A
//! spawn counts its member under the lock that `close` takes too. So a spawn is either counted
//! before the close, and waited for, or refused.

use crate::wait::queue::Queue;
use crate::wait::waiter::{Abandoned, Ended, WaitList, Waiter};
use crate::wait::wakers::Wakers;
use futures::future::FusedFuture;
use gmp_rt::prim::Mutex;
use gmp_rt::task::park::{WaitReason, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::error::Error;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Counts goroutines, and waits for all of them after it was closed: for a graceful shutdown.
///
/// Clones are the same tracker. The output of a member is dropped when it ends, unless its handle
/// is kept, so a tracker may run for ever without growing.
///
/// A [`WaitGroup`](crate::WaitGroup) has no [`close`](Self::close). A [`JoinSet`](crate::JoinSet)
/// returns outputs and aborts its members when it is dropped.
///
/// # Examples
///
/// ```
/// # mod gmp { pub use gmp_rt::block_on; pub mod task { pub use gmp_sync::TaskTracker; } }
/// use gmp::task::TaskTracker;
///
/// gmp::block_on(async {
///     let tracker = TaskTracker::new();
///     for n in 0..10 {
///         tracker.spawn(async move { println!("request {n}") }).unwrap();
///     }
///     tracker.close(); // Refuses further requests.
///     assert!(tracker.spawn(async {}).is_err());
///     tracker.wait().await;
/// });
/// ```
#[derive(Clone)]
pub struct TaskTracker {
    shared: Arc<Shared>,
}

struct Shared(Mutex<TrackerState>);

#[derive(Debug)]
struct TrackerState {
    members: usize,
    gate: Gate,
    waiting: Queue<()>,
}

/// Whether members are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Open,
    Closed,
}

impl TrackerState {
    fn is_over(&self) -> bool {
        self.members == 0 && self.gate == Gate::Closed
    }

    fn fire_all(&mut self) -> Wakers {
        let mut wakers = Wakers::None;
        while let Some(((), fired)) = self.waiting.fire_front(|()| ()) {
            wakers.push(fired);
        }
        wakers
    }
}

// SAFETY: one lock, one queue behind it.
unsafe impl WaitList for Shared {
    type State = TrackerState;
    type Data = ();

    fn with<R>(&self, f: impl FnOnce(&mut TrackerState) -> R) -> R {
        f(&mut self.0.lock())
    }

    fn queue(state: &mut TrackerState) -> &mut Queue<()> {
        &mut state.waiting
    }

    fn abandoned(&self, _: &mut TrackerState, (): &mut (), _: Abandoned) -> Wakers {
        Wakers::None
    }
}

impl UnwindSafe for TaskTracker {}
impl RefUnwindSafe for TaskTracker {}

impl TaskTracker {
    /// Creates an open tracker without members.
    #[must_use]
    pub fn new() -> Self {
        let state = TrackerState { members: 0, gate: Gate::Open, waiting: Queue::new() };
        Self { shared: Arc::new(Shared(Mutex::new(state))) }
    }

    /// Starts a goroutine and counts it until it ends, also if it panics or is aborted.
    ///
    /// Its future is dropped before it is uncounted.
    ///
    /// # Errors
    ///
    /// [`Closed`] with the future, after [`close`](Self::close).
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> Result<gmp_rt::JoinHandle<F::Output>, Closed<F>>
    where
        F: IntoFuture<Output: Send + 'static, IntoFuture: Send + 'static>,
    {
        // Dropped in this order, even before the first poll: first the future, then the token.
        async fn run<F: Future>(future: F, token: Token) -> F::Output {
            let output = future.await;
            drop(token);
            output
        }
        let Some(token) = self.token() else { return Err(Closed(future)) };
        let future = future.into_future();
        if const { gmp_rt::task::park::is_large::<F::IntoFuture>() } {
            return Ok(gmp_rt::spawn(run(Box::pin(future), token)));
        }
        Ok(gmp_rt::spawn(run(future, token)))
    }

    /// Counts one member while the token lives. Returns `None` after [`close`](Self::close).
    ///
    /// Use it for work that is not a goroutine, such as a thread or a part of one.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        let counted = self.shared.with(|state| match state.gate {
            Gate::Open => {
                state.members += 1;
                true
            }
            Gate::Closed => false,
        });
        counted.then(|| Token { shared: self.shared.clone() })
    }

    /// Refuses further members. Returns `false` if the tracker was closed before.
    pub fn close(&self) -> bool {
        let (before, wakers) = self.shared.with(|state| {
            let before = std::mem::replace(&mut state.gate, Gate::Closed);
            // Also with members: the waits then show in a dump that the tracker is closed.
            (before, state.fire_all())
        });
        wakers.wake_all();
        before == Gate::Open
    }

    /// Waits until the tracker is [closed](Self::close) and has no members.
    ///
    /// Without a call of `close` it waits for ever. A dump then shows `task tracker, not closed`.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe.
    pub fn wait(&self) -> TaskTrackerWait {
        TaskTrackerWait { phase: TrackerPhase::Waits, waiter: Waiter::new(self.shared.clone(), ()) }
    }

    /// As [`wait`](Self::wait), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_wait")]
    pub fn wait_blocking(&self) {
        gmp_rt::block_on(self.wait());
    }

    /// Returns the number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.with(|state| state.members)
    }

    /// Whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the tracker is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.with(|state| state.gate == Gate::Closed)
    }
}

impl Default for TaskTracker {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TaskTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, gate) = self.shared.with(|state| (state.members, state.gate));
        f.debug_struct("TaskTracker").field("len", &len).field("gate", &gate).finish()
    }
}

/// A member of a [`TaskTracker`] while it lives. From [`TaskTracker::token`].
#[must_use = "counts while it lives"]
pub struct Token {
    shared: Arc<Shared>,
}

impl UnwindSafe for Token {}
impl RefUnwindSafe for Token {}

impl Drop for Token {
    fn drop(&mut self) {
        let wakers = self.shared.with(|state| {
            state.members -= 1;
            if state.is_over() { state.fire_all() } else { Wakers::None }
        });
        wakers.wake_all();
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").finish_non_exhaustive()
    }
}

/// The [`TaskTracker`] is closed. Contains the future that was not started.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Closed<F>(pub F);

impl<F> Closed<F> {
    /// Returns the future that was not started.
    #[must_use]
    pub fn into_inner(self) -> F {
        self.0
    }
}

// Without the future, which need not be `Debug`.
impl<F> fmt::Debug for Closed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closed(..)")
    }
}

impl<F> fmt::Display for Closed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("spawn on closed task tracker")
    }
}

impl<F> Error for Closed<F> {}

/// Whether a future has returned its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrackerPhase {
    Waits,
    Done,
}

pin_project! {
    /// The future of [`TaskTracker::wait`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct TaskTrackerWait {
        phase: TrackerPhase,
        #[pin]
        waiter: Waiter<Arc<Shared>>,
    }
}

impl Future for TaskTrackerWait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        ready!(poll_proceed(cx));
        let mut gate = Gate::Open;
        loop {
            let ended = this.waiter.as_mut().poll_wait(cx, |state, ()| {
                gate = state.gate;
                if state.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            match ended {
                Poll::Ready(Ended::AtOnce(())) => break,
                // Looks again: fired by `close` also while there are members. No member is added
                // after that.
                Poll::Ready(Ended::Fired) => this.waiter.as_mut().reset(),
                Poll::Pending => {
                    let shared = Arc::as_ptr(this.waiter.list());
                    let reason = match gate {
                        Gate::Open => WaitReason::TaskTrackerOpen,
                        Gate::Closed => WaitReason::TaskTracker,
                    };
                    note_wait(cx, reason, shared.addr());
                    return Poll::Pending;
                }
            }
        }
        *this.phase = TrackerPhase::Done;
        Poll::Ready(())
    }
}

impl FusedFuture for TaskTrackerWait {
    fn is_terminated(&self) -> bool {
        self.phase == TrackerPhase::Done
    }
}
