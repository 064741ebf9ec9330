//! Go's tests of channels (`runtime/chan_test.go`, `test/chan/*.go`): the same behaviour, in code
//! of our own. `tests/go_counterparts.md` has the table.
//!
//! Where Go sleeps until other goroutines block, these tests read the dump until they do. A nil
//! channel of Go is a case whose guard is false.

use super::support::{Mutex, waiting};
use gmp::chan::{Receiver, RecvError, Sender, TryRecvError, TrySendError};
use gmp::{WaitGroup, chan, go, select};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The capacities of `TestChan`.
const CAPACITIES: std::ops::Range<usize> = 0..200;

/// `TestChan`, first part: a receive from an empty channel blocks, a try does not.
#[gmp::test(max_procs = 2)]
async fn chan_receive_from_empty_blocks() {
    for cap in CAPACITIES {
        let (tx, rx) = chan::<u32>(cap);
        let received = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let (rx, received) = (rx.clone(), received.clone());
            go!({
                rx.recv().await.unwrap();
                received.fetch_add(1, Ordering::SeqCst);
            });
        }
        waiting("chan receive", 2).await;
        assert_eq!(received.load(Ordering::SeqCst), 0, "cap {cap}: received from an empty channel");
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "cap {cap}");
        select! {
            _ = rx.recv() => panic!("cap {cap}: received from an empty channel"),
            default => {}
        }
        tx.send(0).await.unwrap();
        tx.send(0).await.unwrap();
        while received.load(Ordering::SeqCst) < 2 {
            gmp::yield_now().await;
        }
    }
}

/// `TestChan`, second part: a send to a full channel blocks, a try does not.
#[gmp::test(max_procs = 2)]
async fn chan_send_to_full_blocks() {
    for cap in CAPACITIES {
        let (tx, rx) = chan::<usize>(cap);
        for n in 0..cap {
            tx.send(n).await.unwrap();
        }
        let sent = Arc::new(AtomicBool::new(false));
        let sender = {
            let (tx, sent) = (tx.clone(), sent.clone());
            go!({
                tx.send(cap).await.unwrap();
                sent.store(true, Ordering::SeqCst);
            })
        };
        waiting("chan send", 1).await;
        assert!(!sent.load(Ordering::SeqCst), "cap {cap}: sent to a full channel");
        assert_eq!(tx.try_send(7), Err(TrySendError::Full(7)), "cap {cap}");
        select! {
            _ = tx.send(7) => panic!("cap {cap}: sent to a full channel"),
            default => {}
        }
        assert_eq!(rx.recv().await, Ok(0), "cap {cap}");
        sender.await.unwrap();
        assert!(sent.load(Ordering::SeqCst));
    }
}

/// `TestChan`, third and fourth part: after the close the remaining values are received, then the
/// close itself. A close unblocks a receive.
#[gmp::test(max_procs = 2)]
async fn values_in_the_buffer_are_received_after_a_close() {
    for cap in CAPACITIES {
        let (tx, rx) = chan(cap);
        for n in 0..cap {
            tx.send(n).await.unwrap();
        }
        tx.close();
        for n in 0..cap {
            assert_eq!(rx.recv().await, Ok(n), "cap {cap}");
        }
        assert_eq!(rx.recv().await, Err(RecvError), "cap {cap}");
        assert_eq!(rx.try_recv(), Err(TryRecvError::Closed), "cap {cap}");

        let (tx, rx) = chan::<u32>(cap);
        let receiver = go!({ rx.recv().await });
        waiting("chan receive", 1).await;
        tx.close();
        assert_eq!(receiver.await.unwrap(), Err(RecvError), "cap {cap}");
    }
}

