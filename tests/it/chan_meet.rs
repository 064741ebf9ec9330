//! Senders and receivers of all kinds meet on one channel. No value is lost, no send returns "sent"
//! without a receiver or a slot, and no pair starves.

use super::support::runtime;
use futures::{SinkExt, StreamExt};
use gmp::chan::{
    Receiver, RecvTimeoutError, SendError, SendTimeoutError, Sender, TryRecvError, TrySendError,
};
use gmp::{chan, go, select};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A send that waits in a select.
async fn select_send(tx: &Sender<u32>, value: u32) -> Result<(), SendError<u32>> {
    select! { sent = tx.send(value) => sent }
}

/// A receive in a select with a default.
async fn recv_or_default(rx: &Receiver<u32>) -> Option<u32> {
    select! { v = rx.recv() => v.ok(), default => None }
}

/// The time after which `try_recv` gives up a sender that has confirmed (`gmp-sync/src/tuning.rs`).
const COMMITTED: Duration = Duration::from_millis(100);

fn busy(span: Duration) {
    let start = Instant::now();
    while start.elapsed() < span {
        std::hint::spin_loop();
    }
}

#[test]
fn a_select_with_default_receives_from_a_sender_in_a_select() {
    let (tx, rx) = chan::<u32>(0);
    let mut sender = pin!(select_send(&tx, 7));
    let mut receiver = pin!(recv_or_default(&rx));
    assert!(poll(sender.as_mut()).is_pending());
    assert!(poll(receiver.as_mut()).is_pending(), "it waits for the sender");
    assert!(matches!(poll(sender), Poll::Ready(Ok(()))));
    assert_eq!(poll(receiver), Poll::Ready(Some(7)));
}

#[test]
fn a_select_with_default_goes_on_if_the_sender_declines() {
    let (tx, rx) = chan::<u32>(0);
    let mut sender = Box::pin(select_send(&tx, 7));
    let mut receiver = pin!(recv_or_default(&rx));
    assert!(poll(sender.as_mut()).is_pending());
    assert!(poll(receiver.as_mut()).is_pending());
    drop(sender);
    assert_eq!(poll(receiver), Poll::Ready(None));
}

/// The sender cannot run while this thread is in `try_recv`.
#[test]
fn try_recv_on_the_thread_of_the_sender_reports_empty_and_the_sender_waits_on() {
    let (tx, rx) = chan::<u32>(0);
    let mut sender = pin!(select_send(&tx, 7));
    assert!(poll(sender.as_mut()).is_pending());
    for _ in 0..3 {
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        assert!(poll(sender.as_mut()).is_pending(), "sent, but nobody received");
        assert_eq!(rx.len(), 0);
    }
    let mut receiver = pin!(rx.recv());
    assert!(poll(receiver.as_mut()).is_pending());
    assert!(matches!(poll(sender), Poll::Ready(Ok(()))));
    assert_eq!(poll(receiver), Poll::Ready(Ok(7)));
}

/// On one P the sender runs while the thread of `try_recv` is blocked.
#[test]
fn try_recv_in_a_loop_meets_a_sender_in_a_select() {
    for procs in [1, 4] {
        runtime(procs).block_on(async {
            let (tx, rx) = chan::<u32>(0);
            let sender = go!(async move {
                for n in 0..20 {
                    select_send(&tx, n).await.unwrap();
                }
            });
            let received = go!(async move {
                let mut received = Vec::new();
                while received.len() < 20 {
                    let begin = Instant::now();
                    match rx.try_recv() {
                        Ok(n) => received.push(n),
                        // The value of a sender whose thread rests for long comes after the call.
                        Err(TryRecvError::Empty) => {
                            assert!(rx.is_empty() || begin.elapsed() >= COMMITTED);
                        }
                        Err(TryRecvError::Closed) => panic!("lost: got {received:?}"),
                    }
                }
                received
            });
            assert!(received.await.unwrap().into_iter().eq(0..20));
            sender.await.unwrap();
        });
    }
}

/// The thread that calls `try_recv` has no runtime.
#[test]
fn try_recv_on_an_external_thread_meets_a_sender_in_a_select() {
    let (tx, rx) = chan::<u32>(0);
    let sender = gmp::spawn(async move { select_send(&tx, 7).await });
    let received = loop {
        match rx.try_recv() {
            Err(TryRecvError::Empty) => std::thread::yield_now(),
            received => break received,
        }
    };
    assert_eq!(received, Ok(7));
    assert!(gmp::block_on(sender).unwrap().is_ok());
}

