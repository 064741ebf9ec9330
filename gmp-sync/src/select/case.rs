//! The cases of a select: a receive, a send, any future.
//!
//! [`Arm`] is the interface for the engine, which does not know the types of values. [`Case`] is
//! the interface for the macro, which takes the output of the chosen case.

use super::alone::take_alone;
use crate::chan::core::{Core, Take};
use crate::chan::node::{ChanWaiter, Payload};
use crate::chan::permit::Permit;
use crate::chan::permits::{Confirm, Reserve};
use crate::chan::queue::{Entry, Summoned};
use crate::chan::recv::RecvFut;
use crate::chan::{Receiver, RecvError, Sender};
use crate::wait::claim::Claim;
use crate::wait::queue::{NodeState, Spot};
use crate::wait::wakers::Wakers;
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Kind of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An operation on the channel with this id.
    Channel(usize),
    /// A future.
    Future,
    /// Not to be chosen, because its guard is false or an output did not match its pattern.
    Off,
}

/// Whether the select waits if no case is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Will {
    /// It waits.
    Wait,
    /// It takes the default.
    GoOn,
}

/// Result of an attempt.
#[derive(Debug)]
pub enum Attempt {
    /// This case is chosen, and done.
    Done(Wakers),
    /// This case is chosen. Its value comes from a sender that was summoned.
    Promised(Wakers),
    /// Not possible now.
    No(Wakers),
}

/// State of a chosen arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// Its value has not arrived yet.
    Waiting,
    /// The promised value does not come, or the receiver has left. The select begins again.
    Again,
}

/// A case as the engine sees it. The functions for channels apply to arms of kind `Channel`. The
/// unsafe ones are called while this thread holds the lock of that channel.
///
/// # Safety
///
/// An arm that has joined a queue leaves it in `dequeue`.
pub unsafe trait Arm {
    /// Returns the kind, which does not change while a select chooses.
    fn kind(&self) -> Kind;

    /// Whether a try may succeed. Takes no lock, so a `false` may be old.
    fn may_be_ready(&self) -> bool {
        true
    }

    /// Locks its channel.
    fn lock(&self) {}

    /// Unlocks its channel. The caller wakes the wakers when it holds no lock.
    ///
    /// # Safety
    ///
    /// See [`Arm`].
    unsafe fn unlock(&self) -> Wakers {
        Wakers::None
    }

    /// Executes the operation, if that is possible now.
    ///
    /// # Safety
    ///
    /// See [`Arm`].
    unsafe fn attempt(self: Pin<&mut Self>) -> Attempt {
        Attempt::No(Wakers::None)
    }

    /// Locks its channel, tries, and unlocks, except after [`Attempt::Promised`]. One call, in
    /// which the arm's type is known: most selects do no more than this.
    fn try_alone(self: Pin<&mut Self>) -> Attempt {
        self.lock();
        // SAFETY: locked.
        unsafe { self.try_and_unlock() }
    }

    /// Tries, and unlocks its channel, except after [`Attempt::Promised`].
    ///
    /// # Safety
    ///
    /// See [`Arm`].
    unsafe fn try_and_unlock(mut self: Pin<&mut Self>) -> Attempt {
        // SAFETY: locked, guaranteed by the caller.
        match unsafe { self.as_mut().attempt() } {
            promised @ Attempt::Promised(_) => promised,
            Attempt::Done(mut wakers) => {
                // SAFETY: as above.
                wakers.append(unsafe { self.unlock() });
                Attempt::Done(wakers)
            }
            Attempt::No(mut wakers) => {
                // SAFETY: as above.
                wakers.append(unsafe { self.unlock() });
                Attempt::No(wakers)
            }
        }
    }

    /// Joins a queue of its channel. After [`Attempt::Promised`] it joins the queue of promised
    /// receivers.
    ///
    /// # Safety
    ///
    /// See [`Arm`]; and `claim` is not moved until `dequeue`.
    unsafe fn enqueue(self: Pin<&mut Self>, _claim: &Claim, _index: u32, _summoned: Summoned) {}

    /// Called when the arm can be served again, after it has stayed in its queue while no peer
    /// could serve it.
    ///
    /// # Safety
    ///
    /// See [`Arm`].
    unsafe fn return_to_queue(&self) {}

    /// Leaves the queue of its channel, and passes on what it was given.
    ///
    /// # Safety
    ///
    /// See [`Arm`].
    unsafe fn dequeue(self: Pin<&mut Self>) -> Wakers {
        Wakers::None
    }

    /// Takes what it was given, after its claim was won.
    ///
    /// # Safety
    ///
    /// See [`Arm`].
    unsafe fn collect(self: Pin<&mut Self>) -> Outcome {
        Outcome::Done
    }

    /// Polls a future. The caller holds no lock.
    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

/// A case as the macro sees it.
pub trait Case: Arm {
    /// The result of a receive or a future; the permit of a send.
    type Output;

