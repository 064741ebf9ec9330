//! Decides by the type of `x` whether the case `x.send(value)` is a send on a channel or a future.
//!
//! The value of a channel send is evaluated after the choice, that of any other `send` before it.
//! The macro does not know the type. So its expansion has the value at both places, and a tag
//! selects one of them. The tag comes from an autoref probe, as in [`probe`](super::probe).
//!
//! At each place the expansion asks `is_channel` and then calls `in_channel` or `in_future`. The
//! method that does not fit the type returns [`Infallible`]. So the compiler sees no path from one
//! place to the other, and the value may be moved at both. The expressions on the wrong path only
//! have to have a type. Their functions are never called.

use super::case::{Arm, Case, FutureCase, Kind, SendCase};
use super::sender::{AsSender, LeadsToSender};
use crate::chan::permit::Permit;
use crate::chan::{SendError, Sender};
use pin_project_lite::pin_project;
use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The type of the expression before `.send(…)`.
#[derive(Debug)]
pub struct SenderProbe<S: ?Sized>(PhantomData<S>);

impl<S: ?Sized> SenderProbe<S> {
    /// Creates the probe of a type that the compiler infers.
    #[expect(clippy::new_without_default, reason = "for the macro")]
    #[inline]
    pub fn new() -> Self {
        Self(PhantomData)
    }

    /// Creates the probe of the type of an expression.
    #[inline]
    pub fn of(_: &S) -> Self {
        Self(PhantomData)
    }
}

/// Implemented for senders of channels, and for pointers to them.
pub trait IsChannel {
    /// Returns the tag.
    #[inline]
    fn tag(&self) -> ChannelTag {
        ChannelTag
    }
}

/// Implemented for any type.
pub trait IsOther {
    /// Returns the tag.
    #[inline]
    fn tag(&self) -> OtherTag {
        OtherTag
    }
}

impl<S: AsSender + ?Sized> IsChannel for SenderProbe<S> {}
impl<S: ?Sized> IsOther for &SenderProbe<S> {}

/// Diverges, as the compiler knows: the code after a call is on no path.
pub fn never() -> Infallible {
    unreachable!("the wrong path of a send case")
}

/// The type of the value of a send.
#[derive(Debug)]
pub struct ValueType<V>(PhantomData<fn() -> V>);

impl<V> Clone for ValueType<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for ValueType<V> {}

impl<V> ValueType<V> {
    /// Creates a type that the compiler infers.
    #[expect(clippy::new_without_default, reason = "for the macro")]
    #[inline]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

/// Returns `value`. Both places call it, so that the value has the same type at both.
#[inline]
pub fn value_of<V>(_: ValueType<V>, value: V) -> V {
    value
}

/// Tag of a send on a channel.
#[derive(Clone, Copy, Debug)]
pub struct ChannelTag;

impl ChannelTag {
    /// Whether this is the tag of a channel.
    #[inline]
    pub fn is_channel(self) -> bool {
        true
    }

    /// Enters the path of a channel.
    #[inline]
    pub fn in_channel(self) {}

    /// Enters the path of a future: the wrong one.
    pub fn in_future(self) -> Infallible {
        never()
    }

    /// Starts a case whose sender is in a variable.
    #[inline]
    pub fn of_place<S: AsSender + ?Sized>(self, sender: &S) -> SendStart<'_, S::Item> {
        SendStart(sender.sender())
    }

    /// Starts a case whose sender is given by a temporary reference.
    #[inline]
    pub fn of_value<'a, S: LeadsToSender<'a>>(self, sender: S) -> SendStart<'a, S::Item> {
        SendStart(sender.to_sender())
    }

    /// On the wrong path.
    pub fn of_future<F, V, R>(self, _: F, _: ValueType<V>) -> R {
        unreachable!("a future as a send case of a channel")
    }
}

/// Tag of any other `send`.
#[derive(Clone, Copy, Debug)]
pub struct OtherTag;

