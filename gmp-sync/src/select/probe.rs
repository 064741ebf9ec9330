//! Finds the kind of a case by the type of its expression.
//!
//! The engine handles a receive itself and polls any other future. The macro does not know types,
//! so it calls `(&Probe(&value)).tag()`. For a receive this resolves to [`AsRecv::tag`], which
//! needs no further reference and is therefore preferred. For anything else it resolves to
//! [`AsFuture::tag`].

use super::case::{FutureCase, RecvCase, Will};
use super::engine::choose;
use super::list::Nil;
use crate::chan::recv::RecvFut;
use std::convert::Infallible;
use std::pin::Pin;

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

/// Waits forever: a select without cases.
pub async fn forever() -> Infallible {
    let _ = choose(Pin::new(&mut Nil::<false>), Will::Wait).await;
    unreachable!("a select without cases has chosen one")
}
