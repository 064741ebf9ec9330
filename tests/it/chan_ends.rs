//! The ends of a channel against a model: weak senders, counts, and waits for the close.

use super::cancel::Polled;
use super::explore::{Choices, every_story};
use super::support::{runtime, waiting};
use futures::future::FusedFuture;
use gmp::chan::{Receiver, RecvError, Sender, TrySendError, WeakSender};
use gmp::{chan, go};
use std::pin::pin;
use std::time::{Duration, Instant};

#[test]
fn a_dump_shows_a_wait_for_the_close() {
    let runtime = runtime(1);
    let (tx, rx) = chan::<u32>(1);
    let waits = runtime.spawn(async move { tx.closed().await });
    runtime.block_on(waiting("chan closed", 1));
    drop(rx);
    gmp::block_on(waits).unwrap();
}

#[test]
fn threads_wait_for_the_close_of_either_end() {
    let (tx, rx) = chan::<u32>(1);
    let waits = std::thread::spawn(move || {
        tx.closed_blocking();
        tx.try_send(1)
    });
    drop(rx);
    assert_eq!(waits.join().unwrap(), Err(TrySendError::Closed(1)));
    let (tx, rx) = chan::<u32>(1);
    let waits = std::thread::spawn(move || {
        rx.closed_blocking();
        rx.recv_blocking()
    });
    tx.try_send(2).unwrap();
    drop(tx);
    assert_eq!(waits.join().unwrap(), Ok(2));
}

#[test]
fn a_wait_for_the_close_that_has_ended_stays_ended() {
    let (tx, rx) = chan::<u32>(0);
    let mut closed = pin!(rx.closed());
    assert!(!closed.is_terminated());
    tx.close();
    for _ in 0..2 {
        assert!(Polled::new(closed.as_mut()).poll().is_some());
        assert!(closed.is_terminated());
    }
}

/// The sender that a weak one hands out keeps the channel open, and the weak one does not.
#[gmp::test]
async fn a_weak_sender_does_not_keep_the_channel_open() {
    let (tx, rx) = chan::<u32>(0);
    let weak = tx.downgrade();
    let other = weak.upgrade().unwrap();
    let sends = go!(async move { other.send(1).await });
    drop(tx);
    assert_eq!(rx.recv().await, Ok(1));
    assert_eq!(sends.await.unwrap(), Ok(()));
    assert_eq!(rx.recv().await, Err(RecvError));
    assert!(weak.upgrade().is_none());
}

#[gmp::test]
async fn a_receiver_of_no_channel_waits_until_it_is_closed() {
    let never = chan::never::<u32>();
    assert_eq!((never.sender_count(), never.cap(), never.is_closed()), (0, Some(0), false));
    assert!(!never.same_channel(&chan::never()));
    let other = never.clone();
    let waits = go!(async move { other.recv().await });
    waiting("chan receive", 1).await;
    never.close();
    assert_eq!(waits.await.unwrap(), Err(RecvError));
}

#[gmp::test]
async fn deadlines_in_the_past_and_far_in_the_future() {
    let (tx, rx) = chan(1);
    let (past, far) = (Instant::now(), Instant::now() + Duration::from_secs(3600));
    assert_eq!(tx.send_at(1, past).await, Ok(()), "there is room");
    assert_eq!(tx.send_at(2, past).await, Err(chan::SendTimeoutError::Timeout(2)));
    assert_eq!(rx.recv_at(past).await, Ok(1), "there is a value");
    assert_eq!(rx.recv_at(past).await, Err(chan::RecvTimeoutError::Timeout));
    let sends = go!(async move { tx.send_at(3, far).await });
    assert_eq!(rx.recv_at(far).await, Ok(3));
    sends.await.unwrap().unwrap();
    assert_eq!(rx.recv_at(far).await, Err(chan::RecvTimeoutError::Closed));
}

#[test]
fn threads_send_and_receive_with_a_limit() {
    let (tx, rx) = chan(1);
    let hour = Duration::from_secs(3600);
    assert_eq!(tx.send_timeout_blocking(1, hour), Ok(()));
    let full = tx.send_timeout_blocking(2, Duration::ZERO);
    assert_eq!(full, Err(chan::SendTimeoutError::Timeout(2)));
    assert_eq!(rx.recv_timeout_blocking(hour), Ok(1));
    let empty = rx.recv_timeout_blocking(Duration::ZERO);
    assert_eq!(empty, Err(chan::RecvTimeoutError::Timeout));
    let sends = std::thread::spawn(move || (0..3).map(|n| tx.send_blocking(n)).all(|s| s.is_ok()));
    assert_eq!(rx.into_iter_blocking().collect::<Vec<_>>(), [0, 1, 2]);
    assert!(sends.join().unwrap());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    CloneSender,
    DropSender,
    Upgrade,
    CloneReceiver,
    DropReceiver,
    Close,
    /// A wait for the close that owns a clone of the sender.
    SenderWaits,
    /// A wait for the close that owns a clone of the receiver.
    ReceiverWaits,
    Poll(usize),
    Drop(usize),
}

