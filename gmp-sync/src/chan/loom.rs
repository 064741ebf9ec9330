//! Models of channels: handover, close and dropped waits, on two or three threads.
//!
//! All of them check that no value is lost or received twice, and that no thread sleeps forever:
//! loom reports a thread that is never woken as a deadlock.

use super::recv::{GaveUp, Leave};
use super::{Receiver, Sender, chan};
use ::loom::future::block_on;
use ::loom::thread;
use std::pin::pin;
use std::task::{Context, Waker};

/// Polls once with a no-op waker, and drops the future.
fn poll_and_drop<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

/// Two threads that send and receive one value.
fn rendezvous(cap: usize) {
    ::loom::model(move || {
        let (tx, rx) = chan(cap);
        let sender = thread::spawn(move || block_on(tx.send(Box::new(7))).is_ok());
        assert_eq!(block_on(rx.recv()).as_deref(), Ok(&7));
        assert!(sender.join().unwrap());
        assert!(block_on(rx.recv()).is_err(), "the sender is gone");
    });
}

#[test]
fn loom_send_vs_recv_without_a_buffer() {
    rendezvous(0);
}

#[test]
fn loom_send_vs_recv_with_a_buffer() {
    rendezvous(1);
}

/// A close against a send and a receive: the value is received, or returned to the sender.
#[test]
fn loom_close_vs_send_and_recv() {
    ::loom::model(|| {
        let (tx, rx): (Sender<u32>, Receiver<u32>) = chan(0);
        let closer = tx.clone();
        let sender = thread::spawn(move || block_on(tx.send(7)).is_ok());
        let closing = thread::spawn(move || closer.close());
        let received = block_on(rx.recv()).is_ok();
        assert_eq!(sender.join().unwrap(), received);
        closing.join().unwrap();
    });
}

/// A close against a send without a receive: the value is returned to the sender.
#[test]
fn loom_close_vs_send() {
    ::loom::model(|| {
        let (tx, rx) = chan(0);
        let sender = thread::spawn(move || block_on(tx.send(7)).is_err());
        rx.close();
        assert!(sender.join().unwrap());
    });
}

/// A receive that is dropped at any time: the value goes to the next one.
#[test]
fn loom_dropped_recv_vs_send() {
    ::loom::model(|| {
        let (tx, rx) = chan(0);
        let sender = thread::spawn(move || block_on(tx.send(7)).is_ok());
        let first = poll_and_drop(rx.recv());
        if first.is_none() {
            assert_eq!(block_on(rx.recv()), Ok(7));
        }
        assert!(sender.join().unwrap());
        assert!(block_on(rx.recv()).is_err());
    });
}

/// A send that is dropped at any time: its value is received, or not sent.
#[test]
fn loom_dropped_send_vs_recv() {
    ::loom::model(|| {
        let (tx, rx) = chan(0);
        let receiver = thread::spawn(move || block_on(rx.recv()));
        let value = std::sync::Arc::new(());
        let _ = poll_and_drop(tx.send(value.clone()));
        drop(tx);
        let received = receiver.join().unwrap();
        assert_eq!(std::sync::Arc::strong_count(&value), 1 + usize::from(received.is_ok()));
    });
}

/// The last sender is dropped while a receive begins.
#[test]
fn loom_drop_of_the_last_sender_vs_recv() {
    ::loom::model(|| {
        let (tx, rx) = chan::<u32>(0);
        let t = thread::spawn(move || drop(tx));
        assert!(block_on(rx.recv()).is_err());
        t.join().unwrap();
    });
}

/// A cancelled receive against a `try_send`: both agree.
#[test]
fn loom_given_up_receive_vs_try_send() {
    ::loom::model(|| {
        let (tx, rx) = chan(0);
        let sender = thread::spawn(move || tx.try_send(7).is_ok());
        let received = {
            let mut recv = pin!(rx.recv());
            let polled = recv.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            // If ready, the sender's attempt has failed and the sender is dropped.
            polled.is_pending() && matches!(recv.give_up(Leave::Uncommitted), GaveUp::With(Ok(7)))
        };
        assert_eq!(sender.join().unwrap(), received);
        assert_eq!(rx.len(), 0);
    });
}

/// A cancelled send against a `try_recv`: both agree.
#[test]
fn loom_given_up_send_vs_try_recv() {
    ::loom::model(|| {
        let (tx, rx) = chan(0);
        let receiver = thread::spawn(move || {
            let received = rx.try_recv().is_ok();
            (received, rx)
        });
        let sent = {
            let mut send = pin!(tx.send(7));
            let polled = send.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            polled.is_ready() || send.give_up().is_ok()
        };
        let (received, rx) = receiver.join().unwrap();
        assert_eq!(sent, received);
        assert_eq!(rx.len(), 0);
    });
}
