//! The oneshot channel, alone and against a model.

use super::cancel::Polled;
use super::explore::{Choices, Home, Lent, every_story, home};
use super::support::{Mutex, runtime, waiting};
use futures::future::FusedFuture;
use gmp::sync::oneshot::{Receiver, RecvError, Sender, TryRecvError, channel};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

#[test]
fn the_value_crosses_goroutines() {
    let runtime = runtime(2);
    for n in 0..200 {
        let (tx, rx) = channel();
        runtime.spawn(async move { tx.send(n).unwrap() });
        assert_eq!(gmp::block_on(runtime.spawn(rx)).unwrap(), Ok(n));
    }
}

#[test]
fn threads_receive_and_wait_for_the_receiver() {
    let (tx, mut rx) = channel();
    let sends = std::thread::spawn(move || tx.send("value"));
    assert_eq!(rx.recv_blocking(), Ok("value"));
    sends.join().unwrap().unwrap();
    let (mut tx, rx) = channel::<u32>();
    let waits = std::thread::spawn(move || {
        tx.closed_blocking();
        tx.send(1)
    });
    drop(rx);
    assert_eq!(waits.join().unwrap(), Err(1));
}

#[test]
fn a_second_receive_returns_an_error() {
    let (tx, mut rx) = channel();
    tx.send(1).unwrap();
    assert!(!rx.is_terminated());
    assert_eq!(Polled::new(rx.recv()).poll(), Some(Ok(1)));
    assert!(rx.is_terminated());
    assert_eq!(Polled::new(rx.recv()).poll(), Some(Err(RecvError)));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(Polled::new(rx).poll(), Some(Err(RecvError)));
}

/// A oneshot receive is a case of `select!`, like a channel's.
#[gmp::test]
async fn select_receives_by_reference() {
    let (tx, mut rx) = channel();
    let (_keep, other) = gmp::chan::<u32>(0);
    gmp::go!(async move { tx.send(5) });
    let got = gmp::select! {
        value = rx.recv() => value,
        _ = other.recv() => unreachable!("nobody sends"),
    };
    assert_eq!(got, Ok(5));
}

#[gmp::test]
async fn a_receive_with_a_time_limit_takes_nothing() {
    let (tx, mut rx) = channel();
    assert!(gmp::timeout(Duration::from_millis(1), rx.recv()).await.is_err());
    tx.send(1).unwrap();
    assert_eq!(rx.recv().await, Ok(1));
}

/// The task that polled the receiver is woken by `close`, because no sender does it later.
#[test]
fn close_wakes_a_task_that_polled_before() {
    let (tx, mut rx) = channel::<u32>();
    let seen = Arc::default();
    let waker = super::lock_rule::checked_waker(&seen);
    let polled = Pin::new(&mut rx).poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    rx.close();
    assert_eq!(seen.wakes(), 1);
    assert_eq!(tx.send(1), Err(1));
}

#[test]
fn a_dump_shows_what_it_waits_for() {
    let runtime = runtime(1);
    let (mut tx, rx) = channel::<u32>();
    let (tx2, rx2) = channel::<u32>();
    let receives = runtime.spawn(rx2);
    let waits = runtime.spawn(async move { tx.closed().await });
    runtime.block_on(async {
        waiting("oneshot receive", 1).await;
        waiting("oneshot closed", 1).await;
    });
    drop((tx2, rx));
    gmp::block_on(waits).unwrap();
    assert_eq!(gmp::block_on(receives).unwrap(), Err(RecvError));
}

#[test]
fn both_ends_have_the_usual_traits() {
    fn usual<T: Send + Sync + UnwindSafe + RefUnwindSafe + Unpin + std::fmt::Debug>(_: &T) {}
    let (tx, mut rx) = channel::<std::cell::Cell<u32>>();
    usual(&tx);
    usual(&rx);
    assert_eq!(format!("{tx:?}"), "Sender { is_closed: false }");
    assert_eq!(format!("{rx:?}"), r#"Receiver { rx: Some(Rx { state: open }) }"#);
    fn fused(_: &impl FusedFuture) {}
    fused(&rx.recv());
}

/// A value that counts its drops.
#[derive(Debug)]
struct Value {
    _alive: Arc<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    BeginRecv,
    PollRecv,
    DropRecv,
    TryRecv,
    Close,
    DropReceiver,
    BeginClosed,
    PollClosed,
    DropClosed,
    Send,
    DropSender,
}

/// The cell as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    Open,
    Sent,
    /// The sender was dropped.
    NoSender,
    /// The receiver was closed or dropped first.
    NoReceiver,
    /// The value was received.
    Received,
}

impl Model {
    fn receive_ends(self) -> bool {
        self != Self::Open
    }
}

struct World {
    tx: Home<Sender<Value>>,
    rx: Home<Receiver<Value>>,
    recv: Option<Polled<'static, Result<Value, RecvError>>>,
    closed: Option<Polled<'static, ()>>,
    model: Model,
    alive: Arc<()>,
    receiver_is_gone: bool,
}