impl OtherTag {
    /// Whether this is the tag of a channel.
    #[inline]
    pub fn is_channel(self) -> bool {
        false
    }

    /// Enters the path of a channel: the wrong one.
    pub fn in_channel(self) -> Infallible {
        never()
    }

    /// Enters the path of a future.
    #[inline]
    pub fn in_future(self) {}

    /// On the wrong path.
    pub fn of_place<S: ?Sized, R>(self, _: &S) -> R {
        unreachable!("a future as a send case of a channel")
    }

    /// On the wrong path.
    pub fn of_value<S, R>(self, _: S) -> R {
        unreachable!("a future as a send case of a channel")
    }

    /// Starts a case that is the future of a `send`.
    #[inline]
    pub fn of_future<F: IntoFuture, V>(
        self,
        future: F,
        _: ValueType<V>,
    ) -> FutureStart<F::IntoFuture, F::Output, V> {
        FutureStart { case: FutureCase::new(future.into_future()), value: PhantomData }
    }
}

/// A case that is not yet created. It is small and can be moved.
#[derive(Debug)]
pub struct SendStart<'a, T>(&'a Sender<T>);

impl<'a, T> SendStart<'a, T> {
    /// Creates the case.
    #[inline]
    pub fn case(self) -> SendCase<'a, T> {
        SendCase::new(self.0)
    }
}

/// A future that is not yet pinned.
#[derive(Debug)]
pub struct FutureStart<F, O, V> {
    case: FutureCase<F, O>,
    value: PhantomData<fn() -> V>,
}

impl<F, O, V> FutureStart<F, O, V> {
    /// Creates the case.
    #[inline]
    pub fn case(self) -> SendFutureCase<F, O, V> {
        SendFutureCase { case: self.case, value: self.value }
    }
}

pin_project! {
    /// `output = x.send(value)` if `x` is not the sender of a channel.
    pub struct SendFutureCase<F, O, V> {
        #[pin]
        case: FutureCase<F, O>,
        value: PhantomData<fn() -> V>,
    }
}

impl<F, O, V> fmt::Debug for SendFutureCase<F, O, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendFutureCase").field("case", &self.case).finish()
    }
}

// SAFETY: it never joins a queue.
unsafe impl<F, O, V> Arm for SendFutureCase<F, O, V> {
    fn kind(&self) -> Kind {
        Kind::Future
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().case.poll(cx)
    }
}

impl<F, O, V> Case for SendFutureCase<F, O, V> {
    type Output = FutureSent<O, V>;

    fn output(self: Pin<&mut Self>) -> FutureSent<O, V> {
        FutureSent { shown: self.project().case.output(), value: PhantomData }
    }
}

/// The output of a send case.
pub trait SendOutput {
    /// See [`open`](Self::open).
    type Open;

    /// The form in which the output outlives the cases.
    type Held;

    /// Returns the output with a result that can be compared with a pattern `Ok(…)`. Returns `None`
    /// if the result would be an error, because the channel is closed.
    fn open(self) -> Option<Self::Open>;

    /// Returns the output in the form in which it outlives the cases.
    fn hold(self) -> Self::Held;
}

impl<'a, T> SendOutput for Permit<'a, T> {
    type Open = OpenPermit<'a, T>;
    type Held = HeldPermit<'a, T>;

    fn open(self) -> Option<OpenPermit<'a, T>> {
        let is_open = !self.is_closed();
        is_open.then_some(OpenPermit { permit: self, shown: Ok(()) })
    }

    fn hold(self) -> HeldPermit<'a, T> {
        HeldPermit { permit: ManuallyDrop::new(self), closes: Closes::BeforeSend }
    }
}

/// The permit of a channel that was open when its result was compared with the pattern.
#[derive(Debug)]
pub struct OpenPermit<'a, T> {
    permit: Permit<'a, T>,
    /// The result of the send.
    pub shown: Result<(), SendError<T>>,
}

