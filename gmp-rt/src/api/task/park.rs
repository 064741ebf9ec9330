//! The interface through which primitives park a goroutine.
//!
//! A primitive (a channel, a mutex, a socket) is an ordinary future. It stores the `Waker` of its
//! poll and wakes it later, on any thread. So it works under any executor, and inside `join!`,
//! `FuturesUnordered` and similar combinators. For gmp it also reports why it waits before it
//! returns `Pending` ([`note_wait`]). The scheduler records the time. A dump then shows `chan
//! receive, 3 minutes` instead of `await`.
//!
//! A primitive keeps its waker as a [`StoredWaker`]. A clone of `cx.waker()` counts as that of a
//! foreign future: the check of `#[gmp::test]` for tests that hang then ignores the goroutine.
//!
//! # Examples
//!
//! ```
//! # use gmp_rt as gmp;
//! use std::future::poll_fn;
//! use std::task::Poll;
//! use gmp::task::park::{WaitReason, note_wait};
//!
//! let mut waited = false;
//! gmp::block_on(poll_fn(|cx| {
//!     if waited {
//!         return Poll::Ready(());
//!     }
//!     waited = true;
//!     cx.waker().wake_by_ref();
//!     note_wait(cx, WaitReason::SemAcquire, 0);
//!     Poll::Pending
//! }));
//! ```

#[doc(hidden)]
pub use crate::api::blocking::spawn_blocking_unlimited;
#[doc(hidden)]
pub use crate::api::time::{Alarm, after_func_always};
pub use crate::g::stored::{StorableWaker, StoredWaker};
#[doc(hidden)]
pub use crate::netpoll::{Delay, Netpoll, PollerWake, Ready};
#[cfg(unix)]
#[doc(hidden)]
pub use crate::sys::poll_one::{Wanted, poll_one};
#[doc(hidden)]
pub use crate::util::large::{boxed_future, is_large};
pub use crate::wait_reason::WaitReason;

use crate::api::runtime::context;
use crate::sched::forked::FORKED;
use crate::sys::fork;
use std::any::Any;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Returns the netpoller of the current runtime. Installs the one that `make` builds if there is
/// none.
///
/// For `gmp-net`: a process has one kind of netpoller.
///
/// # Errors
///
/// The error of `make`, or one that says that the runtime is shutting down.
#[doc(hidden)]
pub fn netpoll(
    make: impl FnOnce() -> io::Result<Arc<dyn Netpoll>>,
) -> io::Result<Arc<dyn Netpoll>> {
    context::sched().netpoll(make)
}

/// Reports that a descriptor of the runtime was closed behind its back, and aborts the process.
/// `call` is the system call that failed.
#[doc(hidden)]
#[cold]
pub fn lost_descriptor(call: &str, error: &io::Error) -> ! {
    crate::throw::lost_descriptor(call, error)
}

/// Returns the name lookups of the current runtime. Builds them by `make` if there are none. `make`
/// gets the runtime's limit of concurrent lookups.
///
/// For `gmp-net`: a process has one kind of name lookups.
#[doc(hidden)]
pub fn lookups(
    make: impl FnOnce(usize) -> Arc<dyn Any + Send + Sync>,
) -> Arc<dyn Any + Send + Sync> {
    context::sched().lookups(make)
}

/// Returns how many forks lie between the first process that used gmp and this one.
#[doc(hidden)]
#[inline]
#[must_use]
pub fn forks() -> u32 {
    fork::forks()
}

/// Returns the error of an operation that needs a runtime of the process that this one is a fork
/// of.
#[doc(hidden)]
#[must_use]
pub fn forked_error() -> io::Error {
    io::Error::other(FORKED)
}

/// Records why the goroutine polled with `cx` is about to wait, and for what.
///
/// `resource` is the address of the primitive, a descriptor or an id, or 0 if there is none. Call
/// it just before the future returns `Pending`. It does nothing if the waker is not that of a
/// goroutine. If several futures of one goroutine record a wait in the same poll, dumps show the
/// last one.
#[inline]
pub fn note_wait(cx: &Context<'_>, reason: WaitReason, resource: usize) {
    crate::g::waker::note_wait(cx, reason, resource);
}

