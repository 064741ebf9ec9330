//! The watch channel, alone and against a model.

use super::cancel::Polled;
use super::explore::{Choices, Home, Lent, every_story, home};
use super::support::{runtime, waiting};
use futures::future::FusedFuture;
use futures::stream::{FusedStream, StreamExt};
use gmp::sync::watch::{Receiver, RecvError, Sender, WatchStream, channel};
use gmp_rt::prim::debug_assert_no_lock_held;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::sync::Arc;

#[test]
fn receivers_see_the_newest_value() {
    let runtime = runtime(2);
    let (tx, rx) = channel(0);
    let handles: Vec<_> = (0..8)
        .map(|_| {
            let mut rx = rx.clone();
            runtime.spawn(async move {
                let mut last = 0;
                while rx.changed().await.is_ok() {
                    let now = *rx.get_and_update();
                    assert!(now >= last, "went back from {last} to {now}");
                    last = now;
                }
                last
            })
        })
        .collect();
    drop(rx);
    for n in 1..=1000 {
        tx.send(n).unwrap();
    }
    drop(tx);
    for handle in handles {
        assert_eq!(gmp::block_on(handle).unwrap(), 1000);
    }
}

/// Adds one, and lets other threads run in between.
fn add_slowly(n: &mut u32) {
    let before = *n;
    std::thread::yield_now();
    *n = before + 1;
}

/// Concurrent modifications run one after the other, on worker threads and others.
#[test]
fn no_modification_is_lost() {
    let runtime = runtime(2);
    let (tx, rx) = channel(0);
    let goroutines: Vec<_> = (0..4)
        .map(|_| {
            let tx = tx.clone();
            runtime.spawn(async move {
                for _ in 0..100 {
                    tx.send_modify(add_slowly);
                    gmp::yield_now().await;
                }
            })
        })
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..100).for_each(|_| tx.send_modify(add_slowly)));
        }
    });
    goroutines.into_iter().for_each(|handle| gmp::block_on(handle).unwrap());
    assert_eq!(*rx.get(), 600);
}

/// A value that is sent during a modification overwrites it, and the send does not wait.
#[test]
fn a_send_during_a_modification_wins() {
    let (tx, rx) = channel(1);
    tx.send_modify(|n| {
        *n += 1;
        tx.send(10).unwrap();
    });
    assert_eq!(*rx.get(), 10);
}

#[test]
#[should_panic(expected = "watch: a modification inside of a modification of the same channel")]
fn a_modification_inside_of_a_modification_panics() {
    let (tx, _rx) = channel(1);
    tx.send_modify(|_| tx.send_modify(|n| *n += 1));
}

#[test]
fn a_panic_in_a_modification_keeps_the_value() {
    let (tx, mut rx) = channel(1);
    let modify = || {
        tx.send_modify(|n| {
            *n = 2;
            std::panic::resume_unwind(Box::new(()));
        });
    };
    assert!(catch_unwind(AssertUnwindSafe(modify)).is_err());
    assert_eq!((*rx.get(), rx.has_changed()), (1, Ok(false)));
    tx.send_modify(|n| *n = 3);
    assert_eq!(*rx.get_and_update(), 3);
}

/// A value that checks that no lock is held when it is cloned or dropped.
#[derive(Debug)]
struct Value(u32);

impl Clone for Value {
    fn clone(&self) -> Self {
        debug_assert_no_lock_held("clones a value");
        Self(self.0)
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        debug_assert_no_lock_held("drops a value");
    }
}

#[test]
fn values_are_cloned_and_dropped_without_a_lock() {
    let (tx, rx) = channel(Value(0));
    tx.send(Value(1)).unwrap();
    drop(tx.send_replace(Value(2)));
    tx.send_modify(|value| {
        debug_assert_no_lock_held("modifies a value");
        value.0 += 1;
    });
    assert!(!tx.send_if_modified(|_| false));
    assert_eq!(rx.get().0, 3);
    drop(rx);
    assert_eq!(tx.send(Value(4)).unwrap_err().into_inner().0, 4);
}

#[gmp::test]
async fn wait_for_returns_the_value_that_it_tested() {
    let (tx, mut rx) = channel(1);
    assert_eq!(rx.wait_for(|n| *n == 1).await.as_deref(), Ok(&1));
    let sends = gmp::go!(async move {
        for n in 2..=100 {
            tx.send_replace(n);
            gmp::yield_now().await;
        }
    });
    assert!(rx.wait_for(|n| n % 7 == 0).await.is_ok_and(|n| *n % 7 == 0));
    assert_eq!(rx.wait_for(|n| *n > 100).await, Err(RecvError));
    sends.await.unwrap();
}

