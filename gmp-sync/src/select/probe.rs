//! Finds the kind of a case by the type of its expression.
//!
//! The engine handles a receive itself and polls any other future. The macro does not know types,
//! so it calls `(&Probe(&value)).tag()`. For a receive this resolves to [`AsRecv::tag`], which
//! needs no further reference and is therefore preferred. For anything else it resolves to
//! [`AsFuture::tag`].

use super::case::{FutureCase, RecvCase, SendCase, Will};
use super::engine::choose;
use super::list::Nil;
use crate::chan::Sender;
use crate::chan::recv::RecvFut;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

/// An expression whose kind is to be found.
#[derive(Debug)]
pub struct Probe<'v, V>(pub &'v V);

/// Tag of a receive.
#[derive(Debug)]
pub struct RecvTag;

/// Tag of any other future.
#[derive(Debug)]
pub struct FutureTag;

/// Implemented for receives.
pub trait AsRecv {
    /// Returns the tag.
    fn tag(&self) -> RecvTag {
        RecvTag
    }
}

/// Implemented for any type.
pub trait AsFuture {
    /// Returns the tag.
    fn tag(&self) -> FutureTag {
        FutureTag
    }
}

impl<T> AsRecv for Probe<'_, RecvFut<'_, T>> {}
impl<V> AsFuture for &Probe<'_, V> {}

impl RecvTag {
    /// Creates the case.
    #[inline(always)]
    pub fn case<'a, T>(self, recv: RecvFut<'a, T>) -> RecvCase<'a, T> {
        // Creates a new receive: `recv` is not pinned, so it was never polled. It has nothing to
        // drop, and most of it is unused space that would be copied.
        let receiver = recv.receiver;
        std::mem::forget(recv);
        RecvCase::new(receiver)
    }
}

impl FutureTag {
    /// Creates the case.
    pub fn case<F: IntoFuture>(self, future: F) -> FutureCase<F::IntoFuture, F::Output> {
        FutureCase::new(future.into_future())
    }
}

/// A [`Sender`], or a pointer to one: the expression before the `.send(…)` of a send case.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the sender of a gmp channel, so its `send` is not a send case",
    label = "not a `gmp::chan::Sender`",
    note = "a future is a case as well, if it is written as `async {{ sink.send(value).await }}`"
)]
pub trait AsSender {
    /// Type of the channel's values.
    type Item;

    /// Returns the sender.
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

/// A reference to a [`Sender`], possibly through other pointers. The reference itself may be a
/// temporary.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reference to the sender of a gmp channel",
    label = "neither a variable nor a reference to a `gmp::chan::Sender`",
    note = "bind a sender that is made here to a variable, before the select",
    note = "a future is a case as well, if it is written as `async {{ sink.send(value).await }}`"
)]
pub trait LeadsToSender<'a> {
    /// Type of the channel's values.
    type Item;

    /// Returns the sender.
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

/// Creates a send case whose sender is given by a temporary reference.
pub fn send_case_of<'a, S: LeadsToSender<'a>>(sender: S) -> SendCase<'a, S::Item> {
    SendCase::new(sender.to_sender())
}

/// Creates a send case, without its value.
pub fn send_case<S: AsSender + ?Sized>(sender: &S) -> SendCase<'_, S::Item> {
    SendCase::new(sender.sender())
}

/// Waits forever: a select without cases.
pub async fn forever() -> Infallible {
    let _ = choose(Pin::new(&mut Nil), Will::Wait).await;
    unreachable!("a select without cases has chosen one")
}
