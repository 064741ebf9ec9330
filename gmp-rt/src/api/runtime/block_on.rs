//! `block_on`: runs a future on the calling thread.

use super::context;
use crate::g::join::{JoinError, JoinHandle};
use crate::m::note::Note;
use crate::prim::debug_assert_no_lock_held;
use crate::sched::{budget, handoff, thread_budget};
use crate::util::clock;
use crate::util::large::box_future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// The waker of a thread in [`block_on`].
struct ThreadWaker(Note);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        debug_assert_no_lock_held("wakes a thread in block_on");
        self.0.wake();
    }
}

/// Runs a future on the calling thread and returns its output.
///
/// It works on any thread. In a goroutine it is a blocking call: the other goroutines continue on
/// other threads. When the future is ready, the goroutine may have to wait for its turn, as after
/// [`block_in_place`](crate::block_in_place()). The future may borrow and need not be `Send`. To
/// run a future concurrently with others, [`spawn`](crate::spawn) it: a goroutine is cheaper to
/// wake than a thread.
///
/// A future whose operations are always ready is interrupted after about 10 ms, as in a goroutine.
/// So a [`timeout`](crate::timeout()) around a loop of ready operations ends.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let text = String::from("borrowed");
/// let len = gmp::block_on(async { text.len() });
/// assert_eq!(len, 8);
/// ```
pub fn block_on<F: IntoFuture>(future: F) -> F::Output {
    box_future!(future: F => context::in_default_guest(|| block_on_owned(future)))
}

impl<T> JoinHandle<T> {
    /// Blocks the calling thread until the goroutine has ended, and returns its output.
    ///
    /// The same as [`block_on`] of the handle: in a goroutine it is a blocking call. A goroutine
    /// that joins itself waits until the process ends.
    ///
    /// # Errors
    ///
    /// [`JoinError`] if the goroutine panicked or was aborted.
    ///
    /// # Panics
    ///
    /// If the handle has returned the output before.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let handle = gmp::spawn(async { 6 * 7 });
    /// assert_eq!(handle.join_blocking().unwrap(), 42);
    /// ```
    #[doc(alias("blocking_join", "join", "wait"))]
    pub fn join_blocking(self) -> Result<T, JoinError> {
        block_on(self)
    }
}

/// Runs a future that is not large, as [`block_on`].
pub(super) fn block_on_owned<F: Future>(future: F) -> F::Output {
    match block_on_until(clock::FOREVER, future) {
        Some(output) => output,
        None => unreachable!("the end of time"),
    }
}

/// Runs a future on the calling thread for at most `limit`. Returns `None` if it is not ready by
/// then.
pub(crate) fn block_on_for<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    block_on_until(clock::after(limit), future)
}

/// Runs a future until the time `until`. Drops it inside the blocking call, because its destructor
/// may block too.
fn block_on_until<F: Future>(until: u64, future: F) -> Option<F::Output> {
    handoff::syscall_block(move || {
        let mut future = pin!(future);
        let thread = Arc::new(ThreadWaker(Note::for_this_thread()));
        let waker = Waker::from(thread.clone());
        let mut cx = Context::from_waker(&waker);
        let _budget = thread_budget::enter();
        loop {
            debug_assert_no_lock_held("polls a future");
            budget::begin_inner_poll();
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return Some(output);
            }
            match until {
                clock::FOREVER => thread.0.sleep(),
                // Checked before the sleep: a future that wakes itself in each poll does not sleep.
                until if clock::now() >= until => return None,
                until => {
                    let _ = thread.0.sleep_until(until);
                }
            }
        }
    })
}
