//! Channels, beyond what Go's tests cover: returned values, counted ends, streams, sinks, threads,
//! time limits, drops, dumps.

use super::support::{runtime, waiting};
use futures::stream::FusedStream;
use futures::{SinkExt, StreamExt};
use gmp::chan::{
    Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
};
use gmp::{chan, go, select};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// A time limit that never expires in a test.
const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(1);

/// Counts its drops.
#[derive(Clone, Debug)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new() -> (Self, Arc<AtomicUsize>) {
        let drops = Arc::new(AtomicUsize::new(0));
        (Self(drops.clone()), drops)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[gmp::test]
async fn errors_of_sends_return_the_value() {
    let (tx, rx) = chan::<String>(1);
    let text = || "precious".to_owned();
    tx.send(text()).await.unwrap();
    assert_eq!(tx.try_send(text()), Err(TrySendError::Full(text())));
    assert_eq!(tx.send_timeout(text(), SHORT).await, Err(SendTimeoutError::Timeout(text())));
    let waiting = tx.send(text());
    let mut waiting = pin!(waiting);
    assert!(poll_once(waiting.as_mut()).is_pending());
    rx.close();
    assert_eq!(waiting.await, Err(SendError(text())));
    assert_eq!(tx.send(text()).await, Err(SendError(text())));
    assert_eq!(tx.try_send(text()), Err(TrySendError::Closed(text())));
    assert_eq!(tx.send_timeout(text(), LONG).await, Err(SendTimeoutError::Closed(text())));
    assert_eq!(tx.send_blocking(text()), Err(SendError(text())));
    assert_eq!(select! { r = tx.send(text()) => r }, Err(SendError(text())));
    assert_eq!(tx.try_send(text()).unwrap_err().into_inner(), text());
    assert_eq!(tx.send_timeout(text(), SHORT).await.unwrap_err().into_inner(), text());
}

#[test]
fn errors_have_a_text() {
    fn says<E: std::error::Error + Send + Sync + 'static>(error: E, text: &str) {
        let error: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
        assert_eq!(error.to_string(), text);
    }
    // The value need not be `Debug`. To travel in an error it must be `Send` and `Sync`.
    struct Opaque;
    says(SendError(Opaque), "send on closed channel");
    says(TrySendError::Full(Opaque), "send on full channel");
    says(TrySendError::Closed(Opaque), "send on closed channel");
    says(SendTimeoutError::Timeout(Opaque), "send on full channel timed out");
    says(SendTimeoutError::Closed(Opaque), "send on closed channel");
    says(RecvError, "receive on closed and empty channel");
    says(TryRecvError::Empty, "receive on empty channel");
    says(TryRecvError::Closed, "receive on closed and empty channel");
    says(RecvTimeoutError::Timeout, "receive on empty channel timed out");
    assert_eq!(format!("{:?}", TrySendError::Full(Opaque)), "Full(..)");
    assert_eq!(format!("{:?}", SendError(Opaque)), "SendError(..)");
}

#[gmp::test]
async fn the_drop_of_the_last_end_closes() {
    let (tx, rx) = chan::<u32>(2);
    let (tx2, rx2) = (tx.clone(), rx.clone());
    assert_eq!((tx.sender_count(), tx.receiver_count()), (2, 2));
    assert_eq!((rx.sender_count(), rx.receiver_count()), (2, 2));
    drop(tx);
    assert!(!tx2.is_closed());
    tx2.send(1).await.unwrap();
    drop(rx);
    assert_eq!((tx2.sender_count(), tx2.receiver_count(), rx2.is_closed()), (1, 1, false));
    drop(tx2);
    assert!(rx2.is_closed() && !rx2.close());
    assert_eq!((rx2.recv().await, rx2.recv().await), (Ok(1), Err(RecvError)));

    let (tx, rx) = chan::<u32>(0);
    let sender = go!({ tx.send(5).await });
    waiting("chan send", 1).await;
    drop(rx);
    assert_eq!(sender.await.unwrap(), Err(SendError(5)));
}