/// `TestChan`, fifth part: one sender and one receiver keep the order, four of each lose nothing.
#[gmp::test(max_procs = 4)]
async fn a_channel_delivers_each_value_once() {
    const EACH: usize = 100;
    for cap in CAPACITIES {
        let (tx, rx) = chan(cap);
        for _ in 0..2 {
            let tx = tx.clone();
            let sender = go!({
                for n in 0..100 {
                    tx.send(n).await.unwrap();
                }
            });
            for n in 0..100 {
                assert_eq!(rx.recv().await, Ok(n), "cap {cap}");
            }
            sender.await.unwrap();
        }
        for _ in 0..4 {
            let tx = tx.clone();
            go!({
                for n in 0..EACH {
                    tx.send(n).await.unwrap();
                }
            });
        }
        let receivers: Vec<_> = (0..4).map(|_| go!(count(rx.clone(), EACH))).collect();
        let mut seen = BTreeMap::new();
        for receiver in receivers {
            for (value, times) in receiver.await.unwrap() {
                *seen.entry(value).or_insert(0) += times;
            }
        }
        assert!(seen.keys().copied().eq(0..EACH), "cap {cap}: {seen:?}");
        assert!(seen.values().all(|times| *times == 4), "cap {cap}: {seen:?}");
    }
}

/// Counts how often each value arrives, over `values` receives.
async fn count(rx: Receiver<usize>, values: usize) -> BTreeMap<usize, usize> {
    let mut seen = BTreeMap::new();
    for _ in 0..values {
        *seen.entry(rx.recv().await.unwrap()).or_insert(0) += 1;
    }
    seen
}

/// `TestChan`, last part, and `test/chancap.go`: `len` and `cap`.
#[test]
fn len_and_cap_follow_the_buffer() {
    for cap in CAPACITIES {
        let (tx, rx) = chan(cap);
        assert_eq!((tx.len(), tx.cap(), rx.len(), rx.cap()), (0, Some(cap), 0, Some(cap)));
        for n in 0..cap {
            tx.try_send(n).unwrap();
        }
        assert_eq!((tx.len(), tx.cap(), rx.len(), rx.cap()), (cap, Some(cap), cap, Some(cap)));
    }
}

/// `test/chancap.go`, `test/makechan.go`: sizes beyond any memory.
#[test]
fn a_capacity_beyond_any_memory_panics() {
    let panics = |make: fn()| {
        let payload = std::panic::catch_unwind(make).unwrap_err();
        assert_eq!(*payload.downcast_ref::<&str>().unwrap(), "makechan: size out of range");
    };
    panics(|| drop(chan::<u8>(usize::MAX)));
    panics(|| drop(chan::<u8>(isize::MAX as usize + 1)));
    panics(|| drop(chan::<u64>(usize::MAX / 8 + 1)));
    panics(|| drop(chan::<[u8; 1 << 20]>(1 << 44)));
    // Values without a size always fit.
    assert!(chan::<()>(usize::MAX).0.cap() >= Some(usize::MAX - 1));
    // Memory is allocated when it is used.
    drop(chan::<u64>(1 << 40));
}

/// `TestNonblockRecvRace`: a value in the channel is received, however the close races with it.
#[gmp::test(max_procs = 2)]
async fn try_recv_gets_the_value_although_a_close_races() {
    for _ in 0..2000 {
        let (tx, rx) = chan(1);
        tx.send(1).await.unwrap();
        let other = rx.clone();
        let tried = go!({
            select! {
                v = other.recv() => v.is_ok(),
                default => panic!("the channel is not ready"),
            }
        });
        tx.close();
        let here = rx.recv().await.is_ok();
        assert_ne!(tried.await.unwrap(), here, "received twice, or not at all");
    }
}

