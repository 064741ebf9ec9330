//! The broadcast channel, alone and against a model.

use super::cancel::Polled;
use super::explore::{Choices, Home, Lent, every_story, home};
use super::support::{runtime, waiting};
use futures::future::FusedFuture;
use futures::stream::{FusedStream, StreamExt};
use gmp::sync::broadcast::{Lagged, Receiver, RecvError, Sender, TryRecvError, channel};
use gmp_rt::prim::debug_assert_no_lock_held;
use std::collections::VecDeque;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Several senders and receivers: each receiver gets the values of each sender in order, and the
/// received and the missed ones are all.
#[test]
fn every_value_is_received_or_counted_as_missed() {
    const EACH: u64 = 500;
    let runtime = runtime(2);
    let (tx, rx) = channel::<(u64, u64)>(8);
    let receivers: Vec<_> = (0..4)
        .map(|_| {
            let mut rx = tx.subscribe();
            runtime.spawn(async move {
                let (mut received, mut missed, mut last) = (0, 0, [0; 3]);
                loop {
                    match rx.recv().await {
                        Ok((sender, n)) => {
                            assert!(n > last[sender as usize], "out of order");
                            last[sender as usize] = n;
                            received += 1;
                        }
                        Err(RecvError::Lagged(n)) => missed += n,
                        Err(RecvError::Closed) => return received + missed,
                    }
                }
            })
        })
        .collect();
    drop(rx);
    let senders: Vec<_> = (0..3)
        .map(|sender| {
            let tx = tx.clone();
            runtime.spawn(async move {
                for n in 1..=EACH {
                    tx.send((sender, n)).unwrap();
                    if n % 3 == 0 {
                        gmp::yield_now().await;
                    }
                }
            })
        })
        .collect();
    drop(tx);
    senders.into_iter().for_each(|handle| gmp::block_on(handle).unwrap());
    for handle in receivers {
        assert_eq!(gmp::block_on(handle).unwrap(), 3 * EACH);
    }
}

/// The capacity is not rounded up, and the number of missed values is exact.
#[test]
fn a_lagging_receiver_learns_the_exact_number() {
    for cap in 1..20 {
        for missed in 1..40 {
            let (tx, mut rx) = channel(cap);
            (0..cap as u64 + missed).for_each(|n| assert_eq!(tx.send(n), Ok(1)));
            assert_eq!((rx.len(), tx.len()), (cap as u64 + missed, cap));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Lagged(missed)));
            assert_eq!(rx.try_recv(), Ok(missed));
            assert_eq!(rx.len(), cap as u64 - 1);
        }
    }
}

#[test]
#[should_panic(expected = "broadcast: the capacity must be at least 1")]
fn a_capacity_of_zero_panics() {
    drop(channel::<u32>(0));
}

#[test]
fn threads_receive_and_wait_for_the_receivers() {
    let (tx, mut rx) = channel(4);
    let receives = std::thread::spawn(move || {
        let received = rx.recv_blocking();
        assert_eq!(rx.recv_blocking(), Ok(2));
        received
    });
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    tx.closed_blocking();
    assert_eq!(receives.join().unwrap(), Ok(1));
    assert_eq!(tx.send(3).unwrap_err().into_inner(), 3);
    assert_eq!(tx.len(), 0);
}

#[test]
fn a_stream_reports_a_lag_and_ends() {
    fn next(rx: &mut Receiver<u32>) -> Option<Option<Result<u32, Lagged>>> {
        Polled::new(rx.next()).poll()
    }
    let (tx, mut rx) = channel(2);
    assert_eq!(next(&mut rx), None);
    {
        let mut waits = Polled::waiting(rx.next());
        tx.send(1).unwrap();
        assert_eq!(waits.poll(), Some(Some(Ok(1))));
    }
    (2..=5).for_each(|n| assert_eq!(tx.send(n), Ok(1)));
    assert_eq!(next(&mut rx), Some(Some(Err(Lagged(2)))));
    assert_eq!(next(&mut rx), Some(Some(Ok(4))));
    drop(tx);
    assert!(!rx.is_terminated());
    assert_eq!(next(&mut rx), Some(Some(Ok(5))));
    assert!(rx.is_terminated());
    assert_eq!(next(&mut rx), Some(None));
}

/// A value that counts its clones, and checks that no lock is held when it is cloned or dropped.
#[derive(Debug)]
struct Value(Arc<AtomicUsize>);

impl Clone for Value {
    fn clone(&self) -> Self {
        debug_assert_no_lock_held("clones a value");
        self.0.fetch_add(1, Ordering::Relaxed);
        Self(self.0.clone())
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        debug_assert_no_lock_held("drops a value");
    }
}

