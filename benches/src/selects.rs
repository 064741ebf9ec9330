//! The workloads that select over many channels.

use crate::channels::Channels;
use crate::contestant::Contestant;
use crate::link::{AsyncChannel, GmpChan, Link, TokioMpsc};
use crate::workload::per_op;
use gmp_sync::chan::ReceiverSet;
use smol::future::race;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Values of one round, over all channels.
const VALUES: usize = 10_000;

/// A channel whose receivers can be selected from.
pub(crate) trait Select: Link {
    /// Receives from one of ten that is ready.
    fn of_ten(receivers: &mut [Self::Rx; 10]) -> impl Future<Output = Option<u64>> + Send;

    /// Many receivers, in the form that [`of_many`](Self::of_many) needs.
    type Many: Send;
    /// Prepares receivers for `of_many`.
    fn many(receivers: Vec<Self::Rx>) -> Self::Many;
    /// Receives from one of many that is ready.
    fn of_many(receivers: &mut Self::Many) -> impl Future<Output = Option<u64>> + Send;
}

/// Ten cases of a `select!`, whose output is an `Option` after `$to_option`.
macro_rules! select_of_ten {
    ($($select:ident)::+, $receivers:expr, $value:ident => $to_option:expr) => {{
        let [a, b, c, d, e, f, g, h, i, j] = $receivers;
        $($select)::+! {
            $value = a.recv() => { $to_option },
            $value = b.recv() => { $to_option },
            $value = c.recv() => { $to_option },
            $value = d.recv() => { $to_option },
            $value = e.recv() => { $to_option },
            $value = f.recv() => { $to_option },
            $value = g.recv() => { $to_option },
            $value = h.recv() => { $to_option },
            $value = i.recv() => { $to_option },
            $value = j.recv() => { $to_option },
        }
    }};
}

impl Select for GmpChan {
    async fn of_ten(receivers: &mut [Self::Rx; 10]) -> Option<u64> {
        select_of_ten!(gmp_sync::select, receivers, value => value.ok())
    }

    type Many = ReceiverSet<u64>;
    fn many(receivers: Vec<Self::Rx>) -> Self::Many {
        receivers.into_iter().collect()
    }
    async fn of_many(receivers: &mut Self::Many) -> Option<u64> {
        receivers.recv().await?.1.ok()
    }
}

/// Items that are polled in turn, from a start that moves. With a fixed start the first ready items
/// would starve the others.
pub(crate) struct Ring<T> {
    items: Vec<T>,
    start: usize,
}

impl<T> Ring<T> {
    fn new(items: Vec<T>) -> Self {
        Self { items, start: 0 }
    }

    /// Polls each item once. Returns the result of the first one that is ready, and starts behind
    /// it at the next call.
    fn poll<R>(
        &mut self,
        cx: &mut Context<'_>,
        mut poll: impl FnMut(&mut T, &mut Context<'_>) -> Poll<R>,
    ) -> Poll<R> {
        let count = self.items.len();
        for place in (self.start..count).chain(0..self.start) {
            if let Poll::Ready(result) = poll(&mut self.items[place], cx) {
                self.start = (place + 1) % count;
                return Poll::Ready(result);
            }
        }
        Poll::Pending
    }
}

impl Select for TokioMpsc {
    async fn of_ten(receivers: &mut [Self::Rx; 10]) -> Option<u64> {
        select_of_ten!(tokio::select, receivers, value => value)
    }

    type Many = Ring<Self::Rx>;
    fn many(receivers: Vec<Self::Rx>) -> Self::Many {
        Ring::new(receivers)
    }
    async fn of_many(receivers: &mut Self::Many) -> Option<u64> {
        poll_fn(|cx| receivers.poll(cx, |receiver, cx| receiver.poll_recv(cx))).await
    }
}

impl Select for AsyncChannel {
    async fn of_ten(receivers: &mut [Self::Rx; 10]) -> Option<u64> {
        let [a, b, c, d, e, f, g, h, i, j] = receivers;
        let (ab, cd) = (race(a.recv(), b.recv()), race(c.recv(), d.recv()));
        let (ef, gh) = (race(e.recv(), f.recv()), race(g.recv(), h.recv()));
        let ij = race(i.recv(), j.recv());
        race(race(race(ab, cd), race(ef, gh)), ij).await.ok()
    }