    /// Returns the output. Called once, after the engine has chosen this case.
    fn output(self: Pin<&mut Self>) -> Self::Output;
}

/// Returns the output of a chosen case, which the engine has stored.
pub(super) fn chosen<T>(output: Option<T>) -> T {
    match output {
        Some(output) => output,
        None => unreachable!("a case of a select that was not chosen"),
    }
}

pin_project! {
    /// `value = rx.recv()`.
    #[derive(Debug)]
    pub struct RecvCase<'a, T> {
        #[pin]
        recv: RecvFut<'a, T>,
        output: Option<Result<T, RecvError>>,
    }
}

impl<'a, T> RecvCase<'a, T> {
    #[inline(always)]
    pub(crate) fn new(receiver: &'a Receiver<T>) -> Self {
        Self { recv: receiver.recv(), output: None }
    }
}

// SAFETY: `dequeue` leaves the queue that `enqueue` joined.
unsafe impl<T> Arm for RecvCase<'_, T> {
    fn kind(&self) -> Kind {
        Kind::Channel(self.recv.receiver.chan.id())
    }

    #[inline]
    fn may_be_ready(&self) -> bool {
        self.recv.receiver.chan.readable.get()
    }

    fn lock(&self) {
        self.recv.receiver.chan.lock();
    }

    unsafe fn unlock(&self) -> Wakers {
        // SAFETY: guaranteed by the caller.
        unsafe { self.recv.receiver.chan.unlock() }
    }

    #[inline]
    fn try_alone(mut self: Pin<&mut Self>) -> Attempt {
        let this = self.as_mut().project();
        let chan = &this.recv.receiver.chan;
        let taken = chan.quickly(|core| {
            let taken = core.look_quickly();
            if let Ok(None) = taken {
                chan.readable.set(false);
            }
            taken
        });
        let locked = match taken {
            Ok(Some(value)) => {
                *this.output = Some(Ok(value));
                return Attempt::Done(Wakers::None);
            }
            Ok(None) => return Attempt::No(Wakers::None),
            Err(((), locked)) => locked,
        };
        take_alone(locked, this.output)
    }

    unsafe fn attempt(self: Pin<&mut Self>) -> Attempt {
        let this = self.project();
        let chan = &this.recv.receiver.chan;
        // SAFETY: locked, guaranteed by the caller.
        match unsafe { chan.locked(Core::take) } {
            Take::Value(value, fired) => {
                *this.output = Some(Ok(value));
                Attempt::Done(fired.into())
            }
            Take::Closed => {
                *this.output = Some(Err(RecvError));
                Attempt::Done(Wakers::None)
            }
            // Even with a default: a waiting sender makes this case possible.
            Take::Summoned(fired) => Attempt::Promised(fired.into()),
            Take::Empty => Attempt::No(Wakers::None),
        }
    }

    unsafe fn enqueue(self: Pin<&mut Self>, claim: &Claim, index: u32, summoned: Summoned) {
        let recv = self.project().recv.project();
        let mut node = recv.spot.make(ChanWaiter::new(Payload::Nothing));
        // SAFETY: the claim is not moved, guaranteed by the caller.
        node.as_mut().own(|wait| unsafe { wait.enlist(claim, index) });
        let chan = &recv.receiver.chan;
        // SAFETY: locked; pinned in the select's list; `dequeue` is called before the drop.
        unsafe { chan.locked(|core| core.wait_to_receive(node, None, summoned)) };
    }

    unsafe fn dequeue(self: Pin<&mut Self>) -> Wakers {
        let this = self.project();
        let recv = this.recv.project();
        let chan = &recv.receiver.chan;
        let Some(mut node) = recv.spot.node() else { return Wakers::None };
        // SAFETY: locked; this node waits in no other channel.
        let left = unsafe { chan.locked(|core| core.leave_receiver(node.as_mut())) };
        node.reset();
        let (wakers, value) = left.into_parts();
        if let Some(value) = value {
            // Dropped with this case, when no channel is locked.
            *this.output = Some(Ok(value));
        }
        wakers
    }

    unsafe fn collect(self: Pin<&mut Self>) -> Outcome {
        let this = self.project();
        let spot = this.recv.project().spot;
        let Some(mut node) = spot.node().filter(|node| node.state() == NodeState::Fired) else {
            return Outcome::Waiting;
        };
        let payload = node.as_mut().own(ChanWaiter::take);
        node.reset();
        *this.output = Some(match payload {
            Payload::Value(value) => Ok(value),
            Payload::Again => return Outcome::Again,
            _ => Err(RecvError),
        });
        Outcome::Done
    }
}

impl<T> Case for RecvCase<'_, T> {
    type Output = Result<T, RecvError>;

    fn output(self: Pin<&mut Self>) -> Self::Output {
        chosen(self.project().output.take())
    }
}

pin_project! {
    /// `result = tx.send(value)`, without the value.
    pub struct SendCase<'a, T> {
        sender: &'a Sender<T>,
        #[pin]
        spot: Spot<ChanWaiter<T>>,
        entry: Entry,
        permit: Option<Permit<'a, T>>,
    }
}

