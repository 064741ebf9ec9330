//! A receive from any of several channels of one type.
//!
//! [`select_cases`](super::select_cases) could do the same. But it builds a case per channel before
//! it looks at one. Here a channel is tried without a case, and the cases are built only if the
//! select has to wait.

use super::case::{Arm, Attempt, Case, RecvCase, Will};
use super::engine::{Chosen, choose};
use super::list::List;
use crate::chan::{Receiver, RecvError};
use std::pin::{Pin, pin};
use std::task::Context;

/// The receivers as cases.
struct Receivers<'a, T> {
    receivers: &'a [Receiver<T>],
    /// A case for each receiver; empty until the select waits.
    cases: Pin<Box<[RecvCase<'a, T>]>>,
    /// The result of a case that was tried before the cases were built.
    output: Option<Result<T, RecvError>>,
}

/// The cases are pinned in their box, and `output` is never pinned.
impl<T> Unpin for Receivers<'_, T> {}

impl<'a, T> Receivers<'a, T> {
    fn new(receivers: &'a [Receiver<T>]) -> Self {
        Self { receivers, cases: Box::into_pin(Box::default()), output: None }
    }

    fn is_built(&self) -> bool {
        self.cases.len() == self.receivers.len()
    }

    fn case(&mut self, index: usize) -> Pin<&mut RecvCase<'a, T>> {
        // SAFETY: a case is part of the slice, so it is pinned with it.
        unsafe { self.cases.as_mut().map_unchecked_mut(|cases| &mut cases[index]) }
    }

    /// Returns the result of the chosen case.
    fn result(mut self, index: usize) -> Result<T, RecvError> {
        match self.output.take() {
            Some(output) => output,
            None => self.case(index).output(),
        }
    }
}

// SAFETY: `receivers` does not change, and the cases are built once and pinned in their box.
unsafe impl<T> List for Receivers<'_, T> {
    fn count(&self) -> usize {
        self.receivers.len()
    }

    fn prepare(self: Pin<&mut Self>) {
        let this = self.get_mut();
        if !this.is_built() {
            let cases: Box<[_]> = this.receivers.iter().map(RecvCase::new).collect();
            this.cases = Box::into_pin(cases);
        }
    }

    fn arm(self: Pin<&mut Self>, index: usize) -> Pin<&mut dyn Arm> {
        self.get_mut().case(index)
    }

    fn look(&self, index: usize) -> &dyn Arm {
        &self.cases[index]
    }

    #[inline]
    fn may_be_ready(&self, index: usize) -> bool {
        self.receivers[index].chan.readable.get()
    }

    fn ready_word(&self, start: usize) -> u64 {
        let end = self.receivers.len().min(start + u64::BITS as usize);
        let (mut word, mut bit) = (0, 1);
        for receiver in &self.receivers[start..end] {
            // A branch: most channels are not ready.
            if receiver.chan.readable.get() {
                word |= bit;
            }
            bit <<= 1;
        }
        word
    }

    #[inline]
    fn try_alone(self: Pin<&mut Self>, index: usize, _: Will, _: &mut Context<'_>) -> Attempt {
        let this = self.get_mut();
        if this.is_built() {
            return this.case(index).try_alone();
        }
        let mut case = pin!(RecvCase::new(&this.receivers[index]));
        let attempt = case.as_mut().try_alone();
        if let Attempt::Done(_) = attempt {
            this.output = Some(case.output());
        }
        attempt
    }
}

