//! `yield_now` and `checkpoint`: futures that yield to other goroutines.

use crate::g::waker::goroutine_of;
use crate::sched::budget;
use crate::sched::local::{self, Yield};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Yields to the other goroutines (Go: `runtime.Gosched`).
///
/// The goroutine goes to the end of the local queue of its worker thread, behind the goroutines
/// that wait there. An idle thread may take it from that queue. It goes to the end of the queue of
/// all threads in two cases:
///
/// - The runtime has requested that it yields, because its time slice is over or its thread lost
///   its P (see [`checkpoint`]).
/// - Its local queue is empty, while goroutines wait in a queue of all threads.
///
/// A goroutine that yields to goroutines that a timer, a socket or an external thread made runnable
/// runs again right after these. If no other goroutine is runnable, it runs again at once.
///
/// It works under any executor. In a goroutine it does not use the waker: the scheduler requeues
/// the goroutine after its poll. In another task it wakes the waker, and the executor decides when
/// the task runs again.
///
/// Go's `Gosched` always uses the queue of all threads.
///
/// # Cancel safety
///
/// Cancel-safe. The future has no state to lose.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// gmp::block_on(async {
///     gmp::yield_now().await;
/// });
/// ```
#[doc(alias("Gosched", "gosched"))]
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// The future of [`yield_now`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        if !mark(cx) {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

/// Makes the scheduler requeue the goroutine of this poll. Returns `false` if the waker is not that
/// of the goroutine. Then the caller wakes the waker.
fn mark(cx: &Context<'_>) -> bool {
    let Some(g) = goroutine_of(cx.waker()) else { return false };
    local::with(|local| match local {
        Some(local) if local.goid.get() == g.goid() => {
            // A goroutine that yields to newcomers is queued behind them in any case.
            let before = local.yielding.get();
            if before != Yield::Behind {
                if before != Yield::Global {
                    local.refusals.set(0);
                }
                let preempt = local.p().preempt_requested();
                local.yielding.set(if preempt { Yield::Global } else { Yield::Local });
            }
            true
        }
        _ => false,
    })
}

/// Yields if the runtime requests it, for long loops.
///
/// The runtime requests it when the time slice of 10 ms is over, or earlier if a goroutine waits
/// that a timer, a socket or an external thread made runnable. Otherwise the loop continues at
/// once. Every future of gmp makes this check. `#[gmp::preemptible]` puts such checks into all
/// loops of async code.
///
/// # Cost
///
/// A check finds the scheduler state of its thread, reads two request flags, and decrements a
/// counter that only this thread writes. These are loads and one store, without an atomic
/// read-modify-write. When the counter expires, the check also reads the clock and looks for due
/// timers, ready sockets and goroutines that external threads woke. The counter expires about every
/// 50 µs, and after at most 1024 checks.
///
/// # Cancel safety
///
/// Cancel-safe. The future has no state to lose.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// gmp::block_on(gmp::spawn(async {
///     let mut sum = 0u64;
///     for n in 0..100_000u64 {
///         sum = sum.wrapping_add(n * n);
///         gmp::checkpoint().await;
///     }
///     sum
/// }))
/// .unwrap();
/// ```
#[doc(alias("consume_budget", "coop", "cooperative"))]
pub fn checkpoint() -> Checkpoint {
    Checkpoint { yielded: false }
}

/// The future of [`checkpoint`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Checkpoint {
    yielded: bool,
}

impl Future for Checkpoint {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        let proceed = budget::poll_proceed(cx);
        self.yielded = proceed.is_pending();
        proceed
    }
}