impl<'a, T> SendOutput for OpenPermit<'a, T> {
    type Open = Self;
    type Held = HeldPermit<'a, T>;

    fn open(self) -> Option<Self> {
        Some(self)
    }

    fn hold(self) -> HeldPermit<'a, T> {
        HeldPermit { permit: ManuallyDrop::new(self.permit), closes: Closes::AfterSend }
    }
}

/// Where a close counts that happens between the choice and the send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closes {
    /// The send returns the value.
    BeforeSend,
    /// The value is dropped, as any value that is in a channel whose receivers leave.
    AfterSend,
}

/// A permit between the drop of the cases and the body. It has no destructor, so that the sender is
/// not borrowed until the end of all bodies.
#[derive(Debug)]
pub struct HeldPermit<'a, T> {
    permit: ManuallyDrop<Permit<'a, T>>,
    closes: Closes,
}

impl<T> HeldPermit<'_, T> {
    /// Whether this is the output of a channel send.
    #[inline]
    pub fn is_channel(&self) -> bool {
        true
    }

    /// Enters the path of a channel.
    #[inline]
    pub fn in_channel(&self) {}

    /// Enters the path of a future: the wrong one.
    pub fn in_future(&self) -> Infallible {
        never()
    }

    /// Returns the type of the value.
    #[inline]
    pub fn value_type(&self) -> ValueType<T> {
        ValueType(PhantomData)
    }

    /// On the wrong path.
    pub fn output<R>(self) -> R {
        unreachable!("the output of a channel send that is a future")
    }
}

impl<'a, T> HeldPermit<'a, T> {
    /// Returns the permit, which is given back if the value is not made.
    #[inline]
    pub fn release(self) -> ReleasedPermit<'a, T> {
        ReleasedPermit { permit: ManuallyDrop::into_inner(self.permit), closes: self.closes }
    }
}

/// A permit while the value is made.
#[derive(Debug)]
pub struct ReleasedPermit<'a, T> {
    permit: Permit<'a, T>,
    closes: Closes,
}

impl<T> ReleasedPermit<'_, T> {
    /// Sends the value.
    #[inline]
    pub fn send(self, value: T) -> Result<(), SendError<T>> {
        let sent = self.permit.send(value);
        match self.closes {
            Closes::BeforeSend => sent,
            Closes::AfterSend => Ok(()),
        }
    }
}

/// The output of a `send` that is not a channel's.
#[derive(Debug)]
pub struct FutureSent<O, V> {
    /// The output.
    pub shown: O,
    value: PhantomData<fn() -> V>,
}

impl<O, V> SendOutput for FutureSent<O, V> {
    type Open = Self;
    type Held = Self;

    fn open(self) -> Option<Self> {
        Some(self)
    }

    fn hold(self) -> Self {
        self
    }
}

impl<O, V> FutureSent<O, V> {
    /// Whether this is the output of a channel send.
    #[inline]
    pub fn is_channel(&self) -> bool {
        false
    }

    /// Enters the path of a channel: the wrong one.
    pub fn in_channel(&self) -> Infallible {
        never()
    }

    /// Enters the path of a future.
    #[inline]
    pub fn in_future(&self) {}

    /// Returns the type of the value.
    #[inline]
    pub fn value_type(&self) -> ValueType<V> {
        ValueType(PhantomData)
    }

    /// On the wrong path.
    pub fn release(self) -> Self {
        self
    }

    /// On the wrong path.
    pub fn send(self, _: V) -> O {
        unreachable!("a future that is a channel send")
    }

    /// Returns the output.
    #[inline]
    pub fn output(self) -> O {
        self.shown
    }
}

/// Notes that an output matches its pattern. Returns `false`, because it is the guard of a `match`
/// arm that must not move the output.
#[inline]
pub fn note_match(matches: &mut bool) -> bool {
    *matches = true;
    false
}
