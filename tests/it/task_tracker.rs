//! `TaskTracker`, alone and against a model.

use super::cancel::Polled;
use super::explore::{Choices, every_story};
use super::support::{runtime, waiting};
use futures::future::FusedFuture;
use gmp::task::{TaskTracker, Token};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Spawns race with the close: each one is refused, or has ended when the wait returns.
#[test]
fn a_spawn_is_refused_or_waited_for() {
    let runtime = runtime(2);
    for _ in 0..50 {
        let (tracker, begun, ended) = (TaskTracker::new(), Arc::default(), Arc::default());
        let (begun, ended): (Arc<AtomicUsize>, Arc<AtomicUsize>) = (begun, ended);
        let spawns: Vec<_> = (0..3)
            .map(|_| {
                let (tracker, begun, ended) = (tracker.clone(), begun.clone(), ended.clone());
                runtime.spawn(async move {
                    loop {
                        let ended = ended.clone();
                        let member = async move {
                            gmp::yield_now().await;
                            ended.fetch_add(1, Ordering::Relaxed);
                        };
                        match tracker.spawn(member) {
                            Ok(_) => begun.fetch_add(1, Ordering::Relaxed),
                            Err(_closed) => break,
                        };
                        gmp::yield_now().await;
                    }
                })
            })
            .collect();
        while begun.load(Ordering::Relaxed) < 5 {
            std::thread::yield_now();
        }
        assert!(tracker.close());
        tracker.wait_blocking();
        let ended_at_wait = ended.load(Ordering::Relaxed);
        spawns.into_iter().for_each(|handle| gmp::block_on(handle).unwrap());
        assert_eq!(ended_at_wait, begun.load(Ordering::Relaxed));
        assert!(!tracker.close() && tracker.is_closed() && tracker.is_empty());
    }
}

/// A member counts until its future is dropped, also if it panics, is aborted or never polled.
#[gmp::test]
async fn members_count_until_their_future_is_dropped() {
    struct CountsAtDrop(TaskTracker, Arc<AtomicUsize>);
    impl Drop for CountsAtDrop {
        fn drop(&mut self) {
            self.1.fetch_add(self.0.len(), Ordering::Relaxed);
        }
    }
    let (tracker, counted) = (TaskTracker::new(), Arc::new(AtomicUsize::new(0)));
    for how in 0..3 {
        let guard = CountsAtDrop(tracker.clone(), counted.clone());
        let member = tracker.spawn(async move {
            let _guard = guard;
            if how == 0 {
                std::panic::resume_unwind(Box::new("expected"));
            }
            std::future::pending::<()>().await;
        });
        let member = member.unwrap();
        if how == 1 {
            gmp::yield_now().await;
        }
        member.abort();
        assert!(member.await.is_err());
    }
    tracker.close();
    tracker.wait().await;
    assert_eq!(counted.load(Ordering::Relaxed), 3, "a future was dropped after it was uncounted");
}

#[test]
fn a_refused_future_is_returned() {
    let tracker = TaskTracker::new();
    tracker.close();
    let refused = tracker.spawn(async { 7 }).unwrap_err();
    assert_eq!(refused.to_string(), "spawn on closed task tracker");
    assert_eq!(format!("{refused:?}"), "Closed(..)");
    assert_eq!(gmp::block_on(refused.into_inner()), 7);
    assert!(tracker.token().is_none());
}

/// The dump of a wait without `close` says what is missing.
#[test]
fn a_dump_says_that_the_tracker_is_not_closed() {
    let runtime = runtime(1);
    let tracker = TaskTracker::new();
    let token = tracker.token().unwrap();
    let waits = runtime.spawn(tracker.wait());
    runtime.block_on(waiting("task tracker, not closed", 1));
    tracker.close();
    runtime.block_on(waiting("task tracker", 1));
    drop(token);
    gmp::block_on(waits).unwrap();
}

#[test]
fn the_types_have_the_usual_traits() {
    fn usual<T: Send + Sync + UnwindSafe + RefUnwindSafe + std::fmt::Debug>(_: &T) {}
    let tracker = TaskTracker::default();
    usual(&tracker);
    usual(&tracker.token().unwrap());
    assert_eq!(format!("{tracker:?}"), "TaskTracker { len: 0, gate: Open }");
    fn fused<T: FusedFuture + Send + Sync>(_: &T) {}
    fused(&tracker.wait());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Token,
    DropToken,
    Close,
    Begin,
    Poll(usize),
    Drop(usize),
}

#[derive(Default)]
struct World {
    tracker: TaskTracker,
    tokens: Vec<Token>,
    closed: bool,
    /// Waits, and whether `close` has woken them since their last poll.
    waits: Vec<Option<(Polled<'static, ()>, bool)>>,
}

impl World {
    fn is_over(&self) -> bool {
        self.closed && self.tokens.is_empty()
    }

    fn events(&self) -> Vec<Event> {
        let mut events = vec![Event::Token, Event::Close];
        if !self.tokens.is_empty() {
            events.push(Event::DropToken);
        }
        if self.waits.len() < 2 {
            events.push(Event::Begin);
        }
        for (at, wait) in self.waits.iter().enumerate() {
            if wait.is_some() {
                events.extend([Event::Poll(at), Event::Drop(at)]);
            }
        }
        events
    }

    fn poll(&mut self, at: usize) {
        let over = self.is_over();
        let (wait, woken) = self.waits[at].as_mut().unwrap();
        *woken = false;
        assert_eq!(wait.poll().is_some(), over);
        if over {
            self.waits[at] = None;
        }
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Token => {
                let token = self.tracker.token();
                assert_eq!(token.is_none(), self.closed);
                self.tokens.extend(token);
            }
            Event::DropToken => drop(self.tokens.pop()),
            Event::Close => {
                assert_eq!(self.tracker.close(), !self.closed);
                self.closed = true;
                self.waits.iter_mut().flatten().for_each(|(_, woken)| *woken = true);
            }
            Event::Begin => {
                self.waits.push(Some((Polled::new(self.tracker.wait()), false)));
                self.poll(self.waits.len() - 1);
            }
            Event::Poll(at) => self.poll(at),
            Event::Drop(at) => self.waits[at].take().unwrap().0.cancel(),
        }
    }

    fn check(&self) {
        for (wait, woken) in self.waits.iter().flatten() {
            assert_eq!(wait.is_woken(), *woken || self.is_over());
        }
        assert_eq!(self.tracker.len(), self.tokens.len());
    }
}

#[test]
fn every_sequence_agrees_with_the_model() {
    every_story(|choices: &mut Choices| {
        let mut world = World::default();
        for _ in 0..6 {
            let events = world.events();
            world.act(choices.choose(&events));
            world.check();
        }
    });
}
