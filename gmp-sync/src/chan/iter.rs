//! Iterators over received values, for external threads.

use super::Receiver;
use std::iter::FusedIterator;

/// The iterator of [`Receiver::iter_blocking`].
#[derive(Debug)]
pub struct IterBlocking<'a, T>(&'a Receiver<T>);

/// The iterator of [`Receiver::into_iter_blocking`].
#[derive(Debug)]
pub struct IntoIterBlocking<T>(Receiver<T>);

/// The iterator of [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T>(&'a Receiver<T>);

impl<T> Receiver<T> {
    /// Returns an iterator over the values until the channel is closed, for external threads. It
    /// contains the receiver.
    ///
    /// Each step is a [`recv_blocking`](Self::recv_blocking).
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = gmp_sync::chan(4);
    /// let sum = std::thread::spawn(move || rx.into_iter_blocking().sum::<i32>());
    /// (1..=4).for_each(|n| tx.send_blocking(n).unwrap());
    /// drop(tx);
    /// assert_eq!(sum.join().unwrap(), 10);
    /// ```
    #[doc(alias = "blocking_into_iter")]
    pub fn into_iter_blocking(self) -> IntoIterBlocking<T> {
        IntoIterBlocking(self)
    }
}

impl<'a, T> IterBlocking<'a, T> {
    pub(super) fn new(receiver: &'a Receiver<T>) -> Self {
        Self(receiver)
    }
}

impl<'a, T> TryIter<'a, T> {
    pub(super) fn new(receiver: &'a Receiver<T>) -> Self {
        Self(receiver)
    }
}

impl<T> Iterator for IterBlocking<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv_blocking().ok()
    }
}

impl<T> Iterator for IntoIterBlocking<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv_blocking().ok()
    }
}
// A channel that is closed and empty stays so.
impl<T> FusedIterator for IterBlocking<'_, T> {}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}