    type Many = Ring<Pin<Box<Self::Rx>>>;
    fn many(receivers: Vec<Self::Rx>) -> Self::Many {
        Ring::new(receivers.into_iter().map(Box::pin).collect())
    }
    async fn of_many(receivers: &mut Self::Many) -> Option<u64> {
        use smol::stream::Stream;
        poll_fn(|cx| receivers.poll(cx, |receiver, cx| receiver.as_mut().poll_next(cx))).await
    }
}

/// Runs a workload that selects and returns its figure.
pub(crate) fn run<C: Channels>(name: &str) -> Option<f64> {
    Some(match name {
        "select10" => C::run(per_op(VALUES as u32, ten::<C, C::Single>)),
        "select100" => C::run(per_op(VALUES as u32, hundred::<C, C::Single>)),
        _ => return None,
    })
}

/// Handles of tasks that return their sending end when all values are sent.
type Senders<C, L> = Vec<<C as Contestant>::Handle<<L as Link>::Tx>>;

/// Starts `n` senders, each on its own channel. Returns the receivers, and the handles that keep
/// the channels open.
fn senders<C: Channels, L: Link>(n: usize) -> (Vec<L::Rx>, Senders<C, L>) {
    let per_channel = (VALUES / n) as u64;
    let start = |_| {
        let (tx, rx) = L::new(16);
        let sender = C::spawn(async move {
            for value in 0..per_channel {
                L::send(&tx, value).await;
            }
            tx
        });
        (rx, sender)
    };
    (0..n).map(start).unzip()
}

/// Checks that each sender has sent each of its values once, and ends the senders.
async fn check<C: Channels, L: Link>(senders: Senders<C, L>, sum: u64) {
    let (n, per_channel) = (senders.len() as u64, (VALUES / senders.len()) as u64);
    assert_eq!(sum, n * (per_channel * (per_channel - 1) / 2));
    for sender in senders {
        drop(sender.await);
    }
}

/// Ten senders, each on its own channel; one receiver that selects.
async fn ten<C: Channels, L: Select>() {
    let (receivers, senders) = senders::<C, L>(10);
    let Ok(mut receivers) = <[L::Rx; 10]>::try_from(receivers) else { unreachable!("ten") };
    let mut sum = 0;
    for _ in 0..VALUES {
        sum += L::of_ten(&mut receivers).await.expect("the senders keep their channels open");
    }
    check::<C, L>(senders, sum).await;
}

/// A hundred senders, each on its own channel; one receiver that selects.
async fn hundred<C: Channels, L: Select>() {
    let (receivers, senders) = senders::<C, L>(100);
    let mut receivers = L::many(receivers);
    let mut sum = 0;
    for _ in 0..VALUES {
        sum += L::of_many(&mut receivers).await.expect("the senders keep their channels open");
    }
    check::<C, L>(senders, sum).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    #[test]
    fn a_ring_takes_ready_items_in_turn() {
        let mut ring = Ring::new(vec![0, 1, 2, 3]);
        let mut cx = Context::from_waker(Waker::noop());
        let mut taken = Vec::new();
        for _ in 0..5 {
            let even = |item: &mut i32, _: &mut Context<'_>| match *item % 2 {
                0 => Poll::Ready(*item),
                _ => Poll::Pending,
            };
            if let Poll::Ready(item) = ring.poll(&mut cx, even) {
                taken.push(item);
            }
        }
        assert_eq!(taken, [0, 2, 0, 2, 0]);
        let pending = ring.poll(&mut cx, |_, _| Poll::<()>::Pending);
        assert!(pending.is_pending());
    }
}
