//! `select!` and `select_cases`, beyond what Go's tests cover: borrows, moves, guards, other
//! futures, control flow, cancellation.

use super::support::{Gate, Mutex, waiting};
use futures::StreamExt;
use gmp::chan::{Receiver, RecvError, SelectCase, SendError, TryRecvError, recv_any, select_cases};
use gmp::{chan, go, select};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

#[gmp::test(max_procs = 2)]
async fn select_in_a_loop_borrows_its_channels() {
    let (tx, rx) = chan::<u32>(0);
    let (quit, quitting) = chan::<()>(0);
    let producer = go!({
        for n in 0..100 {
            tx.send(n).await.unwrap();
        }
        drop(quit);
        tx
    });
    let mut seen = Vec::new();
    loop {
        select! {
            v = rx.recv() => seen.push(v.unwrap()),
            gone = quitting.recv() => {
                assert_eq!(gone, Err(RecvError));
                break;
            }
        }
    }
    assert!(seen.into_iter().eq(0..100));
    drop(producer.await);
}

/// A value that is not `Copy` is moved only when its case is chosen.
#[gmp::test]
async fn a_value_is_moved_only_when_chosen() {
    let (tx, rx) = chan::<String>(0);
    let (ticks, ticked) = chan::<u32>(5);
    (0..5).for_each(|n| ticks.try_send(n).unwrap());
    let mut text = String::from("moved once");
    loop {
        select! {
            // The compiler accepts the move: this body ends the loop, and all others leave the text
            // in place.
            sent = tx.send(text) => {
                sent.unwrap();
                break;
            }
            v = ticked.recv() => {
                text.push('!');
                if v.unwrap() == 4 {
                    let rx = rx.clone();
                    go!({ assert_eq!(rx.recv().await.unwrap(), "moved once!!!!!") });
                }
            }
        }
    }
    drop(rx);
}

/// Bodies run after all cases are dropped, so they may use, move and drop what the cases borrowed.
#[gmp::test]
async fn a_body_owns_what_the_cases_borrowed() {
    let (tx, mut rx) = chan::<u32>(1);
    select! {
        sent = tx.send(1) => {
            sent.unwrap();
            drop(tx);
        }
        _ = rx.recv() => panic!("nothing was there"),
    }
    select! { v = rx.recv() => { assert_eq!(v, Ok(1)); assert_eq!(rx.next().await, None) } }
}

/// Cases that are not chosen are dropped before the body runs.
#[gmp::test]
async fn losing_cases_are_dropped_before_the_body() {
    struct Note(&'static str, Arc<Mutex<Vec<&'static str>>>);
    impl Drop for Note {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
        }
    }
    let log: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let loser = Note("loser", log.clone());
    let winner = Note("winner", log.clone());
    let forever = async move {
        std::future::pending::<()>().await;
        drop(loser);
    };
    let got = select! {
        () = forever => unreachable!(),
        note = async move { winner } => {
            log.lock().unwrap().push("body");
            note
        }
    };
    assert_eq!(*log.lock().unwrap(), ["loser", "body"]);
    drop(got);
    assert_eq!(*log.lock().unwrap(), ["loser", "body", "winner"]);
}

#[gmp::test]
async fn guards_are_evaluated_before_operations() {
    fn evaluated() -> std::future::Ready<()> {
        panic!("the guard is false");
    }
    let (_tx, rx) = chan::<u32>(0);
    let missing: Option<gmp::chan::Receiver<u32>> = None;
    let asked = AtomicUsize::new(0);
    let ask = |answer| {
        asked.fetch_add(1, Ordering::Relaxed);
        answer
    };
    select! {
        _ = missing.as_ref().unwrap().recv(), if ask(missing.is_some()) => unreachable!(),
        () = async { unreachable!() }, if ask(false) => {}
        () = evaluated(), if ask(false) => {}
        _ = rx.recv(), if ask(true) => unreachable!(),
        default => {}
    }
    assert_eq!(asked.load(Ordering::Relaxed), 4, "each once");
    // The guards of all cases are evaluated once, before a case is chosen.
    let mut left = 3;
    let (tx, rx) = chan(3);
    (0..3).for_each(|n| tx.try_send(n).unwrap());
    while left > 0 {
        select! { v = rx.recv(), if left > 0 => left -= usize::from(v.is_ok()) }
    }
}

