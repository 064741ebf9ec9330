//! A channel for one value (no counterpart in Go: `make(chan T, 1)` that is used once).
//!
//! - `cell`: the shared state and its protocol.
//! - This file: the two ends and their futures.
//!
//! An end that has returned its result gives up its share of the allocation, so `Receiver::rx` is
//! `None` inside after that.

#[expect(unsafe_code, reason = "a value and wakers that the ends hand to each other")]
mod cell;

use self::cell::{Found, Rx, Tx};
pub use crate::chan::{RecvError, TryRecvError};
use crate::wait::phase::WaitPhase;
use futures::future::FusedFuture;
use gmp_rt::task::park::{StorableWaker, WaitReason, note_wait, poll_proceed};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Creates a channel for one value.
///
/// Use it to return one result to one waiting goroutine. It makes one allocation. The sender does
/// not wait, so it works in any thread and in a destructor.
///
/// # Examples
///
/// ```
/// # mod gmp { pub use gmp_rt::{block_on, spawn}; pub use gmp_sync as sync; }
/// use gmp::sync::oneshot;
///
/// gmp::block_on(async {
///     let (tx, rx) = oneshot::channel();
///     gmp::spawn(async move {
///         let _ = tx.send(6 * 7); // `Err` if the receiver was dropped.
///     });
///     assert_eq!(rx.await, Ok(42));
/// });
/// ```
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (tx, rx) = cell::pair();
    (Sender { tx }, Receiver { rx: Some(rx) })
}

/// The sending end of a [`channel`]. Dropping it without a send ends the wait of the receiver.
pub struct Sender<T> {
    tx: Tx<T>,
}

/// The receiving end of a [`channel`]: a future of the value.
///
/// Await it, or [`recv`](Self::recv) by reference, for a `select!` in a loop.
///
/// # Errors
///
/// [`RecvError`] if the sender was dropped without a send, if the receiver was
/// [closed](Self::close) before a send, or if the value was received before. It never panics.
///
/// # Cancel safety
///
/// Cancel-safe: polling `&mut receiver` takes nothing before it returns the value. A dropped
/// receiver drops a value that was sent and not received.
#[must_use = "futures do nothing unless awaited"]
pub struct Receiver<T> {
    /// `None` once the result was returned.
    rx: Option<Rx<T>>,
}

// A panic leaves both ends consistent.
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Sender<T> {
    /// Sends the value. Never waits.
    ///
    /// `Ok` means that the receiver can receive the value, not that it will: it may be dropped
    /// before it does, and drops the value then.
    ///
    /// # Errors
    ///
    /// The value, if the receiver was closed or dropped before.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_sync as sync; }
    /// use gmp::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// drop(rx);
    /// assert_eq!(tx.send("nobody hears this"), Err("nobody hears this"));
    /// ```
    #[inline]
    pub fn send(self, value: T) -> Result<(), T> {
        self.tx.send(value)
    }

    /// Whether the receiver is closed or dropped, so that a send would fail.
    ///
    /// `false` may be outdated at once. There is no such question after a send, which consumes the
    /// sender: whether the value was received is known to the receiver only.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.tx.is_closed()
    }

    /// Waits until the receiver is closed or dropped.
    ///
    /// Use it to stop work whose result no receiver waits for.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp {
    /// #     pub use gmp_rt::{block_on, spawn};
    /// #     pub use gmp_sync::{self as sync, select};
    /// # }
    /// use gmp::sync::oneshot;
    ///
    /// gmp::block_on(async {
    ///     let (mut tx, rx) = oneshot::channel::<u32>();
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
    pub fn closed(&mut self) -> OneshotClosed<'_, T> {
        OneshotClosed { sender: self, phase: WaitPhase::Waits }
    }

    /// As [`closed`](Self::closed), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_closed")]
    pub fn closed_blocking(&mut self) {
        gmp_rt::block_on(self.closed());
    }

    /// Polls for the end of the receiver, for a future that is written by hand.
    ///
    /// The waker of the last poll is kept until the sender is used or dropped.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        ready!(poll_proceed(cx));
        let polled = match self.tx.is_closed() {
            true => Poll::Ready(()),
            false => self.tx.poll_closed(&mut StorableWaker::new(cx.waker())),
        };
        if polled.is_pending() {
            note_wait(cx, WaitReason::OneshotClosed, self.tx.addr());
        }
        polled
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("is_closed", &self.is_closed()).finish()
    }
}