#[test]
fn same_channel_compares_the_channels_of_two_ends() {
    let ((tx, rx), (other_tx, other_rx)) = (chan::<u32>(0), chan::<u32>(0));
    assert!(tx.same_channel(&tx.clone()) && rx.same_channel(&rx.clone()));
    assert!(!tx.same_channel(&other_tx) && !rx.same_channel(&other_rx));
    assert!(format!("{tx:?} {rx:?}").contains("Sender(Chan { len: 0, cap: 0"), "{tx:?}");
}

#[gmp::test]
async fn len_cap_and_is_full_follow_the_buffer() {
    let (tx, rx) = chan(2);
    assert!(tx.is_empty() && rx.is_empty() && !tx.is_full() && !rx.is_full());
    tx.send(1).await.unwrap();
    assert!(!tx.is_empty() && !tx.is_full());
    tx.send(2).await.unwrap();
    assert!(tx.is_full() && rx.is_full());
    assert_eq!((tx.len(), rx.len(), tx.cap()), (2, 2, Some(2)));
    let (tx, rx) = chan::<u32>(0);
    assert!(tx.is_full() && rx.is_empty(), "no buffer: full and empty at once");

    let (tx, rx) = chan::unbounded();
    for n in 0..100_000 {
        tx.send(n).await.unwrap();
    }
    assert_eq!((rx.len(), rx.cap(), rx.is_full()), (100_000, None, false));
    drop(tx);
    assert_eq!(rx.try_iter().count(), 100_000);
}

#[gmp::test(max_procs = 2)]
async fn a_receiver_is_a_stream() {
    let (tx, mut rx) = chan(0);
    go!({
        for n in 0..100 {
            tx.send(n).await.unwrap();
        }
    });
    assert!(!rx.is_terminated());
    let first: Vec<u32> = (&mut rx).take(50).collect().await;
    let rest: Vec<u32> = (&mut rx).collect().await;
    assert!(first.into_iter().chain(rest).eq(0..100));
    assert!(rx.is_terminated());
    assert_eq!(rx.next().await, None, "again");
}

/// A dropped `next()` takes no value, whenever it is dropped. Another receiver gets the value.
#[gmp::test(max_procs = 1)]
async fn a_dropped_next_takes_no_value() {
    let (tx, mut stream) = chan(0);
    let other = stream.clone();
    for n in 0..10 {
        assert!(poll_once(pin!(stream.next())).is_pending());
        let tx = tx.clone();
        let sender = go!({ tx.send(n).await });
        waiting("chan send", 1).await;
        if n % 2 == 0 {
            assert_eq!(other.recv().await, Ok(n));
        } else {
            assert_eq!(stream.next().await, Some(n));
        }
        sender.await.unwrap().unwrap();
    }
    // The value is handed to the goroutine of a stream that is aborted before it runs. If sysmon
    // hands off the P of this goroutine meanwhile, the stream may run before the abort.
    let mut is_aborted = false;
    while !is_aborted {
        let (mut stream, tx) = (other.clone(), tx.clone());
        let taker = go!({ stream.next().await });
        waiting("chan receive", 1).await;
        let sender = go!({ tx.send(10).await });
        taker.abort();
        match taker.await {
            Ok(taken) => assert_eq!(taken, Some(10)),
            Err(_) => {
                is_aborted = true;
                assert_eq!(other.recv().await, Ok(10));
            }
        }
        sender.await.unwrap().unwrap();
    }
}

#[gmp::test(max_procs = 2)]
async fn a_sender_is_a_sink() {
    let (mut tx, rx) = chan(3);
    let receiver = go!({ rx.collect::<Vec<u32>>().await });
    tx.send_all(&mut futures::stream::iter((0..50).map(Ok))).await.unwrap();
    for n in 50..60 {
        tx.feed(n).await.unwrap();
    }
    SinkExt::flush(&mut tx).await.unwrap();
    SinkExt::close(&mut tx).await.unwrap();
    assert!(tx.is_closed());
    assert!(SinkExt::send(&mut tx, 60).await.is_err());
    assert!(receiver.await.unwrap().into_iter().eq(0..60));
}