/// The sender of a guarded send case may be a temporary that refers to something that outlives it.
#[gmp::test]
async fn a_guarded_sender_may_be_a_temporary() {
    let (tx, rx) = chan(1);
    let mut maybe = Some(tx);
    for _ in 0..2 {
        select! {
            sent = maybe.as_ref().unwrap().send(7), if maybe.is_some() => {
                sent.unwrap();
                maybe = None;
            }
            default => assert!(maybe.is_none()),
        }
    }
    assert_eq!(rx.try_recv(), Ok(7));
    // As an `Arc`, a `Box`, a reference to a reference.
    let (tx, rx) = chan(3);
    let shared = Arc::new(tx.clone());
    select! { sent = shared.send(1) => sent.unwrap() }
    let boxed = Box::new(tx);
    select! { sent = boxed.send(2), if true => sent.unwrap() }
    let twice = &&*boxed;
    select! { sent = twice.send(3), if true => sent.unwrap() }
    assert!(rx.try_iter().eq(1..=3));
}

#[gmp::test]
async fn a_default_is_chosen_only_if_no_case_is_ready() {
    let (tx, rx) = chan::<u32>(1);
    let look = async || select! { v = rx.recv() => Some(v), default => None };
    assert_eq!(look().await, None);
    tx.send(1).await.unwrap();
    assert_eq!(look().await, Some(Ok(1)));
    tx.close();
    assert_eq!(look().await, Some(Err(RecvError)));
    // A default is not taken while a future is ready.
    assert_eq!(select! { v = async { 1 } => v, default => 2 }, 1);
    assert_eq!(select! { v = std::future::pending() => v, default => 2 }, 2);
}

/// Any future may be a case. A pinned one continues in the next round.
#[gmp::test(max_procs = 2)]
async fn any_future_may_be_a_case() {
    let (tx, rx) = chan::<u32>(0);
    let worker = go!({
        for n in 0..5 {
            tx.send(n).await.unwrap();
        }
        99
    });
    let mut worker = pin!(worker);
    let mut steps = 0;
    let mut counting = pin!(poll_fn(|_| {
        steps += 1;
        Poll::<()>::Pending
    }));
    // Whether the loop polls it depends on what is ready first.
    select! { () = &mut counting => unreachable!(), default => {} }
    let mut seen = Vec::new();
    let end = loop {
        select! {
            v = rx.recv(), if seen.len() < 5 => seen.push(v.unwrap()),
            end = &mut worker => break end.unwrap(),
            () = &mut counting => unreachable!(),
            () = gmp::sleep(LONG) => panic!("too slow"),
        }
    };
    assert_eq!((end, seen), (99, vec![0, 1, 2, 3, 4]));
    select! { () = &mut counting => unreachable!(), default => {} }
    assert!(steps >= 2, "it was kept");
    // A receive that began outside is a future like any other.
    let (tx, rx) = chan(1);
    let mut recv = pin!(rx.recv());
    assert_eq!(select! { v = &mut recv => v, default => Ok(0) }, Ok(0));
    tx.send(3).await.unwrap();
    assert_eq!(select! { v = &mut recv => v, default => Ok(0) }, Ok(3));
    // Anything that implements `IntoFuture`.
    assert_eq!(select! { v = std::future::ready(4) => v }, 4);
    assert!(
        select! { late = gmp::timeout(Duration::from_millis(1), std::future::pending::<()>()) => late.is_err() }
    );
}

/// A future and a channel that are both ready are chosen equally often.
#[gmp::test]
async fn futures_and_channels_are_chosen_equally_often() {
    let (tx, rx) = chan(1);
    let mut counts = [0u32; 3];
    for _ in 0..3000 {
        let _ = tx.try_send(());
        let chosen = select! {
            _ = rx.recv() => 0,
            () = async {} => 1,
            () = std::future::ready(()) => 2,
        };
        counts[chosen] += 1;
    }
    assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
}

#[gmp::test]
async fn select_nests_in_bodies_operations_and_values() {
    let (tx, rx) = chan(4);
    (1..=4).for_each(|n| tx.try_send(n).unwrap());
    let (_never, idle) = chan::<u32>(0);
    // In a body, in an operation, in the value of a send.
    let sum = select! {
        a = rx.recv() => select! {
            b = rx.recv() => a.unwrap() + b.unwrap(),
            _ = idle.recv() => unreachable!(),
        },
        _ = idle.recv() => unreachable!(),
    };
    assert_eq!(sum, 3);
    let third = select! { v = async { select! { v = rx.recv() => v.unwrap() } } => v };
    assert_eq!(third, 3);
    let (out, result) = chan(1);
    select! { sent = out.send(select! { v = rx.recv() => v.unwrap() }) => sent.unwrap() }
    assert_eq!(result.try_recv(), Ok(4));
}