/// Checks whether a future that is ready may return `Ready`, or the goroutine yields first.
///
/// A primitive that can proceed without waiting calls it with `ready!`. If the time slice of the
/// goroutine is over, or goroutines that an external event made runnable wait, it returns
/// `Pending`. The goroutine then runs again after others. So a goroutine whose channel is never
/// empty does not keep its P. Otherwise the check costs as much as
/// [`checkpoint`](crate::checkpoint) says.
///
/// `Pending` from this function means "poll again", never "not ready". After it all further checks
/// of the same poll are refused, so a combinator sees all futures of gmp pending and decides
/// nothing.
#[inline]
pub fn poll_proceed(cx: &Context<'_>) -> Poll<()> {
    crate::sched::budget::poll_proceed(cx)
}

/// Runs `poll`, the last poll before the caller decides by whether a future is pending. In it the
/// budget refuses no future that is ready at once.
#[doc(hidden)]
pub fn poll_deciding<R>(poll: impl FnOnce() -> R) -> R {
    crate::sched::budget::poll_deciding(poll)
}

/// Runs a future on the calling thread for at most `limit`. Returns `None` if it is not ready by
/// then.
///
/// In a goroutine it is a blocking call, as [`block_on`](crate::block_on) is. It needs no timer,
/// and so no runtime.
#[doc(hidden)]
pub fn block_on_for<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    crate::api::runtime::block_on::block_on_for(limit, future)
}

/// Wakes many wakers in this order.
///
/// For a primitive that releases all its waiters at once. On a worker thread the goroutines are
/// queued as one batch, which wakes at most one more thread. Do not call it under a lock of the
/// primitive, because a waker may run any code. If a foreign waker panics, the panic hook reports
/// it, and the other wakers are still woken.
pub fn wake_all(wakers: impl IntoIterator<Item: Into<StoredWaker>>) {
    crate::sched::submit::wake_all(wakers);
}

/// A source of random numbers for a primitive that has to choose. Not for secrets.
///
/// One draw of 64 bits gives several small numbers. Each number below `bound` uses about
/// `log2(bound)` bits, and the rest stays for the next numbers.
#[doc(hidden)]
#[derive(Debug)]
pub struct Random {
    /// A fraction of 2^64.
    fraction: u64,
    /// The number of its bits that are still random.
    bits: u32,
}

impl Default for Random {
    fn default() -> Self {
        Self::new()
    }
}

impl Random {
    /// Creates a source. The first number makes the first draw.
    #[inline]
    #[must_use]
    pub fn new() -> Self {
        Self { fraction: 0, bits: 0 }
    }

    /// Returns a number below `bound`. The probabilities are equal up to a part in 2^16.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        let used = u32::BITS - bound.leading_zeros();
        if self.bits < used + 16 {
            self.fraction = random();
            self.bits = u64::BITS;
        }
        self.bits -= used;
        let product = u128::from(self.fraction) * u128::from(bound);
        self.fraction = product as u64;
        (product >> u64::BITS) as u32
    }
}

/// Returns 64 random bits.
fn random() -> u64 {
    use crate::util::{clock, rand::Rand};
    thread_local! {
        static RAND: Rand = {
            // The seed differs between threads and between runs.
            let here = 0u8;
            Rand::new(clock::now() ^ std::ptr::from_ref(&here).addr() as u64)
        };
    }
    let half = |rand: &Rand| u64::from(crate::prim::chance(rand.next_u32()));
    RAND.with(|rand| half(rand) << 32 | half(rand))
}

/// Returns the number of the P of this thread. `None` on a thread that runs no goroutines.
///
/// Numbers start at 0, without large gaps. For data per P: in one runtime two threads never have
/// the same number at the same time. After an await a goroutine may run with another number.
#[doc(hidden)]
#[inline]
#[must_use]
pub fn p_index() -> Option<usize> {
    crate::sched::local::with(|local| local?.p_number())
}
