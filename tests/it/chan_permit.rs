//! Reservations, and receives of several values. `chan_explorer` has them in all orders.

use super::cancel::Polled;
use super::support::{runtime, waiting};
use futures::future::FusedFuture;
use gmp::chan::{RecvError, SendError, TryRecvError, TrySendError};
use gmp::{chan, go};
use std::pin::pin;
use std::sync::Arc;

#[test]
fn a_close_wins_over_a_permit() {
    let (tx, rx) = chan(2);
    let (first, second) = (tx.try_reserve().unwrap(), tx.try_reserve().unwrap());
    let owned = Polled::new(tx.clone().reserve_owned());
    drop(owned);
    rx.close();
    assert_eq!(first.send("first").map_err(SendError::into_inner), Err("first"));
    drop(second);
    assert_eq!(tx.try_reserve().unwrap_err(), TrySendError::Closed(()));
    assert_eq!(Polled::new(tx.reserve()).poll().unwrap().unwrap_err(), SendError(()));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn an_owned_permit_returns_its_sender() {
    let (tx, rx) = chan(1);
    let reserve = |tx: chan::Sender<u32>| Polled::new(tx.reserve_owned()).poll().unwrap().unwrap();
    let tx = reserve(tx).release();
    assert!(!tx.is_full() && tx.sender_count() == 1);
    let tx = reserve(tx).send(1).unwrap();
    assert_eq!(rx.try_recv(), Ok(1));
    let permit = reserve(tx.clone());
    assert!(rx.is_full());
    drop(permit);
    assert!(!rx.is_full(), "the place was given back");
    let permit = reserve(tx);
    assert!(!rx.is_closed());
    drop(permit);
    assert!(rx.is_closed(), "the permit was the last sender");
    let (tx, rx) = chan(1);
    let permit = reserve(tx);
    drop(rx);
    assert_eq!(permit.send(2).unwrap_err().into_inner(), 2);
}

#[test]
fn a_permit_takes_a_place_until_it_is_dropped() {
    let (tx, rx) = chan(2);
    let permit = tx.try_reserve().unwrap();
    tx.try_send(1).unwrap();
    assert_eq!((tx.len(), tx.is_full(), tx.cap()), (1, true, Some(2)));
    assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    // A sender behind it waits although the buffer has room.
    let mut waits = Polled::waiting(tx.send(3));
    drop(permit);
    assert!(waits.is_woken());
    assert_eq!(waits.poll(), Some(Ok(())));
    assert_eq!(rx.try_iter().collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn a_permit_without_a_buffer_is_a_waiting_receiver() {
    let (tx, rx) = chan(0);
    assert_eq!(tx.try_reserve().unwrap_err(), TrySendError::Full(()));
    let mut receives = Polled::waiting(rx.recv());
    let permit = tx.try_reserve().unwrap();
    assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)), "the receiver waits for the permit");
    permit.send(2).unwrap();
    assert_eq!(receives.poll(), Some(Ok(2)));
    // The receiver leaves: the value stays for the next one.
    let mut receives = Polled::waiting(rx.recv());
    let permit = tx.try_reserve().unwrap();
    receives.cancel();
    permit.send(3).unwrap();
    assert_eq!(rx.try_recv(), Ok(3));
    // The permit is given back: the receiver waits for any sender again.
    let mut receives = Polled::waiting(rx.recv());
    drop(tx.try_reserve().unwrap());
    assert!(receives.is_woken() && receives.poll().is_none());
    tx.try_send(4).unwrap();
    assert_eq!(receives.poll(), Some(Ok(4)));
}