/// `break`, `continue`, `return` and `?` in bodies mean what they mean outside.
#[gmp::test]
async fn break_return_and_question_mark_leave_the_body() {
    async fn first_even(numbers: &[u32]) -> Result<u32, RecvError> {
        let (tx, rx) = chan(numbers.len());
        numbers.iter().for_each(|n| tx.try_send(*n).unwrap());
        tx.close();
        let mut odd = 0;
        loop {
            select! {
                v = rx.recv() => {
                    let v = v?;
                    if v % 2 == 1 {
                        odd += 1;
                        continue;
                    }
                    if odd > 2 {
                        return Ok(v + 1000);
                    }
                    break Ok(v);
                }
            }
        }
    }
    assert_eq!(first_even(&[1, 4]).await, Ok(4));
    assert_eq!(first_even(&[1, 3, 5, 4]).await, Ok(1004));
    assert_eq!(first_even(&[1]).await, Err(RecvError));
}

/// Cases that come through a user's macro work the same.
#[gmp::test]
async fn cases_of_another_macro_work() {
    macro_rules! or_default {
        ($operation:expr) => {
            select! { r = $operation => Some(r.is_ok()), default => None }
        };
    }
    let (tx, rx) = chan::<String>(1);
    let text = String::from("kept");
    assert_eq!(or_default!(rx.recv()), None);
    assert_eq!(or_default!(tx.send(text.clone())), Some(true));
    assert_eq!(or_default!((tx.send(text))), None, "full, and the value not even evaluated");
    assert_eq!(or_default!(rx.recv()), Some(true));
}

#[gmp::test]
async fn cases_take_irrefutable_patterns() {
    struct Point {
        x: u32,
        y: u32,
    }
    let (tx, rx) = chan(3);
    (1..=3).for_each(|n| tx.try_send(Point { x: n, y: n * n }).unwrap());
    let both =
        select! { Point { x, mut y } = async { rx.recv().await.unwrap() } => { y += 1; (x, y) } };
    assert_eq!(both, (1, 2));
    let either = async { rx.recv().await.map(|p| p.y).map_err(|_| 0) };
    assert_eq!(select! { Ok(n) | Err(n) = either => n }, 4);
    let (a, _) = select! { (a, b) = async { (1, 2) } => (b, a) };
    assert_eq!(a, 2);
}

#[test]
fn block_on_selects_over_values_that_are_not_send() {
    let rc = Rc::new(5);
    let got = gmp::block_on(async {
        let (tx, rx) = chan::<Rc<u32>>(1);
        select! { sent = tx.send(rc.clone()) => sent.unwrap(), v = rx.recv() => drop(v) }
        let shared = Rc::new(tx);
        select! {
            v = rx.recv() => v.unwrap(),
            sent = shared.send(rc.clone()) => { sent.unwrap(); rc.clone() }
        }
    });
    assert_eq!(*got, 5);
}

/// More cases than are stored inline, and each of them is chosen.
#[gmp::test(max_procs = 2)]
async fn each_of_many_cases_is_chosen() {
    let channels: Vec<_> = (0..40).map(|_| chan::<usize>(1)).collect();
    channels.iter().enumerate().for_each(|(n, (tx, _))| tx.try_send(n).unwrap());
    let mut seen = [false; 40];
    for _ in 0..40 {
        let cases = channels.iter().map(|(_, rx)| SelectCase::recv(rx, |v| v.unwrap()));
        let (place, value) = select_cases(cases).await;
        assert_eq!(place, value);
        assert!(!std::mem::replace(&mut seen[value], true));
    }
    // All wait, and one is served.
    let senders: Vec<_> = channels.iter().map(|(tx, _)| tx.clone()).collect();
    let chooser = go!({
        let cases = channels.iter().map(|(_, rx)| SelectCase::recv(rx, |v| v.unwrap()));
        select_cases(cases).await
    });
    waiting("select", 1).await;
    senders[23].try_send(5).unwrap();
    assert_eq!(chooser.await.unwrap(), (23, 5));
}