struct Wait {
    end: Event,
    /// `None` once it has ended.
    polled: Option<Polled<'static, ()>>,
    has_waker: bool,
}

struct World {
    senders: Vec<Sender<u32>>,
    receivers: Vec<Receiver<u32>>,
    weak: WeakSender<u32>,
    waits: Vec<Wait>,
    closed: bool,
}

impl World {
    fn new() -> Self {
        let (tx, rx) = chan(1);
        let weak = tx.downgrade();
        Self { senders: vec![tx], receivers: vec![rx], weak, waits: Vec::new(), closed: false }
    }

    fn events(&self) -> Vec<Event> {
        let mut events = vec![Event::Upgrade];
        if self.senders.len() == 1 {
            events.extend([Event::CloneSender, Event::Close]);
        }
        if !self.senders.is_empty() {
            events.push(Event::DropSender);
        }
        if self.receivers.len() == 1 {
            events.push(Event::CloneReceiver);
        }
        if !self.receivers.is_empty() {
            events.push(Event::DropReceiver);
        }
        if self.waits.len() < 2 {
            events.extend((!self.senders.is_empty()).then_some(Event::SenderWaits));
            events.extend((!self.receivers.is_empty()).then_some(Event::ReceiverWaits));
        }
        for (at, wait) in self.waits.iter().enumerate() {
            if wait.polled.is_some() {
                events.extend([Event::Poll(at), Event::Drop(at)]);
            }
        }
        events
    }

    /// Returns the number of ends of one kind: those of the world, and those of its waits.
    fn count(&self, own: usize, waits: Event) -> usize {
        let of_waits = self.waits.iter().filter(|w| w.end == waits && w.polled.is_some());
        own + of_waits.count()
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::CloneSender => self.senders.push(self.senders[0].clone()),
            Event::DropSender => drop(self.senders.pop()),
            Event::Upgrade => {
                let upgraded = self.weak.clone().upgrade();
                let alive = self.count(self.senders.len(), Event::SenderWaits) > 0;
                assert_eq!(upgraded.is_some(), alive);
                if self.senders.len() < 2 {
                    self.senders.extend(upgraded);
                }
            }
            Event::CloneReceiver => self.receivers.push(self.receivers[0].clone()),
            Event::DropReceiver => drop(self.receivers.pop()),
            Event::Close => {
                assert_eq!(self.senders[0].close(), !self.closed);
                self.closed = true;
            }
            Event::SenderWaits | Event::ReceiverWaits => {
                let polled = match event {
                    Event::SenderWaits => {
                        let tx = self.senders[0].clone();
                        Polled::new(async move { tx.closed().await })
                    }
                    _ => {
                        let rx = self.receivers[0].clone();
                        Polled::new(async move { rx.closed().await })
                    }
                };
                self.waits.push(Wait { end: event, polled: Some(polled), has_waker: false });
            }
            Event::Poll(at) => {
                let closed = self.closed;
                let wait = &mut self.waits[at];
                wait.has_waker = true;
                let polled = wait.polled.as_mut().expect("waits");
                assert_eq!(polled.poll().is_some(), closed);
                if closed {
                    wait.polled = None;
                }
            }
            Event::Drop(at) => self.waits[at].polled = None,
        }
        let senders = self.count(self.senders.len(), Event::SenderWaits);
        let receivers = self.count(self.receivers.len(), Event::ReceiverWaits);
        self.closed |= senders == 0 || receivers == 0;
        self.check(senders, receivers);
    }

    fn check(&self, senders: usize, receivers: usize) {
        if let Some(tx) = self.senders.first() {
            assert_eq!((tx.sender_count(), tx.receiver_count()), (senders, receivers));
            assert_eq!(tx.is_closed(), self.closed);
            assert!(self.receivers.iter().all(|rx| tx.is_connected_to(rx)));
        }
        if let Some(rx) = self.receivers.first() {
            assert_eq!((rx.sender_count(), rx.receiver_count()), (senders, receivers));
            assert_eq!(rx.is_closed(), self.closed);
        }
        for wait in self.waits.iter().filter(|wait| wait.has_waker) {
            if let Some(polled) = &wait.polled {
                assert_eq!(polled.is_woken(), self.closed);
            }
        }
    }
}

fn story(choices: &mut Choices) {
    let mut world = World::new();
    for _ in 0..5 {
        let events = world.events();
        world.act(choices.choose(&events));
    }
}

#[test]
fn every_sequence_agrees_with_the_model() {
    every_story(story);
}
