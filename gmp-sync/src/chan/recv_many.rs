//! Receiving several values at once: the future of [`Receiver::recv_many`].

use super::core::{Core, OnLater, Present};
use super::lock::Chan;
use super::recv::RecvFut;
use super::{Receiver, RecvError, TryRecvError, attempt};
use crate::tuning::RECV_BATCH;
use crate::wait::phase::WaitPhase;
use crate::wait::wakers::Wakers;
use futures::future::FusedFuture;
use gmp_rt::task::park::poll_proceed;
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

impl<T> Receiver<T> {
    /// Waits for one value, then takes more without waiting, at most `max` in all. Appends them to
    /// `buf` and returns their number.
    ///
    /// If `max` is 0, it returns 0 at once. It takes what the buffer holds and the values of
    /// waiting sends, in the order in which [`recv`](Self::recv) would return them. It waits for a
    /// sender in [`select!`](macro@crate::select) or [`reserve`](super::Sender::reserve) only for
    /// the first value. A batch takes up to 64 values under one lock.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if the channel is closed and all values have been received. `buf` is unchanged
    /// then.
    ///
    /// # Cancel safety
    ///
    /// As [`recv`](Self::recv). The values enter `buf` in the poll that returns their number.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::block_on; pub use gmp_sync::chan; }
    /// use gmp::chan;
    ///
    /// gmp::block_on(async {
    ///     let (tx, rx) = chan(8);
    ///     for n in 1..=5 {
    ///         tx.send(n).await.unwrap();
    ///     }
    ///     let mut batch = Vec::new();
    ///     assert_eq!(rx.recv_many(&mut batch, 3).await, Ok(3));
    ///     assert_eq!(rx.recv_many(&mut batch, 3).await, Ok(2));
    ///     assert_eq!(batch, [1, 2, 3, 4, 5]);
    /// });
    /// ```
    pub fn recv_many<'a>(&'a self, buf: &'a mut Vec<T>, max: usize) -> RecvManyFut<'a, T> {
        RecvManyFut { buf, max, phase: WaitPhase::Waits, recv: self.recv() }
    }

    /// Takes at most `max` values that are available without waiting. Appends them to `buf` and
    /// returns their number.
    ///
    /// For the first value it may meet a sender as [`try_recv`](Self::try_recv) does.
    ///
    /// # Errors
    ///
    /// If the channel is empty, or closed and empty, and `max` is not 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::chan::{TryRecvError, chan};
    ///
    /// let (tx, rx) = chan(2);
    /// tx.try_send("a").unwrap();
    /// let mut batch = Vec::new();
    /// assert_eq!(rx.try_recv_many(&mut batch, 10), Ok(1));
    /// assert_eq!(rx.try_recv_many(&mut batch, 10), Err(TryRecvError::Empty));
    /// ```
    pub fn try_recv_many(&self, buf: &mut Vec<T>, max: usize) -> Result<usize, TryRecvError> {
        if max == 0 {
            return Ok(0);
        }
        buf.push(attempt::try_recv(self)?);
        Ok(1 + take_present(&self.chan, buf, max - 1))
    }

    /// As [`recv_many`](Self::recv_many), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    ///
    /// # Errors
    ///
    /// As [`recv_many`](Self::recv_many).
    #[doc(alias = "blocking_recv_many")]
    pub fn recv_many_blocking(&self, buf: &mut Vec<T>, max: usize) -> Result<usize, RecvError> {
        gmp_rt::block_on(self.recv_many(buf, max))
    }
}

pin_project! {
    /// The future of [`Receiver::recv_many`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct RecvManyFut<'a, T> {
        buf: &'a mut Vec<T>,
        max: usize,
        phase: WaitPhase,
        #[pin]
        recv: RecvFut<'a, T>,
    }
}

impl<T> Future for RecvManyFut<'_, T> {
    type Output = Result<usize, RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        ready!(poll_proceed(cx));
        let taken = match *this.max {
            0 => Ok(0),
            max => ready!(this.recv.as_mut().poll_unbudgeted(cx)).map(|first| {
                this.buf.push(first);
                1 + take_present(&this.recv.receiver.chan, this.buf, max - 1)
            }),
        };
        *this.phase = WaitPhase::Done;
        Poll::Ready(taken)
    }
}

impl<T> FusedFuture for RecvManyFut<'_, T> {
    fn is_terminated(&self) -> bool {
        self.phase == WaitPhase::Done
    }
}

impl<T> fmt::Debug for RecvManyFut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvManyFut").field("max", &self.max).field("recv", &self.recv).finish()
    }
}

/// Appends at most `max` values that are available to `buf`. Returns their number.
fn take_present<T>(chan: &Chan<T>, buf: &mut Vec<T>, max: usize) -> usize {
    let before = buf.len();
    loop {
        let (now, mut wakers) = (buf.len(), Wakers::None);
        let batch = RECV_BATCH.min(max - (now - before));
        chan.with(|core| core.append_present(buf, batch, &mut wakers));
        wakers.wake_all();
        if batch == 0 || buf.len() < now + batch {
            return buf.len() - before;
        }
    }
}

impl<T> Core<T> {
    /// Appends at most `max` values that are available to `buf`.
    fn append_present(&mut self, buf: &mut Vec<T>, max: usize, wakers: &mut Wakers) {
        for _ in 0..max {
            // A sender without its value stays: the values behind it are later ones.
            let Present::Value(value, fired) = self.take_present(OnLater::Stop) else { return };
            wakers.push(fired);
            buf.push(value);
        }
    }
}