/// Each value arrives once, although many goroutines receive from the same channels and some give
/// up.
#[gmp::test(max_procs = 2)]
async fn recv_any_loses_and_doubles_nothing() {
    const VALUES: usize = 2000;
    for cap in [0, 1, 8] {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..20).map(|_| chan::<usize>(cap)).unzip();
        let sums: Vec<_> = (0..4)
            .map(|_| {
                let receivers = receivers.clone();
                go!({ collect(receivers).await })
            })
            .collect();
        drop(receivers);
        for value in 0..VALUES {
            let tx = senders[value % senders.len()].clone();
            go!({ tx.send(value).await.unwrap() });
        }
        drop(senders);
        let mut all = Vec::new();
        for sum in sums {
            all.extend(sum.await.unwrap());
        }
        all.sort_unstable();
        assert_eq!(all, (0..VALUES).collect::<Vec<_>>());
    }
}

/// Receives until all channels are closed.
async fn collect(mut receivers: Vec<Receiver<usize>>) -> Vec<usize> {
    let mut values = Vec::new();
    while !receivers.is_empty() {
        match gmp::timeout(Duration::from_micros(50), recv_any(&receivers)).await {
            Ok((_, Ok(value))) => values.push(value),
            Ok((closed, Err(_))) => drop(receivers.swap_remove(closed)),
            Err(_) => gmp::yield_now().await,
        }
    }
    values
}

