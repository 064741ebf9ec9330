//! `select! { biased; … }`: the cases are tried in their order.

use super::support::{Mutex, waiting};
use gmp::chan::chan;
use gmp::{go, select};
use std::future::{Future, pending, poll_fn, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// A future that notes each poll and is never ready.
fn noting<'a>(log: &'a Mutex<Vec<u32>>, n: u32) -> impl Future<Output = ()> + 'a {
    poll_fn(move |_| {
        log.lock().unwrap().push(n);
        Poll::Pending
    })
}

#[gmp::test]
async fn the_first_ready_case_is_chosen() {
    let (tx, rx) = chan(1000);
    let (full, kept) = chan(0);
    for n in 0..100 {
        tx.try_send(n).unwrap();
        let got = select! {
            biased;
            _ = full.send(1) => 0,
            () = pending() => 1,
            _ = rx.recv(), if false => 2,
            v = rx.recv() => { assert_eq!(v, Ok(n)); 3 }
            () = ready(()) => 4,
            _ = tx.send(5) => 5,
            default => 6,
        };
        assert_eq!(got, 3);
        let got = select! {
            biased;
            () = ready(()) => 1,
            _ = tx.send(5) => 2,
        };
        assert_eq!(got, 1);
    }
    assert!(rx.is_empty());
    drop(kept);
}

#[gmp::test]
async fn default_runs_if_no_case_is_ready() {
    let (_tx, rx) = chan::<u32>(0);
    let got = select! { biased; _ = rx.recv() => 1, () = pending() => 2, default => 3 };
    assert_eq!(got, 3);
}

/// In the first poll and in the later ones.
#[gmp::test(max_procs = 1)]
async fn futures_are_polled_in_their_order() {
    let log = Mutex::new(Vec::new());
    let (_tx, rx) = chan::<u32>(0);
    let mut select = pin!(async {
        select! {
            biased;
            () = noting(&log, 1) => {}
            _ = rx.recv() => {}
            () = noting(&log, 2) => {}
            () = noting(&log, 3) => {}
            () = noting(&log, 4) => {}
        }
    });
    let mut cx = Context::from_waker(Waker::noop());
    // The first poll polls twice: before and after it waits for the channel.
    assert!(select.as_mut().poll(&mut cx).is_pending());
    for _ in 0..20 {
        assert!(select.as_mut().poll(&mut cx).is_pending());
    }
    let log = log.lock().unwrap();
    assert!(log.len() >= 80 && log.len() % 4 == 0, "{log:?}");
    assert!(log.iter().copied().eq((1..=4).cycle().take(log.len())), "{log:?}");
}

/// Of two cases that wait on the same channel, the first one gets the value.
#[gmp::test(max_procs = 1)]
async fn cases_wait_in_their_order() {
    let (tx, rx) = chan::<u32>(0);
    for _ in 0..30 {
        let select = go!({
            let rx = rx.clone();
            move || async move {
                select! {
                    biased;
                    _ = rx.recv() => 1,
                    _ = rx.recv() => 2,
                    _ = rx.recv() => 3,
                }
            }
        }());
        waiting("select", 1).await;
        tx.send(0).await.unwrap();
        assert_eq!(select.await.unwrap(), 1);
    }
}

/// A case that is disabled by its pattern does not change the order of the others.
#[gmp::test]
async fn the_order_stays_when_a_case_is_disabled() {
    for _ in 0..50 {
        let got = select! {
            biased;
            1 = ready(0) => 1,
            2 = ready(2) => 2,
            3 = ready(3) => 3,
        };
        assert_eq!(got, 2);
    }
}