/// Each value is cloned once less than it has receivers. No clone or drop is under a lock.
#[test]
fn the_last_receiver_gets_the_value_without_a_clone() {
    let clones = Arc::new(AtomicUsize::new(0));
    for receivers in 1..4 {
        let (tx, rx) = channel(2);
        let mut all = vec![rx];
        all.resize_with(receivers, || tx.subscribe());
        clones.store(0, Ordering::Relaxed);
        tx.send(Value(clones.clone())).unwrap();
        all.iter_mut().for_each(|rx| drop(rx.try_recv().unwrap()));
        assert_eq!(clones.load(Ordering::Relaxed), receivers - 1);
        assert!(tx.is_empty());
        // Values that leave because of a lag, with a receiver, and with the channel.
        (0..3).for_each(|_| drop(tx.send(Value(clones.clone()))));
        all.pop();
        assert!(tx.is_empty() == all.is_empty());
        drop(tx.send(Value(clones.clone())));
    }
    assert_eq!(Arc::strong_count(&clones), 1, "a value was leaked");
}

#[test]
fn a_dump_shows_the_waits() {
    let runtime = runtime(1);
    let (tx, mut rx) = channel(1);
    let tx2 = tx.clone();
    let closes = runtime.spawn(async move { tx2.closed().await });
    let receives = runtime.spawn(async move { rx.recv().await });
    runtime.block_on(async {
        waiting("broadcast closed", 1).await;
        waiting("broadcast receive", 1).await;
    });
    tx.send(2).unwrap();
    assert_eq!(gmp::block_on(receives).unwrap(), Ok(2));
    gmp::block_on(closes).unwrap();
}

#[test]
fn the_ends_have_the_usual_traits() {
    fn usual<T: Send + Sync + UnwindSafe + RefUnwindSafe + Unpin + std::fmt::Debug>(_: &T) {}
    let (tx, mut rx) = channel(1);
    tx.send(0_u32).unwrap();
    usual(&tx);
    usual(&rx);
    assert_eq!(format!("{tx:?}"), "Sender { len: 1, receivers: 1 }");
    assert_eq!(format!("{rx:?}"), "Receiver { len: 1, senders: 1 }");
    fn fused<T: FusedFuture + Send>(_: &T) {}
    fused(&rx.recv());
    fused(&tx.closed());
    assert_eq!(RecvError::from(Lagged(3)).to_string(), "receiver lagged behind by 3 values");
    assert_eq!(TryRecvError::from(RecvError::Closed), TryRecvError::Closed);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Send,
    DropSender,
    Subscribe(usize),
    Resubscribe(usize),
    TryRecv(usize),
    Recv(usize),
    Poll(usize),
    DropWait(usize),
    DropReceiver(usize),
    Closed,
    PollClosed,
    DropClosed,
}

type Item = Arc<u64>;

/// A place for a receiver.
#[derive(Default)]
struct Place {
    rx: Home<Receiver<Item>>,
    wait: Option<Polled<'static, Result<Item, RecvError>>>,
    /// What it has to receive, as it should be: all values that were sent, without a limit.
    pending: Option<VecDeque<u64>>,
}

struct World {
    cap: usize,
    tx: Option<Sender<Item>>,
    places: [Place; 2],
    /// A wait for the end of the receivers, with a sender of its own.
    closed: Option<Polled<'static, ()>>,
    was_closed: bool,
    sent: u64,
    values: Vec<std::sync::Weak<u64>>,
}

impl World {
    fn new(cap: usize) -> Self {
        let (tx, rx) = channel(cap);
        let first = Place { rx: home(rx), wait: None, pending: Some(VecDeque::new()) };
        let places = [first, Place::default()];
        let (closed, values) = (None, Vec::new());
        Self { cap, tx: Some(tx), places, closed, was_closed: false, sent: 0, values }
    }

    fn receivers(&self) -> usize {
        self.places.iter().filter(|place| place.pending.is_some()).count()
    }