/// Sends and reservations that wait are served in arrival order.
#[test]
fn a_reservation_waits_in_line() {
    let (tx, rx) = chan(1);
    tx.try_send(0).unwrap();
    let mut first = Polled::waiting(tx.send(1));
    let mut second = Polled::waiting(tx.reserve());
    let mut third = Polled::waiting(tx.send(3));
    assert_eq!(rx.try_recv(), Ok(0));
    assert_eq!(first.poll(), Some(Ok(())));
    assert_eq!(rx.try_recv(), Ok(1));
    assert!(second.is_woken() && !third.is_woken());
    second.poll().unwrap().unwrap().send(2).unwrap();
    assert_eq!(rx.try_recv(), Ok(2));
    assert_eq!(third.poll(), Some(Ok(())));
    assert_eq!(rx.try_recv(), Ok(3));
}

/// The receiver that has woken a reservation leaves before the reservation runs. Then the
/// reservation waits again, before later senders.
#[test]
fn a_reservation_keeps_its_place_if_its_receiver_leaves() {
    let (tx, rx) = chan(0);
    let mut first = Polled::waiting(tx.reserve());
    let mut second = Polled::waiting(tx.send(2));
    Polled::waiting(rx.recv()).cancel();
    assert!(first.is_woken() && first.poll().is_none());
    let mut receives = Polled::waiting(rx.recv());
    first.poll().unwrap().unwrap().send(1).unwrap();
    assert_eq!(receives.poll(), Some(Ok(1)));
    assert_eq!(rx.try_recv(), Ok(2));
    assert_eq!(second.poll(), Some(Ok(())));
}

#[test]
fn a_close_ends_a_reservation_that_was_woken() {
    let (tx, rx) = chan(1);
    tx.try_send(0).unwrap();
    let mut reserves = Polled::waiting(tx.reserve());
    assert_eq!(rx.try_recv(), Ok(0));
    assert!(reserves.is_woken());
    rx.close();
    assert_eq!(reserves.poll().unwrap().unwrap_err(), SendError(()));
}

/// A reservation that waits comes before the sends behind it.
#[test]
fn a_batch_ends_before_a_sender_without_its_value() {
    let (tx, rx) = chan(0);
    let mut first = Polled::waiting(tx.send(1));
    let mut second = Polled::waiting(tx.reserve());
    let third = Polled::waiting(tx.send(3));
    let mut values = Vec::new();
    assert_eq!(rx.try_recv_many(&mut values, 3), Ok(1));
    assert_eq!((values, first.poll(), third.is_woken()), (vec![1], Some(Ok(())), false));
    assert!(!second.is_woken() && second.poll().is_none());
}

/// A reservation that was woken and is dropped gives its place to the next sender.
#[test]
fn a_dropped_reservation_passes_its_place_on() {
    let (tx, rx) = chan(1);
    tx.try_send(0).unwrap();
    let mut first = Polled::waiting(tx.clone().reserve_owned());
    let mut second = Polled::waiting(tx.send(2));
    assert_eq!(rx.try_recv(), Ok(0));
    assert!(first.is_woken() && !second.is_woken());
    first.cancel();
    assert_eq!(second.poll(), Some(Ok(())));
    assert_eq!((rx.try_recv(), rx.sender_count()), (Ok(2), 1));
}

#[test]
fn a_dump_shows_a_reservation_as_a_send() {
    let runtime = runtime(1);
    let (tx, rx) = chan(0);
    let waits = runtime.spawn(async move { tx.reserve().await.unwrap().send(1) });
    runtime.block_on(waiting("chan send", 1));
    assert_eq!(rx.recv_blocking(), Ok(1));
    assert_eq!(gmp::block_on(waits).unwrap(), Ok(()));
}

#[test]
fn threads_reserve_and_receive_several_values() {
    let (tx, rx) = chan(0);
    let sends = std::thread::spawn(move || {
        tx.reserve_blocking().unwrap().send(1).unwrap();
        tx.reserve_owned_blocking().unwrap().send(2).unwrap().send_blocking(3)
    });
    let mut values = Vec::new();
    while rx.recv_many_blocking(&mut values, 10).is_ok() {}
    assert_eq!(values, [1, 2, 3]);
    assert_eq!(sends.join().unwrap(), Ok(()));
}

