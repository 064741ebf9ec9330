//! Giving way to others.

use crate::g::waker::goroutine_of;
use crate::sched::budget;
use crate::sched::current::{self, Yield};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Lets other goroutines run, and goes on behind them (Go: `runtime.Gosched`).
///
/// Works on any executor; in a goroutine it costs no wake-up.
///
/// # Cancel safety
///
/// Dropping it early is as if it had not been called.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// gmp::block_on(async {
///     gmp::yield_now().await;
/// });
/// ```
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

/// Tells the scheduler to requeue the goroutine that this poll belongs to; `false` if the waker
/// is not its own: then it must be woken as any future is.
fn mark(cx: &Context<'_>) -> bool {
    let Some(g) = goroutine_of(cx.waker()) else { return false };
    current::with(|local| match local {
        Some(local) if local.goid.get() == g.goid() => {
            // A goroutine that is interrupted for newcomers goes behind them anyway.
            if local.yielding.get() != Yield::Behind {
                if local.yielding.get() != Yield::Global {
                    local.refusals.set(0);
                }
                let overtime = local.p().is_overtime();
                local.yielding.set(if overtime { Yield::Global } else { Yield::Local });
            }
            true
        }
        _ => false,
    })
}

/// Gives way if the goroutine has had its time slice of 10 ms, else goes on at once: for long loops
/// of your own.
///
/// Every future of gmp does this by itself. When nothing is asked it costs one load.
/// `#[gmp::preemptible]` puts such checks into all loops of async code.
///
/// # Cancel safety
///
/// Dropping it early is as if it had not been called.
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
        let go_on = budget::poll_go_on(cx);
        self.yielded = go_on.is_pending();
        go_on
    }
}
