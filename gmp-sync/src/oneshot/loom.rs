//! Models of the oneshot cell: a send, a close and a receive against each other.

use super::{Found, Rx, Tx, pair};
use ::loom::sync::Arc;
use ::loom::sync::atomic::{AtomicUsize, Ordering};
use ::loom::thread;
use gmp_rt::task::park::StorableWaker;
use std::sync::Arc as StdArc;
use std::task::{Poll, Wake, Waker};

/// A waker that counts.
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: StdArc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn counter() -> (StdArc<Count>, Waker) {
    let count = StdArc::new(Count(AtomicUsize::new(0)));
    (count.clone(), count.into())
}

/// Waits for the value as the future does: takes, stores its waker, and sleeps until it is woken.
fn receive<T>(rx: &mut Rx<T>) -> Option<T> {
    ::loom::future::block_on(std::future::poll_fn(|cx| {
        loop {
            match rx.take() {
                Found::Value(value) => return Poll::Ready(Some(value)),
                Found::Ended => return Poll::Ready(None),
                Found::Empty => {}
            }
            if rx.register(&mut StorableWaker::new(cx.waker())).is_pending() {
                return Poll::Pending;
            }
        }
    }))
}

fn wait_closed<T>(tx: &mut Tx<T>) {
    ::loom::future::block_on(std::future::poll_fn(|cx| {
        tx.poll_closed(&mut StorableWaker::new(cx.waker()))
    }));
}

/// The value is received, whenever it is sent. Its writes are seen.
#[test]
fn loom_send_vs_receive() {
    ::loom::model(|| {
        let (tx, mut rx) = pair();
        let sends = thread::spawn(move || tx.send(Box::new(7)).unwrap());
        assert_eq!(receive(&mut rx), Some(Box::new(7)));
        sends.join().unwrap();
    });
}

/// The receiver does not wait for a sender that is dropped.
#[test]
fn loom_dropped_sender_vs_receive() {
    ::loom::model(|| {
        let (tx, mut rx) = pair::<Box<u32>>();
        let drops = thread::spawn(move || drop(tx));
        assert_eq!(receive(&mut rx), None);
        drops.join().unwrap();
    });
}

/// A send, a close and a receive: the value is either received or returned to the sender.
#[test]
fn loom_send_vs_close_vs_try_recv() {
    ::loom::model(|| {
        let (tx, mut rx) = pair();
        let sends = thread::spawn(move || tx.send(Box::new(7)));
        let early = rx.take();
        rx.close();
        let late = rx.take();
        let got = match (early, late) {
            (Found::Value(value), Found::Ended) | (Found::Empty, Found::Value(value)) => {
                Some(value)
            }
            (Found::Empty, Found::Ended) => None,
            other => panic!("{other:?}"),
        };
        match (sends.join().unwrap(), got) {
            (Ok(()), Some(value)) | (Err(value), None) => assert_eq!(value, Box::new(7)),
            other => panic!("{other:?}"),
        }
        assert_eq!(rx.take(), Found::Ended);
    });
}

/// A value that was sent is dropped once, with the receiver or by the caller of the send.
#[test]
fn loom_send_vs_dropped_receiver() {
    ::loom::model(|| {
        let (tx, rx) = pair();
        let value = Arc::new(());
        let kept = value.clone();
        let sends = thread::spawn(move || drop(tx.send(value)));
        drop(rx);
        sends.join().unwrap();
        assert_eq!(Arc::strong_count(&kept), 1);
    });
}

/// The sender learns that the receiver is gone, whenever that happens.
#[test]
fn loom_closed_vs_dropped_receiver() {
    ::loom::model(|| {
        let (mut tx, rx) = pair::<u32>();
        let drops = thread::spawn(move || drop(rx));
        wait_closed(&mut tx);
        assert!(tx.send(1).is_err());
        drops.join().unwrap();
    });
}

/// A receive that replaces its waker during the send: the newest one is woken, or it sees the
/// value.
#[test]
fn loom_changed_waker_vs_send() {
    ::loom::model(|| {
        let (tx, mut rx) = pair();
        let (_, first) = counter();
        assert!(rx.register(&mut StorableWaker::new(&first)).is_pending());
        let sends = thread::spawn(move || tx.send(7).unwrap());
        let (woken, second) = counter();
        let polled = rx.register(&mut StorableWaker::new(&second));
        sends.join().unwrap();
        assert!(polled.is_ready() || woken.0.load(Ordering::SeqCst) == 1);
        assert_eq!(rx.take(), Found::Value(7));
    });
}

/// A receive that takes its waker back during the send: the waker is dropped by one side.
#[test]
fn loom_withdraw_vs_send() {
    ::loom::model(|| {
        let (tx, mut rx) = pair();
        let (woken, waker) = counter();
        assert!(rx.register(&mut StorableWaker::new(&waker)).is_pending());
        drop(waker);
        let sends = thread::spawn(move || tx.send(7).unwrap());
        let withdrawn = rx.withdraw().is_some();
        sends.join().unwrap();
        assert_eq!(woken.0.load(Ordering::SeqCst) == 1, !withdrawn);
        drop(rx);
        assert_eq!(StdArc::strong_count(&woken), 1);
    });
}

/// The sender withdraws its waker and waits again while the receiver closes.
#[test]
fn loom_withdraw_vs_close() {
    ::loom::model(|| {
        let (mut tx, mut rx) = pair::<u32>();
        let (woken, waker) = counter();
        assert!(tx.poll_closed(&mut StorableWaker::new(&waker)).is_pending());
        drop(waker);
        let closes = thread::spawn(move || rx.close());
        tx.withdraw();
        let (again, waker) = counter();
        let polled = tx.poll_closed(&mut StorableWaker::new(&waker));
        closes.join().unwrap();
        assert!(polled.is_ready() || again.0.load(Ordering::SeqCst) == 1);
        drop(tx);
        assert_eq!(StdArc::strong_count(&woken), 1);
    });
}
