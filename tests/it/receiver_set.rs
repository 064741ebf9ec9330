//! `ReceiverSet`, alone and against a model.

use super::cancel::Polled;
use super::explore::{Choices, Home, Lent, every_story, home};
use super::support::{runtime, waiting};
use futures::StreamExt;
use futures::stream::FusedStream;
use gmp::chan::{Receiver, ReceiverKey, ReceiverSet, RecvError, Sender, TrySendError, chan};
use gmp::{go, select};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// Creates channels, and a set of their receivers with the keys in their order.
fn channels(n: usize, cap: usize) -> (Vec<Sender<usize>>, ReceiverSet<usize>, Vec<ReceiverKey>) {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..n).map(|_| chan(cap)).unzip();
    let mut set = ReceiverSet::new();
    let keys = receivers.into_iter().map(|receiver| set.add(receiver)).collect();
    (senders, set, keys)
}

/// Each value arrives once and in order, although many receives are dropped, and every other sender
/// sends in a `select!`.
#[gmp::test(max_procs = 2)]
async fn nothing_is_lost_or_doubled() {
    const VALUES: usize = 100;
    for cap in [0, 1, 8] {
        let (senders, mut set, keys) = channels(20, cap);
        for (n, tx) in senders.into_iter().enumerate() {
            go!({
                for value in 0..VALUES {
                    match n % 2 {
                        0 => tx.send(value).await.unwrap(),
                        _ => select! { sent = tx.send(value) => sent.unwrap() },
                    }
                }
            });
        }
        let mut next: BTreeMap<_, _> = keys.iter().map(|key| (*key, 0)).collect();
        while !set.is_empty() {
            match gmp::timeout(Duration::from_micros(50), set.recv()).await {
                Ok(Some((key, value))) => {
                    let next = next.get_mut(&key).unwrap();
                    assert_eq!(value.unwrap_or(VALUES), *next);
                    *next += 1;
                }
                Ok(None) => unreachable!("the set is not empty"),
                Err(_) => gmp::yield_now().await,
            }
        }
        // All values, and the end of the channel.
        assert!(next.values().all(|next| *next == VALUES + 1), "{next:?}");
    }
}

#[gmp::test]
async fn each_ready_channel_is_chosen_equally_often() {
    for n in [3, 100] {
        let (senders, mut set, keys) = channels(n, 1);
        let mut chosen = vec![0; n];
        for (index, tx) in senders.iter().enumerate() {
            tx.send(index).await.unwrap();
        }
        for _ in 0..1000 * n {
            let (key, value) = set.recv().await.unwrap();
            let index = value.unwrap();
            assert_eq!(key, keys[index]);
            chosen[index] += 1;
            senders[index].send(index).await.unwrap();
        }
        // The expected count is 1000, its standard deviation at most 32.
        assert!(chosen.iter().all(|count| (800..1200).contains(count)), "{chosen:?}");
    }
}

/// The values that are left come first. Then the receiver leaves the set.
#[gmp::test]
async fn a_closed_channel_is_returned_once() {
    let (mut senders, mut set, keys) = channels(3, 1);
    senders[1].send(7).await.unwrap();
    drop(senders.remove(1));
    assert_eq!(set.recv().await, Some((keys[1], Ok(7))));
    assert_eq!(set.recv().await, Some((keys[1], Err(RecvError))));
    assert!(set.get(keys[1]).is_none() && set.remove(keys[1]).is_none());
    assert_eq!((set.len(), set.try_recv()), (2, None));
    drop(senders);
    let mut closed = [set.recv().await.unwrap(), set.recv().await.unwrap()];
    closed.sort_unstable_by_key(|(key, _)| *key);
    assert_eq!(closed, [(keys[0], Err(RecvError)), (keys[2], Err(RecvError))]);
    assert_eq!((set.recv().await, set.try_recv()), (None, None));
}

/// The key of a removed receiver does not name the receiver that takes its place.
#[gmp::test]
async fn keys_are_not_used_again() {
    let mut set = ReceiverSet::new();
    let (first, rx) = chan(1);
    let removed = set.add(rx);
    let rx = set.remove(removed).unwrap();
    let (second, other) = chan(1);
    let key = set.add(other);
    assert_ne!(key, removed);
    assert!(set.get(removed).is_none() && set.remove(removed).is_none());
    first.send(1).await.unwrap();
    second.send(2).await.unwrap();
    assert_eq!(set.recv().await, Some((key, Ok(2))));
    assert_eq!(set.try_recv(), None);
    assert_eq!(rx.recv().await, Ok(1));
    assert!(set.get(key).unwrap().is_empty());
    assert_eq!(set.iter().map(|(key, _)| key).collect::<Vec<_>>(), [key]);
}

#[test]
fn a_removed_receiver_does_not_listen() {
    let (tx, rx) = chan(0);
    let mut set = ReceiverSet::new();
    let key = set.add(rx);
    assert_eq!(set.try_recv(), None);
    // While the set waits for the channel, it has room for one value.
    assert_eq!(tx.try_send(1), Ok(()));
    assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!((set.try_recv(), set.try_recv()), (Some((key, Ok(1))), None));
    let rx = set.remove(key).unwrap();
    assert_eq!(tx.try_send(3), Err(TrySendError::Full(3)));
    assert_eq!(rx.len(), 0);
}

