//! Running a future on the calling thread.

use crate::m::note::{Note, Slept};
use crate::prim::debug_assert_no_lock_held;
use crate::sched::block;
use crate::util::clock;
use crate::util::large::is_large;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// Wakes a thread.
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
/// From any thread, also inside a goroutine: there it is a blocking call, and other goroutines
/// go on without this thread. The future may borrow and need not be `Send`. For a future that is
/// to run beside others, [`spawn`](crate::spawn) it: a goroutine is cheaper to wake than a thread.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let text = String::from("borrowed");
/// let len = gmp::block_on(async { text.len() });
/// assert_eq!(len, 8);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    if const { is_large::<F>() } {
        return block_on_pinned(Box::pin(future).as_mut());
    }
    block_on_pinned(pin!(future))
}

/// [`block_on`] for a future that has its place.
pub(super) fn block_on_pinned<F: Future>(future: Pin<&mut F>) -> F::Output {
    match block_on_until(clock::FOREVER, future) {
        Some(output) => output,
        None => unreachable!("the end of time"),
    }
}

/// Runs a future on the calling thread, for at most `limit`. Returns `None` if it is not ready
/// then.
pub(crate) fn block_on_for<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    block_on_until(clock::after(limit), pin!(future))
}

fn block_on_until<F: Future>(until: u64, mut future: Pin<&mut F>) -> Option<F::Output> {
    block::block_on(|| {
        let thread = Arc::new(ThreadWaker(Note::for_this_thread()));
        let waker = Waker::from(thread.clone());
        let mut cx = Context::from_waker(&waker);
        loop {
            debug_assert_no_lock_held("polls a future");
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return Some(output);
            }
            match until {
                clock::FOREVER => thread.0.sleep(),
                until if thread.0.sleep_until(until) == Slept::TimedOut => return None,
                _ => {}
            }
        }
    })
}