impl World {
    fn new() -> Self {
        let (tx, rx) = channel();
        Self {
            tx: home(tx),
            rx: home(rx),
            recv: None,
            closed: None,
            model: Model::Open,
            alive: Arc::default(),
            receiver_is_gone: false,
        }
    }

    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        if self.recv.is_some() {
            events.extend([Event::PollRecv, Event::DropRecv]);
        } else if self.rx.borrow().is_some() {
            events.extend([Event::BeginRecv, Event::TryRecv, Event::Close, Event::DropReceiver]);
        }
        if self.closed.is_some() {
            events.extend([Event::PollClosed, Event::DropClosed]);
        } else if self.tx.borrow().is_some() {
            events.extend([Event::BeginClosed, Event::Send, Event::DropSender]);
        }
        events
    }

    /// What a receive returns now.
    fn expect_received(&mut self, got: Result<Value, ()>) {
        assert_eq!(got.is_ok(), self.model == Model::Sent, "{:?}", self.model);
        if got.is_ok() {
            self.model = Model::Received;
        }
    }

    fn poll_recv(&mut self) {
        let got = self.recv.as_mut().unwrap().poll();
        assert_eq!(got.is_some(), self.model.receive_ends(), "{:?}", self.model);
        if let Some(got) = got {
            self.recv = None;
            self.expect_received(got.map_err(|RecvError| ()));
        }
    }

    fn poll_closed(&mut self) {
        let ended = self.closed.as_mut().unwrap().poll().is_some();
        assert_eq!(ended, self.receiver_is_gone);
        if ended {
            self.closed = None;
        }
    }

    fn receiver_goes(&mut self) {
        self.receiver_is_gone = true;
        if self.model == Model::Open {
            self.model = Model::NoReceiver;
        }
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::BeginRecv => {
                let mut rx = Lent::take(&self.rx);
                self.recv = Some(Polled::new(async move { rx.recv().await }));
                self.poll_recv();
            }
            Event::PollRecv => self.poll_recv(),
            Event::DropRecv => self.recv.take().unwrap().cancel(),
            Event::TryRecv => {
                let got = self.rx.borrow_mut().as_mut().unwrap().try_recv();
                let empty = matches!(got, Err(TryRecvError::Empty));
                assert_eq!(empty, !self.model.receive_ends());
                if !empty {
                    self.expect_received(got.map_err(drop));
                }
            }
            Event::Close => {
                self.rx.borrow_mut().as_mut().unwrap().close();
                // A receiver that has returned a result has given up the cell.
                self.receiver_goes();
            }
            Event::DropReceiver => {
                *self.rx.borrow_mut() = None;
                self.receiver_goes();
                assert_eq!(Arc::strong_count(&self.alive), 1, "a value was left in the cell");
            }
            Event::BeginClosed => {
                let mut tx = Lent::take(&self.tx);
                self.closed = Some(Polled::new(async move { tx.closed().await }));
                self.poll_closed();
            }
            Event::PollClosed => self.poll_closed(),
            Event::DropClosed => self.closed.take().unwrap().cancel(),
            Event::Send => {
                let tx = self.tx.borrow_mut().take().unwrap();
                assert_eq!(tx.is_closed(), self.receiver_is_gone);
                let sent = tx.send(Value { _alive: self.alive.clone() });
                assert_eq!(sent.is_ok(), self.model == Model::Open);
                if sent.is_ok() {
                    self.model = Model::Sent;
                }
            }
            Event::DropSender => {
                *self.tx.borrow_mut() = None;
                if self.model == Model::Open {
                    self.model = Model::NoSender;
                }
            }
        }
    }

    /// A wait that can end was woken.
    fn check_wakes(&self) {
        if let Some(recv) = &self.recv {
            assert_eq!(recv.is_woken(), self.model.receive_ends());
        }
        if let Some(closed) = &self.closed {
            assert_eq!(closed.is_woken(), self.receiver_is_gone);
        }
    }
}

fn story(choices: &mut Choices, length: usize) {
    let mut world = World::new();
    let alive = Arc::downgrade(&world.alive);
    for _ in 0..length {
        let events = world.events();
        if events.is_empty() {
            break;
        }
        world.act(choices.choose(&events));
        world.check_wakes();
    }
    drop(world);
    assert_eq!(alive.strong_count(), 0, "a value was leaked");
}

#[test]
fn every_sequence_agrees_with_the_model() {
    every_story(|choices| story(choices, 6));
}

#[test]
fn a_dropped_wait_leaves_no_waker() {
    let (mut tx, mut rx) = channel::<u32>();
    let seen = Arc::default();
    let waker = super::lock_rule::checked_waker(&seen);
    let mut cx = Context::from_waker(&waker);
    let (mut recv, mut closed) = (Box::pin(rx.recv()), Box::pin(tx.closed()));
    assert!(recv.as_mut().poll(&mut cx).is_pending());
    assert!(closed.as_mut().poll(&mut cx).is_pending());
    drop(recv);
    drop(closed);
    drop(waker);
    assert_eq!(Arc::strong_count(&seen), 1);
}

/// Drops a receiver when it is woken, and notes whether the value was dropped with it.
struct DropsReceiver {
    receiver: Mutex<Option<Receiver<Arc<()>>>>,
    value: Weak<()>,
    dropped: AtomicBool,
}

impl Wake for DropsReceiver {
    fn wake(self: Arc<Self>) {
        drop(self.receiver.lock().unwrap().take());
        self.dropped.store(self.value.strong_count() == 0, Ordering::Relaxed);
    }
}

/// The send has not returned, so the sender still holds the cell.
#[test]
fn a_value_is_dropped_with_its_receiver() {
    let (tx, mut rx) = channel();
    let value = Arc::new(());
    let drops = Arc::new(DropsReceiver {
        receiver: Mutex::new(None),
        value: Arc::downgrade(&value),
        dropped: AtomicBool::new(false),
    });
    let waker = Waker::from(drops.clone());
    assert!(Pin::new(&mut rx).poll(&mut Context::from_waker(&waker)).is_pending());
    *drops.receiver.lock().unwrap() = Some(rx);
    tx.send(value).unwrap();
    assert!(drops.dropped.load(Ordering::Relaxed));
}