impl<T> Receiver<T> {
    /// Waits for the value, without consuming the receiver.
    ///
    /// # Errors
    ///
    /// As for awaiting the [`Receiver`]. A second receive returns [`RecvError`].
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped `recv` has taken nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp {
    /// #     pub use gmp_rt::block_on;
    /// #     pub use gmp_sync::{self as sync, chan, select};
    /// # }
    /// use gmp::sync::oneshot;
    ///
    /// gmp::block_on(async {
    ///     let (stop, mut stopped) = oneshot::channel();
    ///     let (tx, rx) = gmp::chan(3);
    ///     for n in 1..=3 {
    ///         tx.send(n).await.unwrap();
    ///     }
    ///     let (mut sum, mut stop) = (0, Some(stop));
    ///     loop {
    ///         gmp::select! {
    ///             _ = stopped.recv() => break,
    ///             n = rx.recv() => sum += n.unwrap(),
    ///         }
    ///         if sum == 6 && let Some(stop) = stop.take() {
    ///             stop.send(()).unwrap();
    ///         }
    ///     }
    ///     assert_eq!(sum, 6);
    /// });
    /// ```
    pub fn recv(&mut self) -> OneshotRecv<'_, T> {
        OneshotRecv { receiver: self }
    }

    /// As [`recv`](Self::recv), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    #[doc(alias = "blocking_recv")]
    pub fn recv_blocking(&mut self) -> Result<T, RecvError> {
        gmp_rt::block_on(self.recv())
    }

    /// Receives the value if it was sent.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] if it was not sent yet, [`TryRecvError::Closed`] if it never will
    /// be, or was received before.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        match self.take() {
            Found::Value(value) => Ok(value),
            Found::Ended => Err(TryRecvError::Closed),
            Found::Empty => Err(TryRecvError::Empty),
        }
    }

    /// Refuses a later send. A value that was sent before can still be received.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_sync as sync; }
    /// use gmp::sync::oneshot;
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// tx.send(1).unwrap();
    /// rx.close();
    /// assert_eq!(rx.try_recv(), Ok(1));
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// rx.close();
    /// assert_eq!(tx.send(2), Err(2));
    /// assert!(rx.try_recv().is_err());
    /// ```
    pub fn close(&mut self) {
        let Some(rx) = &mut self.rx else { return };
        rx.close();
        // A task that polled the receiver before is woken, because no sender does it any more.
        if let Some(waker) = rx.withdraw() {
            waker.wake();
        }
    }

    /// Takes the value, and gives up the cell if nothing more can come.
    #[inline]
    fn take(&mut self) -> Found<T> {
        let Some(rx) = &mut self.rx else { return Found::Ended };
        let found = rx.take();
        if !matches!(found, Found::Empty) {
            self.rx = None;
        }
        found
    }

    fn poll_recv(&mut self, cx: &Context<'_>) -> Poll<Result<T, RecvError>> {
        ready!(poll_proceed(cx));
        loop {
            match self.take() {
                Found::Value(value) => return Poll::Ready(Ok(value)),
                Found::Ended => return Poll::Ready(Err(RecvError)),
                Found::Empty => {}
            }
            let Some(rx) = &mut self.rx else { return Poll::Ready(Err(RecvError)) };
            if rx.register(&mut StorableWaker::new(cx.waker())).is_pending() {
                note_wait(cx, WaitReason::OneshotReceive, rx.addr());
                return Poll::Pending;
            }
        }
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_recv(cx)
    }
}

/// Terminated once the value or an error was returned.
impl<T> FusedFuture for Receiver<T> {
    fn is_terminated(&self) -> bool {
        self.rx.is_none()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("rx", &self.rx).finish()
    }
}

/// The future of [`Receiver::recv`].
#[must_use = "futures do nothing unless awaited"]
pub struct OneshotRecv<'a, T> {
    receiver: &'a mut Receiver<T>,
}

impl<T> Future for OneshotRecv<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.receiver.poll_recv(cx)
    }
}

impl<T> FusedFuture for OneshotRecv<'_, T> {
    fn is_terminated(&self) -> bool {
        self.receiver.is_terminated()
    }
}

impl<T> Drop for OneshotRecv<'_, T> {
    fn drop(&mut self) {
        if let Some(rx) = &mut self.receiver.rx {
            drop(rx.withdraw());
        }
    }
}

impl<T> fmt::Debug for OneshotRecv<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneshotRecv").field("receiver", self.receiver).finish()
    }
}

/// The future of [`Sender::closed`].
#[must_use = "futures do nothing unless awaited"]
pub struct OneshotClosed<'a, T> {
    sender: &'a mut Sender<T>,
    phase: WaitPhase,
}

impl<T> Future for OneshotClosed<'_, T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.sender.poll_closed(cx));
        self.phase = WaitPhase::Done;
        Poll::Ready(())
    }
}

impl<T> FusedFuture for OneshotClosed<'_, T> {
    fn is_terminated(&self) -> bool {
        self.phase == WaitPhase::Done
    }
}

impl<T> Drop for OneshotClosed<'_, T> {
    fn drop(&mut self) {
        self.sender.tx.withdraw();
    }
}

impl<T> fmt::Debug for OneshotClosed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneshotClosed").field("sender", self.sender).finish()
    }
}