/// A sender that the set has summoned continues to wait after the removal, and sends to the next
/// receive.
#[test]
fn a_removed_receiver_withdraws_its_summons() {
    let (tx, rx) = chan(0);
    let mut set = ReceiverSet::new();
    let key = set.add(rx);
    let (_quit, quitting) = chan::<()>(0);
    let mut sends = Polled::waiting(async move {
        select! {
            sent = tx.send(7) => sent.is_ok(),
            _ = quitting.recv() => false,
        }
    });
    assert_eq!(set.try_recv(), None);
    let rx = set.remove(key).unwrap();
    assert_eq!(sends.poll(), None, "it has sent to nobody");
    let mut receives = Polled::waiting(async move { rx.recv().await });
    assert_eq!(sends.poll(), Some(true));
    assert_eq!(receives.poll(), Some(Ok(7)));
}

/// A task that polls the set by hand is woken when a receiver is added.
#[test]
fn an_added_receiver_wakes_the_set() {
    let (_senders, mut set, _) = channels(1, 1);
    let seen = Arc::default();
    let waker = super::lock_rule::checked_waker(&seen);
    let mut cx = std::task::Context::from_waker(&waker);
    assert!(set.poll_recv(&mut cx).is_pending());
    let (tx, rx) = chan(1);
    tx.try_send(5).unwrap();
    let key = set.add(rx);
    assert_eq!(seen.wakes(), 1);
    assert_eq!(set.try_recv(), Some((key, Ok(5))));
}

#[test]
fn a_dropped_receive_leaves_no_waker() {
    let (_senders, mut set, _) = channels(2, 1);
    let seen = Arc::default();
    let waker = super::lock_rule::checked_waker(&seen);
    let mut receives = Box::pin(set.recv());
    let mut cx = std::task::Context::from_waker(&waker);
    assert!(receives.as_mut().poll(&mut cx).is_pending());
    drop(receives);
    drop(waker);
    assert_eq!(Arc::strong_count(&seen), 1);
}

#[test]
fn a_dump_shows_the_wait() {
    let runtime = runtime(1);
    let (senders, mut set, keys) = channels(2, 0);
    let waits = runtime.spawn(async move { set.recv().await });
    runtime.block_on(async {
        waiting("select", 1).await;
        senders[1].send(9).await.unwrap();
    });
    assert_eq!(gmp::block_on(waits).unwrap(), Some((keys[1], Ok(9))));
}

#[gmp::test]
async fn a_set_is_a_stream() {
    let (senders, mut set, keys) = channels(2, 1);
    senders[0].send(1).await.unwrap();
    assert_eq!(set.next().await, Some((keys[0], Ok(1))));
    assert!(!set.is_terminated());
    drop(senders);
    assert_eq!(set.by_ref().count().await, 2);
    assert!(set.is_terminated());
}

#[test]
fn an_external_thread_receives() {
    let (senders, mut set, keys) = channels(2, 0);
    let sender = std::thread::spawn(move || senders[0].send_blocking(4).unwrap());
    assert_eq!(set.recv_blocking(), Some((keys[0], Ok(4))));
    sender.join().unwrap();
    assert_eq!((set.recv_blocking().is_some(), set.recv_blocking().is_some()), (true, true));
    assert_eq!(set.recv_blocking(), None);
}

#[test]
fn the_types_have_the_usual_traits() {
    fn usual<T: Send + Sync + UnwindSafe + RefUnwindSafe + Unpin + std::fmt::Debug>(_: &T) {}
    fn send<T: Send>(_: &T) {}
    let mut set: ReceiverSet<u32> = [chan(1).1, chan(1).1].into_iter().collect();
    usual(&set);
    assert_eq!(format!("{set:?}"), "ReceiverSet { len: 2 }");
    send(&set.recv());
    assert_eq!(format!("{:?}", set.recv()), "ReceiverSetRecv { set: ReceiverSet { len: 2 } }");
    assert!(ReceiverSet::<u32>::default().is_empty());
}

/// An event does nothing if it is impossible. The number of events must not depend on the state,
/// because the set chooses among ready channels at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// Adds the receiver to the set, or removes it.
    Move(usize),
    /// Sends, or drops the send that waits.
    Send(usize),
    Close(usize),
    /// Begins a receive, or polls the one that waits.
    Recv,
    /// Receives without waiting, or drops the receive that waits.
    TryRecv,
}

const EVENTS: [Event; 8] = [
    Event::Move(0),
    Event::Move(1),
    Event::Send(0),
    Event::Send(1),
    Event::Close(0),
    Event::Close(1),
    Event::Recv,
    Event::TryRecv,
];

type Received = (ReceiverKey, Result<usize, RecvError>);

/// A channel, and what the model knows of it. The first one has no buffer, the second one has room
/// for a value.
struct Line {
    sender: Sender<usize>,
    receiver: Option<Receiver<usize>>,
    /// The key, while the receiver is in the set.
    key: Option<ReceiverKey>,
    is_closed: bool,
    values: VecDeque<usize>,
    /// The send that waits with the value.
    sends: Option<Polled<'static, bool>>,
}

