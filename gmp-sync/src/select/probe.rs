//! Which kind of case an expression is, by its type.
//!
//! A receive takes part in the select itself; anything else is polled. The macro can not see
//! types, so it asks for `(&Probe(&value)).tag()`: for a receive that is [`AsRecv::tag`], which fits without
//! taking another reference and is therefore preferred; for all else [`AsFuture::tag`].

use super::case::{FutureCase, RecvCase, SendCase, Will};
use super::engine::choose;
use super::list::Nil;
use crate::chan::Sender;
use crate::chan::recv::Recv;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

/// An expression to be told apart.
#[derive(Debug)]
pub struct Probe<'v, V>(pub &'v V);

/// A receive.
#[derive(Debug)]
pub struct RecvTag;

/// Any future.
#[derive(Debug)]
pub struct FutureTag;

/// A receive is told by this.
pub trait AsRecv {
    /// Says so.
    fn tag(&self) -> RecvTag {
        RecvTag
    }
}

/// Anything else is told by this.
pub trait AsFuture {
    /// Says so.
    fn tag(&self) -> FutureTag {
        FutureTag
    }
}

impl<T> AsRecv for Probe<'_, Recv<'_, T>> {}
impl<V> AsFuture for &Probe<'_, V> {}

impl RecvTag {
    /// The case.
    #[inline(always)]
    pub fn case<'a, T>(self, recv: Recv<'a, T>) -> RecvCase<'a, T> {
        // A new one: `recv` is not pinned, so it was never polled. Most of it is empty room, and it
        // has nothing to drop.
        let receiver = recv.receiver;
        std::mem::forget(recv);
        RecvCase::new(receiver)
    }
}

impl FutureTag {
    /// The case.
    pub fn case<F: IntoFuture>(self, future: F) -> FutureCase<F::IntoFuture, F::Output> {
        FutureCase::new(future.into_future())
    }
}

/// A [`Sender`], or what leads to one: what stands before the `.send(…)` of a send case.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the sender of a gmp channel, so its `send` is not a send case",
    label = "not a `gmp::sync::Sender`",
    note = "a future is a case as well, if it is written as `async {{ sink.send(value).await }}`"
)]
pub trait AsSender {
    /// What the channel carries.
    type Item;

    /// The sender.
    fn sender(&self) -> &Sender<Self::Item>;
}

impl<T> AsSender for Sender<T> {
    type Item = T;

    fn sender(&self) -> &Sender<T> {
        self
    }
}

macro_rules! leads_to_sender {
    ($($pointer:ty),+) => {$(
        impl<S: AsSender + ?Sized> AsSender for $pointer {
            type Item = S::Item;

            fn sender(&self) -> &Sender<S::Item> {
                (**self).sender()
            }
        }
    )+};
}

leads_to_sender!(&S, &mut S, Box<S>, Rc<S>, Arc<S>);

/// What leads to a [`Sender`] without having to be there itself: a reference.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reference to the sender of a gmp channel",
    label = "neither a variable nor a reference to a `gmp::sync::Sender`",
    note = "bind a sender that is made here to a variable, before the select",
    note = "a future is a case as well, if it is written as `async {{ sink.send(value).await }}`"
)]
pub trait LeadsToSender<'a> {
    /// What the channel carries.
    type Item;

    /// The sender.
    fn to_sender(self) -> &'a Sender<Self::Item>;
}

impl<'a, S: AsSender + ?Sized> LeadsToSender<'a> for &'a S {
    type Item = S::Item;

    fn to_sender(self) -> &'a Sender<S::Item> {
        self.sender()
    }
}

impl<'a, S: AsSender + ?Sized> LeadsToSender<'a> for &'a mut S {
    type Item = S::Item;

    fn to_sender(self) -> &'a Sender<S::Item> {
        (*self).sender()
    }
}

/// A send case whose sender was named by a temporary.
pub fn send_case_of<'a, S: LeadsToSender<'a>>(sender: S) -> SendCase<'a, S::Item> {
    SendCase::new(sender.to_sender())
}

/// A send case, without its value.
pub fn send_case<S: AsSender + ?Sized>(sender: &S) -> SendCase<'_, S::Item> {
    SendCase::new(sender.sender())
}

/// A select without cases.
pub async fn forever() -> Infallible {
    let _ = choose(Pin::new(&mut Nil), Will::Wait).await;
    unreachable!("a select without cases has chosen one")
}
