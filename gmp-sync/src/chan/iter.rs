//! Iterators over received values, for external threads.

use super::Receiver;

/// The iterator of [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T>(&'a Receiver<T>);

/// The iterator of [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T>(&'a Receiver<T>);

/// The iterator of a consumed [`Receiver`].
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<'a, T> Iter<'a, T> {
    pub(super) fn new(receiver: &'a Receiver<T>) -> Self {
        Self(receiver)
    }
}

impl<'a, T> TryIter<'a, T> {
    pub(super) fn new(receiver: &'a Receiver<T>) -> Self {
        Self(receiver)
    }
}

impl<T> IntoIter<T> {
    pub(super) fn new(receiver: Receiver<T>) -> Self {
        Self(receiver)
    }
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv_blocking().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv_blocking().ok()
    }
}