/// Neither end can be handed a value while it waits. They still meet, also without a buffer.
#[gmp::test(max_procs = 2)]
async fn a_sink_and_a_stream_meet_also_without_a_buffer() {
    for cap in [0, 1] {
        let (tx, rx) = chan(cap);
        let forward = futures::stream::iter((0..500).map(Ok)).forward(tx);
        let (sent, got) = futures::future::join(forward, rx.collect::<Vec<u32>>()).await;
        sent.unwrap();
        assert!(got.into_iter().eq(0..500), "cap {cap}");
    }
}

#[test]
fn blocking_iterators_receive_on_external_threads() {
    let (tx, rx) = chan(0);
    let sender = std::thread::spawn(move || {
        for n in 0..30 {
            tx.send_blocking(n).unwrap();
        }
    });
    let mut seen: Vec<u32> = rx.iter_blocking().take(10).collect();
    for n in rx.iter_blocking() {
        seen.push(n);
        if n == 19 {
            break;
        }
    }
    let rest = rx.clone();
    drop(rx);
    seen.extend(rest.iter_blocking());
    assert!(seen.into_iter().eq(0..30));
    sender.join().unwrap();

    let (tx, rx) = chan(4);
    (0..4).for_each(|n| tx.try_send(n).unwrap());
    assert!(rx.try_iter().eq(0..4));
    assert_eq!(rx.try_iter().next(), None, "it does not wait");
}

/// External threads and goroutines on the two ends of an unbuffered channel.
#[test]
fn external_threads_and_goroutines_exchange_values() {
    let runtime = runtime(2);
    let ((ping, pinged), (pong, ponged)) = (chan(0), chan(0));
    let echo = runtime.spawn(async move {
        while let Ok(n) = pinged.recv().await {
            pong.send(n + 1).await.unwrap();
        }
    });
    let thread = std::thread::spawn(move || {
        for n in 0..200u32 {
            ping.send_blocking(n).unwrap();
            assert_eq!(ponged.recv_blocking(), Ok(n + 1));
        }
    });
    thread.join().unwrap();
    gmp::block_on(echo).unwrap();
}

#[gmp::test(max_procs = 2)]
async fn sends_and_receives_end_at_their_time_limit() {
    let (tx, rx) = chan(1);
    assert_eq!(rx.recv_timeout(SHORT).await, Err(RecvTimeoutError::Timeout));
    assert_eq!(tx.send_timeout(1, Duration::ZERO).await, Ok(()), "possible at once");
    assert_eq!(tx.send_timeout(2, SHORT).await, Err(SendTimeoutError::Timeout(2)));
    assert_eq!(rx.len(), 1, "what was not sent is not there");
    assert_eq!(rx.recv_timeout(Duration::ZERO).await, Ok(1), "possible at once");
    // Within the time limit.
    let late = {
        let tx = tx.clone();
        go!({
            tx.send_timeout(3, LONG).await.unwrap();
            tx.send_timeout(4, LONG).await.unwrap();
        })
    };
    waiting("sleep", 1).await;
    assert_eq!((rx.recv_timeout(LONG).await, rx.recv_timeout(LONG).await), (Ok(3), Ok(4)));
    late.await.unwrap();
    tx.close();
    assert_eq!(rx.recv_timeout(LONG).await, Err(RecvTimeoutError::Closed));
}

/// A goroutine whose slice is over yields first and then still takes the value.
#[gmp::test(max_procs = 1)]
async fn a_time_limit_at_the_end_of_a_slice_takes_the_value() {
    let stop = Arc::new(AtomicBool::new(false));
    let others = {
        let stop = stop.clone();
        go!({
            while !stop.load(Ordering::Relaxed) {
                gmp::yield_now().await;
            }
        })
    };
    let busy = go!({
        let (tx, rx) = chan(1);
        for _ in 0..10 {
            let start = std::time::Instant::now();
            while start.elapsed() < Duration::from_millis(15) {
                std::hint::spin_loop();
            }
            tx.try_send(1).unwrap();
            assert_eq!(rx.recv_timeout(Duration::ZERO).await, Ok(1));
        }
    });
    busy.await.unwrap();
    stop.store(true, Ordering::Relaxed);
    others.await.unwrap();
}