    fn senders(&self) -> usize {
        usize::from(self.tx.is_some()) + usize::from(self.closed.is_some())
    }

    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        if self.tx.is_some() {
            events.extend([Event::Send, Event::DropSender]);
            if self.closed.is_none() {
                events.push(Event::Closed);
            }
        }
        if self.closed.is_some() {
            events.extend([Event::PollClosed, Event::DropClosed]);
        }
        for (at, place) in self.places.iter().enumerate() {
            if place.wait.is_some() {
                events.extend([Event::Poll(at), Event::DropWait(at)]);
            } else if place.pending.is_some() {
                events.extend([Event::Recv(at), Event::TryRecv(at), Event::DropReceiver(at)]);
                if self.places[1 - at].pending.is_none() {
                    events.push(Event::Resubscribe(1 - at));
                }
            } else if self.tx.is_some() {
                events.push(Event::Subscribe(at));
            }
        }
        events
    }

    /// What a receive returns now.
    fn expected(&self, at: usize) -> Result<u64, TryRecvError> {
        let pending = self.places[at].pending.as_ref().unwrap();
        match pending.front() {
            Some(_) if pending.len() > self.cap => {
                Err(TryRecvError::Lagged((pending.len() - self.cap) as u64))
            }
            Some(value) => Ok(*value),
            None if self.senders() == 0 => Err(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        }
    }

    fn received(&mut self, at: usize, got: Result<Item, TryRecvError>) {
        let expected = self.expected(at);
        assert_eq!(got.as_deref().copied().map_err(|error| *error), expected);
        let pending = self.places[at].pending.as_mut().unwrap();
        match expected {
            Ok(_) => drop(pending.pop_front()),
            Err(TryRecvError::Lagged(missed)) => drop(pending.drain(..missed as usize)),
            Err(_) => {}
        }
    }

    fn poll(&mut self, at: usize) {
        match self.places[at].wait.as_mut().unwrap().poll() {
            Some(got) => {
                self.places[at].wait = None;
                self.received(at, got.map_err(TryRecvError::from));
            }
            None => assert_eq!(self.expected(at), Err(TryRecvError::Empty)),
        }
    }

    fn poll_closed(&mut self) {
        let ended = self.closed.as_mut().unwrap().poll().is_some();
        assert_eq!(ended, self.was_closed || self.receivers() == 0);
        if ended {
            self.closed = None;
            self.was_closed = false;
        }
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Send => {
                let value = Arc::new(self.sent);
                self.values.push(Arc::downgrade(&value));
                let sent = self.tx.as_ref().unwrap().send(value);
                let receivers = self.receivers();
                assert_eq!(sent.ok(), (receivers > 0).then_some(receivers));
                for pending in self.places.iter_mut().filter_map(|place| place.pending.as_mut()) {
                    pending.push_back(self.sent);
                }
                self.sent += 1;
            }
            Event::DropSender => self.tx = None,
            Event::Subscribe(at) => {
                *self.places[at].rx.borrow_mut() = Some(self.tx.as_ref().unwrap().subscribe());
                self.places[at].pending = Some(VecDeque::new());
            }
            Event::Resubscribe(at) => {
                let rx = self.places[1 - at].rx.borrow().as_ref().unwrap().resubscribe();
                *self.places[at].rx.borrow_mut() = Some(rx);
                self.places[at].pending = Some(VecDeque::new());
            }
            Event::TryRecv(at) => {
                let got = self.places[at].rx.borrow_mut().as_mut().unwrap().try_recv();
                self.received(at, got);
            }
            Event::Recv(at) => {
                let mut rx = Lent::take(&self.places[at].rx);
                self.places[at].wait = Some(Polled::new(async move { rx.recv().await }));
                self.poll(at);
            }
            Event::Poll(at) => self.poll(at),
            Event::DropWait(at) => self.places[at].wait.take().unwrap().cancel(),
            Event::DropReceiver(at) => {
                *self.places[at].rx.borrow_mut() = None;
                self.places[at].pending = None;
                self.was_closed |= self.closed.is_some() && self.receivers() == 0;
            }
            Event::Closed => {
                let tx = self.tx.clone().unwrap();
                self.closed = Some(Polled::new(async move { tx.closed().await }));
                self.poll_closed();
            }
            Event::PollClosed => self.poll_closed(),
            Event::DropClosed => {
                self.closed.take().unwrap().cancel();
                self.was_closed = false;
            }
        }
    }

    /// Waits that can end were woken. Exactly the values that a receiver needs are kept.
    fn check(&self) {
        let mut kept = Vec::new();
        for (at, place) in self.places.iter().enumerate() {
            let Some(pending) = &place.pending else { continue };
            if let Some(wait) = &place.wait {
                assert_eq!(wait.is_woken(), self.expected(at) != Err(TryRecvError::Empty));
            } else {
                let len = place.rx.borrow().as_ref().unwrap().len();
                assert_eq!(len, pending.len() as u64);
            }
            kept.extend(pending.iter().rev().take(self.cap).copied());
        }
        kept.sort_unstable();
        kept.dedup();
        for (n, value) in self.values.iter().enumerate() {
            assert_eq!(value.strong_count() > 0, kept.contains(&(n as u64)), "value {n}");
        }
        if let Some(closed) = &self.closed {
            assert_eq!(closed.is_woken(), self.was_closed);
        }
        if let Some(tx) = &self.tx {
            assert_eq!((tx.receiver_count(), tx.len()), (self.receivers(), kept.len()));
        }
    }
}

fn story(choices: &mut Choices, cap: usize, before: &[Event], length: usize) {
    let mut world = World::new(cap);
    before.iter().for_each(|event| world.act(*event));
    for _ in 0..length {
        let events = world.events();
        if events.is_empty() {
            break;
        }
        world.act(choices.choose(&events));
        world.check();
    }
}

#[test]
fn every_short_sequence_agrees_with_the_model() {
    for cap in [1, 2] {
        every_story(|choices| story(choices, cap, &[], 5));
    }
}

/// Two receivers, one of which is behind from the start.
#[test]
fn every_sequence_around_a_lag_agrees_with_the_model() {
    use Event::{Recv, Send, Subscribe};
    let before = [Send, Subscribe(1), Send, Recv(1), Send];
    for cap in [1, 2, 3] {
        every_story(|choices| story(choices, cap, &before, 4));
    }
}