#[test]
fn futures_of_reservations_and_batches_know_their_end() {
    let (tx, rx) = chan(1);
    {
        let mut reserves = pin!(tx.reserve());
        assert!(!reserves.is_terminated());
        let permit = Polled::new(reserves.as_mut()).poll().unwrap().unwrap();
        assert_eq!(permit.send(1), Ok(()));
        assert!(reserves.is_terminated());
    }
    let mut values = Vec::new();
    {
        let mut receives = pin!(rx.recv_many(&mut values, 5));
        assert!(!receives.is_terminated());
        assert_eq!(Polled::new(receives.as_mut()).poll(), Some(Ok(1)));
        assert!(receives.is_terminated());
    }
    let mut owned = pin!(tx.reserve_owned());
    assert!(!owned.is_terminated());
    assert!(Polled::new(owned.as_mut()).poll().is_some());
    assert!(owned.is_terminated());
}

#[test]
fn a_receive_of_no_values_does_not_wait() {
    let (tx, rx) = chan::<u32>(0);
    let mut values = Vec::new();
    assert_eq!(Polled::new(rx.recv_many(&mut values, 0)).poll(), Some(Ok(0)));
    assert_eq!(rx.try_recv_many(&mut values, 0), Ok(0));
    drop(tx);
    assert_eq!(Polled::new(rx.recv_many(&mut values, 0)).poll(), Some(Ok(0)));
    assert_eq!(Polled::new(rx.recv_many(&mut values, 1)).poll(), Some(Err(RecvError)));
    assert!(values.is_empty());
}

/// More values than are taken under one lock, from the buffer and from senders that wait.
#[gmp::test]
async fn a_large_batch_is_complete_and_in_order() {
    let (tx, rx) = chan(300);
    let sends = go!(async move {
        for n in 0..1000 {
            tx.send(n).await.unwrap();
        }
    });
    let mut values = Vec::new();
    while rx.recv_many(&mut values, 250).await.is_ok() {}
    assert_eq!(values, (0..1000).collect::<Vec<_>>());
    sends.await.unwrap();
    let (tx, rx) = chan(200);
    (0..200).for_each(|n| tx.try_send(n).unwrap());
    let mut waits: Vec<_> = (200..300).map(|n| Polled::waiting(tx.send(n))).collect();
    let mut values = Vec::new();
    assert_eq!(rx.try_recv_many(&mut values, 280), Ok(280));
    assert_eq!(values, (0..280).collect::<Vec<_>>());
    assert!(waits.iter_mut().all(|send| send.poll() == Some(Ok(()))));
    assert_eq!(rx.len(), 20);
}

#[test]
fn a_dropped_batch_leaves_its_value_in_the_channel() {
    let (tx, rx) = chan(0);
    let mut values = Vec::new();
    let mut receives = Polled::waiting(rx.recv_many(&mut values, 3));
    tx.try_send(1).unwrap();
    receives.cancel();
    drop(receives);
    assert!(values.is_empty());
    assert_eq!(rx.try_recv(), Ok(1));
}

#[test]
fn a_drain_takes_the_buffer_and_drops_the_rest() {
    let (tx, rx) = chan(3);
    let value = Arc::new(());
    (0..3).for_each(|_| tx.try_send(value.clone()).unwrap());
    let mut waits: Vec<_> = (0..4).map(|_| Polled::waiting(tx.send(value.clone()))).collect();
    let mut drain = rx.drain();
    assert_eq!((drain.len(), rx.len()), (3, 3), "waiting senders have got the room");
    assert_eq!(waits.iter_mut().filter_map(Polled::poll).count(), 3);
    drop((drain.next(), drain.next_back()));
    assert_eq!(Arc::strong_count(&value), 1 + 1 + 3 + 1);
    drop(drain);
    assert_eq!(Arc::strong_count(&value), 1 + 3 + 1);
    assert_eq!(rx.drain().count(), 3);
    assert_eq!(rx.drain().count(), 1);
    assert_eq!(rx.drain().count(), 0);
}