impl<'a, T> SendCase<'a, T> {
    pub(crate) fn new(sender: &'a Sender<T>) -> Self {
        Self { sender, spot: Spot::new(), entry: Entry::Last, permit: None }
    }
}

impl<T> fmt::Debug for SendCase<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendCase").field("permit", &self.permit).finish()
    }
}

// SAFETY: `dequeue` leaves the queue that `enqueue` joined.
unsafe impl<T> Arm for SendCase<'_, T> {
    fn kind(&self) -> Kind {
        Kind::Channel(self.sender.chan.id())
    }

    fn lock(&self) {
        self.sender.chan.lock();
    }

    unsafe fn unlock(&self) -> Wakers {
        // SAFETY: guaranteed by the caller.
        unsafe { self.sender.chan.unlock() }
    }

    unsafe fn attempt(self: Pin<&mut Self>) -> Attempt {
        let this = self.project();
        // SAFETY: locked, guaranteed by the caller.
        match unsafe { this.sender.chan.locked(|core| core.reserve()) } {
            // If the channel is closed, the use of the permit reports it.
            Reserve::Permit | Reserve::Closed => {
                *this.permit = Some(Permit::new(&this.sender.chan));
                Attempt::Done(Wakers::None)
            }
            Reserve::Full => Attempt::No(Wakers::None),
        }
    }

    unsafe fn enqueue(self: Pin<&mut Self>, claim: &Claim, index: u32, _: Summoned) {
        let this = self.project();
        let mut node = this.spot.make(ChanWaiter::new(Payload::Later));
        node.as_mut().own(|wait| {
            // Also if the node is left from an earlier wait.
            wait.put(Payload::Later);
            // SAFETY: the claim is not moved, guaranteed by the caller.
            unsafe { wait.enlist(claim, index) };
        });
        // SAFETY: locked; pinned in the select's list; `dequeue` is called before the drop.
        unsafe { this.sender.chan.locked(|core| core.wait_to_send(node, None, *this.entry)) };
        *this.entry = Entry::Last;
    }

    unsafe fn return_to_queue(&self) {
        // A stream may have checked the channel meanwhile. (A sink may send to a receiver that is
        // away, and a plain send or receive waits in a queue that the select has just checked.)
        // SAFETY: locked, guaranteed by the caller.
        unsafe { self.sender.chan.locked(|core| core.ring_streams()) };
    }

    unsafe fn dequeue(self: Pin<&mut Self>) -> Wakers {
        let this = self.project();
        let chan = &this.sender.chan;
        let Some(mut node) = this.spot.node() else { return Wakers::None };
        // SAFETY: locked; this node waits in no other channel.
        let left = unsafe { chan.locked(|core| core.leave_sender(node.as_mut())) };
        node.reset();
        left.into_parts().0
    }

    unsafe fn collect(self: Pin<&mut Self>) -> Outcome {
        let this = self.project();
        let Some(mut node) = this.spot.node().filter(|node| node.state() == NodeState::Fired)
        else {
            return Outcome::Waiting;
        };
        let payload = node.as_mut().own(ChanWaiter::take);
        node.reset();
        let chan = &this.sender.chan;
        // SAFETY: locked, guaranteed by the caller.
        let confirm = || unsafe { chan.locked(Core::confirm) };
        if matches!(payload, Payload::Summons) && confirm() == Confirm::Withdrawn {
            *this.entry = Entry::First;
            return Outcome::Again;
        }
        // If the channel is closed, the use of the permit reports it.
        *this.permit = Some(Permit::new(chan));
        Outcome::Done
    }
}

impl<'a, T> Case for SendCase<'a, T> {
    type Output = Permit<'a, T>;

    fn output(self: Pin<&mut Self>) -> Permit<'a, T> {
        chosen(self.project().permit.take())
    }
}

pin_project! {
    /// `output = future`.
    ///
    /// The constructor stores the poll function. Only the constructor requires a future, so for any
    /// other type the compiler reports one error, at the place where the case is written.
    pub struct FutureCase<F, O> {
        #[pin]
        future: F,
        poll: fn(Pin<&mut F>, &mut Context<'_>) -> Poll<O>,
        output: Option<O>,
    }
}

impl<F: Future> FutureCase<F, F::Output> {
    pub(crate) fn new(future: F) -> Self {
        Self { future, poll: F::poll, output: None }
    }
}

impl<F, O> fmt::Debug for FutureCase<F, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FutureCase").field("is_ready", &self.output.is_some()).finish()
    }
}

// SAFETY: it never joins a queue.
unsafe impl<F, O> Arm for FutureCase<F, O> {
    fn kind(&self) -> Kind {
        Kind::Future
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        (this.poll)(this.future, cx).map(|output| *this.output = Some(output))
    }
}

impl<F, O> Case for FutureCase<F, O> {
    type Output = O;

    fn output(self: Pin<&mut Self>) -> O {
        chosen(self.project().output.take())
    }
}