#[test]
fn external_threads_wait_for_changes() {
    let (tx, mut rx) = channel(1);
    let waits = std::thread::spawn(move || {
        rx.wait_for_blocking(|n| *n == 3).unwrap();
        assert_eq!(rx.changed_blocking(), Ok(()));
        *rx.get()
    });
    tx.send(3).unwrap();
    while tx.receiver_count() == 1 && !waits.is_finished() {
        let _ = tx.send(if *tx.get() == 3 { 7 } else { 3 });
        std::thread::yield_now();
    }
    assert!([3, 7].contains(&waits.join().unwrap()));
    tx.closed_blocking();
}

#[test]
fn a_stream_skips_replaced_values_and_ends() {
    fn next(values: &mut WatchStream<u32>) -> Option<Option<u32>> {
        Polled::new(values.next()).poll().map(|value| value.as_deref().copied())
    }
    let (tx, mut rx) = channel(0);
    rx.mark_changed();
    let mut values = rx.into_stream();
    assert_eq!(next(&mut values), Some(Some(0)));
    {
        let mut waits = Polled::waiting(values.next());
        tx.send(1).unwrap();
        tx.send(2).unwrap();
        assert_eq!(waits.poll().unwrap().as_deref(), Some(&2));
    }
    assert_eq!(next(&mut values), None);
    assert!(!values.is_terminated());
    tx.send(3).unwrap();
    drop(tx);
    assert_eq!(next(&mut values), Some(Some(3)));
    assert!(values.is_terminated());
    assert_eq!(next(&mut values), Some(None));
    assert_eq!(values.into_inner().has_changed(), Err(RecvError));
}

#[test]
fn a_dump_shows_the_waits() {
    let runtime = runtime(1);
    let (tx, mut rx) = channel(1);
    let tx2 = tx.clone();
    let closes = runtime.spawn(async move { tx2.closed().await });
    let changes = runtime.spawn(async move { rx.changed().await });
    runtime.block_on(async {
        waiting("watch closed", 1).await;
        waiting("watch changed", 1).await;
    });
    tx.send(2).unwrap();
    assert_eq!(gmp::block_on(changes).unwrap(), Ok(()));
    gmp::block_on(closes).unwrap();
}

#[test]
fn the_ends_have_the_usual_traits() {
    fn usual<T: Send + Sync + UnwindSafe + RefUnwindSafe + Unpin + std::fmt::Debug>(_: &T) {}
    let (tx, mut rx) = channel(0_u32);
    usual(&tx);
    usual(&rx);
    assert_eq!(format!("{tx:?}"), "Sender { version: 0, receivers: 1 }");
    assert_eq!(format!("{rx:?}"), "Receiver { version: 0, has_changed: false, senders: 1 }");
    fn fused<T: FusedFuture + Send>(_: &T) {}
    fused(&rx.changed());
    fused(&tx.closed());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Send,
    Replace,
    Modify,
    KeepValue,
    DropSender,
    Subscribe(usize),
    Changed(usize),
    Poll(usize),
    DropWait(usize),
    Update(usize),
    MarkChanged(usize),
    MarkUnchanged(usize),
    DropReceiver(usize),
    Closed,
    PollClosed,
    DropClosed,
}

/// A place for a receiver.
struct Place {
    rx: Home<Receiver<u32>>,
    wait: Option<Polled<'static, Result<(), RecvError>>>,
    lives: bool,
    /// The version that it has seen, as it should be.
    seen: Option<u32>,
}

struct World {
    tx: Option<Sender<u32>>,
    places: [Place; 2],
    /// A wait for the end of the receivers, with a sender of its own.
    closed: Option<Polled<'static, ()>>,
    /// It was fired: no receiver was left at some time since it began to wait.
    was_closed: bool,
    /// The version, which is also the value.
    version: u32,
}

impl World {
    fn new() -> Self {
        let (tx, rx) = channel(0);
        let first = Place { rx: home(rx), wait: None, lives: true, seen: Some(0) };
        let second = Place { rx: Home::default(), wait: None, lives: false, seen: None };
        let places = [first, second];
        Self { tx: Some(tx), places, closed: None, was_closed: false, version: 0 }
    }

    fn receivers(&self) -> usize {
        self.places.iter().filter(|place| place.lives).count()
    }

    fn senders(&self) -> usize {
        usize::from(self.tx.is_some()) + usize::from(self.closed.is_some())
    }

