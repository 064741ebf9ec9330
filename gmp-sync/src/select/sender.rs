//! Expressions that lead to the sender of a send case.

use crate::chan::Sender;
use std::rc::Rc;
use std::sync::Arc;

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