impl Line {
    fn new(cap: usize) -> Self {
        let (sender, receiver) = chan(cap);
        let (key, sends) = (None, None);
        Self { sender, receiver: Some(receiver), key, is_closed: false, values: [].into(), sends }
    }

    fn is_ready(&self) -> bool {
        self.key.is_some() && (self.is_closed || !self.values.is_empty())
    }

    fn send(&mut self, value: usize) {
        if self.sender.cap() == Some(0) {
            let sender = self.sender.clone();
            self.sends = Some(Polled::waiting(async move { sender.send(value).await.is_ok() }));
        } else {
            assert_eq!(self.sender.try_send(value), Ok(()));
        }
        self.values.push_back(value);
    }

    /// Ends the send whose value was received or refused.
    fn end_send(&mut self, sent: bool) {
        if let Some(mut sends) = self.sends.take() {
            assert_eq!(sends.poll(), Some(sent));
        }
    }
}

struct World {
    set: Home<ReceiverSet<usize>>,
    wait: Option<Polled<'static, Option<Received>>>,
    lines: [Line; 2],
    /// Keys of receivers that have left the set.
    old: Vec<ReceiverKey>,
    sent: usize,
}

impl World {
    fn is_ready(&self) -> bool {
        self.lines.iter().any(Line::is_ready)
    }

    fn received(&mut self, got: Received) {
        let (key, value) = got;
        let line = self.lines.iter_mut().find(|line| line.key == Some(key));
        let line = line.expect("a receiver in the set");
        match value {
            Ok(value) => {
                assert_eq!(line.values.pop_front(), Some(value));
                line.end_send(true);
            }
            Err(RecvError) => {
                assert!(line.is_closed && line.values.is_empty());
                self.old.extend(line.key.take());
            }
        }
    }

    fn poll(&mut self) {
        match self.wait.as_mut().unwrap().poll() {
            None => assert!(!self.is_ready() && self.lines.iter().any(|line| line.key.is_some())),
            Some(got) => {
                self.wait = None;
                match got {
                    None => assert!(self.lines.iter().all(|line| line.key.is_none())),
                    Some(got) => self.received(got),
                }
            }
        }
    }

    /// Adds the receiver to the set, or removes it. Impossible during a receive.
    fn move_receiver(&mut self, at: usize) {
        let mut set = self.set.borrow_mut();
        let (Some(set), line) = (set.as_mut(), &mut self.lines[at]) else { return };
        if let Some(receiver) = line.receiver.take() {
            line.key = Some(set.add(receiver));
        } else if let Some(key) = line.key.take() {
            let receiver = set.remove(key).expect("it is in the set");
            let buffered = if line.sends.is_some() { 0 } else { line.values.len() };
            assert_eq!(receiver.len(), buffered);
            line.receiver = Some(receiver);
            self.old.push(key);
        }
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Move(at) => self.move_receiver(at),
            Event::Send(at) => {
                let line = &mut self.lines[at];
                if let Some(mut sends) = line.sends.take() {
                    sends.cancel();
                    line.values.clear();
                } else if !line.is_closed && line.values.is_empty() {
                    self.sent += 1;
                    line.send(self.sent);
                }
            }
            Event::Close(at) => {
                let line = &mut self.lines[at];
                line.sender.close();
                line.is_closed = true;
                if line.sends.is_some() {
                    line.values.clear();
                    line.end_send(false);
                }
            }
            Event::Recv if self.wait.is_none() => {
                let mut set = Lent::take(&self.set);
                self.wait = Some(Polled::new(async move { set.recv().await }));
                self.poll();
            }
            Event::Recv => self.poll(),
            Event::TryRecv => match self.wait.take() {
                Some(mut wait) => wait.cancel(),
                None => {
                    let got = self.set.borrow_mut().as_mut().unwrap().try_recv();
                    match got {
                        None => assert!(!self.is_ready(), "a ready channel was overlooked"),
                        Some(got) => self.received(got),
                    }
                }
            },
        }
    }

    fn check(&self) {
        if let Some(wait) = &self.wait {
            assert!(wait.is_woken() || !self.is_ready(), "a ready channel has not woken the set");
            return;
        }
        let set = self.set.borrow();
        let set = set.as_ref().unwrap();
        let keys: Vec<_> = self.lines.iter().filter_map(|line| line.key).collect();
        assert_eq!(set.len(), keys.len());
        assert!(keys.iter().all(|key| set.get(*key).is_some()));
        assert!(self.old.iter().all(|key| set.get(*key).is_none()));
    }
}

#[test]
fn every_sequence_agrees_with_the_model() {
    every_story(|choices: &mut Choices| {
        let lines = [Line::new(0), Line::new(1)];
        let set = home(ReceiverSet::new());
        let mut world = World { set, wait: None, lines, old: Vec::new(), sent: 0 };
        world.act(Event::Move(0));
        for _ in 0..5 {
            world.act(choices.choose(&EVENTS));
            world.check();
        }
    });
}