#[test]
fn a_sender_whose_receiver_is_dropped_waits_on_as_the_first() {
    let (tx, rx) = chan::<u32>(0);
    let mut first = pin!(select_send(&tx, 1));
    let mut second = pin!(select_send(&tx, 2));
    assert!(poll(first.as_mut()).is_pending());
    assert!(poll(second.as_mut()).is_pending());
    {
        let mut dropped = Box::pin(rx.recv());
        assert!(poll(dropped.as_mut()).is_pending());
    }
    assert!(poll(first.as_mut()).is_pending(), "sent, but nobody received");
    assert_eq!(rx.len(), 0);
    let mut receiver = pin!(rx.recv());
    assert!(poll(receiver.as_mut()).is_pending());
    assert!(poll(second.as_mut()).is_pending(), "the second sender overtook the first");
    assert!(matches!(poll(first), Poll::Ready(Ok(()))));
    assert_eq!(poll(receiver), Poll::Ready(Ok(1)));
}

/// One receive wakes one sender, over one channel or two.
#[gmp::test(max_procs = 1)]
async fn a_select_with_default_summons_one_sender() {
    for channels in [1, 2] {
        let (tx, rx) = chan::<u32>(0);
        let (_tx2, rx2) = chan::<u32>(0);
        let mut senders: Vec<_> = (0..3).map(|n| Box::pin(select_send(&tx, n))).collect();
        for sender in &mut senders {
            assert!(poll(sender.as_mut()).is_pending());
        }
        let mut receiver = Box::pin(async {
            match channels {
                1 => recv_or_default(&rx).await,
                _ => select! { v = rx.recv() => v.ok(), v = rx2.recv() => v.ok(), default => None },
            }
        });
        assert!(poll(receiver.as_mut()).is_pending());
        let sent =
            senders.iter_mut().map(|s| usize::from(poll(s.as_mut()).is_ready())).sum::<usize>();
        assert_eq!(sent, 1);
        assert_eq!(poll(receiver.as_mut()), Poll::Ready(Some(0)));
        assert_eq!(rx.len(), 0);
    }
}

#[test]
fn try_send_finds_a_parked_stream_once() {
    let (tx, mut rx) = chan::<u32>(0);
    assert_eq!(tx.try_send(0), Err(TrySendError::Full(0)));
    for n in 0..3 {
        let mut next = pin!(rx.next());
        assert!(poll(next.as_mut()).is_pending());
        assert_eq!(tx.try_send(n), Ok(()));
        assert_eq!(tx.try_send(9), Err(TrySendError::Full(9)), "the stream takes one value");
        assert_eq!(poll(next), Poll::Ready(Some(n)));
    }
}

#[test]
fn a_send_case_with_default_finds_a_parked_stream_once() {
    let (tx, mut rx) = chan::<u32>(0);
    let send_or_default = async |n| select! { sent = tx.send(n) => sent.is_ok(), default => false };
    for n in 0..3 {
        let mut next = pin!(rx.next());
        assert!(poll(next.as_mut()).is_pending());
        assert_eq!(poll(pin!(send_or_default(n))), Poll::Ready(true));
        assert_eq!(poll(pin!(send_or_default(9))), Poll::Ready(false));
        assert_eq!(poll(next), Poll::Ready(Some(n)));
    }
}

/// A sender woken by a stream waits again if the stream is dropped.
#[test]
fn a_sender_whose_stream_is_dropped_waits_on() {
    let (tx, rx) = chan::<u32>(0);
    let mut sender = pin!(select_send(&tx, 7));
    assert!(poll(sender.as_mut()).is_pending());
    let mut stream = rx.clone();
    assert!(poll(pin!(stream.next())).is_pending());
    drop(stream);
    assert!(poll(sender.as_mut()).is_pending(), "sent, but nobody received");
    assert_eq!((rx.len(), rx.try_recv()), (0, Err(TryRecvError::Empty)));
}

/// A stream that is polled again wakes no second sender.
#[test]
fn a_stream_summons_one_sender_for_one_value() {
    let (tx, mut rx) = chan::<u32>(0);
    let mut senders: Vec<_> = (0..3).map(|n| Box::pin(select_send(&tx, n))).collect();
    for sender in &mut senders {
        assert!(poll(sender.as_mut()).is_pending());
    }
    for _ in 0..3 {
        assert!(poll(pin!(rx.next())).is_pending());
    }
    let sent = senders.iter_mut().map(|s| usize::from(poll(s.as_mut()).is_ready())).sum::<usize>();
    assert_eq!((sent, rx.len()), (1, 1));
    assert_eq!(poll(pin!(rx.next())), Poll::Ready(Some(0)));
}