/// Cases of all kinds and types in one list.
#[gmp::test]
async fn select_cases_takes_cases_of_all_kinds() {
    let (words, word) = chan::<String>(1);
    let (numbers, number) = chan::<u32>(0);
    let cases = |on: bool| {
        let mut cases = vec![
            SelectCase::recv(&word, |w| w.unwrap_or_default()),
            SelectCase::send(&numbers, || 5, |sent| format!("sent {}", sent.is_ok())),
            SelectCase::future(gmp::sleep(LONG), |()| "late".to_owned()),
        ];
        if on {
            cases.push(SelectCase::default(|| "nothing".to_owned()));
        }
        cases
    };
    assert_eq!(format!("{:?}", SelectCase::<()>::default(|| ())), "SelectCase(Default)");
    assert_eq!(select_cases(cases(true)).await, (3, "nothing".to_owned()));
    words.send("hello".to_owned()).await.unwrap();
    assert_eq!(select_cases(cases(false)).await, (0, "hello".to_owned()));
    let receiver = go!({ number.recv().await });
    waiting("chan receive", 1).await;
    assert_eq!(select_cases(cases(false)).await, (1, "sent true".to_owned()));
    assert_eq!(receiver.await.unwrap(), Ok(5));
    assert_eq!(select_cases(cases(true)).await.1, "sent false", "its receiver is gone");
    let ready = SelectCase::future(async { 1 }, |n| n);
    assert_eq!(select_cases([ready]).await, (0, 1));
    let mut nothing = pin!(select_cases(std::iter::empty::<SelectCase<'_, ()>>()));
    assert!(nothing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

#[test]
#[should_panic(expected = "select_cases: more than one default case")]
fn select_cases_with_two_defaults_panics() {
    drop(select_cases([SelectCase::default(|| 1), SelectCase::default(|| 2)]));
}

/// The value of a send case is not made, because of a panic, a `?`, or a dropped select. The
/// receiver is notified, and the channel still works.
#[gmp::test(max_procs = 1)]
async fn a_send_case_whose_value_is_not_made_releases_the_receiver() {
    fn no_value() -> u32 {
        panic!("no value");
    }
    async fn fails(tx: &gmp::chan::Sender<u32>) -> Result<(), String> {
        select! { sent = tx.send(Err("no value".to_owned())?) => sent.map_err(|e| e.to_string()) }
    }
    for cap in [0, 1] {
        let (tx, rx) = chan::<u32>(cap);
        let receiver = go!({ rx.recv().await });
        waiting("chan receive", 1).await;
        // By `?`.
        assert_eq!(fails(&tx).await, Err("no value".to_owned()));
        // By a panic.
        let panics = tx.clone();
        let failed = go!({
            select! { _ = panics.send(no_value()) => {} }
        });
        assert!(failed.await.is_err());
        // By an abort in the middle.
        let (waits, gate) = (tx.clone(), Arc::new(Gate::default()));
        let shut = gate.clone();
        let aborted = go!({
            select! { _ = waits.send({ shut.wait().await; 1 }) => {} }
        });
        waiting("await", 1).await;
        aborted.abort();
        assert!(aborted.await.is_err());
        assert_eq!(tx.is_full(), cap == 0, "no place is kept for it");
        // A value that is made late.
        let (waits, shut) = (tx.clone(), gate.clone());
        let late = go!({
            select! { s = waits.send({ shut.wait().await; 7 }) => s.unwrap() }
        });
        waiting("await", 1).await;
        gate.open();
        late.await.unwrap();
        assert_eq!(receiver.await.unwrap(), Ok(7), "cap {cap}");
    }
}

/// The receiver of a select's value waits for it. If the channel is closed during that time, the
/// value is returned to the sender.
#[gmp::test(max_procs = 1)]
async fn a_close_while_the_value_is_made_returns_the_value() {
    let (tx, rx) = chan::<u32>(0);
    let closer = rx.clone();
    let receiver = go!({ rx.recv().await });
    waiting("chan receive", 1).await;
    let sent = select! { sent = tx.send({ closer.close(); 7 }) => sent };
    assert_eq!(sent, Err(SendError(7)));
    assert_eq!(receiver.await.unwrap(), Err(RecvError));
}

/// A dropped select leaves its channels unchanged, whenever it is dropped.
#[gmp::test(max_procs = 1)]
async fn a_dropped_select_leaves_its_channels_unchanged() {
    let (tx, rx) = chan::<u32>(0);
    let (tx2, rx2) = chan::<u32>(0);
    for served in [false, true] {
        let mut select = Box::pin(async {
            select! {
                v = rx.recv() => v.map(drop),
                _ = tx2.send(1) => Ok(()),
            }
        });
        assert!(select.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        if served {
            tx.try_send(5).unwrap();
        }
        drop(select);
        assert_eq!(rx2.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(rx.try_recv(), if served { Ok(5) } else { Err(TryRecvError::Empty) });
        assert!(tx.try_send(6).is_err(), "nobody waits");
    }
}

/// A stream parks while a select that sends on its channel polls its other future. The select then
/// sends to the stream and wakes it.
#[test]
fn a_select_finds_a_stream_that_parks_while_it_polls_its_future() {
    struct Rung(AtomicUsize);
    impl std::task::Wake for Rung {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let rung = Arc::new(Rung(AtomicUsize::new(0)));
    let waker = Waker::from(rung.clone());
    let (tx, mut stream) = chan::<u32>(0);
    let mut looks = 0;
    let mut select = Box::pin(async {
        let meddler = poll_fn(|_| {
            looks += 1;
            if looks == 2 {
                let next = pin!(stream.next());
                assert!(next.poll(&mut Context::from_waker(&waker)).is_pending());
            }
            Poll::<()>::Pending
        });
        select! { sent = tx.send(7) => sent.unwrap(), () = meddler => unreachable!() }
    });
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(select.as_mut().poll(cx).is_pending());
    assert!(select.as_mut().poll(cx).is_ready());
    drop(select);
    assert_eq!(rung.0.load(Ordering::SeqCst), 1, "a value is there, and the stream is not woken");
    assert_eq!(pin!(stream.next()).poll(cx), Poll::Ready(Some(7)));
}

/// A value that is sent while the value of a chosen send case is evaluated comes first, also on a
/// channel with room.
#[test]
fn a_send_within_the_value_of_a_send_comes_first() {
    let (tx, rx) = chan::<u32>(4);
    let cx = &mut Context::from_waker(Waker::noop());
    let mut waits = pin!(rx.recv());
    assert!(waits.as_mut().poll(cx).is_pending());
    let within = || {
        let mut first = pin!(tx.send(1));
        assert_eq!(
            first.as_mut().poll(&mut Context::from_waker(Waker::noop())),
            Poll::Ready(Ok(()))
        );
        2
    };
    let mut choice = pin!(async {
        select! { sent = tx.send(within()) => sent.unwrap() }
    });
    assert!(choice.as_mut().poll(cx).is_ready());
    assert_eq!(waits.as_mut().poll(cx), Poll::Ready(Ok(1)));
    assert_eq!(rx.try_recv(), Ok(2));
}