    fn events(&self, all: bool) -> Vec<Event> {
        let mut events = Vec::new();
        if self.tx.is_some() {
            events.extend([Event::Send, Event::DropSender]);
            if all {
                events.extend([Event::Replace, Event::Modify, Event::KeepValue]);
            }
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
            } else if place.lives {
                events.extend([Event::Changed(at), Event::DropReceiver(at)]);
                if all {
                    let more =
                        [Event::Update(at), Event::MarkChanged(at), Event::MarkUnchanged(at)];
                    events.extend(more);
                }
            } else if self.tx.is_some() {
                events.push(Event::Subscribe(at));
            }
        }
        events
    }

    /// What `changed` returns now.
    fn expected(&self, at: usize) -> Option<Result<(), RecvError>> {
        if self.places[at].seen != Some(self.version) {
            Some(Ok(()))
        } else {
            (self.senders() == 0).then_some(Err(RecvError))
        }
    }

    fn poll(&mut self, at: usize) {
        let expected = self.expected(at);
        let place = &mut self.places[at];
        let got = place.wait.as_mut().unwrap().poll();
        assert_eq!(got, expected);
        if got.is_some() {
            place.wait = None;
        }
        if got == Some(Ok(())) {
            place.seen = Some(self.version);
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

    fn with<R>(&mut self, at: usize, f: impl FnOnce(&mut Receiver<u32>) -> R) -> R {
        f(self.places[at].rx.borrow_mut().as_mut().unwrap())
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Send => {
                let sent = self.tx.as_ref().unwrap().send(self.version + 1);
                assert_eq!(sent.is_ok(), self.receivers() > 0);
                self.version += u32::from(sent.is_ok());
            }
            Event::Replace => {
                let old = self.tx.as_ref().unwrap().send_replace(self.version + 1);
                assert_eq!(*old, self.version);
                self.version += 1;
            }
            Event::Modify => {
                self.tx.as_ref().unwrap().send_modify(|n| *n += 1);
                self.version += 1;
            }
            Event::KeepValue => {
                let tx = self.tx.as_ref().unwrap();
                assert!(!tx.send_if_modified(|n| {
                    *n += 1;
                    false
                }));
            }
            Event::DropSender => self.tx = None,
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
            _ => self.act_on_receiver(event),
        }
    }

    fn act_on_receiver(&mut self, event: Event) {
        match event {
            Event::Subscribe(at) => {
                *self.places[at].rx.borrow_mut() = Some(self.tx.as_ref().unwrap().subscribe());
                self.places[at].lives = true;
                self.places[at].seen = Some(self.version);
            }
            Event::Changed(at) => {
                let mut rx = Lent::take(&self.places[at].rx);
                self.places[at].wait = Some(Polled::new(async move { rx.changed().await }));
                self.poll(at);
            }
            Event::Poll(at) => self.poll(at),
            Event::DropWait(at) => self.places[at].wait.take().unwrap().cancel(),
            Event::Update(at) => {
                let version = self.version;
                assert_eq!(self.with(at, |rx| *rx.get_and_update()), version);
                self.places[at].seen = Some(version);
            }
            Event::MarkChanged(at) => {
                self.with(at, Receiver::mark_changed);
                self.places[at].seen = None;
            }
            Event::MarkUnchanged(at) => {
                self.with(at, Receiver::mark_unchanged);
                self.places[at].seen = Some(self.version);
            }
            Event::DropReceiver(at) => {
                *self.places[at].rx.borrow_mut() = None;
                self.places[at].lives = false;
                self.was_closed |= self.closed.is_some() && self.receivers() == 0;
            }
            other => unreachable!("{other:?} is of a sender"),
        }
    }

    /// Waits that can end were woken, and the other answers agree.
    fn check(&mut self) {
        for at in 0..2 {
            let expected = self.expected(at);
            if let Some(wait) = &self.places[at].wait {
                assert_eq!(wait.is_woken(), expected.is_some(), "receiver {at}");
            } else if self.places[at].lives {
                let has_changed = expected.unwrap_or(Ok(())).map(|()| expected.is_some());
                assert_eq!(self.with(at, |rx| rx.has_changed()), has_changed);
                let version = self.version;
                assert_eq!(self.with(at, |rx| *rx.get()), version);
            }
        }
        if let Some(closed) = &self.closed {
            assert_eq!(closed.is_woken(), self.was_closed);
        }
        if let Some(tx) = &self.tx {
            assert_eq!(tx.receiver_count(), self.receivers());
        }
    }
}

fn story(choices: &mut Choices, all: bool, length: usize) {
    let mut world = World::new();
    for _ in 0..length {
        let events = world.events(all);
        if events.is_empty() {
            break;
        }
        world.act(choices.choose(&events));
        world.check();
    }
}

#[test]
fn every_short_sequence_agrees_with_the_model() {
    every_story(|choices| story(choices, true, 4));
}

#[test]
fn every_sequence_of_waits_agrees_with_the_model() {
    every_story(|choices| story(choices, false, 6));
}

/// A snapshot that is kept holds up no sender and keeps its value.
#[test]
fn a_snapshot_is_kept_across_sends() {
    let (tx, rx) = channel(String::from("old"));
    let snapshot = rx.get();
    tx.send("new".into()).unwrap();
    assert_eq!((snapshot.as_str(), rx.get().as_str()), ("old", "new"));
    assert_eq!(Arc::strong_count(&snapshot), 1);
}