/// On a channel with one slot either a receive or a send is possible, whatever happens between the
/// attempts of the two. In some orders of the three cases the future is polled between them.
#[test]
fn default_is_not_chosen_while_a_case_on_the_same_channel_is_ready() {
    for round in 0..200 {
        let (tx, rx) = chan::<u32>(1);
        if round % 2 == 0 {
            tx.try_send(0).unwrap();
        }
        // Makes the case ready that was not, and the other one not ready.
        let toggle = poll_fn(|_| {
            if rx.try_recv().is_err() {
                tx.try_send(1).unwrap();
            }
            Poll::<()>::Pending
        });
        let chosen = poll(pin!(async {
            select! {
                v = rx.recv() => v.is_ok(),
                sent = tx.send(2) => sent.is_ok(),
                () = toggle => unreachable!(),
                default => false,
            }
        }));
        assert_eq!(chosen, Poll::Ready(true), "round {round}");
    }
}

/// The first future uses up the time slice. The second one is ready.
#[gmp::test(max_procs = 2)]
async fn default_is_not_chosen_because_the_slice_is_over() {
    let chosen = go!(async {
        let (tx, rx) = chan::<u32>(1);
        let mut defaults = 0;
        for n in 0..16 {
            tx.try_send(n).unwrap();
            let hog = poll_fn(|_| {
                busy(Duration::from_millis(25));
                Poll::<()>::Pending
            });
            select! {
                () = hog => unreachable!(),
                v = async { rx.recv().await } => assert_eq!(v, Ok(n)),
                default => {
                    defaults += 1;
                    rx.try_recv().unwrap();
                }
            }
        }
        defaults
    });
    assert_eq!(chosen.await.unwrap(), 0);
}

/// The time slice is over whenever the operation is tried.
#[gmp::test(max_procs = 2)]
async fn a_time_limit_of_zero_succeeds_when_the_slice_is_over() {
    go!(async {
        let (tx, rx) = chan::<u32>(1);
        for n in 0..10 {
            busy(Duration::from_millis(25));
            assert_eq!(tx.send_timeout(n, Duration::ZERO).await, Ok(()));
            busy(Duration::from_millis(25));
            assert_eq!(rx.recv_timeout(Duration::ZERO).await, Ok(n));
        }
    })
    .await
    .unwrap();
}

/// Closing a sink ends one sender, as its drop does.
#[gmp::test(max_procs = 2)]
async fn closing_a_sink_ends_this_sender_only() {
    let (tx, rx) = chan::<u32>(8);
    let mut forwarding = tx.clone();
    let values = futures::stream::iter([Ok(1), Ok(2)]);
    values.forward(&mut forwarding).await.unwrap();
    assert_eq!(tx.sender_count(), 1);
    assert!(!tx.is_closed());
    assert_eq!(tx.send(3).await, Ok(()));
    // The ended sender fails, and so do its clones.
    assert_eq!(forwarding.send(4).await, Err(SendError(4)));
    assert_eq!(forwarding.try_send(4), Err(TrySendError::Closed(4)));
    assert_eq!(forwarding.clone().try_send(4), Err(TrySendError::Closed(4)));
    assert!(SinkExt::send(&mut forwarding, 4).await.is_err());
    assert!(forwarding.is_closed());
    SinkExt::close(&mut forwarding).await.unwrap();
    drop(forwarding);
    assert_eq!(tx.sender_count(), 1);
    // Closing the last sender closes the channel. Values that were sent are received.
    let mut last = tx;
    SinkExt::close(&mut last).await.unwrap();
    assert_eq!(rx.iter_blocking().collect::<Vec<_>>(), [1, 2, 3]);
    assert!(rx.is_closed());
}

/// How a goroutine sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sends {
    Send,
    Select,
    Sink,
    Timeout,
    Try,
    SelectDefault,
}

impl Sends {
    const ALL: [Self; 6] =
        [Self::Send, Self::Select, Self::Sink, Self::Timeout, Self::Try, Self::SelectDefault];

    /// Whether it waits with its value, so that a receiver that does not wait finds the value.
    fn waits(self) -> bool {
        matches!(self, Self::Send | Self::Select)
    }

    async fn send(self, tx: &mut Sender<u32>, n: u32) {
        loop {
            let sent = match self {
                // Not `SinkExt::send`.
                Self::Send => Sender::send(tx, n).await.is_ok(),
                Self::Select => select_send(tx, n).await.is_ok(),
                Self::Sink => SinkExt::send(tx, n).await.is_ok(),
                Self::Timeout => match tx.send_timeout(n, Duration::from_micros(50)).await {
                    Err(SendTimeoutError::Closed(_)) => panic!("closed"),
                    sent => sent.is_ok(),
                },
                Self::Try => tx.try_send(n).is_ok(),
                Self::SelectDefault => {
                    select! { sent = tx.send(n) => sent.is_ok(), default => false }
                }
            };
            if sent {
                return;
            }
            gmp::yield_now().await;
        }
    }
}