/// Receives from the first of several channels that has a value or is closed.
///
/// Returns the index of the receiver, and what [`Receiver::recv`] returns. If several channels are
/// ready, each is chosen with the same probability. If `receivers` is empty, it waits forever.
///
/// Use [`select!`](macro@crate::select) for a fixed number of channels, a
/// [`ReceiverSet`](crate::chan::ReceiverSet) to receive from many channels in a loop, and
/// [`select_cases`](crate::chan::select_cases) for channels of different types, sends and futures.
///
/// # Closed channels
///
/// A channel that is closed and empty is always ready. Remove its receiver before the next call.
///
/// # Costs
///
/// One channel is drawn. If it is empty, all channels are looked at once, which costs a load for
/// each. If none is ready, all are locked together, and each gets an entry in its queue, which is
/// removed when the wait ends. One allocation holds all entries. So a receive that waits costs time
/// in proportion to the number of channels. That of a [`ReceiverSet`](crate::chan::ReceiverSet)
/// does not.
///
/// # Cancel safety
///
/// If the future is dropped, no value is lost: see [`Receiver::recv`].
///
/// # Examples
///
/// A goroutine collects the results of many others:
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::chan::{chan, recv_any};
///
/// gmp_rt::block_on(async {
///     let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..100).map(|_| chan::<u32>(1)).unzip();
///     for (n, tx) in senders.into_iter().enumerate() {
///         gmp_rt::spawn(async move { tx.send(n as u32).await }).detach();
///     }
///     let mut sum = 0;
///     while !receivers.is_empty() {
///         match recv_any(&receivers).await {
///             (_, Ok(value)) => sum += value,
///             // Its sender has gone.
///             (closed, Err(_)) => drop(receivers.swap_remove(closed)),
///         }
///     }
///     assert_eq!(sum, 4950);
/// });
/// ```
pub async fn recv_any<T>(receivers: &[Receiver<T>]) -> (usize, Result<T, RecvError>) {
    let mut list = Receivers::new(receivers);
    match choose(Pin::new(&mut list), Will::Wait).await {
        Chosen::Case(index) => (index, list.result(index)),
        Chosen::Default => unreachable!("a select without a default"),
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::*;
    use crate::chan::{Sender, chan};
    use gmp_rt::{block_on, spawn, yield_now};
    use std::task::{Poll, Waker};

    fn channels(n: usize, cap: usize) -> (Vec<Sender<usize>>, Vec<Receiver<usize>>) {
        (0..n).map(|_| chan(cap)).unzip()
    }

    fn poll_once<T>(future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn each_ready_channel_is_chosen_equally_often() {
        for n in [3, 100] {
            let (senders, receivers) = channels(n, 1);
            let mut chosen = vec![0; n];
            block_on(async {
                for (index, tx) in senders.iter().enumerate() {
                    tx.send(index).await.unwrap();
                }
                for _ in 0..1000 * n {
                    let (index, value) = recv_any(&receivers).await;
                    assert_eq!(value, Ok(index));
                    chosen[index] += 1;
                    senders[index].send(index).await.unwrap();
                }
            });
            // The expected count is 1000, its standard deviation at most 32.
            assert!(chosen.iter().all(|count| (800..1200).contains(count)), "{chosen:?}");
        }
    }

    #[test]
    fn one_ready_channel_of_many_is_found() {
        let (senders, receivers) = channels(100, 1);
        block_on(async {
            for index in [0, 63, 64, 99] {
                senders[index].send(index).await.unwrap();
                assert_eq!(recv_any(&receivers).await, (index, Ok(index)));
            }
        });
    }

    #[test]
    fn a_later_send_wakes_recv_any() {
        for cap in [0, 1] {
            let (senders, receivers) = channels(100, cap);
            block_on(async {
                let waits = spawn(async move {
                    let mut sum = 0;
                    for _ in 0..100 {
                        let (index, value) = recv_any(&receivers).await;
                        assert_eq!(value, Ok(index));
                        sum += index;
                    }
                    sum
                });
                for (index, tx) in senders.iter().enumerate() {
                    yield_now().await;
                    tx.send(index).await.unwrap();
                }
                assert_eq!(waits.await.unwrap(), 4950);
            });
        }
    }

    /// The value of a sender in a `select!` arrives only when that select has confirmed.
    #[test]
    fn a_sender_that_waits_in_a_select_is_received_from() {
        let (senders, receivers) = channels(3, 0);
        block_on(async {
            let [a, b, _c]: [_; 3] = senders.try_into().unwrap();
            let sends = spawn(async move {
                crate::select! {
                    sent = a.send(7) => sent.is_ok(),
                    sent = b.send(7) => sent.is_ok(),
                }
            });
            // Before and after the select waits.
            let (index, value) = recv_any(&receivers).await;
            assert_eq!((index < 2, value), (true, Ok(7)));
            assert!(sends.await.unwrap());
        });
    }

    #[test]
    fn a_closed_channel_is_ready() {
        let (mut senders, receivers) = channels(3, 1);
        drop(senders.remove(1));
        assert_eq!(block_on(recv_any(&receivers)), (1, Err(RecvError)));
    }

    #[test]
    fn recv_any_without_channels_waits() {
        let receivers: [Receiver<u32>; 0] = [];
        assert!(poll_once(pin!(recv_any(&receivers))).is_pending());
    }

    #[test]
    fn a_dropped_wait_leaves_all_queues_and_loses_nothing() {
        let (senders, receivers) = channels(100, 1);
        {
            let mut waits = pin!(recv_any(&receivers));
            assert!(poll_once(waits.as_mut()).is_pending());
            block_on(senders[40].send(1)).unwrap();
        }
        assert_eq!(receivers[40].try_recv(), Ok(1));
        for (tx, rx) in senders.iter().zip(&receivers) {
            block_on(tx.send(2)).unwrap();
            assert_eq!(rx.try_recv(), Ok(2));
        }
    }
}
