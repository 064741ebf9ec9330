//! Models of the set: a send or a close against a receive that begins to wait or is dropped.

use super::ReceiverSet;
use crate::chan::{Sender, chan};
use ::loom::future::block_on;
use ::loom::thread;
use std::pin::pin;
use std::task::{Context, Waker};

fn channels(cap: usize) -> (Sender<u32>, Sender<u32>, ReceiverSet<u32>) {
    let (tx1, rx1) = chan(cap);
    let (tx2, rx2) = chan(cap);
    (tx1, tx2, [rx1, rx2].into_iter().collect())
}

/// Receives one value as a goroutine does.
fn receive(set: &mut ReceiverSet<u32>) -> Option<u32> {
    block_on(set.recv()).and_then(|(_, value)| value.ok())
}

/// Runs a model with few preemptions, because all interleavings are too many.
fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(f);
}

/// Two senders: both values arrive, whenever they come.
#[test]
fn loom_set_vs_two_sends() {
    model(|| {
        let (tx1, tx2, mut set) = channels(1);
        let first = thread::spawn(move || tx1.try_send(1).map(|()| tx1));
        let second = thread::spawn(move || tx2.try_send(2).map(|()| tx2));
        let sum = receive(&mut set).unwrap() + receive(&mut set).unwrap();
        assert_eq!(sum, 3);
        drop((first.join().unwrap(), second.join().unwrap()));
    });
}

/// A member whose channel was found empty is found again: its listener is left a second time.
#[test]
fn loom_set_vs_repeated_sends() {
    model(|| {
        let (tx1, _tx2, mut set) = channels(1);
        let sender = thread::spawn(move || {
            block_on(tx1.send(1)).unwrap();
            block_on(tx1.send(2)).unwrap();
            tx1
        });
        assert_eq!([receive(&mut set), receive(&mut set)], [Some(1), Some(2)]);
        drop(sender.join().unwrap());
    });
}

/// A receive that is dropped at any time loses no value.
#[test]
fn loom_dropped_receive_of_a_set() {
    model(|| {
        let (tx1, _tx2, mut set) = channels(1);
        let sender = thread::spawn(move || {
            tx1.try_send(1).unwrap();
            tx1
        });
        let polled =
            pin!(set.recv()).as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        if !polled {
            assert_eq!(receive(&mut set), Some(1));
        }
        drop(sender.join().unwrap());
    });
}

/// A removed receiver keeps its value, whenever the value comes.
#[test]
fn loom_removal_vs_send() {
    model(|| {
        let (tx, rx) = chan(0);
        let mut set = ReceiverSet::new();
        let key = set.add(rx);
        let sender = thread::spawn(move || block_on(tx.send(1)).unwrap());
        if set.try_recv().is_none() {
            let rx = set.remove(key).unwrap();
            assert_eq!(block_on(rx.recv()), Ok(1));
        }
        sender.join().unwrap();
    });
}