/// `TestMultiConsumer`: all items through 23 workers and two buffered channels.
#[gmp::test(max_procs = 4)]
async fn workers_receive_all_items_once() {
    const WORKERS: usize = 23;
    const ITEMS: usize = 27_182;
    const NUMBERS: [usize; 10] = [2, 3, 7, 11, 13, 17, 19, 23, 27, 31];
    let (work, todo) = chan(WORKERS * 3);
    let (done, results) = chan(WORKERS * 3);
    let workers = WaitGroup::new();
    for worker in 0..WORKERS {
        let (todo, done) = (todo.clone(), done.clone());
        workers.go(async move {
            while let Ok(n) = todo.recv().await {
                // Disturbs the order of the workers.
                if NUMBERS[worker % NUMBERS.len()] == n {
                    gmp::yield_now().await;
                }
                done.send(n).await.unwrap();
            }
        });
    }
    let feeder = go!({
        let mut sum = 0;
        for n in (0..ITEMS).map(|item| NUMBERS[item % NUMBERS.len()]) {
            sum += n;
            work.send(n).await.unwrap();
        }
        work.close();
        workers.wait().await;
        done.close();
        sum
    });
    let (mut count, mut sum) = (0, 0);
    while let Ok(n) = results.recv().await {
        count += 1;
        sum += n;
    }
    assert_eq!((count, sum), (ITEMS, feeder.await.unwrap()));
}

/// `test/chan/fifo.go`: values keep their order through a buffer and through a daisy chain of
/// receivers.
#[gmp::test(max_procs = 2)]
async fn values_keep_their_order() {
    const LINKS: usize = 10;
    let (tx, rx) = chan(LINKS);
    for n in 0..LINKS {
        tx.send(n).await.unwrap();
    }
    for n in 0..LINKS {
        assert_eq!(rx.recv().await, Ok(n));
    }
    async fn link(values: Receiver<usize>, value: usize, turn: Receiver<()>, next: Sender<()>) {
        turn.recv().await.unwrap();
        assert_eq!(values.recv().await, Ok(value), "out of order");
        next.send(()).await.unwrap();
    }
    let (tx, rx) = chan(0);
    let (start, mut turn) = chan(0);
    for n in 0..LINKS {
        let (next, after) = chan(0);
        go!(link(rx.clone(), n, turn, next));
        turn = after;
    }
    start.send(()).await.unwrap();
    for n in 0..LINKS {
        tx.send(n).await.unwrap();
    }
    turn.recv().await.unwrap();
}

/// `test/chan/goroutines.go`: a value passes through a chain of 10000 goroutines.
#[gmp::test(max_procs = 2)]
async fn a_value_passes_through_a_chain_of_goroutines() {
    const LINKS: u32 = 10_000;
    let (mut tx, leftmost) = chan::<u32>(0);
    for _ in 0..LINKS {
        let (next, right) = chan(0);
        go!({ tx.send(right.recv().await.unwrap() + 1).await.unwrap() });
        tx = next;
    }
    tx.send(0).await.unwrap();
    assert_eq!(leftmost.recv().await, Ok(LINKS));
}

/// `test/chan/nonblock.go`: attempts to send and to receive without a peer, with a waiting peer and
/// with a buffer, for values of several types.
#[gmp::test(max_procs = 2)]
async fn attempts_without_a_peer_fail_at_once() {
    async fn check<T: Clone + Send + PartialEq + std::fmt::Debug + 'static>(value: T) {
        for cap in [0, 1] {
            let (tx, rx) = chan::<T>(cap);
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            if cap == 0 {
                assert_eq!(tx.try_send(value.clone()), Err(TrySendError::Full(value.clone())));
            }
            // A receiver waits, so the attempt succeeds.
            let receiver = rx.clone();
            let received = go!({ receiver.recv().await });
            waiting("chan receive", 1).await;
            assert_eq!(tx.try_send(value.clone()), Ok(()));
            assert_eq!(received.await.unwrap(), Ok(value.clone()));
            // A sender waits or the buffer has its value, so the attempt succeeds.
            let sent = {
                let (tx, value) = (tx.clone(), value.clone());
                go!({ tx.send(value).await })
            };
            if cap == 0 {
                waiting("chan send", 1).await;
                assert_eq!(rx.try_recv(), Ok(value.clone()));
                sent.await.unwrap().unwrap();
            } else {
                sent.await.unwrap().unwrap();
                assert_eq!(tx.try_send(value.clone()), Err(TrySendError::Full(value.clone())));
                assert_eq!(rx.try_recv(), Ok(value.clone()));
            }
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        }
    }
    check(123i32).await;
    check(456i64).await;
    check(true).await;
    check("hello".to_owned()).await;
    check(()).await;
}

