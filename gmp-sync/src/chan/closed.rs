//! The wait until a channel is closed.

use super::core::{ChanPhase, Core};
use super::lock::Chan;
use super::{Receiver, Sender};
use crate::wait::phase::WaitPhase;
use crate::wait::queue::Queue;
use crate::wait::waiter::{Abandoned, Ended, WaitList, Waiter};
use crate::wait::wakers::Wakers;
use futures::future::FusedFuture;
use gmp_rt::task::park::{WaitReason, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

impl<T> Sender<T> {
    /// Waits until the channel is closed: by [`close`](Self::close), or because all receivers are
    /// dropped.
    ///
    /// Use it to stop work whose values nobody receives any more.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::{block_on, spawn}; pub use gmp_sync::{chan, select}; }
    /// use gmp::chan;
    ///
    /// gmp::block_on(async {
    ///     let (tx, rx) = chan::<u32>(0);
    ///     let works = gmp::spawn(async move {
    ///         gmp::select! {
    ///             _ = tx.closed() => "stopped",
    ///             _ = std::future::pending::<()>() => "done", // stands for long work
    ///         }
    ///     });
    ///     drop(rx);
    ///     assert_eq!(works.await.unwrap(), "stopped");
    /// });
    /// ```
    pub fn closed(&self) -> ClosedFut<'_, T> {
        ClosedFut::new(&self.chan)
    }

    /// As [`closed`](Self::closed), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_closed")]
    pub fn closed_blocking(&self) {
        gmp_rt::block_on(self.closed());
    }
}

impl<T> Receiver<T> {
    /// Waits until the channel is closed: by [`close`](Self::close), or because all senders are
    /// dropped.
    ///
    /// The channel may still hold values then. A receive returns them.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::block_on; pub use gmp_sync::chan; }
    /// use gmp::chan;
    ///
    /// gmp::block_on(async {
    ///     let (tx, rx) = chan(1);
    ///     tx.send("last").await.unwrap();
    ///     drop(tx);
    ///     rx.closed().await;
    ///     assert_eq!(rx.recv().await, Ok("last"));
    /// });
    /// ```
    pub fn closed(&self) -> ClosedFut<'_, T> {
        ClosedFut::new(&self.chan)
    }

    /// As [`closed`](Self::closed), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_closed")]
    pub fn closed_blocking(&self) {
        gmp_rt::block_on(self.closed());
    }
}

// SAFETY: one lock guards the core and this queue of it. The core stays in its `Chan`.
unsafe impl<T> WaitList for Chan<T> {
    type State = Core<T>;
    type Data = ();

    fn with<R>(&self, f: impl FnOnce(&mut Core<T>) -> R) -> R {
        Chan::with(self, f)
    }

    fn queue(core: &mut Core<T>) -> &mut Queue<()> {
        &mut core.closing
    }

    fn abandoned(&self, _: &mut Core<T>, (): &mut (), _: Abandoned) -> Wakers {
        Wakers::None
    }
}

pin_project! {
    /// The future of [`Sender::closed`] and [`Receiver::closed`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct ClosedFut<'a, T> {
        phase: WaitPhase,
        #[pin]
        waiter: Waiter<&'a Chan<T>>,
    }
}

impl<'a, T> ClosedFut<'a, T> {
    fn new(chan: &'a Chan<T>) -> Self {
        Self { phase: WaitPhase::Waits, waiter: Waiter::new(chan, ()) }
    }
}

impl<T> Future for ClosedFut<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        ready!(poll_proceed(cx));
        let ended = this.waiter.as_mut().poll_wait(cx, |core, ()| match core.phase() {
            ChanPhase::Closed => ControlFlow::Break(()),
            ChanPhase::Open => ControlFlow::Continue(()),
        });
        match ended {
            Poll::Pending => {
                note_wait(cx, WaitReason::ChanClosed, this.waiter.list().id());
                return Poll::Pending;
            }
            Poll::Ready(Ended::AtOnce(())) => {}
            Poll::Ready(Ended::Fired) => this.waiter.reset(),
        }
        *this.phase = WaitPhase::Done;
        Poll::Ready(())
    }
}

impl<T> FusedFuture for ClosedFut<'_, T> {
    fn is_terminated(&self) -> bool {
        self.phase == WaitPhase::Done
    }
}

impl<T> fmt::Debug for ClosedFut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClosedFut").field("waiter", &self.waiter).finish()
    }
}
