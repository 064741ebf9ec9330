//! Reservations: the futures of [`Sender::reserve`] and [`Sender::reserve_owned`].
//!
//! A reservation waits as a send case of a select does, without a value. See
//! [`permits`](super::permits).

use super::core::ChanPhase;
use super::lock::Chan;
use super::node::{ChanWaiter, Payload};
use super::permit::{OwnedPermit, Permit};
use super::permits::{Confirm, Reserve};
use super::queue::{Entry, poll_queued};
use super::{SendError, Sender, TrySendError};
use crate::wait::phase::WaitPhase;
use crate::wait::queue::{NodeState, Spot};
use futures::future::FusedFuture;
use gmp_rt::task::park::{StorableWaker, WaitReason, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

impl<T> Sender<T> {
    /// Waits for room in the buffer or for a receiver, and reserves it for one value.
    ///
    /// Use it to make or take the value only when it can be sent. Reservations and sends that wait
    /// are served in arrival order. On a channel without a buffer, a receiver then waits for the
    /// value of this permit, also a receive case of a `select!` with a `default`: see [`Permit`].
    ///
    /// # Errors
    ///
    /// [`SendError`] if the channel is closed or all receivers are dropped.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped reservation gives back what it was given. Its place in line is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::block_on; pub use gmp_sync::chan; }
    /// use gmp::chan;
    ///
    /// gmp::block_on(async {
    ///     let (tx, rx) = chan(1);
    ///     let mut jobs = vec!["first", "second"];
    ///     let permit = tx.reserve().await.unwrap();
    ///     assert!(tx.is_full() && tx.is_empty());
    ///     permit.send(jobs.pop().unwrap()).unwrap();
    ///     assert_eq!(rx.recv().await, Ok("second"));
    /// });
    /// ```
    pub fn reserve(&self) -> ReserveFut<'_, T> {
        ReserveFut { sender: self, phase: WaitPhase::Waits, spot: Spot::new() }
    }

    /// As [`reserve`](Self::reserve), with a permit that contains the sender and is not bound to a
    /// borrow.
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve). The sender is dropped then.
    ///
    /// # Cancel safety
    ///
    /// As [`reserve`](Self::reserve). A dropped reservation drops the sender too.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::{block_on, spawn}; pub use gmp_sync::chan; }
    /// use gmp::chan;
    ///
    /// gmp::block_on(async {
    ///     let (tx, rx) = chan(1);
    ///     let permit = tx.reserve_owned().await.unwrap();
    ///     gmp::spawn(async move { permit.send(7).is_ok() });
    ///     assert_eq!(rx.recv().await, Ok(7));
    /// });
    /// ```
    pub fn reserve_owned(self) -> ReserveOwnedFut<T> {
        ReserveOwnedFut { sender: Some(self), spot: Spot::new() }
    }

    /// Reserves room or a receiver for one value, if that is possible without waiting.
    ///
    /// # Errors
    ///
    /// If there is no room and no receiver waits, or if the channel is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::chan::{TrySendError, chan};
    ///
    /// let (tx, rx) = chan(1);
    /// let permit = tx.try_reserve().unwrap();
    /// assert_eq!(tx.try_send("b"), Err(TrySendError::Full("b")));
    /// permit.send("a").unwrap();
    /// assert_eq!(rx.try_recv(), Ok("a"));
    /// ```
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        match self.chan.with(|core| core.reserve()) {
            Reserve::Permit => Ok(Permit::new(&self.chan)),
            Reserve::Full => Err(TrySendError::Full(())),
            Reserve::Closed => Err(TrySendError::Closed(())),
        }
    }

    /// As [`reserve`](Self::reserve), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve).
    #[doc(alias = "blocking_reserve")]
    pub fn reserve_blocking(&self) -> Result<Permit<'_, T>, SendError<()>> {
        gmp_rt::block_on(self.reserve())
    }

    /// As [`reserve_owned`](Self::reserve_owned), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    ///
    /// # Errors
    ///
    /// As [`reserve_owned`](Self::reserve_owned).
    #[doc(alias = "blocking_reserve_owned")]
    pub fn reserve_owned_blocking(self) -> Result<OwnedPermit<T>, SendError<()>> {
        gmp_rt::block_on(self.reserve_owned())
    }
}

pin_project! {
    /// The future of [`Sender::reserve`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct ReserveFut<'a, T> {
        sender: &'a Sender<T>,
        phase: WaitPhase,
        #[pin]
        spot: Spot<ChanWaiter<T>>,
    }

    impl<T> PinnedDrop for ReserveFut<'_, T> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            cancel(&this.sender.chan, this.spot);
        }
    }
}