/// `test/chan/zerosize.go`: zero-sized values are counted like others.
#[gmp::test]
async fn values_without_size_are_counted() {
    for cap in [0, 1, 3] {
        let (tx, rx) = chan::<[u8; 0]>(cap);
        let sender = go!({
            for _ in 0..10 {
                tx.send([]).await.unwrap();
            }
        });
        let mut count = 0;
        while rx.recv().await.is_ok() {
            count += 1;
        }
        sender.await.unwrap();
        assert_eq!(count, 10);
    }
}

/// `test/closedchan.go`: every operation on a closed channel, in every form, with and without a
/// remaining value. Go panics where these return errors.
#[gmp::test]
async fn operations_on_a_closed_channel_return_errors() {
    for left in [0, 1] {
        for cap in [left, 1, 2] {
            let (tx, rx) = chan(cap);
            for n in 0..left {
                tx.try_send(n).unwrap();
            }
            assert!(tx.close());
            assert!(!tx.close() && !rx.close() && tx.is_closed() && rx.is_closed());
            sends_fail(&tx).await;
            for n in 0..left {
                assert_eq!(rx.try_recv(), Ok(n));
            }
            receives_fail(&rx).await;
        }
    }
}

async fn sends_fail(tx: &Sender<usize>) {
    let (_other, never) = chan::<i32>(0);
    assert_eq!(tx.try_send(5), Err(TrySendError::Closed(5)));
    assert_eq!(tx.send(5).await.unwrap_err().into_inner(), 5);
    assert_eq!(tx.send_blocking(5).unwrap_err().into_inner(), 5);
    let error = select! { sent = tx.send(6) => sent.unwrap_err() };
    assert_eq!(error.0, 6);
    let error = select! { sent = tx.send(7) => sent.unwrap_err(), default => panic!("blocks") };
    assert_eq!(error.0, 7);
    let error = select! { sent = tx.send(8) => sent.unwrap_err(), _ = never.recv() => panic!() };
    assert_eq!(error.0, 8);
}

async fn receives_fail(rx: &Receiver<usize>) {
    let (_other, never) = chan::<i32>(0);
    // Repeated: a receive does not use up the close.
    for _ in 0..3 {
        assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
        assert_eq!(rx.recv().await, Err(RecvError));
        assert_eq!(rx.recv_blocking(), Err(RecvError));
        assert!(select! { v = rx.recv() => v.is_err() });
        assert!(select! { v = rx.recv() => v.is_err(), default => panic!("blocks") });
        assert!(select! { v = rx.recv() => v.is_err(), _ = never.recv() => panic!() });
    }
}

/// `test/ken/chan1.go`: many receivers on one channel count the values of one sender.
#[gmp::test(max_procs = 4)]
async fn many_receivers_count_the_values_of_one_sender() {
    const VALUES: usize = 1000;
    let (tx, rx) = chan::<usize>(0);
    let all = Arc::new(Mutex::new(HashSet::new()));
    let receivers = WaitGroup::new();
    for _ in 0..10 {
        let (rx, all) = (rx.clone(), all.clone());
        receivers.go(async move {
            while let Ok(n) = rx.recv().await {
                assert!(all.lock().unwrap().insert(n), "{n} twice");
            }
        });
    }
    for n in 0..VALUES {
        tx.send(n).await.unwrap();
    }
    drop(tx);
    receivers.wait().await;
    assert_eq!(*all.lock().unwrap(), (0..VALUES).collect());
}
