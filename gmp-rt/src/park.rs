//! The one door through which primitives park a goroutine.
//!
//! A primitive (a channel, a mutex, a socket) is an ordinary future: it keeps the `Waker` it is
//! polled with and wakes it later, on any thread, so it works under any executor and inside
//! `join!`, `FuturesUnordered` and the like. All it adds for gmp is to say, as it returns
//! `Pending`, why it waits: [`note_wait`]. The scheduler stamps since when. A dump then shows
//! `chan receive, 3 minutes` and not just `await`.
//!
//! # Examples
//!
//! ```
//! # use gmp_rt as gmp;
//! use std::future::poll_fn;
//! use std::task::Poll;
//! use gmp::park::{WaitReason, note_wait};
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

pub use crate::g::stored::{StorableWaker, StoredWaker};
#[doc(hidden)]
pub use crate::netpoll::{Bell, Delay, Netpoll, Ready};
#[doc(hidden)]
pub use crate::time::Alarm;
#[doc(hidden)]
pub use crate::util::large::is_large;
pub use crate::wait_reason::WaitReason;

use crate::runtime::context;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The netpoller of the runtime around the caller; the one that `make` builds if it has none yet.
///
/// For `gmp-net`: there is one kind of netpoller in a process.
///
/// # Errors
///
/// What `make` says; an error too if the runtime is ending.
#[doc(hidden)]
pub fn netpoll(
    make: impl FnOnce() -> io::Result<Arc<dyn Netpoll>>,
) -> io::Result<Arc<dyn Netpoll>> {
    context::sched().netpoll(make)
}

/// Notes why the goroutine polled with `cx` is about to wait, and for what: the address of the
/// primitive, a descriptor, an id; 0 for nothing to name.
///
/// To be called just before returning `Pending`. Does nothing if the waker is not a goroutine's
/// own. If several futures of one goroutine note a wait in the same poll, the last one shows.
#[inline]
pub fn note_wait(cx: &Context<'_>, reason: WaitReason, resource: usize) {
    crate::g::waker::note_wait(cx, reason, resource);
}

/// Checks whether a future that is ready may return `Ready`, or the goroutine yields first.
///
/// A primitive that can proceed without waiting calls it with `ready!`. If the time slice of the
/// goroutine is over, it returns `Pending`, and the goroutine is queued behind all others and
/// polled again. Otherwise it costs one load. So a goroutine whose channel is never empty does not
/// keep its P.
///
/// `Pending` from here means "poll again", never "not ready". After it all further checks of the
/// same poll are refused, so a combinator sees all futures of gmp pending and decides nothing.
#[inline]
pub fn poll_go_on(cx: &Context<'_>) -> Poll<()> {
    crate::sched::budget::poll_go_on(cx)
}

/// Runs `poll`, the last poll before the caller decides by whether a future is pending. The budget
/// refuses nothing in it that is ready at once.
#[doc(hidden)]
pub fn poll_deciding<R>(poll: impl FnOnce() -> R) -> R {
    crate::sched::budget::poll_deciding(poll)
}

/// Runs a future on the calling thread, for at most `limit`. Returns `None` if it is not ready
/// then.
///
/// In a goroutine it is a blocking call, as [`block_on`](crate::block_on) is. It needs no timer,
/// and so no runtime.
#[doc(hidden)]
pub fn block_on_for<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    crate::runtime::block_on::block_on_for(limit, future)
}

/// Wakes many, in this order, calling for one more thread at most.
///
/// For a primitive that releases all its waiters at once. Not under a lock of the primitive: a
/// waker may run any code. If a foreign waker panics, the panic hook reports it, and the others are
/// woken all the same.
pub fn wake_all(wakers: impl IntoIterator<Item: Into<StoredWaker>>) {
    crate::sched::ready::wake_all(wakers);
}

/// Random numbers for a primitive that has to choose. Not for secrets.
///
/// One draw of 64 bits gives several small numbers. Each number below `bound` uses up `log2(bound)`
/// bits, and the others stay for the next ones. A permutation of 16 needs 45 bits.
#[doc(hidden)]
#[derive(Debug)]
pub struct Random {
    /// A fraction of 2^64.
    fraction: u64,
    /// Bits of it that are still random.
    bits: u32,
}

impl Default for Random {
    fn default() -> Self {
        Self::new()
    }
}

impl Random {
    /// Draws when the first number is asked for.
    #[inline]
    #[must_use]
    pub fn new() -> Self {
        Self { fraction: 0, bits: 0 }
    }

    /// Returns a number below `bound`, each as likely as the others but for a part in 2^16.
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
            // Differs from thread to thread and from run to run.
            let here = 0u8;
            Rand::new(clock::now() ^ std::ptr::from_ref(&here).addr() as u64)
        };
    }
    let half = |rand: &Rand| u64::from(crate::prim::chance(rand.next_u32()));
    RAND.with(|rand| half(rand) << 32 | half(rand))
}

/// The number of the P this thread runs with, from 0 and without large gaps; `None` on a thread
/// that runs no goroutines. A hint for what is kept per P: two threads never have the same at the same
/// time in one runtime, but the thread may have another at the next await.
#[doc(hidden)]
#[inline]
#[must_use]
pub fn p_index() -> Option<usize> {
    crate::sched::current::with(|local| local?.p_id())
}
