//! The values of the buffer, taken at once: [`Receiver::drain`].

use super::Receiver;
use super::core::Core;
use crate::wait::wakers::Wakers;
use std::collections::{VecDeque, vec_deque};
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;

impl<T> Receiver<T> {
    /// Takes all values that the buffer holds now, and returns an iterator over them.
    ///
    /// They are taken under one lock, in this call, so none of them is sent later and no other
    /// receiver gets one. Senders that wait get their room. The values that the iterator has not
    /// returned are dropped with it. The values of senders that wait are not taken, so the iterator
    /// of a channel without a buffer is usually empty. For these use
    /// [`try_recv_many`](Self::try_recv_many).
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// use gmp::chan;
    ///
    /// let (tx, rx) = chan::unbounded();
    /// (1..=3).for_each(|n| tx.try_send(n).unwrap());
    /// let mut sum = 0;
    /// for n in rx.drain() {
    ///     tx.try_send(10 * n).unwrap(); // Is not part of this drain.
    ///     sum += n;
    /// }
    /// assert_eq!((sum, rx.len()), (6, 3));
    /// ```
    pub fn drain(&self) -> Drain<'_, T> {
        let mut wakers = Wakers::None;
        let values = self.chan.with(|core| core.take_all(&mut wakers));
        wakers.wake_all();
        Drain { values: values.into_iter(), _receiver: PhantomData }
    }
}

impl<T> Core<T> {
    /// Takes the buffer, and gives its room to waiting senders.
    fn take_all(&mut self, wakers: &mut Wakers) -> VecDeque<T> {
        if self.len() == 0 {
            return VecDeque::new();
        }
        let values = self.take_buffer();
        self.ring_sinks();
        loop {
            let used = self.buf.len() + self.reserved;
            wakers.push(self.refill());
            if self.buf.len() + self.reserved == used {
                return values;
            }
        }
    }
}

/// The iterator of [`Receiver::drain`].
pub struct Drain<'a, T> {
    values: vec_deque::IntoIter<T>,
    _receiver: PhantomData<&'a Receiver<T>>,
}

impl<T> Iterator for Drain<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.values.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.values.size_hint()
    }
}

impl<T> DoubleEndedIterator for Drain<'_, T> {
    fn next_back(&mut self) -> Option<T> {
        self.values.next_back()
    }
}

impl<T> ExactSizeIterator for Drain<'_, T> {}

impl<T> FusedIterator for Drain<'_, T> {}

impl<T> fmt::Debug for Drain<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("len", &self.len()).finish()
    }
}