impl<'a, T> Future for ReserveFut<'a, T> {
    type Output = Result<Permit<'a, T>, SendError<()>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        ready!(poll_proceed(cx));
        let sender = *this.sender;
        let reserved = ready!(poll_reserve(&sender.chan, this.spot, cx));
        *this.phase = WaitPhase::Done;
        Poll::Ready(reserved.map(|()| Permit::new(&sender.chan)))
    }
}

impl<T> FusedFuture for ReserveFut<'_, T> {
    fn is_terminated(&self) -> bool {
        self.phase == WaitPhase::Done
    }
}

impl<T> fmt::Debug for ReserveFut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReserveFut").field("state", &self.spot.state()).finish()
    }
}

pin_project! {
    /// The future of [`Sender::reserve_owned`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct ReserveOwnedFut<T> {
        // `None` once a result was returned.
        sender: Option<Sender<T>>,
        #[pin]
        spot: Spot<ChanWaiter<T>>,
    }

    impl<T> PinnedDrop for ReserveOwnedFut<T> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Some(sender) = this.sender {
                cancel(&sender.chan, this.spot);
            }
        }
    }
}

impl<T> Future for ReserveOwnedFut<T> {
    type Output = Result<OwnedPermit<T>, SendError<()>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        ready!(poll_proceed(cx));
        let Some(sender) = this.sender else {
            panic!("a reservation is polled after it has ended");
        };
        let reserved = ready!(poll_reserve(&sender.chan, this.spot, cx));
        let sender = this.sender.take();
        Poll::Ready(reserved.and_then(|()| sender.map(OwnedPermit::new).ok_or(SendError(()))))
    }
}

impl<T> FusedFuture for ReserveOwnedFut<T> {
    fn is_terminated(&self) -> bool {
        self.sender.is_none()
    }
}

impl<T> fmt::Debug for ReserveOwnedFut<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReserveOwnedFut").field("state", &self.spot.state()).finish()
    }
}

/// Polls for a permit. After `Ok` the caller has one.
fn poll_reserve<T>(
    chan: &Chan<T>,
    mut spot: Pin<&mut Spot<ChanWaiter<T>>>,
    cx: &Context<'_>,
) -> Poll<Result<(), SendError<()>>> {
    if spot.state() != NodeState::Idle
        && let Some(node) = spot.as_mut().node()
    {
        ready!(poll_queued(chan, node, cx, WaitReason::ChanSend));
    }
    // Before the summons is taken from the node, because cloning a foreign waker may panic.
    let mut waker = StorableWaker::new(cx.waker());
    let summons = take_summons(spot.as_mut());
    let reserved = chan.with(|core| {
        let mut entry = Entry::Last;
        if summons == Summons::Came {
            match (core.confirm(), core.phase()) {
                (_, ChanPhase::Closed) => return Some(Err(SendError(()))),
                (Confirm::Permit, ChanPhase::Open) => return Some(Ok(())),
                (Confirm::Withdrawn, ChanPhase::Open) => entry = Entry::First,
            }
        }
        match core.reserve() {
            Reserve::Permit => return Some(Ok(())),
            Reserve::Closed => return Some(Err(SendError(()))),
            Reserve::Full => {}
        }
        let mut node = spot.make(ChanWaiter::new(Payload::Later));
        // Also if the node is left from an earlier wait.
        node.as_mut().own(|wait| wait.put(Payload::Later));
        // SAFETY: pinned in its place; the drop of the future calls `cancel`.
        unsafe { core.wait_to_send(node, Some(waker.store()), entry) };
        None
    });
    if reserved.is_none() {
        note_wait(cx, WaitReason::ChanSend, chan.id());
    }
    reserved.map_or(Poll::Pending, Poll::Ready)
}

/// Whether a reservation was summoned by a receiver or a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Summons {
    None,
    Came,
}

/// Takes the summons of a reservation that is not queued.
fn take_summons<T>(spot: Pin<&mut Spot<ChanWaiter<T>>>) -> Summons {
    if spot.state() != NodeState::Fired {
        return Summons::None;
    }
    let Some(mut node) = spot.node() else { return Summons::None };
    let parcel = node.as_mut().own(ChanWaiter::take);
    node.reset();
    if matches!(parcel, Payload::Summons) { Summons::Came } else { Summons::None }
}

/// Cancels a reservation. A summons goes to another sender.
fn cancel<T>(chan: &Chan<T>, spot: Pin<&mut Spot<ChanWaiter<T>>>) {
    if spot.state() != NodeState::Idle
        && let Some(node) = spot.node()
    {
        // SAFETY: this node has been in no other channel's queue.
        chan.with(|core| unsafe { core.leave_sender(node) }).finish();
    }
}