#[gmp::test]
async fn every_value_is_dropped_once() {
    let check = |drops: &AtomicUsize, expected: usize, what: &str| {
        assert_eq!(drops.load(Ordering::SeqCst), expected, "{what}");
    };
    let (value, drops) = Counted::new();
    let (tx, rx) = chan(3);
    for _ in 0..3 {
        tx.try_send(value.clone()).unwrap();
    }
    drop(rx.recv().await);
    check(&drops, 1, "received");
    drop(tx.try_send(value.clone()));
    drop(tx.try_send(value.clone()));
    check(&drops, 2, "refused");
    {
        let mut waits = pin!(tx.send(value.clone()));
        assert!(poll_once(waits.as_mut()).is_pending());
    }
    check(&drops, 3, "a send that was dropped");
    drop(tx.send_timeout(value.clone(), SHORT).await);
    check(&drops, 4, "late");
    let other = rx.clone();
    drop(rx);
    check(&drops, 4, "a receiver is left");
    drop(other);
    check(&drops, 7, "no receiver is left: nobody will receive what is in the buffer");
    assert!(tx.is_empty());
    drop(tx.send(value.clone()).await);
    check(&drops, 8, "refused");
    drop(tx);

    let (tx, rx) = chan(1);
    tx.try_send(value.clone()).unwrap();
    drop(tx);
    check(&drops, 8, "the value outlives its senders");
    drop(rx);
    check(&drops, 9, "and dies with the receiver");
    // Handed to a receiver that is dropped before it is polled again.
    let (tx, rx) = chan(0);
    {
        let mut waits = pin!(rx.recv());
        assert!(poll_once(waits.as_mut()).is_pending());
        tx.try_send(value.clone()).unwrap();
    }
    check(&drops, 9, "given back");
    assert_eq!(rx.len(), 1);
    drop((tx, rx));
    check(&drops, 10, "dropped with the channel");
}

/// Panics when it is dropped.
#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a value that panics when it is dropped");
    }
}

#[test]
fn a_panicking_drop_does_not_wedge_the_channel() {
    let caught =
        |f: &mut dyn FnMut()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err();
    let (value, drops) = Counted::new();
    let (tx, rx) = chan::<(Option<Bomb>, Counted)>(1);
    // A waiting send is dropped.
    tx.try_send((None, value.clone())).unwrap();
    assert!(caught(&mut || {
        let mut waits = pin!(tx.send((Some(Bomb), value.clone())));
        assert!(poll_once(waits.as_mut()).is_pending());
    }));
    assert!(rx.try_recv().is_ok());
    assert_eq!(rx.try_recv().unwrap_err(), TryRecvError::Empty);
    assert_eq!(drops.load(Ordering::SeqCst), 2);
    // The buffer is dropped.
    tx.try_send((Some(Bomb), value.clone())).unwrap();
    let mut last = Some(rx);
    assert!(caught(&mut || drop(last.take())));
    assert_eq!(drops.load(Ordering::SeqCst), 3);
    assert!(tx.is_closed() && tx.is_empty());
    let refused = tx.try_send((None, value)).unwrap_err();
    assert!(matches!(refused, TrySendError::Closed(_)));
}

#[gmp::test]
#[should_panic(expected = "a send is polled after it has ended")]
async fn a_second_poll_of_a_finished_send_panics() {
    let (tx, _rx) = chan(1);
    let mut send = pin!(tx.send(1));
    assert!(poll_once(send.as_mut()).is_ready());
    let _ = poll_once(send.as_mut());
}