/// How a goroutine receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receives {
    Recv,
    Select,
    Stream,
    Timeout,
    Try,
    SelectDefault,
    Now,
}

impl Receives {
    const ALL: [Self; 7] = [
        Self::Recv,
        Self::Select,
        Self::Stream,
        Self::Timeout,
        Self::Try,
        Self::SelectDefault,
        Self::Now,
    ];

    /// Whether it waits, so that a sender that does not wait finds it.
    fn waits(self) -> bool {
        matches!(self, Self::Recv | Self::Select | Self::Stream)
    }

    async fn receive(self, rx: &mut Receiver<u32>) -> Option<u32> {
        let (_quit, never) = chan::<u32>(0);
        loop {
            let limit = if self == Self::Now { Duration::ZERO } else { Duration::from_micros(50) };
            let received = match self {
                Self::Recv => return rx.recv().await.ok(),
                Self::Select => {
                    return select! { v = rx.recv() => v.ok(), v = never.recv() => v.ok() };
                }
                Self::Stream => return rx.next().await,
                Self::Timeout | Self::Now => match rx.recv_timeout(limit).await {
                    Err(RecvTimeoutError::Timeout) => None,
                    received => Some(received.ok()),
                },
                Self::Try => match rx.try_recv() {
                    Err(TryRecvError::Empty) => None,
                    received => Some(received.ok()),
                },
                Self::SelectDefault => {
                    select! { v = rx.recv() => Some(v.ok()), default => None }
                }
            };
            match received {
                Some(received) => return received,
                None => gmp::yield_now().await,
            }
        }
    }
}

/// Sends and receives a few values in one pair of forms.
async fn meet(sends: Sends, receives: Receives, cap: usize) {
    const COUNT: u32 = 8;
    let (mut tx, mut rx) = chan::<u32>(cap);
    let sender = go!(async move {
        for n in 0..COUNT {
            sends.send(&mut tx, n).await;
        }
    });
    let mut received = Vec::new();
    while let Some(n) = receives.receive(&mut rx).await {
        received.push(n);
    }
    sender.await.unwrap();
    assert!(received.iter().copied().eq(0..COUNT), "{sends:?}, {receives:?}: {received:?}");
}

/// Without a buffer one of the two has to wait. As in Go, two ends that only try do not meet. A
/// sink holds no value while it waits.
#[test]
fn all_kinds_of_senders_meet_all_kinds_of_receivers() {
    for procs in [1, 4] {
        runtime(procs).block_on(async {
            for (sends, cap) in Sends::ALL.into_iter().flat_map(|sends| [(sends, 0), (sends, 1)]) {
                for receives in Receives::ALL {
                    if cap > 0 || sends.waits() || receives.waits() {
                        go!(meet(sends, receives, cap)).await.unwrap();
                    }
                }
            }
        });
    }
}

/// Receives and sends of all kinds are dropped. Each value that was reported as sent is received
/// once.
#[test]
fn a_sender_in_a_select_and_receives_that_are_given_up_lose_nothing() {
    runtime(4).block_on(async {
        let (tx, rx) = chan::<u32>(0);
        let done = Arc::new(AtomicBool::new(false));
        let sender = go!(async move {
            for n in 0..200 {
                select_send(&tx, n).await.unwrap();
            }
        });
        let quitters: Vec<_> = (0..2)
            .map(|_| {
                let (rx, done) = (rx.clone(), done.clone());
                go!(async move {
                    let mut received = Vec::new();
                    while !done.load(Ordering::Relaxed) {
                        // Polled once, so it may wake the sender, and then dropped.
                        let mut recv = Box::pin(rx.recv());
                        let polled = poll_fn(|cx| Poll::Ready(recv.as_mut().poll(cx))).await;
                        if let Poll::Ready(Ok(n)) = polled {
                            received.push(n);
                        }
                        drop(recv);
                        gmp::yield_now().await;
                    }
                    received
                })
            })
            .collect();
        let mut received = Vec::new();
        while let Ok(n) = rx.recv().await {
            received.push(n);
        }
        done.store(true, Ordering::Relaxed);
        sender.await.unwrap();
        for quitter in quitters {
            received.extend(quitter.await.unwrap());
        }
        received.extend(rx.try_iter());
        received.sort_unstable();
        assert!(received.into_iter().eq(0..200));
    });
}
