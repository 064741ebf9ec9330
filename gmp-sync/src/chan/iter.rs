//! Iterators over received values, for external threads.

use super::Receiver;
use std::iter::FusedIterator;

/// The iterator of [`Receiver::iter_blocking`].
#[derive(Debug)]
pub struct IterBlocking<'a, T>(&'a Receiver<T>);

/// The iterator of [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T>(&'a Receiver<T>);

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

// A channel that is closed and empty stays so.
impl<T> FusedIterator for IterBlocking<'_, T> {}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}