/// A wake-up calls the waker of the last poll.
#[test]
fn a_wait_wakes_the_task_that_polled_it_last() {
    struct Rung(AtomicUsize);
    impl Wake for Rung {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (first, second) =
        (Arc::new(Rung(AtomicUsize::new(0))), Arc::new(Rung(AtomicUsize::new(0))));
    let wakers = [Waker::from(first.clone()), Waker::from(second.clone())];
    let (tx, rx) = chan(0);
    let (_never, idle) = chan::<u32>(0);
    let mut recv = pin!(rx.recv());
    let mut chosen = pin!(async {
        select! { v = rx.recv() => v, v = idle.recv() => v }
    });
    for waker in &wakers {
        assert!(recv.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
        assert!(chosen.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    }
    tx.try_send(1).unwrap();
    tx.try_send(2).unwrap();
    assert_eq!((first.0.load(Ordering::SeqCst), second.0.load(Ordering::SeqCst)), (0, 2));
    assert_eq!(
        (poll_once(recv.as_mut()), poll_once(chosen.as_mut())),
        (Poll::Ready(Ok(1)), Poll::Ready(Ok(2)))
    );
}

#[gmp::test(max_procs = 2)]
async fn dumps_show_the_reason_and_the_channel_of_a_wait() {
    let (tx, rx) = chan::<u32>(0);
    let (tx2, rx2) = chan::<u32>(0);
    let all = [
        go!(name = "receiver", async move {
            let _ = rx.recv().await;
        }),
        go!(name = "sender", async move {
            let _ = tx2.send(1).await;
        }),
        go!(name = "selector", async {
            let (_tx, rx) = chan::<u32>(0);
            select! { _ = rx.recv() => {} , _ = std::future::pending::<()>() => {} }
        }),
        go!(name = "nobody", async {
            select! {}
        }),
    ];
    for (reason, name) in [
        ("chan receive", "receiver"),
        ("chan send", "sender"),
        ("select", "selector"),
        ("select (no cases)", "nobody"),
    ] {
        let line = format!(" [{reason}] {{name: {name}}}:\n");
        while !gmp::runtime::dump().contains(&line) {
            gmp::yield_now().await;
        }
    }
    for goroutine in all {
        goroutine.abort();
        assert!(goroutine.await.is_err());
    }
    assert!(tx.is_closed() && rx2.is_closed(), "their ends are dropped");
}

/// Receivers are aborted after they were handed values, in the order of the hand-over and in
/// reverse. The values still arrive in the order in which they were sent.
#[gmp::test(max_procs = 1)]
async fn values_of_aborted_receivers_keep_their_order() {
    async fn round(backwards: bool) -> usize {
        let (tx, rx) = chan(0);
        let mut receivers = Vec::new();
        for n in 0..4 {
            let rx = rx.clone();
            receivers.push(go!({ rx.recv().await }));
            waiting("chan receive", n + 1).await;
        }
        (0..4).for_each(|n| tx.try_send(n).unwrap());
        if backwards {
            receivers.reverse();
        }
        receivers.iter().for_each(gmp::JoinHandle::abort);
        let mut all = Vec::new();
        for receiver in receivers {
            all.extend(receiver.await.ok().map(Result::unwrap));
        }
        let aborted = 4 - all.len();
        assert_eq!(rx.len(), aborted);
        let rest: Vec<usize> = rx.try_iter().collect();
        assert!(rest.is_sorted(), "{rest:?}");
        all.extend(rest);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..4));
        aborted
    }
    for backwards in [false, true] {
        // One P and no await in between, so none of the receivers runs, unless sysmon hands off the
        // P meanwhile.
        while round(backwards).await < 4 {}
    }
}

/// Waiters are served in arrival order, on both sides.
#[gmp::test(max_procs = 1)]
async fn waiters_are_served_in_arrival_order() {
    let (tx, rx) = chan(0);
    let mut receivers = Vec::new();
    for n in 0..5 {
        let rx: Receiver<usize> = rx.clone();
        receivers.push(go!({ rx.recv().await.unwrap() }));
        waiting("chan receive", n + 1).await;
    }
    (0..5).for_each(|n| tx.try_send(n).unwrap());
    for (n, receiver) in receivers.into_iter().enumerate() {
        assert_eq!(receiver.await.unwrap(), n);
    }
    for n in 0..5 {
        let tx = tx.clone();
        go!({ tx.send(n).await.unwrap() });
        waiting("chan send", n + 1).await;
    }
    assert!(rx.try_iter().eq(0..5));
}
